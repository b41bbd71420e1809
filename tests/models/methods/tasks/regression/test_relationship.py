"""Multi-task relationship learning: against the literal system, and its objective only falls."""

from __future__ import annotations

import numpy as np
import pytest

from models.arrays import Float, Int
from models.methods.tasks.regression import relationship
from models.methods.tasks.regression.relationship import TaskMoments, relate
from models.running.progress import silent

PENALTY, SHARING = 0.03, 0.2


def rows(
    seed: int = 0, sizes: tuple[int, ...] = (6, 1, 9, 4), n_columns: int = 3
) -> tuple[Float, Float, Int]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(sum(sizes), n_columns)) + 0.5
    return x, rng.normal(size=len(x)) + 1.0, np.concatenate([[0], np.cumsum(sizes)])


def literal(
    x: Float, y: Float, start: Int, weights: Float, intercept: Float, covariance: Float
) -> float:
    total = 0.0
    for t in range(len(start) - 1):
        part = slice(start[t], start[t + 1])
        error = y[part] - x[part] @ weights[:, t] - intercept[t]
        total += (error**2).sum() / len(error)
    total += 0.5 * PENALTY * (weights**2).sum()
    inverse = np.linalg.inv(covariance)
    return float(total + 0.5 * SHARING * np.trace(weights @ inverse @ weights.T))


def spread(n_tasks: int, seed: int = 1) -> Float:
    """A covariance of trace 1."""
    a = np.random.default_rng(seed).normal(size=(n_tasks, n_tasks))
    return a @ a.T / np.trace(a @ a.T)


def test_weights_given_the_covariance_solve_the_literal_system() -> None:
    x, y, start = rows()
    n_tasks, d = len(start) - 1, x.shape[1]
    covariance = spread(n_tasks)
    inverse = np.linalg.inv(covariance)
    # The unknowns are w_1, b_1, w_2, b_2, ...
    size = d + 1
    system, target = np.zeros((n_tasks * size, n_tasks * size)), np.zeros(n_tasks * size)
    for t in range(n_tasks):
        part = slice(start[t], start[t + 1])
        a = np.hstack([x[part], np.ones((start[t + 1] - start[t], 1))])
        own = slice(t * size, (t + 1) * size)
        system[own, own] += 2 * a.T @ a / len(a)
        target[own] = 2 * a.T @ y[part] / len(a)
        system[own, own][:d, :d] += PENALTY * np.eye(d)
        for s in range(n_tasks):
            system[t * size : t * size + d, s * size : s * size + d] += (
                SHARING * inverse[t, s] * np.eye(d)
            )
    solved = np.linalg.solve(system, target).reshape(n_tasks, size)
    moments = TaskMoments.of(x, y, start)
    weights, objective = relationship.weights_for(
        moments, relationship._MeanGram.of(moments), covariance, PENALTY, SHARING
    )
    result = relationship.TaskRelationship(weights, covariance, [], True).with_intercepts(moments)[
        :, 0
    ]
    np.testing.assert_allclose(result, solved, atol=1e-6)
    assert objective == pytest.approx(
        literal(x, y, start, weights, result[:, -1], covariance), rel=1e-9
    )


def test_no_covariance_is_better_than_the_result() -> None:
    weights = np.random.default_rng(2).normal(size=(5, 4))
    best, trace = relationship.covariance_of(weights, np.eye(4))
    assert np.trace(best) == pytest.approx(1.0)
    value = np.trace(weights @ np.linalg.inv(best) @ weights.T)
    assert value == pytest.approx(trace**2)
    for seed in range(20):
        nearby = 0.95 * best + 0.05 * spread(4, seed)
        assert np.trace(weights @ np.linalg.inv(nearby) @ weights.T) > value


@pytest.mark.parametrize("seed", range(5))
def test_the_objective_never_rises(seed: int) -> None:
    x, y, start = rows(seed, (5, 2, 9, 4, 3))
    relationship_of_tasks = relate(TaskMoments.of(x, y, start), PENALTY, SHARING, 200, 1e-6, silent)
    steps = np.diff(relationship_of_tasks.objectives)
    assert steps.max() <= 1e-9 * relationship_of_tasks.objectives[0]
    assert relationship_of_tasks.converged
    assert np.trace(relationship_of_tasks.covariance) == pytest.approx(1.0)


def test_two_equal_tasks_have_correlation_1() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(90, 4))
    w = rng.normal(size=4)
    sign = np.repeat([1.0, 1.0, -1.0], 30)
    y = sign * (x @ w) + 0.1 * rng.normal(size=90)
    moments = TaskMoments.of(x, y, np.array([0, 30, 60, 90]))
    correlation = relationship.correlation(relate(moments, 1e-3, 0.1, 100, 1e-6, silent).covariance)
    assert correlation[0, 1] > 0.99
    assert correlation[0, 2] < -0.99


def test_targets_that_are_all_level_leave_weights_of_0() -> None:
    x, y, start = rows()
    level = relate(TaskMoments.of(x, 0 * y + 3.0, start), PENALTY, SHARING, 10, 1e-6, silent)
    np.testing.assert_allclose(level.weights, 0.0, atol=1e-12)
    np.testing.assert_allclose(relationship.correlation(0 * level.covariance), np.eye(4))

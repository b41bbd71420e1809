"""Large margins by their definition, three loops over rows; no impostor is missed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize as scipy_minimize

from models.arrays import Float, Int
from models.method import Checkpoint
from models.methods.labelled.metric.descent import Direct, MetricFit, hold, minimize
from models.methods.labelled.metric.neighbours import (
    NO_TARGET,
    REACH,
    SMOOTH,
    ActivePairs,
    LargeMargin,
    bounds,
    target_neighbours,
)
from models.running.progress import silent


def hinge(z: float) -> float:
    if z <= 0:
        return 0.0
    return z * z / (2 * SMOOTH) if z < SMOOTH else z - SMOOTH / 2


def literal(points: Float, code: Int, targets: Int, mu: float, matrix: Float) -> float:
    away = points[:, None] - points
    squared = np.einsum("ijd,de,ije->ij", away, matrix, away).tolist()
    total, n_pairs = 0.0, 0
    for i in range(code.size):
        for j in targets[i]:
            if j == NO_TARGET:
                continue
            n_pairs += 1
            total += (1 - mu) * squared[i][j]
            for other in range(code.size):
                if code[other] != code[i]:
                    total += mu * hinge(1 + squared[i][j] - squared[i][other])
    return total / n_pairs


def clusters(
    seed: int, sizes: tuple[int, ...] = (1, 4, 6, 5), n_columns: int = 3
) -> tuple[Float, Int]:
    rng = np.random.default_rng(seed)
    code = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return rng.normal(size=(len(sizes), n_columns))[code] + rng.normal(
        size=(code.size, n_columns)
    ), code


def metric(rng: np.random.Generator, n_columns: int, rank: int) -> Float:
    root = rng.normal(size=(rank, n_columns))
    return np.asarray(root.T @ root)


def learned(loss: LargeMargin, start: Float, tol: float = 1e-9) -> MetricFit:
    return minimize(
        Direct(loss.of_matrix),
        hold("nuclear", diagonal=False),
        0.0,
        start,
        tol=tol,
        max_iter=5000,
        progress=silent,
        checkpoint=Checkpoint(),
    )


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000), st.integers(1, 7))
def test_targets_are_the_nearest_rows_of_the_cluster(seed: int, n_neighbors: int) -> None:
    points, code = clusters(seed)
    targets = target_neighbours(points, code, n_neighbors)
    assert targets.shape == (16, min(n_neighbors, 5))
    for i in range(code.size):
        own = [j for j in range(code.size) if code[j] == code[i] and j != i]
        own.sort(key=lambda j: float(((points[i] - points[j]) ** 2).sum()))
        assert set(targets[i]) - {NO_TARGET} == set(own[:n_neighbors])


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000), st.integers(1, 6), st.floats(0.1, 1), st.integers(1, 3))
def test_the_loss_is_that_of_all_triples(seed: int, n_neighbors: int, mu: float, rank: int) -> None:
    points, code = clusters(seed)
    targets = target_neighbours(points, code, n_neighbors)
    matrix = metric(np.random.default_rng(seed), 3, rank)
    value, _ = LargeMargin(points, code, targets, mu).of_matrix(matrix)
    assert value == pytest.approx(literal(points, code, targets, mu, matrix), rel=1e-10)


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 10_000), st.floats(0.1, 1))
def test_the_gradient_is_that_of_differences(seed: int, mu: float) -> None:
    points, code = clusters(seed)
    targets = target_neighbours(points, code, 3)
    rng = np.random.default_rng(seed)
    matrix = metric(rng, 3, 3)
    loss = LargeMargin(points, code, targets, mu)
    _, gradient = loss.of_matrix(matrix)
    np.testing.assert_allclose(gradient, gradient.T)
    way = metric(rng, 3, 2) - metric(rng, 3, 2)
    step = 1e-6
    up, down = (literal(points, code, targets, mu, matrix + s * way) for s in (step, -step))
    assert np.vdot(gradient, way) == pytest.approx((up - down) / (2 * step), rel=1e-4, abs=1e-4)


def test_no_impostor_is_missed_while_the_active_pairs_stay() -> None:
    """One loss along a walk, against a new one at each place, which looks at all pairs."""
    points, code = clusters(3, (20, 25, 30))
    points = 5.0 * points
    targets = target_neighbours(points, code, 4)
    kept = LargeMargin(points, code, targets, 0.5)
    rng = np.random.default_rng(0)
    matrix, n_kept = np.eye(3), 0
    for _ in range(60):
        way = metric(rng, 3, 1) - metric(rng, 3, 1)
        matrix = matrix + 0.06 * way / np.linalg.norm(way)
        before = kept._active
        value, gradient = kept.of_matrix(matrix)
        n_kept += before is kept._active
        fresh = LargeMargin(points, code, targets, 0.5)
        value_there, gradient_there = fresh.of_matrix(matrix)
        assert value == value_there
        np.testing.assert_array_equal(gradient, gradient_there)
    assert 30 < n_kept < 58
    assert kept._active is not None
    n_pairs = sum(int((code != own).sum()) for own in code)
    assert kept._active.row.size < n_pairs / 2


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_distances_stay_between_the_bounds(seed: int, rank: int) -> None:
    rng = np.random.default_rng(seed)
    center = metric(rng, 4, rank)
    lower, upper, scale = bounds(center)
    root = np.linalg.inv(scale)
    edge = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    share = (edge * rng.uniform(-REACH, REACH, 4)) @ edge.T
    there = center + root @ share @ root.T
    none = np.zeros(0, dtype=np.int64)
    pairs = ActivePairs(center, scale, none, none)
    assert pairs.holds(there)
    assert not pairs.holds(center + 1.01 * REACH * root @ root.T)
    away = rng.normal(size=(50, 4))
    least, value, most = (np.einsum("nd,de,ne->n", away, m, away) for m in (lower, there, upper))
    slack = 1e-9 * np.abs(most)
    assert (least <= value + slack).all()
    assert (value <= most + slack).all()


def test_the_minimum_is_the_best_of_all_transformations() -> None:
    """The literal loss of L'L by another solver, from several starts."""
    points, code = clusters(5, (3, 4, 3), n_columns=2)
    targets = target_neighbours(points, code, 2)
    fit = learned(LargeMargin(points, code, targets, 0.5), np.eye(2))
    assert fit.converged

    def of_factor(flat: Float) -> float:
        root = np.array([[flat[0], flat[1]], [0.0, flat[2]]])
        return literal(points, code, targets, 0.5, root.T @ root)

    starts = np.random.default_rng(1).normal(size=(2, 3))
    best = min(scipy_minimize(of_factor, start, tol=1e-10).fun for start in starts)
    assert fit.objectives[-1] == pytest.approx(best, rel=1e-6)


def test_two_starts_end_at_one_minimum() -> None:
    points, code = clusters(7, (6, 9, 7))
    loss = LargeMargin(points, code, target_neighbours(points, code, 3), 0.5)
    far = metric(np.random.default_rng(2), 3, 3)
    first, second = (learned(loss, start) for start in (np.eye(3), 10.0 * far))
    assert first.converged
    assert second.converged
    assert first.objectives[-1] == pytest.approx(second.objectives[-1], rel=2e-9)

"""Tasks as points: their own loss against its definition, its gradient, and checkpoints."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.methods.tasks.regression import points as module
from models.methods.tasks.regression.inputs import GHHCMTLParams
from models.methods.tasks.regression.points import (
    Chart,
    TaskPoints,
    TaskRows,
    TaskTreeCost,
)
from models.running.progress import silent

pytestmark = pytest.mark.needs("torch")

RNG = np.random.default_rng(0)
N_TASKS, N_ROWS, N_COLUMNS = 5, 40, 3
PARAMS = GHHCMTLParams(batch_size=20, n_neighbors=2)
SHARING = 4.0


def task_points(outputs: int = 1, problem: str = "regression", fixed: bool = False) -> TaskPoints:
    rng = np.random.default_rng(1)
    start = (0.2 * rng.normal(size=(N_TASKS, outputs * N_COLUMNS))).astype(np.float32)
    chart = Chart(rng.normal(size=(outputs, N_COLUMNS)), 0.5)
    classes = max(outputs, 2)
    targets = rng.normal(size=N_ROWS)
    if problem == "classification":
        targets = rng.integers(classes, size=N_ROWS).astype(np.float64)
    task = np.sort(rng.integers(N_TASKS, size=N_ROWS))
    columns = rng.normal(size=(N_ROWS, N_COLUMNS))
    kind = "regression" if problem == "regression" else "classification"
    rows = TaskRows(columns, targets, task, N_TASKS, kind, 0.3)  # type: ignore[arg-type]
    leaves = TaskPoints(start, chart, rows, PARAMS, None if fixed else SHARING, 7, 1)
    leaves.chart, leaves.rows = chart, rows  # type: ignore[attr-defined]
    return leaves


def literal(leaves: TaskPoints, points: np.ndarray) -> float:
    chart, rows = leaves.chart, leaves.rows  # type: ignore[attr-defined]
    total = 0.0
    for x, y, t in zip(rows.columns, rows.targets, rows.task, strict=True):
        weights = chart.shared + points[t].reshape(chart.shared.shape) / chart.radius
        scores = weights @ x
        if rows.problem == "regression":
            total += (y - scores[0]) ** 2 / (2 * rows.variance)
        elif len(scores) == 1:
            p = 1 / (1 + np.exp(-scores[0]))
            total -= np.log(p if y == 1 else 1 - p)
        else:
            total -= np.log(np.exp(scores[int(y)]) / np.exp(scores).sum())
    return total / (N_TASKS * SHARING)


@pytest.mark.parametrize(
    ("outputs", "problem"), [(1, "regression"), (1, "classification"), (4, "classification")]
)
def test_the_loss_and_its_gradient_are_those_of_the_definition(outputs: int, problem: str) -> None:
    leaves = task_points(outputs, problem)
    with torch.enable_grad():
        loss = leaves.own_loss()
        assert loss is not None
        (gradient,) = torch.autograd.grad(loss, leaves.learned)
    at = leaves.moving.numpy().astype(np.float64)
    assert loss.item() == pytest.approx(literal(leaves, at), rel=1e-5)
    for _ in range(5):
        way = RNG.normal(size=at.shape)
        slope = (literal(leaves, at + 1e-5 * way) - literal(leaves, at - 1e-5 * way)) / 2e-5
        assert float((gradient.numpy() * way).sum()) == pytest.approx(slope, rel=1e-3, abs=1e-5)


def test_many_rows_are_represented_by_some(monkeypatch: pytest.MonkeyPatch) -> None:
    leaves = task_points()
    whole = leaves.own_loss()
    assert whole is not None
    monkeypatch.setattr(module, "MOST_ROWS", 10)
    values = [leaves.own_loss().item() for _ in range(2000)]  # type: ignore[union-attr]
    assert np.mean(values) == pytest.approx(whole.item(), rel=0.05)


def test_points_are_weights_and_back() -> None:
    chart = Chart(RNG.normal(size=(2, 3)), 0.7)
    weights = RNG.normal(size=(4, 2, 3))
    np.testing.assert_allclose(chart.weights(chart.points(weights)), weights, atol=1e-6)


def test_triples_are_of_neighbours_and_follow_the_points() -> None:
    leaves = task_points()
    triple = leaves.draw()
    assert triple.shape == (3, PARAMS.batch_size, N_COLUMNS)
    assert triple.requires_grad
    assert leaves.near.shape == (N_TASKS, 2)
    with torch.no_grad():
        leaves.moving[0] = leaves.moving[1] + 1e-4
    leaves.begin_round(1, silent)
    assert leaves.near[0, 0] == 1
    with torch.no_grad():
        leaves.moving[:] = leaves.moving[0].clone()
    leaves.begin_round(2, silent)
    assert (leaves.near[:, 0] != np.arange(N_TASKS)).all()


def test_fixed_points_do_not_move() -> None:
    leaves = task_points(fixed=True)
    assert not leaves.learned
    assert leaves.own_loss() is None
    assert not leaves.draw().requires_grad


def test_it_resumes_from_its_checkpoint() -> None:
    def step(leaves: TaskPoints, number: int) -> None:
        leaves.begin_round(number, silent)
        for _ in range(3):
            with torch.enable_grad():
                loss = leaves.own_loss()
                assert loss is not None
                whole = loss + leaves.draw().square().sum()
                gradient = torch.autograd.grad(whole, leaves.learned)
            leaves.learn(gradient)
        leaves.keep()

    interrupted, resumed = task_points(), task_points()
    step(interrupted, 0)
    resumed.restore(interrupted.arrays())
    step(interrupted, 1)
    step(resumed, 1)
    np.testing.assert_array_equal(interrupted.moving.numpy(), resumed.moving.numpy())
    assert len(resumed.history) == 3
    np.testing.assert_array_equal(interrupted.history[-1], interrupted.moving.numpy())


def test_a_tree_that_parts_neighbours_costs_more() -> None:
    leaves = task_points()
    with torch.no_grad():
        leaves.moving[:] = torch.tensor(
            [[0.8, 0, 0], [0.8, 0.05, 0], [-0.8, 0, 0], [-0.8, 0.05, 0], [-0.8, 0, 0.05]]
        )
    leaves.begin_round(0, silent)
    tree_cost = TaskTreeCost(leaves)
    good = torch.tensor([[0.0, 0, 0], [0.6, 0, 0], [-0.6, 0, 0]])
    bad = torch.tensor([[0.0, 0, 0], [0, 0.1, 0], [0, -0.1, 0]])
    assert tree_cost.n_pairs == 10
    assert tree_cost.of(good) < tree_cost.of(bad)

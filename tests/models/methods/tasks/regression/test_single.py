"""Tasks by themselves: against normal equations, rows left out one by one, and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from models.arrays import Float
from models.inputs.data import Data
from models.methods.tasks.regression import linear
from models.methods.tasks.regression.linear import log_probabilities
from models.methods.tasks.regression.table import folds, table_of
from models.running.progress import silent

RNG = np.random.default_rng(0)


def columns(n_rows: int, n_features: int = 3) -> Float:
    return np.hstack([RNG.normal(size=(n_rows, n_features)), np.ones((n_rows, 1))])


def literal_ridge(x: Float, y: Float, penalty: float, intercept: bool) -> Float:
    weigh = np.eye(x.shape[1]) * penalty
    if intercept:
        weigh[-1, -1] = 0.0
    return np.linalg.solve(x.T @ x + weigh, x.T @ y)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n_rows", [2, 3, 20])
def test_ridge_solves_its_normal_equations(n_rows: int, intercept: bool) -> None:
    x, y = columns(n_rows), RNG.normal(size=n_rows)
    expected = literal_ridge(x, y, 0.7, intercept)
    np.testing.assert_allclose(linear.ridge(x, y, 0.7, intercept), expected, atol=1e-10)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n_rows", [2, 4, 15])
def test_rows_are_left_out_one_by_one(n_rows: int, intercept: bool) -> None:
    x, y = columns(n_rows), RNG.normal(size=n_rows)
    penalties = np.array([0.1, 3.0])
    expected = np.zeros(2)
    for at, penalty in enumerate(penalties):
        for row in range(n_rows):
            left = np.arange(n_rows) != row
            weights = literal_ridge(x[left], y[left], penalty, intercept)
            expected[at] += (y[row] - x[row] @ weights) ** 2
    np.testing.assert_allclose(linear.left_out(x, y, penalties, intercept), expected, rtol=1e-6)


def test_one_row_and_none() -> None:
    x, y = columns(1), np.array([2.5])
    assert linear.ridge(x, y, 1.0, True).tolist() == [0, 0, 0, 2.5]
    assert not linear.ridge(x[:0], y[:0], 1.0, True).any()
    weights = linear.ridges(x, y, np.array([0, 1, 1]), None, "each", silent)
    assert weights.weights.shape == (2, 1, 4)
    assert (weights.penalty == linear.PENALTIES[-1]).all()


def test_penalties_are_chosen_for_each_or_together() -> None:
    rng = np.random.default_rng(1)
    x = np.hstack([rng.normal(size=(60, 3)), np.ones((60, 1))])
    y = np.where(np.arange(60) < 30, x @ [3.0, -2, 1, 0], 0) + 0.5 * rng.normal(size=60)
    start = np.array([0, 30, 60])
    each = linear.ridges(x, y, start, None, "each", silent)
    assert each.penalty[0] < each.penalty[1]
    for task in range(2):
        assert each.penalty[task] == linear.PENALTIES[each.losses[task].argmin()]
    together = linear.ridges(x, y, start, None, "together", silent)
    assert (together.penalty == linear.PENALTIES[each.losses.sum(axis=0).argmin()]).all()
    fixed = linear.ridges(x, y, start, 5.0, "each", silent)
    assert (fixed.penalty == 5.0).all()


@pytest.mark.parametrize("n_classes", [2, 4])
def test_logistic_is_scikit_learns(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    x = np.hstack([rng.normal(size=(80, 3)), np.ones((80, 1))])
    y = rng.integers(n_classes, size=80).astype(np.float64)
    outputs = n_classes if n_classes > 2 else 1
    weights = linear.logistic(x, y, 2.0, np.zeros((outputs, 4)))
    theirs = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, max_iter=5000).fit(x, y)
    np.testing.assert_allclose(
        np.exp(log_probabilities(x @ weights.T)), theirs.predict_proba(x), atol=1e-4
    )


def test_an_offset_is_what_is_already_known() -> None:
    rng = np.random.default_rng(5)
    x, y = columns(40), rng.integers(2, size=40).astype(np.float64)
    known = rng.normal(size=(1, 4))
    weights = linear.logistic(x, y, 1e-6, np.zeros((1, 4)), x @ known.T)
    alone = linear.logistic(x, y, 1e-6, np.zeros((1, 4)))
    np.testing.assert_allclose(weights + known, alone, atol=1e-2)


def test_a_class_that_a_task_never_saw_is_unlikely_and_finite() -> None:
    rng = np.random.default_rng(6)
    features, tasks = rng.normal(size=(40, 2)), np.repeat([0, 1], 20)
    classes = np.where(tasks == 0, 0, rng.integers(3, size=40))
    data = Data({"features": features, "targets": classes, "tasks": tasks})
    table = table_of(data, "classification")
    x = np.hstack([table.features, np.ones((40, 1))])
    fold = folds(table, 3, rng)
    weights = linear.logistics(x, table, None, "each", fold, silent)
    probability = np.exp(log_probabilities(x[:20] @ weights.weights[0].T))
    assert np.isfinite(weights.weights).all()
    assert probability[:, 0].min() > 0.8

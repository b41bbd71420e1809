"""Steps of many classes by the few rows that matter to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.recursive.blocks import newton
from models.methods.classifiers.recursive.blocks.row_model import Pooled, RowModel

C, TOL = 0.7, 1e-6
STIFFNESS = np.array([1.0, 2.0, 1.0, 0.5])


def documents(sparse: bool, n_others: int = 1500, n_own: int = 8, word: float = 0.3) -> Problem:
    """Four classes of a few rows among many of other classes; 30 words and the constant."""
    rng = np.random.default_rng(5)
    n_rows = n_others + 4 * n_own
    own = np.sort(rng.choice(n_rows, 4 * n_own, replace=False))
    code = rng.permutation(np.arange(own.size) % 4)
    has = rng.random((n_rows, 30)) < 0.1
    has[own] |= (rng.random((4, 30)) < 0.3)[code]
    values = np.column_stack([word * has, np.ones(n_rows)]).astype(np.float32)
    design: Any = sp.csr_array(values) if sparse else values
    start = np.searchsorted(own, np.arange(n_rows + 1))
    return Problem(design, start, code, 4)


def dense(matrix: Any) -> np.ndarray:
    values = matrix.toarray() if sp.issparse(matrix) else matrix
    return np.asarray(values, dtype=np.float64)


def objective(some: Problem, class_: int, center: np.ndarray, C: float) -> Any:
    """From weights to the literal objective of a class, and its gradient."""
    design, sign = dense(some.design), some.signs(class_)

    def value(weights: np.ndarray) -> tuple[float, np.ndarray]:
        margin, away = sign * (design @ weights), weights - center
        total = 0.5 * STIFFNESS[class_] * away @ away + C * np.logaddexp(0.0, -margin).sum()
        slope = -C * design.T @ (sign / (1.0 + np.exp(margin)))
        return total, STIFFNESS[class_] * away + slope

    return value


def compared(some: Problem, C: float, tol: float = TOL) -> tuple[np.ndarray, np.ndarray]:
    """The objectives that Newton's steps and L-BFGS reach, (n_classes,) each."""
    rng = np.random.default_rng(3)
    center = 0.1 * rng.normal(size=(some.n_columns, some.n_classes)).astype(np.float32)
    center[-1] = np.log(some.code.size / 4 / some.n_rows)
    start = center + 0.1 * rng.normal(size=center.shape).astype(np.float32)
    stiffness = STIFFNESS[: some.n_classes].astype(np.float32)
    weights, objectives, scores = newton.minimize(some, stiffness, center, start.copy(), C, tol)
    np.testing.assert_allclose(scores, some.design @ weights, atol=1e-4)
    reached, best = np.empty((2, some.n_classes))
    for class_ in range(some.n_classes):
        value = objective(some, class_, center[:, class_].astype(np.float64), C)
        reached[class_] = value(weights[:, class_].astype(np.float64))[0]
        options = {"gtol": 1e-6, "maxiter": 2000}
        best[class_] = minimize(value, start[:, class_], jac=True, options=options).fun
    np.testing.assert_allclose(objectives, reached, rtol=1e-5)
    return reached, best


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """The numbers of rows of models, and of classes of plain steps."""
    seen: dict[str, list[int]] = {"models": [], "plain": []}
    plain = newton._Fits._direction

    class Watched(RowModel):
        def __init__(self, **given: Any) -> None:
            seen["models"].append(given["positive"].shape[0])
            super().__init__(**given)

    def direction(fits: Any, gradient: np.ndarray) -> Any:
        seen["plain"].append(gradient.shape[1])
        return plain(fits, gradient)

    monkeypatch.setattr(newton, "RowModel", Watched)
    monkeypatch.setattr(newton._Fits, "_direction", direction)
    return seen


@pytest.mark.parametrize("sparse", [False, True])
def test_the_minimum_is_that_of_all_rows_though_most_are_left_out(
    sparse: bool, used: dict[str, list[int]]
) -> None:
    some = documents(sparse)
    reached, best = compared(some, C)
    assert (reached <= best * (1.0 + 3.0 * TOL)).all()
    assert not used["plain"]
    assert max(used["models"]) < some.n_rows / 10
    assert len(used["models"]) <= 8


@pytest.mark.parametrize("sparse", [False, True])
def test_no_row_is_left_out_where_all_matter(sparse: bool, used: dict[str, list[int]]) -> None:
    some = documents(sparse, n_others=0, n_own=50)
    reached, best = compared(some, C)
    assert (reached <= best * (1.0 + 3.0 * TOL)).all()
    assert not used["models"]
    assert used["plain"]


def test_rows_that_matter_little_alone_but_much_together_are_seen_to(
    used: dict[str, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newton, "MATTERS", 50.0)
    some = documents(False, word=3.0)
    reached, best = compared(some, 20.0)
    assert (reached <= best * (1.0 + 3.0 * TOL)).all()
    assert used["models"]
    assert used["models"][0] < used["models"][-1] or used["plain"]


@pytest.mark.parametrize("sparse", [False, True])
def test_a_model_of_all_rows_is_the_objective(sparse: bool) -> None:
    some = documents(sparse, n_others=30)
    rng = np.random.default_rng(2)
    design, n_rows = dense(some.design), some.n_rows
    start = 0.3 * rng.normal(size=(some.n_columns, 4))
    positive = np.column_stack([some.signs(class_) > 0 for class_ in range(4)]).astype(np.float64)
    chance = 1.0 / (1.0 + np.exp(-design @ start))
    gradient = STIFFNESS * start + C * design.T @ (chance - positive)
    # The pooled row stands for a last one that each class sees twice, not of any class.
    gradient += 2.0 * C * (pooled := 1.0 / (1.0 + np.exp(-design[-1] @ start))) * design[-1:].T
    model = RowModel(
        design=some.design,
        positive=positive,
        scores=design @ start,
        pooled=Pooled(design[-1], np.full(4, 2.0), pooled),
        gradient=gradient,
        square=np.square(gradient).sum(axis=0),
        stiffness=STIFFNESS,
        C=C,
    )
    promised = model.minimize()
    weights = start + model.direction(gradient.copy())
    whole = np.vstack([design, design[-1:], design[-1:]])
    rows = np.append(np.arange(n_rows), [n_rows - 1] * 2)
    for class_ in range(4):
        sign = some.signs(class_)[rows]
        sign[-2:] = -1.0

        def value(weights: np.ndarray, sign: np.ndarray = sign, class_: int = class_) -> float:
            losses = np.logaddexp(0.0, -sign * (whole @ weights)).sum()
            return float(0.5 * STIFFNESS[class_] * weights @ weights + C * losses)

        before, after = value(start[:, class_]), value(weights[:, class_])
        best = minimize(value, start[:, class_], options={"gtol": 1e-6}).fun
        assert promised[class_] == pytest.approx(before - after, rel=1e-5)
        assert after - best <= 2.0 * RowModel.LEFT * (before - best)

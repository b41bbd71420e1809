"""The weights of a block of classes against a general minimiser, class by class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from models.methods.classifiers.softmax import bounds
from models.methods.classifiers.softmax.bounds import (
    BOUNDS,
    BlockProblem,
    Preconditioner,
    minimize_block,
)
from tests.models.methods.classifiers.softmax.softmax_kit import problem


def block_problem(name: str, classes: slice = slice(None)) -> BlockProblem:
    objective = problem(n_classes=5, n_rows=60)
    shift = np.random.default_rng(1).normal(size=60) + 1.0
    sums = objective.class_sums[classes]
    return BlockProblem(objective.design, sums, shift, BOUNDS[name], objective.C)


def class_value(block: BlockProblem, number: int, w: np.ndarray) -> float:
    """Eq. 4.2 and 4.4 times C."""
    gaps = block.design @ w - block.shift
    cells = np.exp(gaps) if block.bound is BOUNDS["log-concavity"] else np.log1p(np.exp(gaps))
    return 0.5 * w @ w + block.C * (cells.sum() - w @ block.sums[number])


@pytest.mark.parametrize("kind", ["factors", "diagonal", "sparse"])
@pytest.mark.parametrize("name", BOUNDS)
def test_each_class_is_at_its_minimum(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = block_problem(name)
    if kind == "diagonal":
        monkeypatch.setattr(bounds, "WIDEST_FACTORED", 0)
    if kind == "sparse":
        block = replace(block, design=sp.csr_array(block.design))
    start = np.random.default_rng(2).normal(size=(5, 4))
    preconditioner = Preconditioner.at(block, start, 5)
    assert preconditioner.inverse.ndim == (3 if kind == "factors" else 2)
    monkeypatch.setattr(bounds, "REDUCTION", 1e-12)
    step = minimize_block(block, start, preconditioner, 1e-9)
    block = replace(block, design=np.asarray(block.design @ np.eye(4)))
    least = [
        minimize(lambda w, k=k: class_value(block, k, w), start[k], options={"gtol": 1e-7})
        for k in range(5)
    ]
    np.testing.assert_allclose(step.weights, [found.x for found in least], atol=1e-5)
    assert step.value == pytest.approx(sum(found.fun for found in least), rel=1e-9)
    slopes = block.bound.cells(block.gaps(step.weights)).slope
    np.testing.assert_allclose(step.slopes, slopes.sum(axis=0), rtol=1e-9)


@pytest.mark.parametrize("name", BOUNDS)
def test_a_block_does_not_depend_on_other_classes(name: str) -> None:
    whole = block_problem(name)
    start = np.zeros((5, 4))
    every = minimize_block(whole, start, Preconditioner.at(whole, start, 5), 1e-12)
    part = block_problem(name, slice(1, 3))
    step = minimize_block(part, start[1:3], Preconditioner.at(part, start[1:3], 5), 1e-12)
    np.testing.assert_allclose(step.weights, every.weights[1:3], rtol=1e-9)


@pytest.mark.parametrize("name", BOUNDS)
def test_no_class_rises_from_a_wild_start(name: str) -> None:
    """Exponentials of the first whole step overflow."""
    block = block_problem(name)
    start = np.zeros((5, 4))
    start[:, 0] = [3.0, -3.0, 8.0, 0.0, 6.0]
    before = [class_value(block, k, start[k]) for k in range(5)]
    step = minimize_block(block, start, Preconditioner.at(block, start, 5), 1e-6)
    after = [class_value(block, k, step.weights[k]) for k in range(5)]
    assert np.isfinite(after).all()
    assert (np.array(after) <= before).all()
    worse = np.linspace(0, 10, 20).reshape(5, 4)
    end = minimize_block(block, worse, Preconditioner.at(block, worse, 5), 1e-6)
    for k in range(5):
        assert class_value(block, k, end.weights[k]) < class_value(block, k, worse[k])
    cells = block.bound.cells(block.gaps(step.weights))
    gradient = block.gradient(step.weights, cells.slope, np.arange(5))
    first = block.bound.cells(block.gaps(start))
    start_gradient = block.gradient(start, first.slope, np.arange(5))
    small = np.maximum(1e-6, 1e-3 * np.linalg.norm(start_gradient, axis=1))
    assert (np.linalg.norm(gradient, axis=1) <= small).all()

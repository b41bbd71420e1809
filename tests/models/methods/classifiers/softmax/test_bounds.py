"""The two bounds of the log partition function against their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq
from scipy.special import expit, logsumexp

from models.methods.classifiers.softmax.bounds import BOUNDS, majorizing_shift
from tests.models.methods.classifiers.softmax.softmax_kit import problem

SCORES = arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(2, 6)),
    elements=st.floats(-60, 60),
)


def bounded(name: str, scores: np.ndarray, shift: np.ndarray) -> np.ndarray:
    bound = BOUNDS[name]
    cells = bound.cells(scores - shift[:, None]).value
    return shift + bound.offset + cells.sum(axis=1)


@pytest.mark.parametrize("name", BOUNDS)
@given(SCORES, st.floats(-50, 50))
def test_it_lies_above_the_log_partition_function(
    name: str, scores: np.ndarray, shift: float
) -> None:
    above = bounded(name, scores, np.full(len(scores), shift)) - logsumexp(scores, axis=1)
    assert (above >= -1e-9 * (1 + np.abs(scores).max())).all()


@given(SCORES)
def test_the_shift_of_double_majorization_is_where_sigmoids_sum_to_one(scores: np.ndarray) -> None:
    shift = majorizing_shift(scores)
    np.testing.assert_allclose(expit(scores - shift[:, None]).sum(axis=1), 1.0, atol=1e-9)
    least = bounded("double-majorization", scores, shift)
    for step in (-1.0, -1e-3, 1e-3, 1.0):
        assert (least <= bounded("double-majorization", scores, shift + step) + 1e-9).all()


def test_the_shift_of_double_majorization_by_bisection() -> None:
    scores = np.random.default_rng(2).normal(size=(20, 5)) * 3.0
    expected = [
        brentq(lambda a, s=s: expit(s - a).sum() - 1.0, -50, 50, xtol=1e-13) for s in scores
    ]
    np.testing.assert_allclose(majorizing_shift(scores), expected, atol=1e-10)


def test_two_certain_classes_meet_half_way() -> None:
    """sigmoid(200 - a) + sigmoid(0 - a) = 1 at a = 100, where both sums are 1 to the last digit."""
    np.testing.assert_allclose(majorizing_shift(np.array([[200.0, 0.0]])), [100.0], rtol=1e-12)
    assert np.isfinite(majorizing_shift(np.array([[1e300, -1e300, 0.0]]))).all()


@pytest.mark.parametrize("name", BOUNDS)
def test_the_tightest_shifts_are_the_least(name: str) -> None:
    objective, bound = problem(n_classes=4), BOUNDS[name]
    weights = np.random.default_rng(4).normal(size=(4, 4))
    scores = objective.design @ weights.T
    before = np.random.default_rng(5).normal(size=objective.n_rows)
    slopes = bound.cells(scores - before[:, None]).slope.sum(axis=1)
    tightened = bound.tightened(objective, weights, before, slopes)
    least = bounded(name, scores, tightened.shift)
    assert tightened.log_bound == pytest.approx(least.sum(), rel=1e-12)
    assert tightened.log_sum == pytest.approx(logsumexp(scores, axis=1).sum(), rel=1e-12)
    for step in (-0.1, -1e-3, 1e-3, 0.1):
        assert (least < bounded(name, scores, tightened.shift + step)).all()
    if name == "log-concavity":
        np.testing.assert_allclose(tightened.shift, logsumexp(scores, axis=1), rtol=1e-12)


@pytest.mark.parametrize("name", BOUNDS)
def test_the_first_shift_is_the_tightest_of_equal_scores(name: str) -> None:
    shift = BOUNDS[name].first_shift(5)
    slopes = BOUNDS[name].cells(np.full(5, -shift)).slope
    assert slopes.sum() == pytest.approx(1.0, rel=1e-12)


def test_log_concavity_finds_shifts_even_where_all_exponentials_vanish() -> None:
    objective = problem()
    weights = np.zeros((3, 4))
    far = np.full(objective.n_rows, 1e4)
    tightened = BOUNDS["log-concavity"].tightened(objective, weights, far, np.exp(-far))
    np.testing.assert_allclose(tightened.shift, math.log(3))


@pytest.mark.parametrize("name", BOUNDS)
def test_derivatives_of_cells(name: str) -> None:
    gaps, step = np.linspace(-4, 4, 9), 1e-5
    low, here, high = (BOUNDS[name].cells(gaps + d) for d in (-step, 0.0, step))
    np.testing.assert_allclose(here.slope, (high.value - low.value) / (2 * step), rtol=1e-6)
    np.testing.assert_allclose(here.curvature, (high.slope - low.slope) / (2 * step), rtol=1e-6)

"""The two half-steps: neither raises the objective, and at the end neither can lower it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.methods.margins.splitting import alternating
from models.methods.margins.splitting.alternating import (
    Problem,
    Terms,
    Weights,
    alternate,
    shared_out,
)
from models.methods.margins.splitting.objective import Ancestors, Kind, Regularizer
from models.methods.margins.splitting.split import STARTS, started


def terms(
    k: int = 2, kind: Kind = "group", alpha: float = 0.1, least: float = 0.9, most: float = 1.1,
    intercept: bool = True, tol: float = 1e-6,
) -> Terms:  # fmt: skip
    return Terms(k, Regularizer(kind, alpha, 1.0), least, most, intercept, 500, tol)


def problem(seed: int, n: int = 60, p: int = 4, requirements: Terms | None = None) -> Problem:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, p)) + 2.0 * np.eye(4, p)[rng.integers(4, size=n)]
    above = Ancestors.root(p).extended_by(rng.normal(size=p))
    return Problem.of(rows, requirements or terms(), above)


def silent() -> None:
    pass


@settings(max_examples=20)
@given(
    st.integers(0, 10_000),
    st.integers(2, 5),
    st.sampled_from(["group+exclusive", "group", "exclusive", "l1", "l2"]),
    st.sampled_from([1e-4, 1e-2, 1.0]),
    st.booleans(),
)
def test_no_half_step_raises_the_objective(
    seed: int, k: int, kind: Kind, alpha: float, intercept: bool
) -> None:
    case = problem(seed, requirements=terms(k, kind, alpha, intercept=intercept, tol=1e-4))
    (cluster,) = started(case, STARTS[seed % 3], np.random.default_rng(seed))
    end = alternate(case, cluster, silent)
    assert len(end.trace) > 1
    assert (np.diff(end.trace) <= 0).all()
    assert end.trace[-1] < end.trace[0] or alpha == 1.0


@pytest.mark.parametrize("k", [2, 3])
def test_the_trace_is_the_objective(k: int) -> None:
    case = problem(1, requirements=terms(k))
    (cluster,) = started(case, "random", np.random.default_rng(0))
    end = alternate(case, cluster, silent)
    at_zero, at_end = Weights(case), Weights(case, end.weights)
    assert end.trace[0] == at_zero.hinge(cluster) == pytest.approx((k - 1) / k)
    value = at_end.hinge(end.cluster) + case.penalty.of(end.weights)
    assert end.objective == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_at_the_end_neither_half_step_lowers_it(k: int) -> None:
    case = problem(2, requirements=terms(k))
    (cluster,) = started(case, "k-means", np.random.default_rng(0))
    end = alternate(case, cluster, silent)
    assert end.ended
    size = np.bincount(end.cluster, minlength=k)
    assert case.low <= size.min() <= size.max() <= case.high
    again = shared_out(case, end.weights)
    assert again.objective >= end.objective * (1 - 1e-8)
    further = Weights(case, end.weights.copy())
    value, _ = further.descend(end.cluster, 0.0, 200)
    assert value >= end.objective * (1 - 1e-5)
    assert end.residual <= 1e-6


def test_a_rise_of_the_objective_fails_an_assertion() -> None:
    trace = [1.0]
    alternating._append(trace, 0.5)
    with pytest.raises(AssertionError, match="the objective rose"):
        alternating._append(trace, 0.6)


def test_the_best_of_all_clusterings_is_found_and_stays() -> None:
    """Eight points in two clusters of four: every clustering with its best weights."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(8, 2)) + np.repeat([[0.0, 0.0], [3.0, 1.0]], 4, axis=0)
    case = Problem.of(rows, terms(alpha=0.05, least=1.0, most=1.0), Ancestors.root(2))
    assert (case.low, case.high) == (4, 4)
    values = {}
    for chosen in combinations(range(8), 4):
        cluster = np.ones(8, dtype=np.int64)
        cluster[list(chosen)] = 0
        weights = Weights(case)
        weights.hinge(cluster)
        values[chosen] = weights.descend(cluster, 1e-9, 1000)[0]
    best = min(values, key=values.__getitem__)
    ends = []
    for chosen in values:
        cluster = np.ones(8, dtype=np.int64)
        cluster[list(chosen)] = 0
        end = alternate(case, cluster, silent)
        assert end.objective >= values[best] - 1e-9
        assert end.objective <= values[chosen] + 1e-6
        ends.append(end.objective)
    assert min(ends) == pytest.approx(values[best], abs=1e-6)
    (from_means,) = started(case, "k-means", rng)
    assert alternate(case, from_means, silent).objective == pytest.approx(values[best], abs=1e-6)


def test_weights_apply_to_the_original_rows() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 3)) + np.array([100.0, -50.0, 7.0])
    case = Problem.of(rows, terms(), Ancestors.root(3))
    (cluster,) = started(case, "k-means", rng)
    end = alternate(case, cluster, silent)
    weights, intercept = case.plain(end.weights)
    np.testing.assert_allclose(rows @ weights.T + intercept, end.scores.T, atol=1e-9)


def test_without_an_intercept_rows_are_not_moved() -> None:
    rows = np.random.default_rng(0).normal(size=(10, 3)) + 5.0
    case = Problem.of(rows, terms(intercept=False), Ancestors.root(3))
    np.testing.assert_array_equal(case.points, rows)
    weights, intercept = case.plain(np.ones((2, 3)))
    assert (weights == 1).all()
    assert (intercept == 0).all()


@pytest.mark.parametrize("room", [alternating.ROOM, 30, 10])
def test_with_less_room_for_curvature_the_end_is_the_same(
    room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one matrix for all pairs, or without any: the minimum for a clustering is unique."""
    case = problem(3, requirements=terms(3))
    (cluster,) = started(case, "k-means", np.random.default_rng(0))
    roomy = Weights(case)
    roomy.hinge(cluster)
    value, _ = roomy.descend(cluster, 1e-9, 5000)
    monkeypatch.setattr(alternating, "ROOM", room)
    tight = Weights(case)
    tight.hinge(cluster)
    assert tight.descend(cluster, 1e-9, 5000)[0] == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("alpha", [0.001, 0.01])
def test_single_steps_end_lower_than_exact_ones_from_directions(alpha: float) -> None:
    by_steps, exact = [], []
    for seed in range(6):
        case = problem(seed, n=150, p=20, requirements=terms(alpha=alpha, tol=1e-3))
        (cluster,) = started(case, "random", np.random.default_rng(seed))
        by_steps.append(alternate(case, cluster, silent).objective)
        exact.append(alternate(case, cluster, silent, exact=True).objective)
    assert np.mean(by_steps) < 0.7 * np.mean(exact)


def test_exact_steps_end_lower_than_single_ones_from_a_feature() -> None:
    """Ten columns of noise, and one that is about 0 or about 0.8: a gap in a narrow column."""
    by_steps, exact = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(150, 11))
        rows[:, 0] = np.repeat([0.0, 0.8], 75) + 0.02 * rows[:, 0]
        case = Problem.of(rows, terms(alpha=0.05, tol=1e-3), Ancestors.root(11))
        cluster = started(case, "features", rng)[0]
        by_steps.append(alternate(case, cluster, silent).objective)
        exact.append(alternate(case, cluster, silent, exact=True).objective)
    assert np.mean(exact) < 0.7 * np.mean(by_steps)

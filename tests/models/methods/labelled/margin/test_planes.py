"""Cutting planes and their master problem.

Other clusterings of known rows against their definitions.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from models.arrays import Float, Int
from models.errors import Cancelled
from models.methods.labelled.metric.loops import climb
from models.methods.labelled.metric.planes import (
    Clusterings,
    Plane,
    SeparationOracle,
    k_means,
    separate,
    solve,
)
from models.methods.labelled.supervision.inputs import KnownClusters
from models.running.progress import silent


def badness(points: Float, cluster: Int, metric: Float) -> float:
    """The mean of (x - m)' A (x - m), m the mean of the row's cluster."""
    total = 0.0
    for number in np.unique(cluster):
        away = points[cluster == number] - points[cluster == number].mean(axis=0)
        total += float(np.einsum("nd,de,ne->", away, metric, away))
    return total / cluster.size


def drawn(seed: int) -> KnownClusters:
    rng = np.random.default_rng(seed)
    code = np.append(np.arange(3), rng.integers(3, size=12))
    return KnownClusters(rng.normal(size=(15, 4)) + 5.0, code, 3)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), n_used=st.integers(1, 3))
def test_a_plane_is_how_much_worse_a_clustering_is(seed: int, n_used: int) -> None:
    known = drawn(seed)
    rng = np.random.default_rng(seed + 1)
    cluster = rng.integers(n_used, size=15)
    root = rng.normal(size=(4, 4))
    metric = root @ root.T
    plane = Clusterings(known).plane(cluster)
    worse = badness(known.points, cluster, metric) - badness(known.points, known.code, metric)
    loss = 1.0 - max(adjusted_rand_score(known.code, cluster), 0.0)
    assert np.vdot(plane.normal, metric) == pytest.approx(worse, abs=1e-9)
    assert plane.loss == pytest.approx(loss, abs=1e-12)
    assert plane.lacks(metric) == pytest.approx(loss - worse, abs=1e-9)


def test_numbers_of_clusters_do_not_matter() -> None:
    known = drawn(0)
    plane = Clusterings(known).plane((known.code + 1) % 3)
    assert plane.loss == 0.0
    assert plane.normal == pytest.approx(np.zeros((4, 4)), abs=1e-12)


def test_the_worst_of_more_runs_is_no_better() -> None:
    known = drawn(1)
    metric = np.diag([1.0, 2.0, 0.5, 0.0])
    lacks = [
        Clusterings(known)
        .worst(np.sqrt(metric), metric, runs, np.random.default_rng(2))
        .lacks(metric)
        for runs in (1, 5, 50)
    ]
    assert lacks == sorted(lacks)
    assert lacks[-1] > 0.0


@pytest.mark.parametrize("seed", range(6))
def test_the_worst_and_the_bound_of_all_clusterings(seed: int) -> None:
    rng = np.random.default_rng(seed)
    code = np.append(np.arange(3), rng.integers(3, size=4))
    root = rng.normal(size=(2, 2)) * 0.7
    clusterings = Clusterings(KnownClusters(rng.normal(size=(7, 2)), code, 3))
    metric = root.T @ root
    every = [
        clusterings.plane(np.array(each)).lacks(metric) for each in product(range(3), repeat=7)
    ]
    worst = clusterings.worst(root, metric, 10, rng).lacks(metric)
    assert worst == pytest.approx(max(every), abs=1e-9)
    assert max(every) <= clusterings.most_slack(root, metric) + 1e-9
    # A metric of 0 leaves only the loss.
    assert clusterings.most_slack(np.zeros((1, 2)), np.zeros((2, 2))) == 1.0


def test_moves_only_raise_what_lacks() -> None:
    known = drawn(3)
    metric = np.diag([1.0, 0.5, 2.0, 0.1])
    clusterings, points = Clusterings(known), known.points - known.points.mean(axis=0)
    for seed in range(20):
        cluster = np.random.default_rng(seed).integers(3, size=15)
        moved = cluster.copy()
        climb(points * np.sqrt(np.diag(metric)), known.code, moved, 3, 100)
        before, after = (clusterings.plane(each).lacks(metric) for each in (cluster, moved))
        assert after >= before
        for row in range(15):
            for k in range(3):
                other = moved.copy()
                other[row] = k
                assert clusterings.plane(other).lacks(metric) <= after + 1e-9


def test_k_means_ends_where_each_row_is_nearest_to_its_mean() -> None:
    points = np.random.default_rng(0).normal(size=(200, 3))
    cluster = k_means(points, 5, np.random.default_rng(1))
    means = np.array([points[cluster == number].mean(axis=0) for number in range(5)])
    away = ((points[:, None] - means) ** 2).sum(axis=2)
    assert (away.argmin(axis=1) == cluster).all()


def test_k_means_finds_clusters_far_apart() -> None:
    truth = np.arange(40) % 4
    points = 100.0 * np.eye(4)[truth] + np.random.default_rng(0).normal(size=(40, 4))
    assert adjusted_rand_score(truth, k_means(points, 4, np.random.default_rng(1))) == 1.0


@pytest.mark.parametrize("shape", [(6, 2), (6, 0)])
def test_k_means_takes_rows_that_fall_together(shape: tuple[int, int]) -> None:
    assert not k_means(np.zeros(shape), 3, np.random.default_rng(0)).any()


def planes(seed: int, n_planes: int, n_columns: int = 4) -> list[Plane]:
    """Differences of squares, as of clusterings: neither semidefinite nor of one sign."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(n_planes, 2, n_columns, 2))
    squares = roots @ roots.transpose(0, 1, 3, 2)
    losses = rng.uniform(0.2, 1.0, n_planes)
    return [
        Plane(normal, float(loss))
        for normal, loss in zip(squares[:, 0] - squares[:, 1], losses, strict=True)
    ]


def by_cvxpy(some: list[Plane], gamma: float) -> tuple[float, np.ndarray]:
    """The least objective and its metric, as the problem is written."""
    import cvxpy as cp

    n_columns = some[0].normal.shape[0]
    metric = cp.Variable((n_columns, n_columns), PSD=True)
    slack = cp.Variable()
    problem = cp.Problem(
        cp.Minimize(gamma * cp.sum_squares(metric - np.eye(n_columns)) + slack),
        [slack >= 0]
        + [cp.sum(cp.multiply(plane.normal, metric)) >= plane.loss - slack for plane in some],
    )
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return float(problem.value), metric.value


@pytest.mark.parametrize("gamma", [0.01, 0.3, 3.0])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.needs("cvxpy", "clarabel")
def test_the_master_problem_agrees_with_a_cone_solver(seed: int, gamma: float) -> None:
    some = planes(seed, 6)
    objective, metric = by_cvxpy(some, gamma)
    master = solve(some, 4, gamma, np.zeros(6))
    assert master.objective == pytest.approx(objective, abs=2e-6)
    assert master.bound == pytest.approx(objective, abs=2e-6)
    assert master.metric == pytest.approx(metric, abs=3e-3 if gamma == 0.01 else 1e-3)
    assert master.multipliers.min() >= 0.0
    assert master.multipliers.sum() <= 1.0 + 1e-12


@pytest.mark.needs("cvxpy", "clarabel")
def test_the_bound_is_below_the_objective_from_any_multipliers() -> None:
    some = planes(1, 6)
    objective, _ = by_cvxpy(some, 0.1)
    for seed in range(5):
        start = np.random.default_rng(seed).dirichlet(np.ones(6))
        master = solve(some, 4, 0.1, start)
        assert master.bound <= objective + 1e-7 <= master.objective + 2e-7


def test_without_planes_the_metric_is_the_identity() -> None:
    master = solve([], 3, 1.0, np.zeros(0))
    assert (master.metric == np.eye(3)).all()
    assert master.objective == master.bound == master.slack == 0.0


def worst_of(some: list[Plane]) -> SeparationOracle:
    return lambda metric: max(some, key=lambda plane: plane.lacks(metric))


@pytest.mark.parametrize("gamma", [0.05, 1.0])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.needs("cvxpy", "clarabel")
def test_rounds_end_at_the_optimum_of_all_planes(seed: int, gamma: float) -> None:
    some = planes(seed, 40)
    objective, _ = by_cvxpy(some, gamma)
    fit = separate(worst_of(some), 4, gamma, tol=1e-5, max_iter=200, progress=silent)
    assert fit.converged
    assert 1 < len(fit.planes) < 40
    assert fit.master.objective == pytest.approx(objective, abs=2e-5)
    # It never falls as planes are added, and all that were found are kept.
    assert (np.diff(fit.bounds) >= -1e-12).all()
    for plane in some:
        assert plane.lacks(fit.master.metric) <= fit.master.slack + 1e-5


def test_rounds_that_were_stopped_say_what_lacks() -> None:
    some = planes(0, 40)
    fit = separate(worst_of(some), 4, 0.05, tol=1e-5, max_iter=2, progress=silent)
    assert not fit.converged
    assert len(fit.planes) == len(fit.bounds) == 2
    most = max(plane.lacks(fit.master.metric) for plane in some)
    assert fit.lacks == pytest.approx(most - fit.master.slack)
    assert fit.lacks > 1e-5


def test_a_metric_that_keeps_all_is_left_as_it_is() -> None:
    fit = separate(
        lambda metric: Plane(np.eye(3), 0.5), 3, 1.0, tol=1e-3, max_iter=5, progress=silent
    )
    assert fit.converged
    assert fit.planes == ()
    assert (fit.master.metric == np.eye(3)).all()


def test_it_can_be_cancelled() -> None:
    def cancel(fraction: float, stage: str, message: str = "") -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        separate(worst_of(planes(0, 9)), 4, 0.1, tol=1e-5, max_iter=9, progress=cancel)

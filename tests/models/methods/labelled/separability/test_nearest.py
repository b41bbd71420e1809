"""The nearest metric: conditions of an optimum, and the same from solvers of different kinds.

Constraints of pairs of clusters against their definition.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from models.errors import UsageError
from models.methods.labelled.metric import nearest as module
from models.methods.labelled.metric.nearest import Moments, PairConstraints, Solver, nearest
from models.methods.labelled.supervision.inputs import KnownClusters
from models.methods.labelled.tcs_cs import TCSCS
from models.running.progress import silent
from tests.models.methods.labelled.separability.separability_kit import drawn, literal


def test_moments_are_means_and_covariances() -> None:
    known = drawn(0)
    moments = Moments.of(known)
    for cluster in range(4):
        rows = known.points[known.code == cluster]
        assert moments.covariances[cluster] == pytest.approx(np.cov(rows.T, bias=True))
    assert not moments.covariances[4].any()
    assert moments.means == pytest.approx(known.means - known.means.mean(axis=0))


@pytest.mark.parametrize("gamma", [0.0, 0.7, 30.0])
def test_values_and_sums_are_those_of_the_matrices(gamma: float) -> None:
    known = drawn(1)
    expected = literal(known, gamma)
    expected /= np.linalg.norm(expected, axis=(1, 2))[:, None, None]
    pairs = PairConstraints(Moments.of(known), gamma)
    rng = np.random.default_rng(2)
    metric = rng.normal(size=(4, 4))
    metric += metric.T
    multipliers = rng.uniform(size=10)
    assert pairs.size == 10
    assert pairs.matrices(np.arange(10)) == pytest.approx(expected)
    assert pairs.values(metric) == pytest.approx(np.einsum("pde,de->p", expected, metric))
    assert pairs.combined(multipliers) == pytest.approx(
        np.einsum("p,pde->de", multipliers, expected)
    )


def test_the_identity_is_enough_up_to_the_least_separation() -> None:
    moments = Moments.of(drawn(3))
    least = moments.least_separation
    assert PairConstraints(moments, least * (1 - 1e-9)).values(np.eye(4)).min() >= 0.0
    assert PairConstraints(moments, least * (1 + 1e-9)).values(np.eye(4)).min() < 0.0


def test_clusters_without_spread_are_always_separable() -> None:
    points = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 1.0]])
    moments = Moments.of(KnownClusters(points, np.array([0, 0, 1]), 2))
    assert moments.least_separation == np.inf


def test_two_equal_rows_ask_for_nothing() -> None:
    points = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 1.0], [3.0, 2.0]])
    pairs = PairConstraints(Moments.of(KnownClusters(points, np.array([0, 1, 2, 2]), 3)), 1.0)
    assert pairs.values(np.eye(2))[0] == 0.0
    assert np.isfinite(pairs.values(np.eye(2))).all()


CONES = TCSCS.needs_of_values["solver"]
SOLVERS = [
    "dual",
    *(pytest.param(solver, marks=pytest.mark.needs(*CONES[solver])) for solver in CONES),
]


def problem(seed: int, multiple: float, **size: int) -> tuple[PairConstraints, np.ndarray]:
    """The constraints, and (n_pairs, D, D) their matrices, of length 1."""
    known = drawn(seed, **size, apart=3.0)
    gamma = multiple * Moments.of(known).least_separation
    matrices = literal(known, gamma)
    matrices /= np.linalg.norm(matrices, axis=(1, 2))[:, None, None]
    return PairConstraints(Moments.of(known), gamma), matrices


def by_plain_dual(matrices: np.ndarray) -> np.ndarray:
    """The metric by maximising the dual, as written: P(I + sum of a G / 2), a >= 0."""
    identity = np.eye(matrices.shape[1])

    def metric(multipliers: np.ndarray) -> np.ndarray:
        shifted = identity + 0.5 * np.einsum("p,pde->de", multipliers, matrices)
        values, vectors = np.linalg.eigh(shifted)
        return (vectors * np.maximum(values, 0.0)) @ vectors.T

    def minus_dual(multipliers: np.ndarray) -> tuple[float, np.ndarray]:
        at = metric(multipliers)
        kept = np.einsum("pde,de->p", matrices, at)
        return float(multipliers @ kept - np.square(at - identity).sum()), kept

    best = minimize(
        minus_dual,
        np.zeros(len(matrices)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(matrices),
        options={"maxiter": 20000, "maxfun": 40000, "ftol": 0.0, "gtol": 1e-9},
    )
    return metric(best.x)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("multiple", [1.2, 1.5, 2.0])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_optimum_by_its_conditions(seed: int, multiple: float, solver: Solver) -> None:
    pairs, matrices = problem(seed, multiple)
    solution = nearest(pairs, solver, silent)
    metric, multipliers = solution.metric, solution.multipliers
    assert solution.warnings == ()
    # It may change, and it did.
    assert metric.any()
    assert solution.objective > 1e-3
    kept = np.einsum("pde,de->p", matrices, metric)
    assert kept.min() >= -1e-6
    assert np.linalg.eigvalsh(metric).min() >= -1e-12
    assert multipliers.min() >= 0.0
    assert np.abs(multipliers * kept).max() <= 1e-6
    # 2 (A - I) = sum of a G + S, and the cone's own multiplier S is semidefinite, orthogonal to A.
    cone = 2.0 * (metric - np.eye(4)) - np.einsum("p,pde->de", multipliers, matrices)
    assert np.linalg.eigvalsh(cone).min() >= -1e-5
    assert abs(np.vdot(cone, metric)) <= 1e-5


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(4))
def test_an_independent_solver_gives_the_same(seed: int, solver: Solver) -> None:
    pairs, matrices = problem(seed, 2.0, n_clusters=6, n_columns=5)
    expected = by_plain_dual(matrices)
    solution = nearest(pairs, solver, silent)
    assert 1.0 < np.trace(expected) < 4.9
    assert solution.metric == pytest.approx(expected, abs=1e-6)
    assert solution.bound <= 1e-6


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("multiple", [1.5, 2.0, 3.0, 6.0])
def test_it_is_0_or_its_trace_is_its_square_and_at_least_1(seed: int, multiple: float) -> None:
    solution = nearest(problem(seed, multiple)[0], "dual", silent)
    trace = float(np.trace(solution.metric))
    assert solution.warnings == ()
    assert trace == pytest.approx(np.square(solution.metric).sum(), abs=1e-6)
    assert trace == 0.0 or trace > 1.0 - 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
def test_nothing_but_0_keeps_the_constraints_of_a_large_gamma(solver: Solver) -> None:
    solution = nearest(problem(0, 1e4)[0], solver, silent)
    assert not solution.metric.any()
    assert solution.objective == 4.0
    assert solution.bound == 0.0


@pytest.mark.parametrize("solver", SOLVERS)
def test_nothing_changes_up_to_the_least_separation(solver: Solver) -> None:
    solution = nearest(problem(0, 1.0 - 1e-9)[0], solver, silent)
    assert (solution.metric == np.eye(4)).all()
    assert solution.status == "identity"


def test_a_solver_that_was_stopped_says_how_far_it_is() -> None:
    pairs, _ = problem(1, 2.0)
    best = nearest(pairs, "dual", silent)
    stopped = nearest(pairs, "dual", silent, most_steps=1)
    (warning,) = stopped.warnings
    assert "did not converge" in warning
    assert stopped.objective - stopped.bound <= best.objective


@pytest.mark.needs("cvxpy")
def test_a_cone_solver_that_was_stopped_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(module.OPTIONS, "scs", {"max_iters": 3})
    (warning,) = nearest(problem(1, 2.0)[0], "scs", silent).warnings
    assert "did not converge" in warning


@pytest.mark.needs("cvxpy")
def test_a_solver_without_a_point_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # So loose a tolerance makes it take the problem for infeasible.
    monkeypatch.setitem(module.OPTIONS, "scs", {"eps_infeas": 1e6})
    with pytest.raises(UsageError, match="without a usable metric"):
        nearest(problem(1, 2.0)[0], "scs", silent)

"""The metric nearest to the identity that keeps all constraints, |A - I|^2 least.

A constraint says what the metric owes each two known clusters: means apart, for the clusters'
spread. That of clusters i and j is <A, G> >= 0 with G = (m_i - m_j)(m_i - m_j)' - gamma (C_i +
C_j), from their means m and covariances C.

The constraints <A, G> >= 0 and the cone of semidefinite matrices make a cone, of which A is the
point nearest to I. So <A, A - I> = 0: |A|^2 = tr A, which is at least |A| for a semidefinite A.
Hence A is 0, or its length and its trace are at least 1: a collapse is whole.

Its dual: A = P(I + sum of a_c G_c / 2), P the nearest semidefinite matrix, for the multipliers
a >= 0 that make |A| least. For any a, D - |A|^2 bounds the least |A - I|^2 from below, whatever
solver found it, and an |A| below 1 proves that the optimum is 0.

Source: Gopal, "Large-scale Structured Learning" (2014), §6.5; Boyd and Xiao, "Least-Squares
Covariance Matrix Adjustment" (2005), for the dual.
"""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from models.arrays import Float, Int
from models.errors import UsageError
from models.methods.labelled.supervision.inputs import KnownClusters
from models.methods.labelled.supervision.transformation import on_cone
from models.running.progress import Progress


@dataclass(frozen=True, slots=True)
class Moments:
    """means : (K, D), measured from their mean. covariances : (K, D, D), 0 for a single row."""

    means: Float
    covariances: Float

    @classmethod
    def of(cls, known: KnownClusters) -> Moments:
        """O(N D^2); memory 8 K D^2 bytes."""
        means = known.means
        covariances = np.empty((known.n_clusters, means.shape[1], means.shape[1]))
        for cluster, mean in enumerate(means):
            away = known.points[known.code == cluster] - mean
            covariances[cluster] = away.T @ away / away.shape[0]
        return cls(means - means.mean(axis=0), covariances)

    @property
    def least_separation(self) -> float:
        """The gamma up to which the identity keeps all constraints; infinite without any spread."""
        first, second = np.triu_indices(len(self.means), 1)
        squares = ((self.means[first] - self.means[second]) ** 2).sum(axis=1)
        spread = np.trace(self.covariances, axis1=1, axis2=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = squares / (spread[first] + spread[second])
        ratios = ratios[~np.isnan(ratios)]
        return float(ratios.min()) if ratios.size else np.inf


class PairConstraints:
    """The constraints of all K (K - 1) / 2 pairs, each G divided by its length |G|."""

    def __init__(self, moments: Moments, gamma: float) -> None:
        self._moments, self._gamma = moments, gamma
        self._first, self._second = np.triu_indices(len(moments.means), 1)
        lengths = [
            float(np.linalg.norm(self._matrix(pair), axis=None)) for pair in range(self.size)
        ]
        # Two equal rows, each a cluster, have G = 0, which no metric changes.
        self._scale = 1.0 / np.where(np.array(lengths) > 0.0, lengths, 1.0)

    @property
    def size(self) -> int:
        return self._first.size

    @property
    def n_columns(self) -> int:
        return int(self._moments.means.shape[1])

    def values(self, metric: Float) -> Float:
        """(size,) <A, G> / |G|. O(K D^2 + K^2 D), without a matrix for each pair."""
        means = self._moments.means
        products = means @ metric @ means.T
        spread = np.einsum("kde,de->k", self._moments.covariances, metric)
        own = products.diagonal() - self._gamma * spread
        first, second = self._first, self._second
        return np.asarray((own[first] + own[second] - 2.0 * products[first, second]) * self._scale)

    def combined(self, multipliers: Float) -> Float:
        """(D, D) the sum of multiplier times G / |G|. O(K D^2 + K^2 D)."""
        means = self._moments.means
        weight = np.zeros((len(means), len(means)))
        weight[self._first, self._second] = multipliers * self._scale
        weight += weight.T
        total = weight.sum(axis=1)
        between = means.T @ (np.diag(total) - weight) @ means
        return np.asarray(
            between - self._gamma * np.einsum("k,kde->de", total, self._moments.covariances)
        )

    def matrices(self, pairs: Int) -> Float:
        """(n, D, D) G / |G| of some pairs."""
        return np.array([self._matrix(pair) * self._scale[pair] for pair in pairs.tolist()])

    def _matrix(self, pair: int) -> Float:
        first, second = self._first[pair], self._second[pair]
        apart = self._moments.means[first] - self._moments.means[second]
        covariances = self._moments.covariances
        spread = covariances[first] + covariances[second]
        return np.asarray(np.outer(apart, apart) - self._gamma * spread)


Solver: TypeAlias = Literal["dual", "clarabel", "scs"]

KEPT = 1e-7
"""A constraint counts as kept down to minus this, for G and A of length 1."""

ENOUGH = 1e-4
"""A bound, in shares of the objective, or a violation above this gives a warning."""

MOST_STEPS = 5000
MEMORY = 30
"""The memory of the dual's quasi-Newton steps, in pairs of vectors of multipliers."""

OPTIONS: dict[str, dict[str, float]] = {
    "clarabel": {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11},
    "scs": {"eps": 1e-8, "max_iters": 100_000},
}
"""A is as near as the root of the gap: with Clarabel's own 1e-8 only four digits are sure."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """metric : (D, D) A; 0 where no other keeps the constraints.

    multipliers : of `PairConstraints`' constraints, not negative.
    objective : |A - I|^2. bound : it is at most this above its minimum.
    violation : the most by which <A, G> / |G| |A| is below 0.
    """

    metric: Float
    multipliers: Float
    objective: float
    bound: float
    violation: float
    status: str

    @property
    def warnings(self) -> tuple[str, ...]:
        if self.bound <= ENOUGH * max(self.objective, 1.0) and self.violation <= ENOUGH:
            return ()
        return (
            f"The solver did not converge (status {self.status!r}): the squared distance from the "
            f"identity {self.objective:.6g} may be {self.bound:.2g} above its least, and a "
            f"constraint is violated by {self.violation:.2g} of its size.",
        )


def nearest(
    pairs: PairConstraints, solver: Solver, progress: Progress, most_steps: int = MOST_STEPS
) -> Nearest:
    """The nearest metric by one of the solvers.

    most_steps : of 'dual'.

    'dual' : limited-memory quasi-Newton steps, O(D^3 + K D^2 + K^2 D) each, tens to hundreds.
    'clarabel' : an interior-point method, some 15 steps of O(D^6). 'scs' : operator splitting,
    hundreds of steps of O(D^3 + P D^2) for P constraints. Both hold the constraints that matter,
    8 P D^2 bytes several times over, and 'clarabel' some 16 D^4 bytes more.

    Raises UsageError where a solver gives no point.
    """
    identity = np.eye(pairs.n_columns)
    if pairs.values(identity).min() >= 0.0:
        return _result(pairs, identity, np.zeros(pairs.size), "identity")
    if solver == "dual":
        return _by_dual(pairs, progress, most_steps)
    return _by_cone(pairs, solver, progress)


def _by_dual(pairs: PairConstraints, progress: Progress, most_steps: int) -> Nearest:
    from scipy.optimize import OptimizeResult, minimize

    identity = np.eye(pairs.n_columns)

    def length(multipliers: Float) -> tuple[float, Float]:
        metric, squares = on_cone(identity + 0.5 * pairs.combined(multipliers))
        return squares, pairs.values(metric)

    step = 0

    def after_step(intermediate_result: OptimizeResult) -> None:
        nonlocal step
        step += 1
        squares = float(intermediate_result.fun)
        progress(1.0 - 1.0 / (1.0 + 0.02 * step), "learning", f"squared length {squares:.6g}")
        if squares < 1.0:
            # The optimum is 0.
            raise StopIteration

    best = minimize(
        length,
        np.zeros(pairs.size),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * pairs.size,
        callback=after_step,
        options={
            "maxiter": most_steps,
            "maxfun": 2 * most_steps,
            "maxcor": MEMORY,
            "ftol": 0.0,
            "gtol": KEPT,
        },
    )
    metric, _ = on_cone(identity + 0.5 * pairs.combined(best.x))
    return _result(pairs, metric, best.x, str(best.message))


def _by_cone(pairs: PairConstraints, solver: Solver, progress: Progress) -> Nearest:
    """Solves with the constraints that were violated so far, until none is: the others are not
    active."""
    metric = np.eye(pairs.n_columns)
    multipliers = np.zeros(pairs.size)
    held = np.zeros(pairs.size, dtype=np.bool_)
    status = ""
    for turn in range(pairs.size + 1):
        violated = pairs.values(metric) < -KEPT * np.linalg.norm(metric)
        if not (violated & ~held).any():
            break
        held |= violated
        progress(1.0 - 1.0 / (1.0 + turn), "learning", f"{int(held.sum())} constraints")
        some = np.flatnonzero(held)
        metric, multipliers[some], status = _solved(pairs, some, solver)
    return _result(pairs, metric, multipliers, status)


def _solved(pairs: PairConstraints, some: Int, solver: Solver) -> tuple[Float, Float, str]:
    """The metric, the constraints' multipliers and the solver's status."""
    import cvxpy as cp

    n_columns = pairs.n_columns
    metric = cp.Variable((n_columns, n_columns), symmetric=True)
    rows = pairs.matrices(some).reshape(some.size, -1)
    kept = rows @ cp.vec(metric, order="F") >= 0
    away = cp.sum_squares(metric - np.eye(n_columns))
    problem = cp.Problem(cp.Minimize(away), [kept, metric >> 0])
    # It reports an inaccurate solution by `warnings`; here `Nearest.warnings` says how far it is.
    with contextlib.suppress(cp.error.SolverError), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        problem.solve(solver=solver.upper(), **OPTIONS[solver])
    status = str(problem.status)
    if metric.value is None or kept.dual_value is None or not np.isfinite(metric.value).all():
        raise UsageError(
            f"The solver {solver!r} ended with status {status!r} and without a usable metric; use "
            "another 'solver', a smaller 'gamma', or fewer columns ('n_components').",
            code="wrong-parameter",
            parameter="solver",
        )
    on, _ = on_cone(0.5 * (metric.value + metric.value.T))
    return on, np.maximum(kept.dual_value, 0.0), status


def _result(pairs: PairConstraints, metric: Float, multipliers: Float, status: str) -> Nearest:
    n_columns = pairs.n_columns
    _, least = on_cone(np.eye(n_columns) + 0.5 * pairs.combined(multipliers))
    if least < 1.0:
        metric = np.zeros_like(metric)
        least = 0.0
    length = float(np.linalg.norm(metric))
    objective = float(np.linalg.norm(metric - np.eye(n_columns)) ** 2)
    violation = -float(pairs.values(metric).min()) / length if length else 0.0
    return Nearest(
        metric,
        multipliers,
        objective,
        max(0.0, objective - (n_columns - least)),
        max(0.0, violation),
        status,
    )

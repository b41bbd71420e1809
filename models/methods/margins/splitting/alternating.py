"""Clusters and weights in alternation, until neither lowers the objective: one start of a split.

For fixed clusters the weights solve a convex problem (`splitting.loops`); for fixed weights
the clusters are a minimum-cost flow (`models.numerics.transport`). The objective of
`splitting.objective` falls at each half-step, and the number of clusterings is finite, so the
alternation ends where neither half-step can lower it (Zhou et al., "Hierarchical Maximum-Margin
Clustering", 2015, section 4.2). A half-step that raises the objective is a bug and fails an
assertion.

Deviation: the paper solves for the weights exactly in each half-step. Here they take only one step
at a time at first: clusters hardly change once the weights are optimal for them, so an alternation
of exact half-steps ends near its start, at twice the objective or more where alpha is small. Once
the clusters are stable, Newton steps solve the problem exactly. `exact` alternates as the paper
does: from a start in the gap of one feature or direction this ends lower, since single steps lose
the gap.

Cost: O(N K P) for each step on the weights and, for their curvature, O(m P^2 K) of up to m = 20 P
points; O(N log N) to O(N K log N) for each flow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float, Int
from models.methods.margins.splitting import objective
from models.methods.margins.splitting.objective import Ancestors, Regularizer
from models.methods.margins.splitting.tasks import Tick
from models.numerics.descent import Penalty
from models.numerics.transport import TransportPlan, transport_plan

ROOM = 1 << 23
"""Most values in curvature matrices: one matrix for each pair of clusters, else one or none."""

LOOSE = 1e-2
"""Residual, relative to that at zero weights, down to which the weights take single steps."""

ROWS = 20
"""Number of points per column from which the curvature is computed."""

TINY = 1e-300

STILL = 20
"""Single steps without a change of the clusters after which Newton steps begin."""

NOTHING = 1e-3
"""Decrease of the objective, relative to `tol`, that counts as none; it starts below 1."""

STEPS = 20
"""Newton steps on the weights between two updates of the clusters."""

SLACK = 1e-9
"""Change of the objective that is due to rounding; the objective starts at (K - 1) / K."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The requirements on every split.

    least, most : bounds on the size of a cluster, relative to equal sizes.
    intercept : whether scores have an intercept. max_iter, tol : when an alternation ends.
    """

    n_clusters: int
    regularizer: Regularizer
    least: float
    most: float
    intercept: bool
    max_iter: int
    tol: float


@dataclass(frozen=True, slots=True)
class Problem:
    """The points of a node in the form that the loops take.

    points : (n, Q) rows minus `origin`, with a last column of ones where there is an intercept.
    penalty : of the Q columns.
    """

    points: Float
    origin: Float
    penalty: Penalty
    low: int
    high: int
    terms: Terms

    @classmethod
    def of(cls, rows: Array, terms: Terms, above: Ancestors) -> Problem:
        n_points, n_features = rows.shape
        penalty = terms.regularizer.penalty(terms.n_clusters, above)
        origin = np.zeros(n_features)
        points = np.empty((n_points, n_features + terms.intercept))
        points[:, :n_features] = rows
        if terms.intercept:
            # For centred features, features and intercept do not compete for one direction.
            origin = points[:, :n_features].mean(axis=0)
            points[:, :n_features] -= origin
            points[:, -1] = 1.0
            penalty = Penalty(
                *(np.append(part, 0.0) for part in (penalty.l1, penalty.l2, penalty.ridge))
            )
        low, high = objective.bounds(n_points, terms.n_clusters, terms.least, terms.most)
        return cls(points, origin, penalty, low, high, terms)

    def of_rows(self, rows: Int) -> Problem:
        """The same problem for some of the points."""
        terms = self.terms
        low, high = objective.bounds(rows.size, terms.n_clusters, terms.least, terms.most)
        return Problem(self.points[rows], self.origin, self.penalty, low, high, terms)

    def plain(self, weights: Float) -> tuple[Float, Float]:
        """Weights (K, P) and intercepts (K,) for the original rows."""
        if not self.terms.intercept:
            return weights.copy(), np.zeros(len(weights))
        own = weights[:, :-1].copy()
        return own, weights[:, -1] - own @ self.origin


@dataclass(frozen=True, slots=True)
class Alternation:
    """The result of an alternation.

    cluster : (n,). weights : (K, Q). price : (K,) prices of the flow. scores : (K, n).
    trace : the objective at the start and after each half-step.
    residual : length of the least subgradient of the objective in the weights, relative to the
        length of the gradient at zero weights.
    ended : whether no point changes its cluster and the residual is at most `tol`, or new weights
        lower the objective by at most `NOTHING`.
    """

    cluster: Int
    weights: Float
    price: Float
    scores: Float
    trace: tuple[float, ...]
    residual: float
    ended: bool

    @property
    def objective(self) -> float:
        return self.trace[-1]


class Weights:
    """The weights of a problem and the state that the loops keep for them."""

    def __init__(self, problem: Problem, value: Float | None = None) -> None:
        n_points, n_columns = problem.points.shape
        k = problem.terms.n_clusters
        self._problem = problem
        self.value = np.zeros((k, n_columns)) if value is None else value
        self.scores = np.zeros((k, n_points))
        self._cost = np.empty((k, n_points))
        self._gradient = np.empty((k, n_columns))
        n_pairs, room = k * (k - 1) // 2, ROOM // n_columns**2
        self._metric = np.empty(
            (n_pairs if n_pairs <= room else min(1, room), n_columns, n_columns)
        )
        self._bound = _largest_curvature(problem.points)
        self._t, self._fresh = 1.0, 0
        self._plain_t = 1.0

    def hinge(self, cluster: Int) -> float:
        """The mean squared hinge; updates scores and gradient."""
        from models.methods.margins.splitting import loops

        return float(
            loops.hinge(self._problem.points, cluster, self.value, self.scores, self._gradient)
        )

    def slope(self) -> float:
        """The length of the gradient."""
        return float(np.linalg.norm(self._gradient))

    def step(self, cluster: Int) -> tuple[float, float]:
        """The objective and the residual after one plain proximal step."""
        none = np.empty((0, 0, 0))
        value, residual, self._plain_t, _ = self._descend(cluster, 0.0, 1, none, self._plain_t, 0)
        return value, residual

    def descend(self, cluster: Int, goal: float, most: int) -> tuple[float, float]:
        """The objective and the residual after up to `most` Newton steps, until `goal`."""
        value, residual, self._t, self._fresh = self._descend(
            cluster, goal, most, self._metric, self._t, self._fresh
        )
        return value, residual

    def _descend(
        self, cluster: Int, goal: float, most: int, metric: Float, t: float, fresh: int
    ) -> tuple[float, float, float, int]:
        from models.methods.margins.splitting.loops import descend

        penalty, points = self._problem.penalty, self._problem.points
        loss = self.hinge(cluster)
        loss, regular, residual, t, fresh = descend(
            points, cluster, self.value, self.scores, self._gradient, loss,
            metric, self._bound, ROWS * points.shape[1], t, fresh,
            penalty.l1, penalty.l2, penalty.ridge, goal, most,
        )  # fmt: skip
        return loss + regular, residual, t, fresh

    def plan(self, price: Float | None) -> TransportPlan:
        """The cheapest clusters for the scores. price : of an earlier flow, as a warm start."""
        from models.methods.margins.splitting import loops

        loops.costs(self.scores, self._cost)
        return transport_plan(self._cost, self._problem.low, self._problem.high, price)

    def cost_of(self, cluster: Int) -> float:
        """The cost of clusters, once `plan` has been called."""
        return float(self._cost[cluster, np.arange(cluster.size)].sum())


def alternate(
    problem: Problem, cluster: Int, tick: Tick, begin: Float | None = None, exact: bool = False
) -> Alternation:
    """The result of alternating from given clusters.

    cluster : (n,) clusters within the bounds on sizes. begin : (K, Q) weights, 0 if None.
    tick : called between steps. exact : Newton steps from the first half-step on.
    """
    terms = problem.terms
    weights = Weights(problem)
    trace = [weights.hinge(cluster)]
    scale = max(weights.slope(), TINY)
    if begin is not None:
        weights.value[:] = begin
        trace = [weights.hinge(cluster) + problem.penalty.of(begin)]
    price, residual, ended, by_step, n_still = None, np.inf, False, not exact, 0
    for _ in range(terms.max_iter):
        tick()
        before = trace[-1]
        if by_step:
            value, residual = weights.step(cluster)
        else:
            value, residual = weights.descend(cluster, terms.tol * scale, STEPS)
        _append(trace, value)
        plan = weights.plan(price)
        price = plan.price
        gain = (weights.cost_of(cluster) - plan.cost) / (cluster.size * terms.n_clusters)
        if gain > SLACK:
            cluster, n_still = plan.cluster, 0
            _append(trace, value - gain)
            continue
        n_still += 1
        if residual <= terms.tol * scale or not (by_step or before - value > NOTHING * terms.tol):
            # Clusters of nearly equal cost: take those that the prices select.
            cluster, ended = plan.cluster, True
            _append(trace, value - gain)
            break
        if residual <= LOOSE * scale or n_still == STILL:
            by_step = False
    assert price is not None
    return Alternation(
        cluster, weights.value, price, weights.scores, tuple(trace), residual / scale, ended
    )


def shared_out(problem: Problem, value: Float) -> Alternation:
    """All points assigned to the best clusters for given weights (K, Q)."""
    weights = Weights(problem, value)
    weights.scores[:] = value @ problem.points.T
    plan = weights.plan(None)
    loss = plan.cost / (plan.cluster.size * problem.terms.n_clusters)
    trace = (loss + problem.penalty.of(value),)
    return Alternation(plan.cluster, value, plan.price, weights.scores, trace, np.inf, False)


def _append(trace: list[float], value: float) -> None:
    assert value <= trace[-1] + SLACK, f"the objective rose: {trace[-1]} {value}"
    trace.append(min(value, trace[-1]))


def _largest_curvature(points: Float) -> float:
    """About the largest eigenvalue of 2 X'X / N, by the power method from its diagonal."""
    direction = np.sqrt((points * points).sum(axis=0))
    for _ in range(10):
        direction /= max(float(np.linalg.norm(direction)), 1e-300)
        direction = points.T @ (points @ direction)
    return 2.0 * float(np.linalg.norm(direction)) / len(points)

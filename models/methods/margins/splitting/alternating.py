"""Clusters and weights in turn, until neither lowers the objective: one split from one start.

With the clusters held the weights have a convex problem, solved by `splitting.loops.descent`; with
the weights held the clusters are a minimum-cost flow (`models.numerics.transport`). The objective
of `splitting.objective` falls at each half-step, and there are finitely many clusterings, so this
ends where neither step can lower it (Zhou et al., "Hierarchical Maximum-Margin Clustering", 2015,
section 4.2). A half-step that raised it would be a mistake of the code: it is asserted.

The weights begin with one step at a time: against the best weights for what they are, clusters
hardly change any more, so an alternation of exact half-steps ends near its start, at twice the
objective and more where alpha is small. Once the clusters stay, Newton steps end it exactly.

Cost: O(N K P) for each step on the weights and, for their curvature, O(m P^2 K) of up to m = 20 P
points; O(N log N) to O(N K log N) for each flow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float, Int
from models.methods.margins.splitting import objective
from models.methods.margins.splitting.objective import Above, Regularizer
from models.methods.margins.splitting.tasks import Tick
from models.numerics.proximal import Penalty
from models.numerics.transport import Shares, share_out

ROOM = 1 << 23
"""Most values of matrices of curvature: one for each pair of clusters, else one, else none."""

LOOSE = 1e-2
"""Residual, as a share of that at zero weights, down to which the weights go step by step."""

ROWS = 20
"""Points for each column that the curvature is taken from."""

TINY = 1e-300

STILL = 20
"""Such steps without a change of the clusters, after which the weights are made exact as well."""

NOTHING = 1e-3
"""Fall of the objective by Newton steps, as a share of `tol`, that is none: it begins below 1."""

STEPS = 20
"""Newton steps on the weights before the clusters are looked at again."""

SLACK = 1e-9
"""Change of the objective that is rounding: it begins at (K - 1) / K."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What is asked of every split.

    least, most : bounds of a cluster's size, in shares of an even one.
    intercept : whether scores have one. max_iter, tol : when an alternation ends.
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
    """The points of a node as the loops take them.

    points : (n, Q) rows, moved by `-origin` and with a last column of ones where there is an
    intercept. penalty : of Q columns.
    """

    points: Float
    origin: Float
    penalty: Penalty
    low: int
    high: int
    terms: Terms

    @classmethod
    def of(cls, rows: Array, terms: Terms, above: Above) -> Problem:
        n_points, n_features = rows.shape
        penalty = terms.regularizer.penalty(terms.n_clusters, above)
        origin = np.zeros(n_features)
        points = np.empty((n_points, n_features + terms.intercept))
        points[:, :n_features] = rows
        if terms.intercept:
            # About their mean, features and intercept do not compete for the same direction.
            origin = points[:, :n_features].mean(axis=0)
            points[:, :n_features] -= origin
            points[:, -1] = 1.0
            penalty = Penalty(
                *(np.append(part, 0.0) for part in (penalty.l1, penalty.l2, penalty.ridge))
            )
        low, high = objective.bounds(n_points, terms.n_clusters, terms.least, terms.most)
        return cls(points, origin, penalty, low, high, terms)

    def of_rows(self, rows: Int) -> Problem:
        """The same for some of the points."""
        terms = self.terms
        low, high = objective.bounds(rows.size, terms.n_clusters, terms.least, terms.most)
        return Problem(self.points[rows], self.origin, self.penalty, low, high, terms)

    def plain(self, weights: Float) -> tuple[Float, Float]:
        """Weights (K, P) and intercepts (K,) for the rows as they were."""
        if not self.terms.intercept:
            return weights.copy(), np.zeros(len(weights))
        own = weights[:, :-1].copy()
        return own, weights[:, -1] - own @ self.origin


@dataclass(frozen=True, slots=True)
class Found:
    """Where an alternation ended.

    cluster : (n,). weights : (K, Q). price : (K,) of the flow. scores : (K, n).
    trace : the objective at the start and after each half-step.
    residual : length of the objective's least subgradient in the weights, as a share of the
        gradient's length at zero weights.
    ended : whether no point changes its cluster and the residual is at most `tol`, or the weights
        lower the objective by no more than `NOTHING`.
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
    """Weights of a problem and what the loops keep of them."""

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
        """The mean squared hinge; fills scores and gradient."""
        from models.methods.margins.splitting.loops import objective as kernels

        return float(
            kernels.hinge(self._problem.points, cluster, self.value, self.scores, self._gradient)
        )

    def slope(self) -> float:
        """Length of the gradient."""
        return float(np.linalg.norm(self._gradient))

    def step(self, cluster: Int) -> tuple[float, float]:
        """One plain proximal step; the objective and the residual."""
        none = np.empty((0, 0, 0))
        value, residual, self._plain_t, _ = self._descend(cluster, 0.0, 1, none, self._plain_t, 0)
        return value, residual

    def descend(self, cluster: Int, goal: float, most: int) -> tuple[float, float]:
        """Up to `most` Newton steps down to the residual `goal`; the objective and the residual."""
        value, residual, self._t, self._fresh = self._descend(
            cluster, goal, most, self._metric, self._t, self._fresh
        )
        return value, residual

    def _descend(
        self, cluster: Int, goal: float, most: int, metric: Float, t: float, fresh: int
    ) -> tuple[float, float, float, int]:
        from models.methods.margins.splitting.loops.descent import descend

        penalty, points = self._problem.penalty, self._problem.points
        loss = self.hinge(cluster)
        loss, regular, residual, t, fresh = descend(
            points, cluster, self.value, self.scores, self._gradient, loss,
            metric, self._bound, ROWS * points.shape[1], t, fresh,
            penalty.l1, penalty.l2, penalty.ridge, goal, most,
        )  # fmt: skip
        return loss + regular, residual, t, fresh

    def shares(self, price: Float | None) -> Shares:
        """The cheapest clusters by the scores. price : of an earlier flow, to start from."""
        from models.methods.margins.splitting.loops import objective as kernels

        kernels.costs(self.scores, self._cost)
        return share_out(self._cost, self._problem.low, self._problem.high, price)

    def cost_of(self, cluster: Int) -> float:
        """What clusters cost, after `shares`."""
        return float(self._cost[cluster, np.arange(cluster.size)].sum())


def alternate(problem: Problem, cluster: Int, tick: Tick, begin: Float | None = None) -> Found:
    """From clusters to the end, both steps in turn.

    cluster : (n,) as many points in each as the bounds say. begin : (K, Q) weights, 0 if None.
    tick : called between steps.
    """
    terms = problem.terms
    weights = Weights(problem)
    trace = [weights.hinge(cluster)]
    scale = max(weights.slope(), TINY)
    if begin is not None:
        weights.value[:] = begin
        trace = [weights.hinge(cluster) + problem.penalty.of(begin)]
    price, left, ended, by_step, n_still = None, np.inf, False, True, 0
    for _ in range(terms.max_iter):
        tick()
        before = trace[-1]
        if by_step:
            value, left = weights.step(cluster)
        else:
            value, left = weights.descend(cluster, terms.tol * scale, STEPS)
        _append(trace, value)
        shares = weights.shares(price)
        price = shares.price
        gain = (weights.cost_of(cluster) - shares.cost) / (cluster.size * terms.n_clusters)
        if gain > SLACK:
            cluster, n_still = shares.cluster, 0
            _append(trace, value - gain)
            continue
        n_still += 1
        if left <= terms.tol * scale or not (by_step or before - value > NOTHING * terms.tol):
            # Clusters of all but equal cost: those that the prices say.
            cluster, ended = shares.cluster, True
            _append(trace, value - gain)
            break
        if left <= LOOSE * scale or n_still == STILL:
            by_step = False
    assert price is not None
    return Found(cluster, weights.value, price, weights.scores, tuple(trace), left / scale, ended)


def shared_out(problem: Problem, value: Float) -> Found:
    """All points in the clusters that are best for given weights (K, Q)."""
    weights = Weights(problem, value)
    weights.scores[:] = value @ problem.points.T
    shares = weights.shares(None)
    loss = shares.cost / (shares.cluster.size * problem.terms.n_clusters)
    trace = (loss + problem.penalty.of(value),)
    return Found(shares.cluster, value, shares.price, weights.scores, trace, np.inf, False)


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

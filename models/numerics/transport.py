"""Points assigned to clusters of bounded size at the least total cost: a minimum-cost flow.

A unit flows from each point to one cluster at its cost, and `low` to `high` units leave each
cluster (Zhou et al., "Hierarchical Maximum-Margin Clustering", 2015, eq. 6 and figure 1; contrary
to the paper it is not NP-hard). The optimum is exact, to the integer.

Two clusters are solved by ordering the differences of costs, O(N). With more, each point starts in
its cheapest cluster under some prices, and points move along shortest paths between clusters until
no move lowers the cost; the least cost as a function of the sizes is M-convex, so if no step is
better, no assignment is (Murota, "Discrete Convex Analysis", 2003). The number of steps is the
number of points in excess. O(N K log N) to start and O(K^2 + K log N) a step.

The flow comes with prices: each point is assigned where cost + price is least, and a price is
positive only for a full cluster and negative only for one at its lower bound. So new points can be
placed by the same rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int
from models.errors import UsageError


@dataclass(frozen=True, slots=True)
class TransportPlan:
    """An optimal assignment.

    cluster : (n_points,). price : (n_clusters,). cost : the total.
    """

    cluster: Int
    price: Float
    cost: float


def transport_plan(cost: Float, low: int, high: int, price: Float | None = None) -> TransportPlan:
    """The cheapest assignment with `low` to `high` points in each cluster.

    cost : (n_clusters, n_points), finite. price : that of an earlier assignment, to start from.
    Raises UsageError if no assignment meets the bounds.
    """
    n_clusters, n_points = cost.shape
    require_room(n_points, n_clusters, low, high)
    if n_clusters == 1:
        return TransportPlan(np.zeros(n_points, dtype=np.int64), np.zeros(1), float(cost.sum()))
    if n_clusters == 2:
        return _between_two(cost, low, high)
    from models.numerics.loops.transport import exchange

    begin = np.zeros(n_clusters) if price is None else price.astype(np.float64)
    cluster, prices = exchange(np.ascontiguousarray(cost, dtype=np.float64), low, high, begin)
    return TransportPlan(cluster, prices, float(cost[cluster, np.arange(n_points)].sum()))


def require_room(n_points: int, n_clusters: int, low: int, high: int) -> None:
    """Raises UsageError unless clusters of `low` to `high` points can hold all points."""
    if not (0 <= low <= high and n_clusters * low <= n_points <= n_clusters * high):
        raise UsageError(
            f"{n_points} points cannot be shared out among {n_clusters} clusters of {low} to "
            f"{high} points each.",
            code="wrong-parameter",
        )


def _between_two(cost: Float, low: int, high: int) -> TransportPlan:
    """Cluster 0 takes all points that gain by it, as far as the bounds allow, largest gains
    first."""
    n_points = cost.shape[1]
    dearer = cost[0] - cost[1]
    fewest, most = max(low, n_points - high), min(high, n_points - low)
    first = dearer < 0
    n_first = min(max(int(first.sum()), fewest), most)
    if n_first != first.sum():
        first[:] = False
        first[np.argpartition(dearer, n_first)[:n_first] if n_first < n_points else ...] = True
    cluster = np.where(first, 0, 1)
    below, above = dearer[first].max(initial=-np.inf), dearer[~first].min(initial=np.inf)
    border = 0.0
    if not below <= 0 <= above:
        known = [bound for bound in (below, above) if np.isfinite(bound)]
        border = float(sum(known) / len(known))
    price = np.zeros(2)
    if border > 0:
        price[:] = (0.0, border) if n_points - n_first == high else (-border, 0.0)
    elif border < 0:
        price[:] = (-border, 0.0) if n_first == high else (0.0, border)
    return TransportPlan(cluster, price, float(np.where(first, cost[0], cost[1]).sum()))

"""Answers of least expected cost: a price for a wrong answer, for breadth, and for none.

An answer that does not hold the class costs `wrong`; one that does costs `level` for each edge down
to the class; no answer costs `abstain`. By the probabilities of a row the expected cost of every
node is known, and the cheapest one, or none, is the answer: Chow, "On optimum recognition error and
reject tradeoff" (IEEE Transactions on Information Theory 16(1), 1970), with the nodes of a tree as
answers. It is the cheapest of all rules where the probabilities are right.

Whether they are or not, the rule is fixed before it sees the rows that set thresholds, so that the
mean of their costs is unbiased, and `cost_bound` is above the true mean with a probability of 95 %
for any distribution (the empirical Bernstein bound: Maurer and Pontil, COLT 2009, theorem 4).
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from pydantic import Field

from models.arrays import Float, Int
from models.calibration.climbing import TreeProbabilities
from models.parameters import Exact

CONFIDENCE = 0.95


class Prices(Exact):
    """What answers cost."""

    wrong: float = Field(1.0, ge=0, le=1e9, description="An answer without the class.")
    level: float = Field(0.1, ge=0, le=1e9, description="Each edge from it down to the class.")
    abstain: float = Field(0.5, ge=0, le=1e9, description="No answer.")

    def most(self, deepest: int) -> float:
        """The largest cost of a row in a tree of that depth."""
        return max(self.wrong, self.level * deepest, self.abstain)


def cheapest(rows: TreeProbabilities, prices: Prices) -> Int:
    """(n,) the node of least expected cost, of equal ones the highest; -1 where none is cheaper.

    O(n n_nodes) time and memory.
    """
    classes = rows.classes
    depth = classes.tree.depth.astype(np.float64)
    own = np.diff(rows.total, axis=1)
    deep = np.zeros_like(rows.total)
    np.cumsum(own * depth[classes.node[classes.order]], axis=1, out=deep[:, 1:])
    start, end = classes.start, classes.end
    mass = rows.total[:, end] - rows.total[:, start]
    cost = prices.wrong * (rows.total[:, -1:] - mass)
    cost += prices.level * (deep[:, end] - deep[:, start] - depth * mass)
    cost[:, classes.n_under == 0] = np.inf
    best = np.lexsort((np.arange(depth.size), depth))
    node = best[cost[:, best].argmin(axis=1)].astype(np.int64)
    least = cost[np.arange(rows.n_rows), node]
    return np.where(least < prices.abstain, node, -1)


def costs(rows: TreeProbabilities, node: Int, label: Int, prices: Prices) -> Float:
    """(n,) what answers cost. node : (n,) as of `cheapest`. label : (n,) classes. O(n)."""
    classes = rows.classes
    place = np.empty(classes.n_classes, dtype=np.int64)
    place[classes.order] = np.arange(classes.n_classes)
    at = np.maximum(node, 0)
    held = (place[label] >= classes.start[at]) & (place[label] < classes.end[at])
    edges = classes.tree.depth[classes.node[label]] - classes.tree.depth[at]
    cost = np.where(held, prices.level * edges, prices.wrong)
    return np.asarray(np.where(node < 0, prices.abstain, cost), dtype=np.float64)


def cost_bound(cost: Float, most: float) -> float:
    """What the mean is at most, with a probability of `CONFIDENCE`.

    cost : (n,) of rows drawn alike, from 0 to `most`, which is the bound of fewer than two rows.
    """
    n = cost.size
    if n < 2:
        return most
    room = log(2 / (1 - CONFIDENCE))
    bound = cost.mean() + sqrt(2 * float(cost.var(ddof=1)) * room / n)
    return min(most, float(bound + 7 * most * room / (3 * (n - 1))))

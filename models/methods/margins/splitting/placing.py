"""New points placed in a tree of splits, by the rule that placed the fitted ones.

At a split a point goes to the cluster with the least cost + price: its cost in each cluster as in
eq. 6 of Zhou et al., "Hierarchical Maximum-Margin Clustering" (2015), and the prices of the flow, 0
where the bounds on sizes did not bind. With two clusters this is a threshold on the margin
w_1.x - w_0.x.

Probabilities are softmax(-(cost + price) / K). For two clusters, within the margins, this is the
logistic function of twice the margin minus its threshold, which at the boundary is as steep as the
link function of the squared hinge loss, (1 + f) / 2 (Bartlett, Jordan and McAuliffe, "Convexity,
Classification, and Risk Bounds", 2006).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float, Int, row_blocks
from models.method import Model
from models.numerics.rows import log_softmax
from models.tree.tree import Tree
from models.tree.walk import paths


@dataclass(frozen=True, slots=True)
class PlacementRule:
    """One split: weights (K, P), intercept and price (K,)."""

    weights: Float
    intercept: Float
    price: Float

    def reduced(self, points: Array) -> tuple[Float, Float]:
        """(n, K) cost + price, and (n, K) scores."""
        scores = points @ self.weights.T + self.intercept
        k = len(self.price)
        cost = np.zeros_like(scores)
        for y in range(k):
            for other in range(k):
                if other != y:
                    lack = np.maximum(1.0 - scores[:, y] + scores[:, other], 0.0)
                    cost[:, y] += lack * lack
        return cost + self.price, scores

    def place(self, points: Array) -> tuple[Int, Float, Float]:
        """(n,) clusters, (n, K) log probabilities, and (n,) margins: the score of a point in its
        cluster minus its best score in another."""
        n_points, k = len(points), len(self.price)
        cluster = np.empty(n_points, dtype=np.int64)
        log = np.empty((n_points, k))
        margin = np.empty(n_points)
        for block in row_blocks(n_points, max(points.shape[1], 4 * k), 1 << 18):
            reduced, scores = self.reduced(points[block].astype(np.float64))
            near = cluster[block] = reduced.argmin(axis=1)
            log[block] = log_softmax(reduced / -k)
            row = np.arange(near.size)
            own = scores[row, near]
            scores[row, near] = -np.inf
            margin[block] = own - scores.max(axis=1)
        return cluster, log, margin


@dataclass(frozen=True, slots=True)
class Placed:
    """As `models.method.Predictions`, with the margin of the step to each node, NaN at the root.

    leaf : (n,). start : (n + 1,). node, probability, margin : (start[-1],).
    """

    leaf: Int
    start: Int
    node: Int
    probability: Float
    margin: Float

    @property
    def smallest(self) -> Float:
        """(n,) the smallest margin on each path."""
        if not self.leaf.size:
            return np.empty(0)
        # The root has no margin.
        least: Float = np.fmin.reduceat(self.margin, self.start[:-1])
        return least


def place(model: Model, tree: Tree, points: Array) -> Placed:
    """The points' leaves, paths, probabilities and margins. O(N K P) for each level."""
    split_of_node = model.arrays["split_of_node"]
    first, child = tree.children
    leaf = np.zeros(len(points), dtype=np.int64)
    step_into: dict[int, tuple[Int, Float, Float]] = {}
    at: dict[int, Int] = {0: np.arange(len(points))}
    for node in range(tree.n_nodes):
        rows = at.pop(node, None)
        if rows is None or not rows.size:
            continue
        number = int(split_of_node[node])
        if number < 0:
            leaf[rows] = node
            continue
        rule = PlacementRule(
            *(model.arrays[name][number] for name in ("weights", "intercept", "price"))
        )
        cluster, log, margin = rule.place(points[rows])
        for k, below_node in enumerate(child[first[node] : first[node + 1]].tolist()):
            here = cluster == k
            at[below_node] = rows[here]
            step_into[below_node] = at[below_node], log[here, k], margin[here]
    start, node_on_path = paths(tree, leaf)
    step, margins = np.zeros(node_on_path.size), np.full(node_on_path.size, np.nan)
    for node, (rows, logs, gaps) in step_into.items():
        place_of = start[rows] + tree.depth[node]
        step[place_of], margins[place_of] = logs, gaps
    total = np.cumsum(step)
    total -= np.repeat(total[start[:-1]] - step[start[:-1]], np.diff(start))
    probability = np.maximum(np.exp(np.minimum(total, 0.0)), np.finfo(np.float64).tiny)
    return Placed(leaf, start, node_on_path, probability, margins)

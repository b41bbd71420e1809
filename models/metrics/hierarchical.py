"""Metrics of a whole tree against true classes: dendrogram purity, leaf purity, LHD.

Everything is counted per (class, leaf) cell, so points in the same leaf cost nothing extra, and
no step depends on the depth of the tree or holds nodes x classes numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from models.arrays import Int
from models.metrics import flat
from models.metrics.estimate import Estimate, mean_of
from models.metrics.inputs import Classes
from models.metrics.lca_order import LeafOrder
from models.metrics.loops import trees
from models.tree.tree import Tree
from models.tree.walk import contract_unary

EXACT_STEPS = 4_000_000_000
"""LHD is exact if that takes up to about this many steps, a few seconds."""
SAMPLED_PAIRS = 1_000_000
"""The number of pairs drawn to estimate a metric."""
NO_POINT = "The tree has no points, so leaf purity is undefined."
NO_PAIR = "No two points have the same label, so dendrogram purity is undefined."


@dataclass(frozen=True)
class ClassLeafCounts:
    """Points counted by class and leaf, sorted by class, then by the leaf's place in the tree.

    class_, place, count : (n_cells,) `count` >= 1.
    before : (n_cells + 1,) points in all earlier cells.
    class_start : (n_classes + 1,) first cell of each class.
    """

    class_: Int
    place: Int
    count: Int
    before: Int
    class_start: Int

    @classmethod
    def of(cls, tree: Tree, classes: Classes, leaves: LeafOrder) -> ClassLeafCounts:
        """O(n_points log n_points)."""
        table = flat.contingency(
            classes.code, leaves.start[tree.leaf_of_point], classes.n_classes, tree.n_leaves
        )
        before = np.zeros(table.count.shape[0] + 1, dtype=np.int64)
        np.cumsum(table.count, out=before[1:])
        start = np.searchsorted(table.cluster, np.arange(classes.n_classes + 1))
        return cls(table.cluster, table.class_, table.count, before, start)

    @property
    def class_before(self) -> Int:
        """(n_classes + 1,) points in all earlier classes."""
        return self.before[self.class_start]

    @property
    def class_size(self) -> Int:
        """(n_classes,) points of each class."""
        return np.diff(self.class_before)

    def range_under(self, node: Int, class_: Int, leaves: LeafOrder) -> tuple[Int, Int]:
        """For pairs of a node and a class, the range of that class's cells under the node."""
        n_leaves = leaves.leaf.shape[0]
        key = self.class_ * n_leaves + self.place
        first = class_ * n_leaves
        return (
            np.searchsorted(key, first + leaves.start[node]),
            np.searchsorted(key, first + leaves.end[node]),
        )

    def meets(self, leaves: LeafOrder) -> Int:
        """(n_cells,) lowest node over each cell and the next of its class; -1 for the last one.

        O(n_cells + n_leaves log n_leaves).
        """
        meet = np.full(self.place.shape[0], -1, dtype=np.int64)
        left = np.flatnonzero(self.class_[1:] == self.class_[:-1])
        meet[left] = leaves.topmost(self.place[left], self.place[left + 1])
        return meet

    def draw(self, n: int, rng: np.random.Generator, *, apart: bool) -> tuple[Int, Int]:
        """Cells of n pairs of distinct points of the same class, uniform over all such pairs.

        apart : only pairs in different leaves.
        """
        leave_out = self.count if apart else np.ones_like(self.count)
        others = self.class_size[self.class_] - leave_out
        ordered = np.cumsum(self.count * others)
        first = np.searchsorted(ordered, rng.integers(ordered[-1], size=n), side="right")
        point = self.class_before[self.class_[first]] + rng.integers(others[first])
        point += np.where(point >= self.before[first], leave_out[first], 0)
        return first, np.searchsorted(self.before, point, side="right") - 1


def dendrogram_purity(
    tree: Tree,
    classes: Classes,
    *,
    leaves: LeafOrder | None = None,
    sample: int | None = None,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """Mean, over pairs of points of one class, of that class's share of their common ancestor.

    Unordered pairs i != j; the ancestor is the lowest node over both, a leaf if both lie in it, and
    the share is counted over the points under it. In (0, 1], 1 for a perfect tree; None if no class
    has two points. Source: gHHC eq. 22, L2H B.3 (Kobren et al. 2017).

    sample : None for the exact value, else the number of pairs (at least 2) for an estimate.

    Exact (`loops.trees.purity`): O(N log N) time, O(N + n_nodes) memory at any depth.
    """
    leaves = leaves or LeafOrder.of(tree)
    cells = ClassLeafCounts.of(tree, classes, leaves)
    n_pairs = _choose2(cells.class_size)
    if n_pairs == 0:
        return Estimate(None, warnings=(NO_PAIR,))
    if sample is not None:
        rng = rng or np.random.default_rng(0)
        first, second = cells.draw(max(sample, 2), rng, apart=False)
        low = np.minimum(cells.place[first], cells.place[second])
        high = np.maximum(cells.place[first], cells.place[second])
        node = leaves.leaf[low]
        apart = np.flatnonzero(low < high)
        node[apart] = leaves.topmost(low[apart], high[apart])
        start, stop = cells.range_under(node, cells.class_[first], leaves)
        return Estimate(*mean_of((cells.before[stop] - cells.before[start]) / tree.size[node]))

    inside = cells.count * (cells.count - 1) // 2
    total = float((inside * (cells.count / tree.size[leaves.leaf[cells.place]])).sum())
    total += trees.purity(cells.class_start, cells.count, cells.meets(leaves), tree.size)
    return Estimate(min(1.0, total / n_pairs))


def leaf_purity(tree: Tree, classes: Classes) -> Estimate:
    """Share of points that are of their leaf's largest class, in (0, 1]. Source: L2H B.3.

    None for a tree without points.
    """
    table = flat.contingency(
        tree.leaf_of_point, classes.code, tree.n_nodes, max(classes.n_classes, 1)
    )
    value = flat.purity(table)
    return Estimate(value, warnings=() if value is not None else (NO_POINT,))


def lhd(
    tree: Tree,
    classes: Classes,
    *,
    exact_steps: int = EXACT_STEPS,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """Least hierarchical distance: how far apart leaves with a common class are, in [0, 1].

    Mean of (log2 td - 1) / (log2 K - 1) over the unordered pairs of points of the same class in
    different leaves. td is the number of edges between the two leaves and K the number of leaves,
    in the tree without nodes of one child. 0 without such a pair or if K <= 2. A tree whose leaves
    are single points must be cut to clusters first (`upper_part`). Source: L2H B.3.

    Exact (`loops.trees.distance`) in O(N log N + steps) time: for each class the number of its
    leaves times the lesser of that number and the number of their depths. Beyond `exact_steps`
    steps, which only deep trees take, it is estimated from `SAMPLED_PAIRS` pairs, with the standard
    error.
    """
    if tree.n_leaves <= 2:
        return Estimate(0.0)
    tree = contract_unary(tree)
    leaves = LeafOrder.of(tree)
    cells = ClassLeafCounts.of(tree, classes, leaves)
    n_pairs = _choose2(cells.class_size) - _choose2(cells.count)
    if n_pairs == 0:
        return Estimate(0.0)
    depth_at = tree.depth[leaves.leaf]
    # By number of edges; two leaves are two apart or more.
    log2_td = np.log2(np.maximum(np.arange(2 * tree.max_depth + 1, dtype=np.float64), 2.0))
    longest = float(np.log2(tree.n_leaves)) - 1.0

    n_cells = np.diff(cells.class_start)
    n_depths = np.unique(depth_at[cells.place]).shape[0]
    if int((n_cells * np.minimum(n_cells, n_depths)).sum()) > exact_steps:
        rng = rng or np.random.default_rng(0)
        first, second = cells.draw(SAMPLED_PAIRS, rng, apart=True)
        a, b = cells.place[first], cells.place[second]
        meet = leaves.topmost(np.minimum(a, b), np.maximum(a, b))
        td = depth_at[a] + depth_at[b] - 2 * tree.depth[meet]
        value, error = mean_of((log2_td[td] - 1.0) / longest)
        warning = (
            f"lhd is estimated from {SAMPLED_PAIRS} sampled pairs: {tree.n_leaves} leaves in a "
            "tree this deep are too many for all pairs."
        )
        return Estimate(value, error, (warning,))

    total = trees.distance(
        cells.class_start,
        cells.count,
        depth_at[cells.place],
        cells.meets(leaves),
        tree.depth,
        (log2_td - 1.0) / longest,
    )
    return Estimate(min(1.0, total / n_pairs))


def upper_part(tree: Tree, nodes: Int, cluster_of_point: Int) -> Tree:
    """The tree above some nodes, which become its leaves.

    nodes : (n_clusters,) nodes that are not above each other, and hold all points.
    cluster_of_point : (n_points,) the position in `nodes` for each point.

    O(n_nodes).
    """
    kept = np.zeros(tree.n_nodes, dtype=bool)
    kept[nodes] = True
    trees.mark_above(tree.parent, kept)
    rows = np.flatnonzero(kept)
    number = np.full(tree.n_nodes + 1, -1, dtype=np.int32)
    number[rows] = np.arange(rows.shape[0], dtype=np.int32)
    return replace(
        tree,
        parent=number[tree.parent[rows]],
        height=tree.height[rows],
        size=tree.size[rows],
        name=tree.name[rows],
        leaf_of_point=number[nodes[cluster_of_point]],
        extra={},
    )


def _choose2(size: Int) -> int:
    return int((size * (size - 1) // 2).sum())

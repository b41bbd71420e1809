"""Metrics of a whole tree against true classes: dendrogram purity, leaf purity, LHD.

Everything is counted per (class, leaf) cell, so points in the same leaf cost nothing extra, and
no step depends on the depth of the tree or holds nodes x classes numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from models.metrics import flat
from models.metrics.estimate import Estimate, mean_of
from models.metrics.labels import Classes
from models.metrics.meets import LeafOrder
from models.tree.tree import Tree
from models.tree.walk import contract_unary

Rows = npt.NDArray[np.int64]

EXACT_LEAVES = 20_000
"""Up to so many leaves with points, LHD is summed over all their pairs."""
SAMPLED_PAIRS = 1_000_000
"""Pairs drawn where a metric is estimated."""
DENSE_CELLS = 25_000_000
"""Largest table of leaves by classes that LHD multiplies as a dense one."""
NO_POINT = "The tree has no points, so leaf purity is undefined."
NO_PAIR = "No two points have the same label, so dendrogram purity is undefined."


@dataclass(frozen=True)
class Cells:
    """Points counted by class and leaf, sorted by class, then by the leaf's place in the tree.

    class_, place, count : (n_cells,) `count` >= 1.
    before : (n_cells + 1,) points in all earlier cells.
    class_start : (n_classes + 1,) first cell of each class.
    """

    class_: Rows
    place: Rows
    count: Rows
    before: Rows
    class_start: Rows

    @classmethod
    def of(cls, tree: Tree, classes: Classes, leaves: LeafOrder) -> Cells:
        """O(n_points log n_points)."""
        table = flat.contingency(
            classes.code, leaves.start[tree.leaf_of_point], classes.n_classes, tree.n_leaves
        )
        before = np.zeros(table.count.shape[0] + 1, dtype=np.int64)
        np.cumsum(table.count, out=before[1:])
        start = np.searchsorted(table.cluster, np.arange(classes.n_classes + 1))
        return cls(table.cluster, table.class_, table.count, before, start)

    @property
    def class_before(self) -> Rows:
        """(n_classes + 1,) points in all earlier classes."""
        return self.before[self.class_start]

    @property
    def class_size(self) -> Rows:
        """(n_classes,) points of each class."""
        return np.diff(self.class_before)

    def range_under(self, node: Rows, class_: Rows, leaves: LeafOrder) -> tuple[Rows, Rows]:
        """For pairs of a node and a class, the range of that class's cells under the node."""
        n_leaves = leaves.leaf.shape[0]
        key = self.class_ * n_leaves + self.place
        first = class_ * n_leaves
        return (
            np.searchsorted(key, first + leaves.start[node]),
            np.searchsorted(key, first + leaves.end[node]),
        )

    def draw(self, n: int, rng: np.random.Generator, *, apart: bool) -> tuple[Rows, Rows]:
        """Cells of n pairs of distinct points of the same class, uniform over all such pairs.

        apart : only pairs in different leaves.
        """
        leave_out = self.count if apart else np.ones_like(self.count)
        others = self.class_size[self.class_] - leave_out
        ordered = np.cumsum(self.count * others)
        one = np.searchsorted(ordered, rng.integers(ordered[-1], size=n), side="right")
        point = self.class_before[self.class_[one]] + rng.integers(others[one])
        point += np.where(point >= self.before[one], leave_out[one], 0)
        return one, np.searchsorted(self.before, point, side="right") - 1


def dendrogram_purity(
    tree: Tree,
    classes: Classes,
    *,
    leaves: LeafOrder | None = None,
    sample: int | None = None,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """Mean, over pairs of points of one class, of that class's share of their common ancestor.

    Unordered pairs i != j; the ancestor is the lowest node over both, a leaf where both lie in it,
    and its share is counted over the points under it. In (0, 1], 1 for a perfect tree; None where
    no class has two points. Source: gHHC eq. 22, L2H B.3 (Kobren et al. 2017).

    sample : None for the exact value, else the number of pairs (at least 2) to estimate it from.

    Exact: within a class, in the tree's order, each gap between neighbouring cells lies at the
    ancestor of the cells around it; the pairs that an ancestor joins are counted gap by gap.
    O(N log N) time, O(N + n_nodes) memory at any depth.
    """
    leaves = leaves or LeafOrder.of(tree)
    cells = Cells.of(tree, classes, leaves)
    n_pairs = _choose2(cells.class_size)
    if n_pairs == 0:
        return Estimate(None, warnings=(NO_PAIR,))
    if sample is not None:
        rng = rng or np.random.default_rng(0)
        one, other = cells.draw(max(sample, 2), rng, apart=False)
        low = np.minimum(cells.place[one], cells.place[other])
        high = np.maximum(cells.place[one], cells.place[other])
        node = leaves.leaf[low]
        apart = np.flatnonzero(low < high)
        node[apart] = leaves.topmost(low[apart], high[apart])
        start, stop = cells.range_under(node, cells.class_[one], leaves)
        return Estimate(*mean_of((cells.before[stop] - cells.before[start]) / tree.size[node]))

    inside = cells.count * (cells.count - 1) // 2
    total = float((inside * (cells.count / tree.size[leaves.leaf[cells.place]])).sum())

    left = np.flatnonzero(cells.class_[1:] == cells.class_[:-1])
    node = leaves.topmost(cells.place[left], cells.place[left + 1])
    start, stop = cells.range_under(node, cells.class_[left], leaves)
    share = (cells.before[stop] - cells.before[start]) / tree.size[node]
    # Pairs across the gap are counted from the child of `node` on its left to all children on its
    # right, so where a node joins several children each pair is counted at one gap only.
    child_start = start
    order = np.argsort(cells.class_[left] * tree.n_nodes + node, kind="stable")
    again = np.flatnonzero(
        (node[order[1:]] == node[order[:-1]])
        & (cells.class_[left[order[1:]]] == cells.class_[left[order[:-1]]])
    )
    child_start[order[again + 1]] = left[order[again]] + 1
    on_left = cells.before[left + 1] - cells.before[child_start]
    on_right = cells.before[stop] - cells.before[left + 1]
    total += float((on_left * on_right * share).sum())
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
    exact_leaves: int = EXACT_LEAVES,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """Least hierarchical distance: how far apart leaves lie that share a class, in [0, 1].

    Mean of (log2 td - 1) / (log2 K - 1) over the unordered pairs of points of the same class in
    different leaves. td is the number of edges between the two leaves and K the number of leaves,
    in the tree without its nodes of one child. 0 where there is no such pair or K <= 2. A tree
    whose leaves are single points must be cut to clusters first (`upper_part`). Source: L2H B.3.

    Up to `exact_leaves` leaves with points: all pairs of leaves, O(leaves^2 (1 + classes)) time
    at worst in blocks of rows; beyond, `SAMPLED_PAIRS` pairs with the standard error.
    """
    if tree.n_leaves <= 2:
        return Estimate(0.0)
    tree = contract_unary(tree)
    leaves = LeafOrder.of(tree)
    cells = Cells.of(tree, classes, leaves)
    n_pairs = _choose2(cells.class_size) - _choose2(cells.count)
    if n_pairs == 0:
        return Estimate(0.0)
    depth_at = tree.depth[leaves.leaf]
    log2_td = np.log2(np.arange(1, 2 * tree.max_depth + 2, dtype=np.float64))
    longest = float(np.log2(tree.n_leaves)) - 1.0

    used, cell_row = np.unique(cells.place, return_inverse=True)
    if used.shape[0] > exact_leaves:
        rng = rng or np.random.default_rng(0)
        one, other = cells.draw(SAMPLED_PAIRS, rng, apart=True)
        a, b = cells.place[one], cells.place[other]
        meet = leaves.topmost(np.minimum(a, b), np.maximum(a, b))
        td = depth_at[a] + depth_at[b] - 2 * tree.depth[meet]
        value, error = mean_of((log2_td[td - 1] - 1.0) / longest)
        warning = (
            f"lhd is estimated from {SAMPLED_PAIRS} sampled pairs: {used.shape[0]} leaves are too "
            "many for all pairs."
        )
        return Estimate(value, error, (warning,))

    meet = leaves.topmost(used[:-1], used[1:])
    total = 0.0
    for row, shared in _shared_pairs(cells, cell_row, used.shape[0], classes.n_classes):
        at = np.minimum.accumulate(meet[row:])
        td = depth_at[used[row]] + depth_at[used[row + 1 :]] - 2 * tree.depth[at]
        total += float(shared @ (log2_td[td - 1] - 1.0))
    return Estimate(min(1.0, total / n_pairs / longest))


def upper_part(tree: Tree, nodes: Rows, cluster_of_point: Rows) -> Tree:
    """The tree above some nodes, which become its leaves.

    nodes : (n_clusters,) nodes of which none lies above another, and that hold all points.
    cluster_of_point : (n_points,) which of `nodes` each point lies under.

    O(n_nodes).
    """
    kept = np.zeros(tree.n_nodes, dtype=bool)
    frontier = np.unique(nodes)
    while frontier.size:
        kept[frontier] = True
        above = np.unique(tree.parent[frontier[frontier > 0]]).astype(np.int64)
        frontier = above[~kept[above]]
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


def _shared_pairs(
    cells: Cells, cell_row: Rows, n_rows: int, n_classes: int, block: int = 256
) -> Iterator[tuple[int, npt.NDArray[np.float64]]]:
    """For each leaf, the number of pairs of one class that it shares with each later leaf.

    cell_row : (n_cells,) which of the `n_rows` leaves each cell is in.

    Yields row r and a vector (n_rows - 1 - r,). Dense products of counts, or sparse ones where
    leaves have few classes and that is less work; both exact.
    """
    counts = csr_array(
        (cells.count.astype(np.float64), (cell_row, cells.class_)), shape=(n_rows, n_classes)
    )
    sparse_work = float((np.diff(cells.class_start).astype(np.float64) ** 2).sum())
    dense = n_rows * n_classes <= DENSE_CELLS and 20 * sparse_work > float(n_rows) ** 2 * n_classes
    table = counts.toarray() if dense else counts
    for first in range(0, n_rows, block):
        product = table[first : first + block] @ table[first:].T
        shared = product if dense else product.toarray()
        for row in range(shared.shape[0]):
            yield first + row, shared[row, row + 1 :]


def _choose2(size: Rows) -> int:
    return int((size * (size - 1) // 2).sum())

"""Two trees of the same points face to face: their entanglement, and rotations that lower it.

Entanglement is that of dendextend (Galili, Bioinformatics 31(22), 2015; its function `entanglement`
with L = 1.5): sum |l - r|^L over the points, with l and r their positions in the two trees, divided
by the same sum for reversed orders. Here a leaf may hold many points, in any order, so they are
ordered as in the other tree.

Rotation keeps the trees and their heights and only reorders siblings. Sweeps alternate between the
trees: each orders the children of every node by the mean position of their points in the other tree
(the barycentre heuristic of Sugiyama, Tagawa and Toda, 1981). A sweep that does not lower the
entanglement is undone, so it never rises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from models.arrays import Float, Int
from models.errors import UsageError
from models.tree.tree import Tree
from models.tree.walk import ordered_starts, spans
from models.tree.window import Folded

Rotate = Literal["both", "other", "none"]

L = 1.5
MOST_SWEEPS = 16
ENOUGH = 1e-3
"""Sweeps end once neither tree lowers the entanglement by at least this share."""
WORK = 12_000_000
"""Number of nodes that all sweeps may visit; large trees get fewer sweeps, but at least two."""


@dataclass(frozen=True, slots=True)
class Tangle:
    """How two trees are drawn beside each other.

    left, right : (n_nodes,) each, the number of leaves to the left of each node, which orders
        siblings.
    entanglement : from 0 (the same order) to 1 (the reverse), after and before rotation.
    """

    left: Int
    right: Int
    entanglement: float
    before: float


@dataclass(frozen=True, slots=True)
class Links:
    """The links between the visible ends of two folded trees.

    left, right : (n_links,) positions among the shown nodes, left to right.
    n_points : (n_links,) number of points under both.
    crossings : pairs of links that cross.
    """

    left: Int
    right: Int
    n_points: Int
    crossings: int


def tangle(left: Tree, right: Tree, *, rotate: Rotate = "both") -> Tangle:
    """Rotate the trees towards each other, as the module's docstring defines it.

    rotate : turn both trees, only the right one (`other`), or none.

    O(sweeps (n_nodes log n_nodes + n_points log n_points)); a second for 100,000 points, some for a
    million. Raises UsageError `wrong-shape` for trees with different numbers of points.
    """
    if left.n_points != right.n_points:
        raise UsageError(
            f"The trees are of {left.n_points} and {right.n_points} points; only trees of the same "
            "rows can be set beside each other.",
            code="wrong-shape",
        )
    sides = [_Side.of(left), _Side.of(right)]
    starts = [spans(left).start.astype(np.int64), spans(right).start.astype(np.int64)]
    ranks = _ranks(left, right, *starts)
    best = before = entanglement(*ranks)
    turns = {"both": (1, 0), "other": (1,), "none": ()}[rotate]
    sweeps = int(np.clip(WORK // (left.n_nodes + right.n_nodes), 2, MOST_SWEEPS))
    idle = 0
    for sweep in range(sweeps):
        if idle == len(turns) or best == 0.0:
            break
        turned = turns[sweep % len(turns)]
        tried = list(starts)
        tried[turned] = sides[turned].ordered_by(ranks[1 - turned])
        tried_ranks = _ranks(left, right, *tried)
        lowered = entanglement(*tried_ranks)
        idle = idle + 1 if lowered > (1 - ENOUGH) * best else 0
        if lowered < best:
            best, starts, ranks = lowered, tried, tried_ranks
    return Tangle(starts[0], starts[1], best, before)


def entanglement(first: Int, second: Int) -> float:
    """The entanglement, 0 to 1, of two orders of the points; 0 for a single point.

    first, second : (n,) the positions 0 .. n - 1 of each point.
    """
    n = len(first)
    ends = np.abs(2.0 * np.arange(n) - (n - 1))
    worst = float(np.sum(ends**L))
    if worst == 0.0:
        return 0.0
    return float(np.sum(np.abs(first - second).astype(np.float64) ** L)) / worst


def links(left: Tree, left_shown: Folded, right: Tree, right_shown: Folded, drawn: Tangle) -> Links:
    """The points that each pair of visible ends shares, most points first. O(n_points log)."""
    n_right = right_shown.node.size
    cell = _ends(left, left_shown)[left.leaf_of_point] * np.int64(n_right)
    cell += _ends(right, right_shown)[right.leaf_of_point]
    cells, n_points = np.unique(cell, return_counts=True)
    first, second = np.divmod(cells, n_right)
    crossings = _crossings(
        _place(drawn.left[left_shown.node[first]]), _place(drawn.right[right_shown.node[second]])
    )
    order = np.argsort(-n_points, kind="stable")
    return Links(first[order], second[order], n_points[order], crossings)


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the trees, with its points ordered so that each node's are contiguous.

    point : (n_points,) the points. begin : (n_nodes,) position of the first point under each node.
    """

    tree: Tree
    point: Int
    begin: Int

    @classmethod
    def of(cls, tree: Tree) -> _Side:
        place = spans(tree).start[tree.leaf_of_point]
        behind = np.zeros(tree.n_leaves + 1, dtype=np.int64)
        np.cumsum(np.bincount(place, minlength=tree.n_leaves), out=behind[1:])
        return cls(tree, np.argsort(place, kind="stable"), behind[spans(tree).start])

    def ordered_by(self, rank: Int) -> Int:
        """(n_nodes,) number of leaves to the left of each node, with children ordered by their mean
        `rank`.

        Nodes without points come last.
        """
        tree = self.tree
        summed = np.zeros(tree.n_points + 1, dtype=np.int64)
        np.cumsum(rank[self.point], out=summed[1:])
        mean = np.full(tree.n_nodes, np.inf)
        filled = tree.size > 0
        total = summed[self.begin + tree.size] - summed[self.begin]
        mean[filled] = total[filled] / tree.size[filled]
        return ordered_starts(tree, _by(mean, tree))


def _by(mean: Float, tree: Tree) -> Int:
    """(n_nodes - 1,) the children as in `Tree.children`, each node's by rising `mean`."""
    first, child = tree.children
    child = child.copy()
    # Most nodes have two children: comparing these is far faster than sorting.
    pair = first[:-1][tree.n_children == 2]
    wrong = pair[mean[child[pair]] > mean[child[pair + 1]]]
    child[wrong], child[wrong + 1] = child[wrong + 1], child[wrong]
    several = child[np.repeat(tree.n_children > 2, tree.n_children)]
    order = np.lexsort((mean[several], tree.parent[several]))
    child[np.repeat(tree.n_children > 2, tree.n_children)] = several[order]
    return child


def _ranks(left: Tree, right: Tree, left_start: Int, right_start: Int) -> tuple[Int, Int]:
    """The position of each point in both trees.

    Points of a leaf are ordered as in the other tree.
    """
    first, second = left_start[left.leaf_of_point], right_start[right.leaf_of_point]
    return _rank(first, second, right.n_leaves), _rank(second, first, left.n_leaves)


def _rank(place: Int, then: Int, n_then: int) -> Int:
    """The ranks by `place`, ties by `then` (below `n_then`), then by row."""
    order = np.argsort(place * np.int64(n_then) + then, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return rank


def _ends(tree: Tree, shown: Folded) -> Int:
    """(n_nodes,) for leaves the shown node that represents them, as a position among the shown.

    The first shown node represents leaves below its hidden children, and leaves elsewhere in the
    tree.
    """
    at = spans(tree)
    seen = np.zeros(tree.n_leaves, dtype=np.int64)
    tips = np.flatnonzero(shown.tip)
    node = shown.node[tips]
    order = np.argsort(at.start[node])
    start, count = at.start[node[order]].astype(np.int64), at.count[node[order]]
    ends = np.cumsum(count)
    leaf = np.repeat(start - ends + count, count) + np.arange(int(ends[-1]))
    seen[leaf] = np.repeat(tips[order], count)
    return seen[at.start]


def visible_ends(tree: Tree, shown: Folded) -> Int:
    """(n_nodes,) for leaves the id of the shown node that represents them. As in `links`."""
    return shown.node[_ends(tree, shown)]


def _place(start: Int) -> Int:
    """The dense ranks 0, 1, ... of positions across."""
    return np.unique(start, return_inverse=True)[1]


def _crossings(left: Int, right: Int) -> int:
    """The number of pairs of links whose ends are in opposite order. O(n_left n_right)."""
    shape = int(left.max()) + 1, int(right.max()) + 1
    # A root that is an end has the position of its first child, so a cell may have several links.
    table = np.bincount(left * shape[1] + right, minlength=shape[0] * shape[1]).reshape(shape)
    # The number of links that begin further left and end further right than each cell.
    above = np.zeros_like(table)
    above[1:] = np.cumsum(table, axis=0)[:-1]
    behind = np.zeros_like(table)
    behind[:, :-1] = np.cumsum(above[:, ::-1], axis=1)[:, ::-1][:, 1:]
    return int(behind[left, right].sum())

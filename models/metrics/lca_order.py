"""Where leaves and points meet: least common ancestors of many pairs.

From left to right, the least common ancestor of two leaves is the topmost of the nodes at which
the neighbouring leaves between them meet. Parents come before children, so the topmost is the
lowest row number and every question is a minimum over a range; depth does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Int
from models.metrics.loops import trees
from models.tree.tree import Tree
from models.tree.walk import range_minima


@dataclass(frozen=True)
class LeafOrder:
    """The leaves of a tree from left to right, each at its place 0 .. n_leaves - 1.

    leaf : (n_leaves,) node of the leaf at each place.
    start, end : (n_nodes,) the leaves under v lie at the places start[v] .. end[v] - 1.
    meet : (n_leaves - 1,) least common ancestor of the leaves at places p and p + 1.
    """

    leaf: Int
    start: Int
    end: Int
    meet: Int

    @classmethod
    def of(cls, tree: Tree) -> LeafOrder:
        """O(n_nodes)."""
        start, end = trees.intervals(tree.parent)
        leaf = np.empty(tree.n_leaves, dtype=np.int64)
        leaf[start[tree.leaves]] = tree.leaves
        # A place but the first is where exactly one subtree begins that has siblings on its left.
        meet = np.empty(tree.n_leaves - 1, dtype=np.int64)
        later = np.flatnonzero(start[1:] > start[tree.parent[1:]]) + 1
        meet[start[later] - 1] = tree.parent[later]
        return cls(leaf, start, end, meet)

    def topmost(self, low: Int, high: Int) -> Int:
        """(n,) least common ancestors of the leaves at places `low[i]` < `high[i]`.

        O(n_leaves log n_leaves + n).
        """
        return range_minima(self.meet, low, high)


@dataclass(frozen=True)
class PointOrder:
    """The points of a tree from left to right.

    order : (n_points,) the points.
    meet : (n_points - 1,) least common ancestor of `order[t]` and `order[t + 1]`: the leaf itself
        where they share one. That of `order[s]` and `order[t]`, s < t, is `meet[s:t].min()`.
    """

    order: Int
    meet: Int

    @classmethod
    def of(cls, tree: Tree, leaves: LeafOrder) -> PointOrder:
        """O(n_points log n_points)."""
        place = leaves.start[tree.leaf_of_point]
        order = np.argsort(place, kind="stable")
        place = place[order]
        meet = leaves.leaf[place[:-1]]
        apart = np.flatnonzero(place[1:] > place[:-1])
        meet[apart] = leaves.topmost(place[apart], place[apart + 1])
        return cls(order, meet)

    def topmost(self, low: Int, high: Int) -> Int:
        """(n,) least common ancestors of the points at places `low[i]` < `high[i]`.

        O(n_points log n_points + n).
        """
        return range_minima(self.meet, low, high)

    def after(self, place: int) -> Int:
        """(n_points - 1 - place,) least common ancestors of the point there and each later one."""
        return np.minimum.accumulate(self.meet[place:])

"""Where leaves and points meet: lowest common ancestors (LCA) of many pairs.

The LCA of two leaves is the topmost of the nodes at which the neighbouring leaves between them
meet. Parents come before children, so the topmost node has the lowest row number and every query is
a minimum over a range; depth does not matter.
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
    """The leaves of a tree from left to right, at positions 0 .. n_leaves - 1.

    leaf : (n_leaves,) node of the leaf at each position.
    start, end : (n_nodes,) the leaves under v are at positions start[v] .. end[v] - 1.
    meet : (n_leaves - 1,) LCA of the leaves at positions p and p + 1.
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
        # At each position but the first begins exactly one subtree that has siblings on its left.
        meet = np.empty(tree.n_leaves - 1, dtype=np.int64)
        later = np.flatnonzero(start[1:] > start[tree.parent[1:]]) + 1
        meet[start[later] - 1] = tree.parent[later]
        return cls(leaf, start, end, meet)

    def topmost(self, low: Int, high: Int) -> Int:
        """(n,) LCAs of the leaves at positions `low[i]` < `high[i]`.

        O(n_leaves log n_leaves + n).
        """
        return range_minima(self.meet, low, high)


@dataclass(frozen=True)
class PointOrder:
    """The points of a tree from left to right.

    order : (n_points,) the points.
    meet : (n_points - 1,) LCA of `order[t]` and `order[t + 1]`: the leaf itself if they share one.
        The LCA of `order[s]` and `order[t]`, s < t, is `meet[s:t].min()`.
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
        """(n,) LCAs of the points at positions `low[i]` < `high[i]`.

        O(n_points log n_points + n).
        """
        return range_minima(self.meet, low, high)

    def after(self, place: int) -> Int:
        """(n_points - 1 - place,) LCAs of the point at `place` and each later one."""
        return np.minimum.accumulate(self.meet[place:])

"""Where leaves and points meet: least common ancestors of many pairs, asked again and again.

From left to right, the least common ancestor of two leaves is the topmost of the nodes at which
the neighbouring leaves between them meet. Parents come before children, so the topmost is the
lowest row number and every question is a minimum over a range; depth does not matter.
(`models.tree.walk.lca` answers one batch of pairs; here the table is kept for the next batch.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from models.tree import walk
from models.tree.tree import Tree

Rows = npt.NDArray[np.int64]


class RangeMinimum:
    """Minima over ranges of a vector: O(n log n) to make (4 bytes an entry), O(1) per question."""

    def __init__(self, values: npt.NDArray[np.integer]) -> None:
        """values : (n,) integers below 2**31."""
        self._levels = [values.astype(np.int32)]
        width = 1
        while 2 * width <= values.shape[0]:
            last = self._levels[-1]
            self._levels.append(np.minimum(last[:-width], last[width:]))
            width *= 2

    def __call__(self, start: Rows, stop: Rows) -> Rows:
        """(n_ranges,) minimum of `values[start:stop]` for each range; none may be empty."""
        level = np.frexp((stop - start).astype(np.float64))[1] - 1
        low = np.empty(start.shape[0], dtype=np.int64)
        for number, table in enumerate(self._levels):
            asked = np.flatnonzero(level == number)
            low[asked] = np.minimum(table[start[asked]], table[stop[asked] - (1 << number)])
        return low


@dataclass(frozen=True)
class LeafOrder:
    """The leaves of a tree from left to right, each at its place 0 .. n_leaves - 1.

    leaf : (n_leaves,) node of the leaf at each place.
    start, end : (n_nodes,) the leaves under v lie at the places start[v] .. end[v] - 1.
    meet : (n_leaves - 1,) least common ancestor of the leaves at places p and p + 1.
    """

    leaf: Rows
    start: Rows
    end: Rows
    meet: Rows

    @classmethod
    def of(cls, tree: Tree) -> LeafOrder:
        """O(n_nodes)."""
        start, end = walk.intervals(tree)
        leaf = np.empty(tree.n_leaves, dtype=np.int64)
        leaf[start[tree.leaves]] = tree.leaves
        # A place but the first is where exactly one subtree begins that has siblings on its left.
        meet = np.empty(tree.n_leaves - 1, dtype=np.int64)
        later = np.flatnonzero(start[1:] > start[tree.parent[1:]]) + 1
        meet[start[later] - 1] = tree.parent[later]
        return cls(leaf, start, end, meet)

    @cached_property
    def topmost(self) -> RangeMinimum:
        """Least common ancestor of the leaves at places p < q: `topmost(p, q)`."""
        return RangeMinimum(self.meet)


@dataclass(frozen=True)
class PointOrder:
    """The points of a tree from left to right.

    order : (n_points,) the points.
    meet : (n_points - 1,) least common ancestor of `order[t]` and `order[t + 1]`: the leaf itself
        where they share one. That of `order[s]` and `order[t]`, s < t, is `meet[s:t].min()`.
    """

    order: Rows
    meet: Rows

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

    @cached_property
    def topmost(self) -> RangeMinimum:
        """Least common ancestor of the points at places s < t: `topmost(s, t)`."""
        return RangeMinimum(self.meet)

    def after(self, place: int) -> Rows:
        """(n_points - 1 - place,) least common ancestors of the point there and each later one."""
        return np.minimum.accumulate(self.meet[place:])

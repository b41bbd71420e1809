"""The clades of a known tree over some of the rows, which a result must have.

The known tree is over the rows that its leaves name. Its clades are the sets of rows under its
nodes, and a result has a clade where the rows under one of its nodes, without the rows that the
known tree does not name, are that set. A cluster may thus be in one of three states: it has no row
of the known tree; or some, but not all, of the rows under a node, the cluster's open node, which
are the rows under several of its children; or all rows of the known tree. Two clusters that have
such rows may merge exactly if they have the same open node.

Cost: O(n log depth) for n nodes and rows, in time and memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from models.arrays import Int, Int32
from models.errors import UsageError, listed, shown
from models.inputs.data import Data
from models.tree.parents import children, nearest, places, places_of, under
from models.tree.tree import Tree

ROLE = "hierarchy"
FREE = -1
"""In place of the open node of a cluster that has no row of the known tree."""


@dataclass(frozen=True, slots=True, eq=False)
class Clades:
    """Nodes 0 .. n - 1, of which each has fewer rows than its parent; `n` stands above the root.

    row : (m,) the rows of the known tree, in preorder. node : (m,) the lowest node of each.
    above : (n + 1,) the parent. n_rows : (n + 1,) the rows under each.
    first : (n,) the place in `row` of the first row under each. name : (n,) as in the known tree.
    """

    row: Int
    node: Int
    above: Int
    n_rows: Int
    first: Int
    name: list[str | None]

    @property
    def n_nodes(self) -> int:
        return len(self.name)

    @classmethod
    def of(cls, tree: Tree, leaf: Int) -> Clades:
        """leaf : (N,) the node of each row in the tree, -1 for a row that is not in it."""
        row = np.flatnonzero(leaf >= 0)
        n_rows = under(tree.parent, np.bincount(leaf[row], minlength=tree.n_nodes))
        # The highest of nodes with the same rows stands for all; nodes without rows go.
        marked = np.ones(tree.n_nodes, dtype=bool)
        marked[1:] = (n_rows[1:] < n_rows[tree.parent[1:]]) & (n_rows[1:] > 0)
        stands = nearest(tree.parent, marked)
        kept = np.flatnonzero(marked)
        number = np.full(tree.n_nodes, -1, dtype=np.int64)
        number[kept] = np.arange(kept.size)
        above = np.full(kept.size + 1, kept.size, dtype=np.int64)
        above[1:-1] = number[stands[tree.parent[kept[1:]]]]
        node = number[stands[leaf[row]]]
        parent = above[:-1].astype(np.int32)
        parent[0] = -1
        first, _ = places(parent, np.bincount(node, minlength=kept.size))
        order = np.argsort(first[node], kind="stable")
        total = np.append(n_rows[kept], np.iinfo(np.int64).max)
        names = [None if name is None else str(name) for name in tree.name[kept].tolist()]
        return cls(row[order], node[order], above, total, first, names)

    @property
    def parent(self) -> Int32:
        """(n,) as in `Tree`."""
        parent = self.above[:-1].astype(np.int32)
        parent[0] = -1
        return parent

    def open_nodes(self, group: Int, n_groups: int) -> tuple[Int, Int]:
        """(n_groups,) the open node of each group of rows, and how many rows of the known tree it
        has.

        group : (N,) of each row; no group may cross a clade.
        """
        of_place = group[self.row]
        n_held = np.bincount(of_place, minlength=n_groups)
        low, high = self._extent(of_place, n_groups)
        node = np.full(n_groups, FREE, dtype=np.int64)
        some = np.flatnonzero(n_held)
        at = self.node[low[some]]
        end = np.append(self.first + self.n_rows[:-1], np.iinfo(np.int64).max)
        for jump in reversed(list(self._jumps())):
            over = jump[at]
            at = np.where(end[at] <= high[some], np.where(end[over] <= high[some], over, at), at)
        at = np.where(end[at] <= high[some], self.above[at], at)
        node[some] = np.where(n_held[some] == self.n_rows[at], self.above[at], at)
        return node, n_held

    def within(self, group: Int, n_groups: int) -> Int:
        """(n,) the group that has all rows under a node, -1 where no group has."""
        of_place = group[self.row]
        least = -under(self.parent, self._at_nodes(-of_place, -n_groups), np.maximum.at)
        most = under(self.parent, self._at_nodes(of_place, -1), np.maximum.at)
        return np.where(least == most, most, -1)

    def require_uncrossed(self, group: Int, n_groups: int) -> None:
        """Raises UsageError naming the rows where must-links join some rows of a clade, but not
        all, to a row outside."""
        of_place = group[self.row]
        low, high = self._extent(of_place, n_groups)
        top = self.row.size
        lowest = top - under(self.parent, self._at_nodes(top - low[of_place], 0), np.maximum.at)
        highest = under(self.parent, self._at_nodes(high[of_place], -1), np.maximum.at)
        end = self.first + self.n_rows[:-1]
        crossed = (self.within(group, n_groups) < 0) & ((lowest < self.first) | (highest >= end))
        if not crossed.any():
            return
        node = int(np.flatnonzero(crossed)[-1])
        inside = np.arange(self.first[node], end[node])
        outward = inside[(low[of_place[inside]] < self.first[node])
                         | (high[of_place[inside]] >= end[node])]  # fmt: skip
        number = of_place[outward[0]]
        member = np.flatnonzero(of_place == number)
        outside = member[(member < self.first[node]) | (member >= end[node])]
        apart = inside[of_place[inside] != number]
        rows = [int(self.row[place]) for place in (outward[0], outside[0], apart[0])]
        name = self.name[node]
        what = f"node {shown(name)}" if name else "a node"
        raise UsageError(
            f"Inputs 'must_link' and {ROLE!r} contradict each other: pairs link row {rows[0]} to "
            f"row {rows[1]} (counted from 0), but {what} of the known tree has rows {rows[0]} and "
            f"{rows[2]}, not row {rows[1]}.",
            code="contradiction",
            role=ROLE,
            rows=rows,
        )

    def chain(self, rank: Int) -> Int:
        """(m - 1, 2) edges along which alone every clade can be completed: rows next to each other
        in preorder, where rows and children of a node follow each other by rank.

        rank : (N,) of each row, a permutation.
        """
        parent = self.parent
        least = -under(parent, self._at_nodes(-rank[self.row], -rank.size), np.maximum.at)
        first, child = children(parent)
        child = child[np.lexsort((least[child], parent[child]))]
        width = np.bincount(self.node, minlength=self.n_nodes)
        start, _ = places_of(parent, first, child, width)
        row = self.row[np.lexsort((rank[self.row], start[self.node]))]
        return np.stack([row[:-1], row[1:]], axis=1)

    def _extent(self, of_place: Int, n_groups: int) -> tuple[Int, Int]:
        """(n_groups,) the first and the last place of each group."""
        place = np.arange(of_place.size)
        low, high = np.full(n_groups, of_place.size), np.full(n_groups, -1)
        np.minimum.at(low, of_place, place)
        np.maximum.at(high, of_place, place)
        return low, high

    def _at_nodes(self, value: Int, none: int) -> Int:
        """(n,) the largest value of the rows directly at each node."""
        at = np.full(self.n_nodes, none, dtype=np.int64)
        np.maximum.at(at, self.node, value)
        return at

    def _jumps(self) -> Iterator[Int]:
        """For k = 0, 1, ...: the ancestor 2^k edges up of each node."""
        jump = self.above.copy()
        while True:
            yield jump
            if (jump == self.n_nodes).all():
                return
            jump = jump[jump]


def known_clades(data: Data, names: list[str]) -> tuple[Clades | None, tuple[str, ...]]:
    """The clades of the input `hierarchy`, None without it, and warnings.

    names : of the rows. A leaf has the rows of its name; where leaves have several points, they
    must be the rows.

    Raises UsageError where this finds no row, for a name that several leaves have, and for another
    number of points.
    """
    tree = data.values.get(ROLE)
    if tree is None:
        return None, ()
    if not isinstance(tree, Tree):
        raise _refused("must be a tree")
    if tree.n_points > tree.n_leaves:
        if tree.n_points != len(names):
            raise _refused(
                f"has leaves of several points, {tree.n_points} in all, but there are {len(names)} "
                "rows; its points must be the rows, or each leaf bear the name of rows"
            )
        return Clades.of(tree, tree.leaf_of_point.astype(np.int64)), ()
    leaf_of: dict[str, int] = {}
    for node in tree.leaves.tolist():
        name = tree.name[node]
        if name is None:
            raise _refused(f"has a leaf without a name (node {node}); leaves bear names of rows")
        if name in leaf_of:
            raise _refused(f"has two leaves of the name {shown(str(name))}")
        leaf_of[name] = node
    leaf = np.array([leaf_of.get(name, -1) for name in names], dtype=np.int64)
    present = set(names)
    absent = [name for name in leaf_of if name not in present]
    if len(absent) == len(leaf_of):
        raise _refused(
            f"names no row: its leaves are {listed(absent)}. A leaf bears the name of rows in the "
            "input 'names', without it a row's number from 0"
        )
    notes = []
    if absent:
        notes.append(
            f"{len(absent)} leaf or leaves of the known tree name no row and were left out: "
            f"{listed(absent)}."
        )
    n_free = int((leaf < 0).sum())
    if n_free:
        notes.append(
            f"{n_free} row(s) are not in the known tree; they may be anywhere in the result."
        )
    return Clades.of(tree, leaf), tuple(notes)


def _refused(why: str) -> UsageError:
    return UsageError(f"Input {ROLE!r} {why}.", code="wrong-input", role=ROLE)

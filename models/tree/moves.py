"""Two trees by the names of their leaves: which leaves both have, and which moved.

A group is the set of shared leaves under an inner node, at least three and at most half of all. Its
counterpart is the set under an inner node of the other tree, not the whole, with the largest
Jaccard index (ties: the smaller set), if that is two thirds or more: so much is kept that it is
still the same group. A leaf has moved if it left a group whose counterpart lacks it, or joined one
whose counterpart lacked it. So a tree that only divides the groups of the other further moves
nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np

from models.arrays import Float, Int
from models.errors import UsageError, listed
from models.tree.rows import over_rows
from models.tree.tree import Tree
from models.tree.walk import points_before, points_in_order

Match = Literal["auto", "row", "name"]

LEAST = 3
"""Fewer shared names have one shape only."""
KEPT = 2 / 3 - 1e-9
"""A group of three that loses one keeps so much."""
MOST = 5000
"""More shared leaves are not searched for moves, which takes time by their square."""
NONE = -1


@dataclass(frozen=True, slots=True)
class SharedLeaves:
    """The leaves that two trees have in common.

    names : (n,) of the shared leaves, in the order of the left tree's nodes. left, right : (n,)
    their nodes. left_only, right_only : names in one tree alone. repeated : names left out because
    a tree has them several times.
    """

    names: list[str]
    left: Int
    right: Int
    left_only: list[str]
    right_only: list[str]
    repeated: list[str]

    @classmethod
    def of(cls, left: Tree, right: Tree) -> SharedLeaves:
        """By exactly the same names; leaves without a name are in neither list. O(n_leaves)."""
        sides = [_named(tree) for tree in (left, right)]
        repeated = {name for _, twice in sides for name in twice}
        first, second = (side for side, _ in sides)
        names = [name for name in first if name in second and name not in repeated]
        return cls(
            names,
            np.array([first[name] for name in names], dtype=np.int64),
            np.array([second[name] for name in names], dtype=np.int64),
            [name for name in first if name not in second],
            [name for name in second if name not in first],
            sorted(name for name in repeated if name in first and name in second),
        )

    def require(self) -> SharedLeaves:
        """Itself. Raises UsageError `wrong-shape` if fewer than three names are shared."""
        if len(self.names) >= LEAST:
            return self
        shared = "no name" if not self.names else f"only {listed(self.names)}"
        detail = f"The trees have different rows, and of the names of leaves they share {shared}"
        for side, names in (("left", self.left_only), ("right", self.right_only)):
            alone = f"has {listed(names)}" if names else "has no other names"
            detail += f"; the {side} one {alone}"
        if self.repeated:
            detail += f"; {listed(self.repeated)} stands at several leaves of one tree"
        raise UsageError(
            f"{detail}. Two trees are set beside each other if they are of the same rows, or if at "
            f"least {LEAST} leaves have the same names in both.",
            code="wrong-shape",
        )

    def trees(self, left: Tree, right: Tree) -> tuple[Tree, Tree]:
        """Both trees with one row for each shared leaf."""
        return over_rows(left, self.left), over_rows(right, self.right)

    def warnings(self) -> list[str]:
        """What of the trees is not compared, as sentences."""
        found = []
        for side, names in (("left", self.left_only), ("right", self.right_only)):
            if names:
                leaves, them = ("leaf", "it") if len(names) == 1 else ("leaves", "them")
                found.append(
                    f"{len(names):,} {leaves} of the {side} tree alone: {listed(names)}. What is "
                    f"compared leaves {them} out."
                )
        if self.repeated:
            found.append(
                f"Several leaves have the same name, so they are left out: {listed(self.repeated)}."
            )
        return found


def _named(tree: Tree) -> tuple[dict[str, int], set[str]]:
    """The first leaf of each name, and names of several leaves."""
    leaves = tree.leaves
    names = tree.name[leaves].tolist()
    count = Counter(name for name in names if name is not None)
    first: dict[str, int] = {}
    for node, name in zip(leaves.tolist(), names, strict=True):
        if name is not None:
            first.setdefault(name, node)
    return first, {name for name, times in count.items() if times > 1}


@dataclass(frozen=True, slots=True)
class Move:
    """A row that stands elsewhere in the other tree.

    left, right : the node of the group that it left, and of the group that it joined; its smallest
    group of at least two rows where it left or joined none (NONE if there is none but the root's).
    share : of all rows, those in the largest group that it left or joined: how far it moved.
    """

    row: int
    left: int
    right: int
    share: float


@dataclass(frozen=True, slots=True)
class Moves:
    """What moved, the farthest first; groups : of the left tree, and how many have a
    counterpart."""

    moves: list[Move]
    n_groups: int
    n_kept: int


def moves(left: Tree, right: Tree) -> Moves:
    """The rows that moved between two trees over the same rows, as the module defines it.

    left, right : with the same rows, which may leave leaves empty. O(n_points n_nodes), a second
    for 5,000 rows. Raises UsageError `wrong-shape` for trees with different numbers of rows.
    """
    if left.n_points != right.n_points:
        raise UsageError(
            f"The trees are of {left.n_points} and {right.n_points} rows.", code="wrong-shape"
        )
    sides = _Groups.of(left), _Groups.of(right)
    lost, reach_lost, kept = _absent(*sides)
    joined, reach_joined, _ = _absent(sides[1], sides[0])
    reach = np.maximum(reach_lost, reach_joined)
    moved = np.flatnonzero(reach)
    order = moved[np.argsort(-reach[moved], kind="stable")]
    found = [
        Move(
            row,
            int(lost[row]) if lost[row] != NONE else sides[0].smallest(row),
            int(joined[row]) if joined[row] != NONE else sides[1].smallest(row),
            float(reach[row] / left.n_points),
        )
        for row in order.tolist()
    ]
    return Moves(found, sides[0].compared.size, kept)


@dataclass(frozen=True, slots=True)
class _Groups:
    """The groups of a tree. point : (n_points,) the rows from left to right. node, begin, size :
    (n_groups,) the lowest node of each distinct group of two or more rows, and its rows in `point`.
    compared : those with at least three rows and at most half of all, by falling size."""

    point: Int
    node: Int
    begin: Int
    size: Int
    compared: Int

    @classmethod
    def of(cls, tree: Tree) -> _Groups:
        begin, size = points_before(tree).astype(np.int64), tree.size.astype(np.int64)
        inner = np.flatnonzero((tree.n_children > 0) & (size >= 2))
        # Nodes above a single child that has rows hold the same rows: the lowest stands for them.
        key = begin[inner] * np.int64(tree.n_points + 1) + size[inner]
        deepest = np.lexsort((-tree.depth[inner], key))
        first = np.unique(key[deepest], return_index=True)[1]
        node = np.sort(inner[deepest[first]])
        compared = np.flatnonzero((size[node] >= LEAST) & (2 * size[node] <= tree.n_points))
        order = np.argsort(-size[node][compared], kind="stable")
        return cls(points_in_order(tree), node, begin[node], size[node], compared[order])

    def rows(self, group: int) -> Int:
        begin = int(self.begin[group])
        return self.point[begin : begin + int(self.size[group])]

    def smallest(self, row: int) -> int:
        """The node of the smallest group that holds the row; NONE if that is all rows."""
        place = int(np.flatnonzero(self.point == row)[0])
        holds = (self.begin <= place) & (place < self.begin + self.size)
        holds &= self.size < self.point.size
        if not holds.any():
            return NONE
        groups = np.flatnonzero(holds)
        return int(self.node[groups[np.argmin(self.size[groups])]])


def _absent(groups: _Groups, others: _Groups) -> tuple[Int, Float, int]:
    """For each row, the smallest group of the first tree whose counterpart lacks it (NONE: there is
    none) and the size of the largest; and how many groups have a counterpart."""
    n = groups.point.size
    smallest, reach = np.full(n, NONE), np.zeros(n)
    place = np.empty(n, dtype=np.int64)
    place[others.point] = np.arange(n)
    # Two rows may be what is left of a group of three.
    rival = np.flatnonzero(others.size < n)
    begin, size = others.begin[rival], others.size[rival]
    kept, behind = 0, np.zeros(n + 1, dtype=np.int64)
    if rival.size == 0:
        return smallest, reach, 0
    for group in groups.compared.tolist():
        rows = groups.rows(group)
        inside = np.zeros(n, dtype=np.int64)
        inside[place[rows]] = 1
        np.cumsum(inside, out=behind[1:])
        both = behind[begin + size] - behind[begin]
        index = both / (rows.size + size - both)
        equal = np.flatnonzero(index == index.max())
        best = int(equal[np.argmin(size[equal])])
        if index[best] <= KEPT:
            continue
        kept += 1
        at = place[rows]
        gone = rows[(at < begin[best]) | (at >= begin[best] + size[best])]
        smallest[gone] = groups.node[group]
        reach[gone] = np.maximum(reach[gone], rows.size)
    return smallest, reach, kept

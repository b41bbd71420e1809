"""Which items lie under which node of a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from models.arrays import Int
from models.errors import UsageError
from models.tree.tree import Tree
from models.tree.walk import leaf_counts, points_before, spans

Per: TypeAlias = Literal["row", "leaf"]

_known: WeakKeyDictionary[Tree, dict[Per, Placement]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """The items under node v are `order[first[v]:first[v] + count[v]]`, from left to right.

    per : whether an item is a row of the tree or a leaf, leaves in the order of their node ids.
    leaf : (n_items,) the leaf of each item. order : (n_items,) the items from left to right, within
        a leaf ascending.
    first, count : (n_nodes,).
    """

    per: Per
    leaf: Int
    order: Int
    first: Int
    count: Int

    @property
    def n_items(self) -> int:
        return len(self.leaf)

    def under(self, node: int) -> Int:
        """The items under a node, from left to right."""
        begin = int(self.first[node])
        return self.order[begin : begin + int(self.count[node])]


def per_of(tree: Tree, n_items: int) -> Per:
    """Whether so many items are the rows of a tree or its leaves; its rows, if it has as many of
    both. Raises UsageError `wrong-shape` if neither."""
    return of_so_many(tree.n_points, tree.n_leaves, n_items)


def of_so_many(n_points: int, n_leaves: int, n_items: int) -> Per:
    """As `per_of`, for a tree of so many rows and leaves."""
    if n_items == n_points:
        return "row"
    if n_items == n_leaves:
        return "leaf"
    raise UsageError(
        f"There are {n_items:,} items; the tree has {n_points:,} rows and {n_leaves:,} "
        "leaves, and takes one item for each row or each leaf.",
        code="wrong-shape",
        role="items",
    )


def placement(tree: Tree, n_items: int) -> Placement:
    """The items of a tree. Raises UsageError as `per_of`. O(n_items log n_items + n_nodes log
    depth), 16 bytes an item, then kept."""
    per = per_of(tree, n_items)
    known = _known.setdefault(tree, {})
    if per not in known:
        known[per] = _placed(tree, per)
    return known[per]


def _placed(tree: Tree, per: Per) -> Placement:
    leaf = (tree.leaf_of_point if per == "row" else tree.leaves).astype(np.int64)
    start = spans(tree).start
    order = np.argsort(start[leaf], kind="stable")
    if per == "row":
        return Placement(per, leaf, order, points_before(tree), tree.size)
    return Placement(per, leaf, order, start.astype(np.int64), leaf_counts(tree))

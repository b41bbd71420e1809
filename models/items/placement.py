"""Which items lie under which node of a tree, and one value for each node from theirs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from models.arrays import Float, Int, Int32
from models.errors import UsageError
from models.tree import parents
from models.tree.tree import Tree
from models.tree.walk import leaf_counts, points_before, spans

if TYPE_CHECKING:
    import pyarrow as pa


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


def means(tree: Tree, placement: Placement, values: Float) -> Float:
    """(n_nodes,) the mean of the values under each node; NaN where there is none.

    values : (n_items,) NaN for none. They are scaled by the largest, so that no sum overflows.
    O(n_items + n_nodes log depth).
    """
    present = np.isfinite(values)
    largest = float(np.abs(values[present]).max()) if present.any() else 0.0
    scale = largest or 1.0
    leaf = placement.leaf[present]
    total = np.bincount(leaf, values[present] / scale, tree.n_nodes)
    total = parents.under(tree.parent, total)
    count = _counts(tree, leaf)
    mean = np.full(tree.n_nodes, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    # A mean lies between the values whatever rounding did.
    bounded: Float = np.clip(mean, -1.0, 1.0) * scale
    return bounded


def majorities(tree: Tree, placement: Placement, code: Int32) -> tuple[Int, Float]:
    """The most frequent category under each node, and its share of the items that have one.

    code : (n_items,) from 0, -1 for none. Ties go to the lowest. Returns (n_nodes,) -1, and a share
    of NaN, where there is none. O(n_items log n_items + n_nodes): counted from the leaves up along
    heavy paths.
    """
    from models.metrics import flat
    from models.metrics.loops import nodes

    present = np.flatnonzero(code >= 0)
    at = spans(tree)
    n_categories = int(code.max()) + 1 if present.size else 1
    cells = flat.contingency(
        at.start[placement.leaf[present]], code[present], tree.n_leaves, n_categories
    )
    place = np.searchsorted(cells.cluster, np.arange(tree.n_leaves + 1))
    start, end = place[at.start], place[at.start + at.count]
    most, majority, n_held = (np.empty(tree.n_nodes, dtype=np.int64) for _ in range(3))
    entropy = np.empty(tree.n_nodes)
    heavy = nodes.heavy_children(tree.parent, start, end)
    nodes.class_counts(
        tree.parent, heavy, start, end, cells.class_, cells.count, most, majority, n_held, entropy
    )
    share = np.full(tree.n_nodes, np.nan)
    count = _counts(tree, placement.leaf[present])
    np.divide(most, count, out=share, where=count > 0)
    return majority, share


def matches(tree: Tree, placement: Placement, chosen: np.ndarray) -> Int:
    """(n_nodes,) the number of chosen items under each node. O(n_items + n_nodes log depth).

    chosen : (n_items,) bool.
    """
    return _counts(tree, placement.leaf[chosen])


def category_codes(values: pa.DictionaryArray) -> Int32:
    """(n_items,) the number of each item's category, -1 for none."""
    codes: Int32 = values.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return codes


def _counts(tree: Tree, leaf: Int) -> Int:
    own = np.bincount(leaf, minlength=tree.n_nodes).astype(np.int64)
    return parents.under(tree.parent, own)

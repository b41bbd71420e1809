"""The terms on which trees become one, and which leaves or rows of several trees are the same.

Nothing here is compiled, so that the API can import it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from models.arrays import Int32
from models.errors import UsageError, listed
from models.tree.tree import Tree, sizes
from models.tree.walk import contract_unary

Rule: TypeAlias = Literal["strict", "majority", "extended", "median"]
"""See `models.consensus.rules`."""
Match: TypeAlias = Literal["auto", "names", "rows"]
"""See `models.consensus.items`."""
Support: TypeAlias = Literal["share", "transfer"]
"""See `models.consensus.support`."""

MOST_TREES = 1000

ENOUGH = 0.99
"""A correlation of the halves at which they count as alike."""


@dataclass(frozen=True, slots=True)
class Items:
    """What the trees are trees of.

    trees : each with one point for each item, in the same order; no inner node has a single child.
    names : (n_items,) of the leaves, None where items are rows.
    leaf : (n_items,) the node of the first tree, as it was given, that holds each item.
    rows : (n_points,) the item of each row where all trees have the same rows in the same leaves,
        else None.
    warnings : what was left out.
    """

    trees: tuple[Tree, ...]
    leaf: Int32
    names: npt.NDArray[np.object_] | None
    rows: Int32 | None
    warnings: tuple[str, ...] = ()

    @property
    def n_items(self) -> int:
        return self.trees[0].n_points


def matched_items(trees: Sequence[Tree], match: Match = "auto", common: bool = False) -> Items:
    """Match the leaves of all trees by their names, or their rows by number.

    `auto` matches by names if the leaves of every tree have distinct ones. But leaves of several
    rows that are named by numbers, as clusters are, tell nothing: where all trees have equally many
    rows, these are matched instead, and so they are where names are missing or not distinct.
    common : names that not all trees have are left out, with a warning.

    Raises UsageError `wrong-shape` for trees that cannot be matched, or with fewer than two items
    in common. O(n_points log n_points) a tree.
    """
    columns = [_leaf_names(tree) for tree in trees]
    named = [_distinct(column) for column in columns]
    n_rows = {tree.n_points for tree in trees}
    by_rows = len(n_rows) == 1 and min(n_rows) > 0
    if match == "auto":
        numbered = not all(_one_row_each(tree) for tree in trees) and all(
            name is not None and name.isdecimal() for name in columns[0]
        )
        match = "names" if all(named) and not (numbered and by_rows) else "rows"
    if match == "rows":
        return _by_rows(trees, columns, by_rows)
    return _by_names(trees, columns, named, common)


def _by_rows(trees: Sequence[Tree], columns: Sequence[list[str | None]], possible: bool) -> Items:
    if not possible:
        numbers = ", ".join(str(tree.n_points) for tree in trees[:5])
        raise UsageError(
            "The trees are over different things: "
            f"{_doubled(columns) or _difference(columns)}; and they have {numbers}"
            f"{', ...' if len(trees) > 5 else ''} rows. Give trees with the same names of leaves, "
            "or of the same rows; `common` keeps the names that all of them have.",
            code="wrong-shape",
        )
    pruned = tuple(_pruned(tree, tree.leaf_of_point) for tree in trees)
    doubled = _doubled(columns)
    warnings = () if doubled is None else (f"{doubled}; rows were matched by number.",)
    return Items(pruned, trees[0].leaf_of_point, None, None, warnings)


def _by_names(
    trees: Sequence[Tree],
    columns: Sequence[list[str | None]],
    named: Sequence[bool],
    common: bool,
) -> Items:
    if not all(named):
        why = _doubled(columns) or f"Tree {named.index(False) + 1} has leaves without a name"
        raise UsageError(f"{why}; leaves cannot be matched by names.", code="wrong-shape")
    shared = set(columns[0]).intersection(*columns[1:])
    if not common and any(len(column) != len(shared) for column in columns):
        raise UsageError(
            f"The trees have different leaves: {_difference(columns)}. `common` keeps those that "
            "all of them have.",
            code="wrong-shape",
        )
    if len(shared) < 2:
        raise UsageError(
            f"All trees have {len(shared)} names of leaves in common; at least 2 are needed.",
            code="wrong-shape",
        )
    names = np.array([name for name in columns[0] if name in shared], dtype=object)
    number = {name: item for item, name in enumerate(names.tolist())}
    placed, leaves, item_of_leaf = [], [], []
    for tree, column in zip(trees, columns, strict=True):
        item = np.array([number.get(name, -1) for name in column], dtype=np.int64)
        leaf = np.empty(len(names), dtype=np.int32)
        leaf[item[item >= 0]] = tree.leaves[item >= 0]
        placed.append(_pruned(tree, leaf))
        leaves.append(leaf)
        at = np.full(tree.n_nodes, -1, dtype=np.int32)
        at[tree.leaves] = item
        item_of_leaf.append(at)
    left_out = len(set().union(*columns)) - len(shared)
    warnings = []
    rows = None
    if left_out:
        warnings.append(f"{left_out} leaves are not in all trees and were left out.")
    else:
        rows = item_of_leaf[0][trees[0].leaf_of_point]
        for tree, at in zip(trees[1:], item_of_leaf[1:], strict=True):
            if not np.array_equal(at[tree.leaf_of_point], rows):
                rows = None
                break
    return Items(tuple(placed), leaves[0], names, rows, tuple(warnings))


def _pruned(tree: Tree, leaf: Int32) -> Tree:
    """The tree with these points alone, without empty leaves. leaf : (n_items,) of each point."""
    size = sizes(tree.parent, leaf)
    kept = size > 0
    row = np.cumsum(kept) - 1
    parent = np.where(tree.parent >= 0, row[tree.parent], -1)[kept].astype(np.int32)
    small = Tree(
        parent=parent,
        height=tree.height[kept],
        size=size[kept],
        name=tree.name[kept],
        leaf_of_point=row[leaf].astype(np.int32),
        monotone=tree.monotone,
    )
    return contract_unary(small)


def _leaf_names(tree: Tree) -> list[str | None]:
    """The names of leaves; numbers of rows where none has a name and each holds one row."""
    names = tree.name[tree.leaves].tolist()
    if _one_row_each(tree) and all(name is None for name in names):
        row = np.empty(tree.n_nodes, dtype=np.int64)
        row[tree.leaf_of_point] = np.arange(tree.n_points)
        return [str(number) for number in row[tree.leaves].tolist()]
    return list(names)


def _one_row_each(tree: Tree) -> bool:
    return bool((tree.size[tree.leaves] == 1).all())


def _distinct(names: Sequence[str | None]) -> bool:
    return None not in names and len(set(names)) == len(names)


def _doubled(columns: Sequence[list[str | None]]) -> str | None:
    """The first tree with several leaves of one name, and these names; None if no tree has any."""
    for number, column in enumerate(columns, 1):
        times = Counter(name for name in column if name is not None)
        twice = [name for name, count in times.items() if count > 1]
        if twice:
            return f"Tree {number} has several leaves called {listed(twice, 3)}"
    return None


def _difference(columns: Sequence[list[str | None]]) -> str:
    """The first tree that differs from the first one, and by which names."""
    first = set(columns[0])
    for number, column in enumerate(columns[1:], start=2):
        lacking = sorted(str(name) for name in first - set(column))
        added = sorted(str(name) for name in set(column) - first)
        if lacking or added:
            parts = [
                f"{word} {len(names)} ({', '.join(map(repr, names[:3]))}"
                f"{', ...' if len(names) > 3 else ''})"
                for word, names in (("lacks", lacking), ("adds", added))
                if names
            ]
            return f"tree {number} {' and '.join(parts)} of the {len(first)} leaves of tree 1"
    return f"all have the same {len(first)} names"

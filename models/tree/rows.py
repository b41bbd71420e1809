"""Which row of the input each leaf holds, where only a text form of the tree is known.

Text forms have leaves and their names, no rows. Leaves of a tree over unnamed points are named by
the numbers of their rows, so that names which are exactly these numbers tell the rows again.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from models.arrays import Int
from models.tree.noise import noise_of
from models.tree.tree import Tree, sizes

_WHOLE = re.compile(r"0|[1-9][0-9]{0,17}")


def numbered(tree: Tree) -> Tree:
    """The tree with its rows in the order of the leaves' names, if there is one row per leaf and
    the names are the numbers 0 to n_points - 1; else the tree unchanged. O(n_points).
    """
    if not _one_row_per_leaf(tree):
        return tree
    number = _numbers(tree.name[tree.leaf_of_point])
    if number is None:
        return tree
    leaf = np.empty_like(tree.leaf_of_point)
    leaf[number] = tree.leaf_of_point
    return replace(tree, leaf_of_point=leaf)


def matched(left: Tree, right: Tree) -> tuple[Tree, bool]:
    """The right tree with its rows in the order of the left one, and whether they were matched by
    name.

    Rows are matched by name if both trees have one row per leaf and the same distinct names; a tree
    without names has the numbers of its rows. Else by number. O(n_points log n_points).
    """
    if left.n_points != right.n_points or not (
        _one_row_per_leaf(left) and _one_row_per_leaf(right)
    ):
        return right, False
    names = [_names(tree) for tree in (left, right)]
    if any(name is None for column in names for name in column):
        return right, False
    first, second = (np.argsort(column.astype(str), kind="stable") for column in names)
    ordered = names[0][first]
    if (ordered[1:] == ordered[:-1]).any() or (ordered != names[1][second]).any():
        return right, False
    leaf = np.empty_like(right.leaf_of_point)
    leaf[first] = right.leaf_of_point[second]
    return replace(right, leaf_of_point=leaf), True


def over_rows(tree: Tree, leaf: Int) -> Tree:
    """The same nodes with new rows at the leaves in place of the fit's points.

    It has no names: the leaves' names may stand for points of the fit, with which metrics would
    match rows. Nor has it further columns, which describe these points.

    leaf : (n_rows,) the leaf of each row. O(n_nodes log depth + n_rows).
    """
    leaf_of_row = leaf.astype(np.int32)
    return replace(
        tree,
        leaf_of_point=leaf_of_row,
        size=sizes(tree.parent, leaf_of_row),
        name=np.full(tree.n_nodes, None, dtype=object),
        extra={},
    )


def names_of_rows(tree: Tree) -> npt.NDArray[np.object_] | None:
    """(n_points,) the name of each row, which is its leaf's; None where a leaf has several rows,
    none or no name, or is noise, and where rows are called by their numbers. O(n_nodes)."""
    if not _one_row_per_leaf(tree) or noise_of(tree).any():
        return None
    names: npt.NDArray[np.object_] = tree.name[tree.leaf_of_point]
    if any(name is None for name in names):
        return None
    by_number = all(name == str(row) for row, name in enumerate(names.tolist()))
    return None if by_number else names


def _one_row_per_leaf(tree: Tree) -> bool:
    return tree.n_points == tree.n_leaves and bool((tree.size[tree.leaves] == 1).all())


def _names(tree: Tree) -> npt.NDArray[np.object_]:
    names = tree.name[tree.leaf_of_point]
    if all(name is None for name in names):
        return np.array([str(row) for row in range(tree.n_points)], dtype=object)
    return names


def _numbers(names: npt.NDArray[np.object_]) -> npt.NDArray[np.int64] | None:
    """The names as the numbers 0 to n - 1 in any order; None if they are other than these."""
    numbers = np.empty(len(names), dtype=np.int64)
    for row, name in enumerate(names.tolist()):
        # Only `str(number)` is one: not 007, and no digits of other scripts.
        if name is None or not _WHOLE.fullmatch(name) or int(name) >= len(names):
            return None
        numbers[row] = int(name)
    once = np.zeros(len(names), dtype=bool)
    once[numbers] = True
    return numbers if once.all() else None

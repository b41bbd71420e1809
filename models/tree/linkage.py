"""Merges of a binary tree: SciPy's linkage matrix and R's `hclust`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from models.errors import InvalidTree, UsageError, listed, shown
from models.tree.build import from_merges
from models.tree.dialects import counted, forgiven, risen
from models.tree.json_fields import require_text
from models.tree.parents import places_of
from models.tree.tree import Tree, sizes
from models.tree.walk import greatest_heights


def to_scipy(tree: Tree) -> npt.NDArray[np.float64]:
    """(L - 1, 4) linkage of a binary tree: left id, right id, height, number of leaves.

    Leaf ids 0 .. L-1: where each leaf holds exactly one point, the leaf's id is its point's row;
    else leaves are counted by node id. Merges are ordered by height, and a merge always follows
    those it joins (if heights fall from child to parent, the order is by the greatest height at or
    below the node). Heights of leaves are lost.

    Raises UsageError: code "not-binary" for a node with one or more than two children or a tree of
    one leaf, code "negative-height" for a merge below 0, which SciPy refuses. O(n log n).
    """
    merges, n_leaves = _merges(tree)
    height = tree.height[merges]
    if height.min() < 0:
        node = int(merges[height.argmin()])
        raise UsageError(
            f"A linkage has no negative heights; node {node} lies at {float(tree.height[node])}.",
            code="negative-height",
            node=node,
        )
    linkage = np.empty((n_leaves - 1, 4), dtype=np.float64)
    linkage[:, :2] = np.sort(_numbers(tree, merges)[_pairs(tree, merges)], axis=1)
    linkage[:, 2] = height
    linkage[:, 3] = sizes(tree.parent, tree.leaves.astype(np.int32))[merges]
    return linkage


def from_scipy(linkage: npt.ArrayLike, *, names: Sequence[str] | None = None) -> Tree:
    """The tree of a SciPy linkage matrix.

    Its points are the leaves in order, numbered by `from_merges`. It is `monotone` if no merge is
    lower than one that it joins. Distances below 0 by rounding become 0, which its `warnings` say.

    Raises InvalidTree, naming the row counted from 0, for a matrix that is not (L - 1, 4) with L >
    1, a value that is not finite, an id that is not an integer, is out of range, not yet defined or
    used twice, a negative distance, and a fourth column that is not the number of leaves under each
    merge. O(L log depth).
    """
    matrix = np.asarray(linkage)
    if matrix.ndim != 2 or matrix.shape[1] != 4 or matrix.shape[0] == 0:
        raise InvalidTree(
            f"A linkage has 4 columns and at least one row; this one has the shape {matrix.shape}."
        )
    if matrix.dtype.kind not in "fiu":
        raise InvalidTree(f"A linkage holds real numbers; this one holds {matrix.dtype}.")
    matrix = matrix.astype(np.float64)
    odd = np.argwhere(~np.isfinite(matrix))
    if odd.size:
        row, column = odd[0].tolist()
        raise InvalidTree(
            f"The linkage has a value that is not finite at row {row}, column {column}.",
            row=row,
            column=column,
        )
    ids = matrix[:, :2]
    height, n_forgiven = forgiven(matrix[:, 2])
    # An id beyond n_nodes is out of range anyway, and a larger float may not fit an integer.
    wrong = np.flatnonzero(((ids != np.floor(ids)) | (np.abs(ids) > 2 * len(ids))).any(axis=1))
    if wrong.size:
        row = int(wrong[0])
        raise InvalidTree(
            f"Row {row} of the linkage joins {ids[row, 0]:g} and {ids[row, 1]:g}; ids are integers "
            f"from 0 to {len(ids) + row}.",
            row=row,
        )
    below = np.flatnonzero(height < 0)
    if below.size:
        row = int(below[0])
        raise InvalidTree(
            f"Row {row} of the linkage has the negative distance {height[row]:g}.", row=row
        )
    left, right = ids.astype(np.int64).T
    all_heights = np.concatenate([np.zeros(len(ids) + 1), height])
    # Ids out of range are refused by `from_merges`; here they must only not fail.
    highest = all_heights[np.clip(ids.astype(np.int64), 0, None)].max(axis=1)
    tree = from_merges(left, right, height, names=names, monotone=bool((highest <= height).all()))
    # Merge i is node L - 2 - i.
    n_merged = tree.size[: len(ids)][::-1]
    other = np.flatnonzero(matrix[:, 3] != n_merged)
    if other.size:
        row = int(other[0])
        raise InvalidTree(
            f"Row {row} of the linkage counts {matrix[row, 3]:g} leaves; its merge joins "
            f"{int(n_merged[row])}.",
            row=row,
        )
    tree, n_risen = risen(tree)
    warnings = counted(n_forgiven, "distance") + counted(n_risen, "branch length")
    return replace(tree, warnings=warnings)


@dataclass(frozen=True, slots=True)
class Hclust:
    """The parts of R's `hclust` object, as arrays.

    merge : (L - 1, 2) int64; -i is leaf i, i the merge of row i, both counted from 1. Leaves come
        before merges, earlier merges before later ones, as in R.
    height : (L - 1,) float64, ascending unless the tree is not monotone.
    order : (L,) the leaves from left to right, counted from 1.
    labels : L names; a leaf without one has its number.
    """

    merge: npt.NDArray[np.int64]
    height: npt.NDArray[np.float64]
    order: npt.NDArray[np.int64]
    labels: list[str]


def hclust(tree: Tree) -> Hclust:
    """R's `hclust` of a binary tree; leaves and merges are ordered as in `to_scipy`.

    Raises UsageError with code "not-binary". O(n log n).
    """
    merges, n_leaves = _merges(tree)
    number = _numbers(tree, merges)
    joined = np.sort(number[_pairs(tree, merges)], axis=1)
    merge = np.where(joined < n_leaves, -joined - 1, joined - n_leaves + 1)
    start, child = tree.children
    pairs = child.reshape(-1, 2)
    by_number = np.take_along_axis(pairs, np.argsort(number[pairs], axis=1), axis=1)
    tip = (tree.n_children == 0).astype(np.int64)
    place, _ = places_of(tree.parent, start, by_number.ravel(), tip)
    order = np.empty(n_leaves, dtype=np.int64)
    order[place[tree.leaves]] = number[tree.leaves] + 1
    names = np.empty(n_leaves, dtype=object)
    names[number[tree.leaves]] = tree.name[tree.leaves]
    labels = [str(leaf) if name is None else name for leaf, name in enumerate(names, 1)]
    return Hclust(merge, tree.height[merges], order, labels)


def to_hclust(tree: Tree) -> dict[str, Any]:
    """`hclust` as plain JSON values: merge, height, order, labels."""
    parts = hclust(tree)
    return {
        "merge": parts.merge.tolist(),
        "height": parts.height.tolist(),
        "order": parts.order.tolist(),
        "labels": parts.labels,
    }


HCLUST = frozenset({"merge", "height", "order", "labels"})
"""The fields of an `hclust` that are read."""


def from_hclust(document: Mapping[str, Any]) -> Tree:
    """The tree of R's `hclust` as JSON: `merge`, `height`, and maybe `order` and `labels`.

    `merge` is a list of pairs, or two lists as of R's columns; -i is leaf i, i the merge of row i,
    both counted from 1. Points are the leaves in order of `labels`. Leaves without labels have the
    numbers of rows, from 0. Children have an order of their own: where `order` has another, the
    tree's `warnings` say so, as they name further fields.

    Raises InvalidTree for fields of other types, lengths that differ, and as `from_scipy`.
    O(L log depth).
    """
    pairs = _whole_numbers(document.get("merge"), "merge")
    if pairs.ndim == 2 and pairs.shape[1] != 2 and pairs.shape[0] == 2:
        pairs = pairs.T
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs):
        raise InvalidTree(
            "The field 'merge' of an hclust is a list of pairs, one for each merge; here its shape "
            f"is {pairs.shape}."
        )
    n_leaves = len(pairs) + 1
    heights = document.get("height")
    if not isinstance(heights, list) or len(heights) != len(pairs):
        raise InvalidTree(f"The field 'height' of an hclust has a number for {len(pairs)} merges.")
    for row, height in enumerate(heights):
        if type(height) not in (int, float) or not abs(height) <= 1e300:
            raise InvalidTree(f"The height of merge {row} is not a number up to 1e300.", row=row)
    # R's NULL is an empty object.
    labels = document.get("labels") or None
    if labels is not None:
        if not isinstance(labels, list) or len(labels) != n_leaves:
            raise InvalidTree(f"The field 'labels' of an hclust has a text for {n_leaves} leaves.")
        odd = [label for label in labels if type(label) not in (str, int)]
        if odd:
            raise InvalidTree("A label of an hclust is neither text nor a whole number.")
        labels = [str(label) for label in labels]
        require_text(labels, "A label")
    wrong = np.flatnonzero(((pairs == 0) | (np.abs(pairs) > n_leaves)).any(axis=1))
    if wrong.size:
        row = int(wrong[0])
        raise InvalidTree(
            f"Merge {row} of the hclust joins {pairs[row].tolist()}; leaves are -1 to {-n_leaves}, "
            "earlier merges count from 1.",
            row=row,
        )
    ids = np.where(pairs < 0, -pairs - 1, pairs - 1 + n_leaves)
    sizes_of = np.ones(n_leaves + len(pairs))
    for row, (left, right) in enumerate(ids.tolist()):
        if max(left, right) >= n_leaves + row:
            raise InvalidTree(f"Merge {row} of the hclust joins a later merge.", row=row)
        sizes_of[n_leaves + row] = sizes_of[left] + sizes_of[right]
    table = np.column_stack([ids, np.array(heights, dtype=np.float64), sizes_of[n_leaves:]])
    tree = from_scipy(table, names=labels)
    warnings = [*tree.warnings]
    order = document.get("order")
    if order is not None and order != hclust(tree).order.tolist():
        warnings.append("The field 'order' was left out: the leaves have another order here.")
    further = sorted(map(str, document.keys() - HCLUST))
    if further:
        warnings.append(f"Fields of the hclust were left out: {listed(further)}.")
    return replace(tree, warnings=tuple(warnings))


def _whole_numbers(value: object, field: str) -> npt.NDArray[np.int64]:
    rows = value if isinstance(value, list) else []
    flat = [item for row in rows for item in (row if isinstance(row, list) else [row])]
    if not flat or any(type(item) is not int or abs(item) > 1 << 53 for item in flat):
        raise InvalidTree(f"The field {shown(field)} of an hclust holds whole numbers.")
    try:
        return np.array(rows, dtype=np.int64)
    except ValueError:
        raise InvalidTree(f"The rows of {shown(field)} of an hclust differ in length.") from None


def _merges(tree: Tree) -> tuple[npt.NDArray[np.int64], int]:
    """Inner nodes of a binary tree in the order of merges, and the number of leaves."""
    odd = np.flatnonzero((tree.n_children != 0) & (tree.n_children != 2))
    if odd.size:
        node = int(odd[0])
        raise UsageError(
            f"Only a binary tree has merges; node {node} has {int(tree.n_children[node])} "
            "children. Take JSON, Newick, Nexus or Arrow instead.",
            code="not-binary",
            node=node,
        )
    if tree.n_nodes == 1:
        raise UsageError(
            "A tree of one leaf has no merges. Take JSON, Newick, Nexus or Arrow instead.",
            code="not-binary",
            node=0,
        )
    inner = np.flatnonzero(tree.n_children == 2)[::-1]
    # Among equal heights the later row comes first: children lie after their parents.
    return inner[np.argsort(greatest_heights(tree)[inner], kind="stable")], tree.n_leaves


def _leaf_ids(tree: Tree) -> npt.NDArray[np.int64]:
    """(n_leaves,) the id of each of `tree.leaves`."""
    leaves = tree.leaves
    if tree.n_points == leaves.size and (tree.size[leaves] == 1).all():
        return np.argsort(tree.leaf_of_point, kind="stable")
    return np.arange(leaves.size)


def _numbers(tree: Tree, merges: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """(n_nodes,) SciPy id of each node: leaves before merges."""
    number = np.empty(tree.n_nodes, dtype=np.int64)
    number[tree.leaves] = _leaf_ids(tree)
    number[merges] = tree.n_leaves + np.arange(merges.size)
    return number


def _pairs(tree: Tree, merges: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """(L - 1, 2) the nodes that each merge joins."""
    start, child = tree.children
    return np.stack([child[start[merges]], child[start[merges] + 1]], axis=1)

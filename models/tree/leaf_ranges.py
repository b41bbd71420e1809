"""The range of leaves under each node, in left-to-right order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from models.arrays import Int, Int32
from models.tree import parents
from models.tree.tree import Tree, sizes

_counts: WeakKeyDictionary[Tree, Int] = WeakKeyDictionary()
_spans: WeakKeyDictionary[Tree, Spans] = WeakKeyDictionary()
_before: WeakKeyDictionary[Tree, Int] = WeakKeyDictionary()


def leaf_counts(tree: Tree) -> Int:
    """(n_nodes,) number of leaves under each node, 1 for a leaf. O(n_nodes), then kept."""
    counts = _counts.get(tree)
    if counts is None:
        counts = sizes(tree.parent, tree.leaves.astype(np.int32))
        counts.flags.writeable = False
        _counts[tree] = counts
    return counts


@dataclass(frozen=True, slots=True)
class Spans:
    """The leaves under node v are at positions `start[v]` to `start[v] + count[v] - 1`.

    start : (n_nodes,) int32.
    count : (n_nodes,) leaves under each node, 1 for a leaf.
    """

    start: Int32
    count: Int

    def rows(self, tree: Tree, node: int, first: int = 0, stop: int | None = None) -> Int:
        """The points under `node` among rows `first` to `stop` - 1, ascending. O(stop - first)."""
        place = self.start[tree.leaf_of_point[first:stop]]
        begin = int(self.start[node])
        inside = (place >= begin) & (place < begin + int(self.count[node]))
        return first + np.flatnonzero(inside)


def relabelled(
    tree: Tree, name: npt.NDArray[np.object_], extra: Mapping[str, npt.NDArray[Any]] | None = None
) -> Tree:
    """The tree with other names and, unless None, other further columns. What is known of its shape
    holds for the new one too, and is not computed again."""
    twin = replace(tree, name=name, extra=tree.extra if extra is None else extra)
    for known in ("n_children", "leaves", "children", "depth"):
        twin.__dict__[known] = getattr(tree, known)
    _counts[twin], _spans[twin] = leaf_counts(tree), spans(tree)
    _before[twin] = points_before(tree)
    return twin


def spans(tree: Tree) -> Spans:
    """Which leaves lie under each node. O(n_nodes log depth), 4 bytes a node, then kept."""
    ranges = _spans.get(tree)
    if ranges is None:
        count = leaf_counts(tree)
        start = ordered_starts(tree, tree.children[1]).astype(np.int32)
        start.flags.writeable = False
        ranges = _spans[tree] = Spans(start, count)
    return ranges


def points_before(tree: Tree) -> Int:
    """(n_nodes,) number of points to the left of those under each node, with leaves from left to
    right: those under node v are at places `[v]` to `[v] + size[v] - 1`. As `spans`, then kept."""
    before = _before.get(tree)
    if before is None:
        start = spans(tree).start
        behind = np.zeros(tree.n_leaves + 1, dtype=np.int64)
        behind[start[tree.leaves] + 1] = tree.size[tree.leaves]
        before = _before[tree] = np.cumsum(behind)[start]
        before.flags.writeable = False
    return before


def points_in_order(tree: Tree) -> Int:
    """(n_points,) the rows from left to right, within a leaf ascending. O(n log n)."""
    return np.argsort(spans(tree).start[tree.leaf_of_point], kind="stable")


def ordered_starts(tree: Tree, child: Int) -> Int:
    """(n_nodes,) number of leaves to the left of each node, with siblings in the order of `child`.

    child : (n_nodes - 1,) as in `Tree.children`, each node's in any order. O(n_nodes log depth).
    """
    first, _ = tree.children
    count = leaf_counts(tree)
    behind = np.zeros(tree.n_nodes, dtype=np.int64)
    np.cumsum(count[child], out=behind[1:])
    offset = np.zeros(tree.n_nodes, dtype=np.int64)
    offset[child] = behind[:-1] - np.repeat(behind[first[:-1]], np.diff(first))
    return parents.along(tree.parent, offset)

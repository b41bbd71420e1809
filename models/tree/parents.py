"""Functions of the column of parents alone: children, sums over subtrees and along paths.

They are array operations, so any depth works and the interpreter lock is released meanwhile. Sums
use pointer doubling: before round k each node knows its ancestor 2^k edges up and the sum in
between, so log2(depth) rounds suffice. Leaves, half of a binary tree or more, need no rounds: they
are taken off first and added last.

`parent` is (n_nodes,) as in `Tree` throughout: -1 for the root, parents before children.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array

from models.arrays import Int, Int32

Number = TypeVar("Number", np.int64, np.float64)


def children(parent: Int32) -> tuple[Int, Int]:
    """Children in compressed rows: node v has `child[start[v]:start[v + 1]]`.

    Returns `start` (n_nodes + 1,) and `child` (n_nodes - 1,), each node's in row order. A counting
    sort, that of a sparse matrix from columns to rows: O(n_nodes).
    """
    n_nodes = parent.shape[0]
    one_each = np.arange(n_nodes, dtype=np.int32)
    edges = csc_array(
        (np.ones(n_nodes - 1, dtype=np.int8), parent[1:], one_each), shape=(n_nodes, n_nodes - 1)
    ).tocsr()
    return edges.indptr.astype(np.int64), edges.indices.astype(np.int64) + 1


def add_at(into: npt.NDArray[Any], at: Int, value: npt.NDArray[Any]) -> None:
    """As `np.add.at`, but without holding the interpreter lock; integers below 2^53."""
    into += np.bincount(at, value, into.size).astype(into.dtype)


def under(
    parent: Int32,
    value: npt.NDArray[Number],
    gather: Callable[[npt.NDArray[Number], Int, npt.NDArray[Number]], None] = add_at,
) -> npt.NDArray[Number]:
    """(n_nodes,) sum of `value` over each node and all nodes under it; integers below 2^53.

    With `np.maximum.at` for `gather`, the maximum instead of the sum. O(n_nodes log depth).
    """
    total = value.copy()
    inner, leaf, above = _apart(parent)
    gather(total, parent[leaf].astype(np.int64), total[leaf])
    part = total[inner]
    for node, over in _doubled(above):
        gather(part, over, part[node])
    total[inner] = part
    return total


def along(parent: Int32, value: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """(n_nodes,) sum of `value` over each node and all its ancestors. O(n_nodes log depth)."""
    total = value.copy()
    inner, leaf, above = _apart(parent)
    part = total[inner]
    for node, over in _doubled(above):
        part[node] += part[over]
    total[inner] = part
    total[leaf] += total[parent[leaf]]
    return total


def nearest(parent: Int32, marked: npt.NDArray[np.bool_]) -> Int:
    """(n_nodes,) the nearest marked node at or above each node, -1 if there is none.

    O(n_nodes log depth).
    """
    inner, leaf, above = _apart(parent)
    ends = marked[inner] | (above < 0)
    jump = np.where(ends, np.arange(inner.size), above)
    node = np.flatnonzero(~ends)
    while node.size:
        over = jump[node]
        further = jump[over]
        jump[node] = further
        node = node[further != over]
    ancestor = np.empty(parent.shape[0], dtype=np.int64)
    ancestor[inner] = np.where(marked[inner[jump]], inner[jump], -1)
    ancestor[0] = 0 if marked[0] else -1
    ancestor[leaf] = np.where(marked[leaf], leaf, ancestor[parent[leaf]])
    return ancestor


def places(
    parent: Int32, width: npt.NDArray[Number]
) -> tuple[npt.NDArray[Number], npt.NDArray[Number]]:
    """The start of each node if all are lined up in preorder, each taking its `width`.

    Returns `start` and `total`, (n_nodes,) each: the subtree of v takes `start[v]` to `start[v] +
    total[v]`. O(n_nodes log depth).
    """
    first, child = children(parent)
    return places_of(parent, first, child, width)


def places_of(
    parent: Int32, first: Int, child: Int, width: npt.NDArray[Number]
) -> tuple[npt.NDArray[Number], npt.NDArray[Number]]:
    """`places` where the children of node v are `child[first[v]:first[v + 1]]`, in that order."""
    total = under(parent, width)
    behind = np.zeros(parent.shape[0], dtype=total.dtype)
    np.cumsum(total[child], out=behind[1:])
    # From the parent's start: its own width and the siblings before.
    lead = width - behind[first[:-1]]
    offset = np.zeros_like(total)
    offset[child] = behind[:-1] + np.repeat(lead, np.diff(first))
    return along(parent, offset), total


def _apart(parent: Int32) -> tuple[Int, Int, Int]:
    """The inner nodes, the leaves except a root, and each inner node's parent, numbered among
    them."""
    has_child = np.zeros(parent.shape[0], dtype=bool)
    has_child[parent[1:]] = True
    inner = np.flatnonzero(has_child)
    number = np.cumsum(has_child) - 1
    above = number[parent[inner]]
    above[:1] = -1
    has_child[0] = True
    return inner, np.flatnonzero(~has_child), above


def _doubled(above: Int) -> Iterator[tuple[Int, Int]]:
    """For k = 0, 1, ...: the nodes with an ancestor 2^k edges up, and that ancestor."""
    jump = above.copy()
    node = np.flatnonzero(jump >= 0)
    while node.size:
        over = jump[node]
        yield node, over
        over = jump[over]
        jump[node] = over
        node = node[over >= 0]

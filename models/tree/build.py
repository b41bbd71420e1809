"""Constructors of a `Tree`: from merges, from a partition, from parents in any order.

Every builder ends with `Tree.validate`, so what it returns is valid or it raised InvalidTree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from models.errors import InvalidTree, shown
from models.tree.parents import along, under
from models.tree.tree import Kind, Tree, sizes
from models.tree.walk import leaves_in_order


def from_merges(
    left: npt.ArrayLike,
    right: npt.ArrayLike,
    height: npt.ArrayLike,
    *,
    names: Sequence[str] | None = None,
    leaf_of_point: npt.ArrayLike | None = None,
    extra: Mapping[str, npt.NDArray[Any]] | None = None,
    monotone: bool = True,
) -> Tree:
    """Binary tree from merges in SciPy's numbering: leaves are 0 .. L-1, merge i makes L + i.

    Node numbering, stable for the same merges: the last merge is node 0, merge i is node L - 2 - i,
    leaf j is node L - 1 + j. So `tree.leaves[j]` is the node of leaf j. The distinction of `left`
    and `right` is not kept: children are ordered by row number.

    Parameters
    ----------
    left, right : (L - 1,) ids of the two parts of each merge, each id used once and made earlier.
    height : (L - 1,) height of each merge; leaves have height 0.
    names : names of the L leaves; their indices as text if None.
    leaf_of_point : (n_points,) leaf index 0 .. L-1 of each row; one row for each leaf if None.
    extra : further columns, each (2 L - 1,) in SciPy's numbering: leaves first, then merges.
    monotone : whether heights never fall from child to parent; if so, this is checked.

    Raises InvalidTree for an id out of range, not yet defined or used twice, and as
    `Tree.validate`. O(L + n_points).
    """
    heights = np.asarray(height, dtype=np.float64)
    lefts, rights = _vector(left, "left"), _vector(right, "right")
    n_merges = lefts.size
    if rights.size != n_merges or heights.shape != (n_merges,):
        raise InvalidTree(
            f"There are {n_merges} left parts, {rights.size} right parts and {heights.size} "
            "heights; each merge has one of each."
        )
    parts = np.stack([lefts, rights])
    n_leaves = n_merges + 1
    n_nodes = n_leaves + n_merges
    merged = np.arange(n_leaves, n_nodes, dtype=np.int64)
    bad = np.flatnonzero(((parts < 0) | (parts >= merged)).any(axis=0))
    if bad.size:
        merge = int(bad[0])
        raise InvalidTree(
            f"Merge {merge} joins {int(parts[0, merge])} and {int(parts[1, merge])}; it may only "
            f"join nodes made before it, 0 to {n_leaves + merge - 1}.",
            merge=merge,
        )
    twice = np.flatnonzero(np.bincount(parts.ravel(), minlength=n_nodes) > 1)
    if twice.size:
        raise InvalidTree(f"Node {int(twice[0])} is merged more than once.", node=int(twice[0]))
    # 2 L - 2 distinct merged ids without the last one: every node but the last has one parent.
    above = np.full(n_nodes, -1, dtype=np.int64)
    above[parts] = merged
    row_of_id = np.concatenate(
        [np.arange(n_leaves) + n_merges, n_merges - 1 - np.arange(n_merges, dtype=np.int64)]
    )
    id_of_row = np.argsort(row_of_id)
    above = above[id_of_row]
    parent = np.where(above < 0, -1, row_of_id[above]).astype(np.int32)
    rows = np.arange(n_leaves) if leaf_of_point is None else _vector(leaf_of_point, "leaf_of_point")
    _in_range(rows, n_leaves, "leaf")
    all_heights = np.zeros(n_nodes, dtype=np.float64)
    all_heights[:n_merges] = heights[::-1]
    leaf = np.add(rows, n_merges, dtype=np.int32, casting="unsafe")
    return Tree(
        parent=parent,
        height=all_heights,
        size=sizes(parent, leaf),
        name=np.concatenate([np.full(n_merges, None, dtype=object), _names(names, n_leaves)]),
        leaf_of_point=leaf,
        monotone=monotone,
        extra={key: np.asarray(column)[id_of_row] for key, column in (extra or {}).items()},
    ).validate()


def from_partition(
    cluster_of_point: npt.ArrayLike,
    n_clusters: int,
    *,
    names: Sequence[str] | None = None,
    extra: Mapping[str, npt.NDArray[Any]] | None = None,
) -> Tree:
    """Tree of depth one: root 0 at height 1, cluster c is node c + 1 at height 0.

    Parameters
    ----------
    cluster_of_point : (n_points,) cluster 0 .. n_clusters - 1 of each row. A cluster may be empty.
    names : names of the clusters; their indices as text if None.
    extra : further columns, each (n_clusters + 1,), the root first.

    Raises InvalidTree for a cluster out of range or no cluster. O(n_clusters + n_points).
    """
    if n_clusters < 1:
        raise InvalidTree("A partition needs at least one cluster.")
    cluster = _vector(cluster_of_point, "cluster_of_point")
    _in_range(cluster, n_clusters, "cluster")
    parent = np.zeros(n_clusters + 1, dtype=np.int32)
    parent[0] = -1
    height = np.zeros(n_clusters + 1, dtype=np.float64)
    height[0] = 1.0
    leaf = (cluster + 1).astype(np.int32)
    return Tree(
        parent=parent,
        height=height,
        size=sizes(parent, leaf),
        name=np.concatenate([np.array([None], dtype=object), _names(names, n_clusters)]),
        leaf_of_point=leaf,
        kind="partition",
        extra=dict(extra or {}),
    ).validate()


def from_parents(
    parent: npt.ArrayLike,
    height: npt.ArrayLike,
    name: Sequence[str | None] | npt.NDArray[np.object_],
    leaf_of_point: npt.ArrayLike | None = None,
    *,
    kind: Kind = "hierarchy",
    monotone: bool = True,
    extra: Mapping[str, npt.NDArray[Any]] | None = None,
    labels: Sequence[int | str] | None = None,
) -> Tree:
    """Tree from the parent of each node, nodes in any order.

    If the root is row 0 and parents already come before children, rows keep their numbers.
    Otherwise rows are sorted by depth, stably. Siblings keep their order in both cases.

    Parameters
    ----------
    parent : (n_nodes,) row of each node's parent, -1 for the root.
    height : (n_nodes,) float.
    name : (n_nodes,) `str` or None each.
    leaf_of_point : (n_points,) row of each point's leaf, in the input numbering. None: the points
        are the leaves, one each, from left to right.
    extra : further columns, each (n_nodes,), in the input numbering.
    labels : (n_nodes,) the names of nodes in errors; None: their input rows.

    Raises InvalidTree, naming the node, for an unknown parent, no root, several roots, a cycle, a
    height that is not finite or falls from child to parent while `monotone`; and otherwise as
    `Tree.validate`. O(n_nodes log depth + n_points).
    """
    above = _vector(parent, "parent")
    n_nodes = above.size
    if n_nodes == 0:
        raise InvalidTree("A tree needs at least one node.")
    heights = np.asarray(height, dtype=np.float64)
    names = _objects(name)
    columns = {key: np.asarray(column) for key, column in (extra or {}).items()}
    for key, column in {"height": heights, "name": names, **columns}.items():
        if column.ndim == 0 or len(column) != n_nodes:
            raise InvalidTree(
                f"Column {shown(key)} does not have one row for each of {n_nodes} nodes."
            )
    called = range(n_nodes) if labels is None else labels
    order = _parents_first(above, called)
    _check_heights(above, heights, monotone, called)
    if order is None:
        row_of_given = np.arange(n_nodes)
    else:
        row_of_given = np.empty(n_nodes, dtype=np.int64)
        row_of_given[order] = np.arange(n_nodes)
        above, heights, names = above[order], heights[order], names[order]
        above = np.where(above < 0, -1, row_of_given[above])
        columns = {key: column[order] for key, column in columns.items()}
    rows = above.astype(np.int32)
    if leaf_of_point is None:
        leaf = leaves_in_order(rows).astype(np.int32)
    else:
        leaves = _vector(leaf_of_point, "leaf_of_point")
        _in_range(leaves, n_nodes, "node")
        leaf = row_of_given[leaves].astype(np.int32)
    return Tree(
        parent=rows,
        height=heights,
        size=sizes(rows, leaf),
        name=names,
        leaf_of_point=leaf,
        kind=kind,
        monotone=monotone,
        extra=columns,
    ).validate()


def levels_below(parent: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    """(n_nodes,) the most edges from each node down to a leaf: heights for a tree without any.

    `parent` is as in `Tree`: parents come first. O(n_nodes log depth).
    """
    depth = along(parent, np.ones(parent.size))
    return under(parent, depth, np.maximum.at) - depth


def _parents_first(
    parent: npt.NDArray[np.int64], called: Sequence[int | str]
) -> npt.NDArray[np.int64] | None:
    """Rows sorted by depth, or None if they are in order already. Raises InvalidTree."""
    n_nodes = parent.size
    unknown = np.flatnonzero((parent < -1) | (parent >= n_nodes))
    if unknown.size:
        node = called[int(unknown[0])]
        raise InvalidTree(
            f"Node {shown(node)} has the parent {int(parent[unknown[0]])}, which does not exist.",
            node=node,
        )
    roots = np.flatnonzero(parent == -1)
    if roots.size == 0:
        raise InvalidTree("No node is a root: each has a parent, so they form a cycle.")
    root = int(roots[0])
    if roots.size > 1:
        node = called[int(roots[1])]
        raise InvalidTree(
            f"Nodes {shown(called[root])} and {shown(node)} both have no parent; a tree has one "
            "root.",
            node=node,
        )
    if root == 0 and (parent[1:] < np.arange(1, n_nodes)).all():
        return None
    jump = parent.copy()
    jump[root] = root
    depth = np.ones(n_nodes, dtype=np.int64)
    depth[root] = 0
    # After i doublings a jump spans 2^i edges: a node that has not reached the root by then never
    # does.
    for _ in range(n_nodes.bit_length()):
        if (jump == root).all():
            break
        depth += depth[jump]
        jump = jump[jump]
    lost = np.flatnonzero(jump != root)
    if lost.size:
        # Jumps of at least n_nodes edges that miss the root end on the cycle itself.
        node = called[int(jump[lost[0]])]
        raise InvalidTree(
            f"Node {shown(node)} is its own ancestor: the parents form a cycle.", node=node
        )
    return np.argsort(depth, kind="stable")


def _check_heights(
    parent: npt.NDArray[np.int64],
    height: npt.NDArray[np.float64],
    monotone: bool,
    called: Sequence[int | str],
) -> None:
    odd = np.flatnonzero(~np.isfinite(height))
    if odd.size:
        node = called[int(odd[0])]
        raise InvalidTree(f"The height of node {shown(node)} is not finite.", node=node)
    falls = np.flatnonzero((parent >= 0) & (height > height[parent]))
    if monotone and falls.size:
        node = called[int(falls[0])]
        raise InvalidTree(
            f"Node {shown(node)} lies higher than its parent in a tree that claims to be monotone.",
            node=node,
        )


def _vector(values: npt.ArrayLike, what: str) -> npt.NDArray[np.int64]:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InvalidTree(f"{what!r} must be a vector of integers.")
    return array.astype(np.int64)


def _in_range(values: npt.NDArray[np.int64], n: int, what: str) -> None:
    if values.size and (values.min() < 0 or values.max() >= n):
        point = int(np.flatnonzero((values < 0) | (values >= n))[0])
        raise InvalidTree(
            f"Point {point} lies in {what} {int(values[point])}; {what} must be 0 to {n - 1}.",
            point=point,
        )


def _names(names: Sequence[str] | None, n: int) -> npt.NDArray[np.object_]:
    if names is None:
        return _objects([str(index) for index in range(n)])
    if len(names) != n:
        raise InvalidTree(f"There are {len(names)} names for {n} leaves.")
    return _objects([str(name) for name in names])


def _objects(
    values: Sequence[str | None] | npt.NDArray[np.object_],
) -> npt.NDArray[np.object_]:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column

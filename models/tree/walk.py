"""Orders, intervals, paths, common ancestors and parts of a tree, and the leaves under each node.

The children of a node are visited by row number, so "left to right" means that order throughout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from models.arrays import Int, Int32
from models.errors import UsageError
from models.tree import parents
from models.tree.tree import Tree, sizes


def ranks(parent: npt.NDArray[np.int32]) -> tuple[Int, Int]:
    """Position of each node in preorder, and the number of nodes in its subtree.

    The subtree of v consists of the nodes with rank `rank[v]` to `rank[v] + weight[v] - 1`.
    `parent` is as in `Tree`: parents come first. O(n_nodes log depth).
    """
    return parents.places(parent, np.ones(parent.shape[0], dtype=np.int64))


def preorder(tree: Tree) -> Int:
    """(n_nodes,) nodes with each parent right before its children's subtrees.

    O(n_nodes log depth).
    """
    return _inverse(ranks(tree.parent)[0])


def leaf_order(tree: Tree) -> Int:
    """(n_leaves,) the leaves' nodes from left to right. O(n_nodes log depth)."""
    return leaves_in_order(tree.parent)


def leaves_in_order(parent: npt.NDArray[np.int32]) -> Int:
    """`leaf_order` of a tree of which only the parents are known."""
    tip = np.bincount(parent[1:], minlength=parent.shape[0]) == 0
    place, _ = parents.places(parent, tip.astype(np.int64))
    leaves = np.flatnonzero(tip)
    order = np.empty_like(leaves)
    order[place[leaves]] = leaves
    return order


def internal(tree: Tree) -> Int:
    """(n_nodes - n_leaves,) rows of the nodes that have children, in row order."""
    return np.flatnonzero(tree.n_children > 0)


def path(tree: Tree, node: int) -> Int:
    """(depth + 1,) nodes from the root to `node`.

    O(depth). Raises UsageError for an unknown node.
    """
    require_node(tree, node)
    up = [node]
    parent = tree.parent
    while up[-1] != 0:
        up.append(int(parent[up[-1]]))
    return np.array(up[::-1], dtype=np.int64)


def paths(tree: Tree, nodes: npt.ArrayLike) -> tuple[Int, Int]:
    """Paths of many nodes, root first: that of `nodes[i]` is `node[start[i]:start[i + 1]]`.

    Returns `start` (n + 1,) and `node` (start[-1],). O(length of the result + n_nodes log depth).
    """
    current = _known(tree, nodes)
    start = np.zeros(current.size + 1, dtype=np.int64)
    np.cumsum(tree.depth[current] + 1, out=start[1:])
    node = np.empty(int(start[-1]), dtype=np.int64)
    place = start[1:] - 1
    while current.size:
        node[place] = current
        below = current > 0
        current = tree.parent[current[below]].astype(np.int64)
        place = place[below] - 1
    return start, node


def lca(tree: Tree, first: npt.ArrayLike, second: npt.ArrayLike) -> Int:
    """(n,) lowest common ancestor of each pair of nodes; a node is its own ancestor.

    Raises UsageError for an unknown node.

    Between the ranks of two nodes, the least rank of a parent is that of their lowest common
    ancestor. O(n_nodes log n_nodes + n) time, O(n_nodes + n) memory.
    """
    rank, _ = ranks(tree.parent)
    order = _inverse(rank)
    a, b = rank[_known(tree, first)], rank[_known(tree, second)]
    low, high = np.minimum(a, b), np.maximum(a, b)
    answer = low.copy()
    apart = np.flatnonzero(low < high)
    answer[apart] = range_minima(rank[tree.parent[order]], low[apart] + 1, high[apart] + 1)
    ancestor: Int = order[answer]
    return ancestor


def range_minima(values: Int, start: Int, stop: Int) -> Int:
    """(n_ranges,) minimum of `values[start:stop]` for each range; none may be empty.

    values : (n,) integers below 2^31. The levels of a sparse table are built one by one and serve
        the ranges of their width: O(n log n + n_ranges) time, O(n + n_ranges) memory.
    """
    least = values.astype(np.int32)
    minimum = np.empty(start.shape[0], dtype=np.int64)
    level = np.frexp((stop - start).astype(np.float64))[1] - 1
    for k in range(int(level.max(initial=-1)) + 1):
        if k:
            half = 1 << (k - 1)
            least = np.minimum(least[:-half], least[half:])
        ask = np.flatnonzero(level == k)
        minimum[ask] = np.minimum(least[start[ask]], least[stop[ask] - (1 << k)])
    return minimum


@dataclass(frozen=True, slots=True)
class TreePart:
    """A part of a tree as a separate tree.

    tree : the part. Nodes keep their order, so its row i is row `node[i]` of the whole tree.
    node : (tree.n_nodes,) the nodes of the whole tree, ascending.
    point : (tree.n_points,) the points of the whole tree that lie under the part, ascending.
    folded : (tree.n_nodes,) True where a node is a leaf of the part but not of the whole tree.
    """

    tree: Tree
    node: Int
    point: Int
    folded: npt.NDArray[np.bool_]


def part(tree: Tree, root: int = 0, depth: int | None = None) -> TreePart:
    """The subtree under `root`, at most `depth` edges deep.

    A node at the depth limit becomes a leaf that holds all the points under it. Points elsewhere
    are left out; heights, sizes, names and extra columns are kept. A partition's part is a
    partition. Raises UsageError for an unknown node or a negative depth. O(n_nodes log depth +
    n_points).
    """
    require_node(tree, root)
    if depth is not None and depth < 0:
        raise UsageError(
            f"The depth of a part is {depth}; it must be 0 or more.",
            code="wrong-part",
            parameter="depth",
        )
    # The node of the part that represents each node of the tree; -1 outside.
    standing = np.arange(tree.n_nodes)
    if depth is not None:
        standing = parents.nearest(tree.parent, tree.depth <= tree.depth[root] + depth)
    if root:
        outside = parents.nearest(tree.parent, np.arange(tree.n_nodes) == root) < 0
        standing[outside] = -1
    node_of_row = np.flatnonzero(standing == np.arange(tree.n_nodes))
    row_of_node = np.full(tree.n_nodes, -1, dtype=np.int32)
    row_of_node[node_of_row] = np.arange(node_of_row.size)
    parent = row_of_node[tree.parent[node_of_row]]
    parent[0] = -1
    leaf = standing[tree.leaf_of_point]
    point = np.flatnonzero(leaf >= 0)
    small = Tree(
        parent=parent,
        height=tree.height[node_of_row],
        size=tree.size[node_of_row],
        name=tree.name[node_of_row],
        leaf_of_point=row_of_node[leaf[point]],
        kind=tree.kind,
        monotone=tree.monotone,
        extra={key: column[node_of_row] for key, column in tree.extra.items()},
    )
    folded = (small.n_children == 0) & (tree.n_children[node_of_row] > 0)
    return TreePart(small, node_of_row, point, folded)


def subtree(tree: Tree, root: int = 0, depth: int | None = None) -> Tree:
    """The tree of `part`, if neither the original node ids nor the points' rows are needed."""
    return part(tree, root, depth).tree


def contract_unary(tree: Tree) -> Tree:
    """The same tree without inner nodes that have a single child.

    The child replaces the node above it and keeps its own height and name. Points stay
    where they are. O(n_nodes log depth + n_points).
    """
    kept = tree.n_children != 1
    if kept.all():
        return tree
    # -1 above a root that is removed.
    nearest = parents.nearest(tree.parent, kept)
    node_of_row = np.flatnonzero(kept)
    row_of_node = np.full(tree.n_nodes + 1, -1, dtype=np.int32)
    row_of_node[node_of_row] = np.arange(node_of_row.size)
    over = nearest[tree.parent[node_of_row]]
    if node_of_row[0] == 0:
        over[0] = -1
    return Tree(
        parent=row_of_node[over],
        height=tree.height[node_of_row],
        size=tree.size[node_of_row],
        name=tree.name[node_of_row],
        leaf_of_point=row_of_node[tree.leaf_of_point],
        kind=tree.kind,
        monotone=tree.monotone,
        extra={key: column[node_of_row] for key, column in tree.extra.items()},
    )


def greatest_heights(tree: Tree) -> npt.NDArray[np.float64]:
    """(n_nodes,) the greatest height at or below each node; its own if the tree is monotone.

    A stable sort by it, later rows first among equals, puts children before their parents.
    O(n_nodes log depth).
    """
    if tree.monotone:
        return tree.height
    return parents.under(tree.parent, tree.height, np.maximum.at)


def require_node(tree: Tree, node: int) -> None:
    """Raises UsageError with code "unknown-node" if `node` is not a row of the tree."""
    if not 0 <= node < tree.n_nodes:
        raise UsageError(
            f"The tree has no node {node}; its nodes are 0 to {tree.n_nodes - 1}.",
            code="unknown-node",
            node=node,
        )


def _known(tree: Tree, nodes: npt.ArrayLike) -> Int:
    rows = np.asarray(nodes, dtype=np.int64)
    for odd in rows[(rows < 0) | (rows >= tree.n_nodes)][:1]:
        require_node(tree, int(odd))
    return rows


def _inverse(rank: Int) -> Int:
    order = np.empty_like(rank)
    order[rank] = np.arange(rank.size)
    return order


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

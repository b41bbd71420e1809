"""Orders, intervals, paths, common ancestors and parts of a tree.

The children of a node are visited by row number, so "left to right" means that order throughout.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.errors import UsageError
from models.tree.tree import Tree, sizes

Rows = npt.NDArray[np.int64]


def ranks(parent: npt.NDArray[np.int32]) -> tuple[Rows, Rows]:
    """Place of each node in preorder, and number of nodes under it, itself included.

    The nodes under v are those of rank `rank[v]` to `rank[v] + weight[v] - 1`. `parent` is as in
    `Tree`: parents come first. O(n_nodes).
    """
    n_nodes = parent.shape[0]
    weight = sizes(parent, np.arange(n_nodes, dtype=np.int32))
    weights, above = weight.tolist(), parent.tolist()
    rank = [0] * n_nodes
    free = [1] * n_nodes
    for node in range(1, n_nodes):
        over = above[node]
        place = free[over]
        free[over] = place + weights[node]
        rank[node] = place
        free[node] = place + 1
    return np.array(rank, dtype=np.int64), weight


def preorder(tree: Tree) -> Rows:
    """(n_nodes,) nodes with each parent right before its children's subtrees. O(n_nodes)."""
    return _inverse(ranks(tree.parent)[0])


def leaf_order(tree: Tree) -> Rows:
    """(n_leaves,) the leaves' nodes from left to right. O(n_nodes)."""
    return leaves_in_order(tree.parent)


def leaves_in_order(parent: npt.NDArray[np.int32]) -> Rows:
    """`leaf_order` of a tree that has only its parents yet."""
    order = _inverse(ranks(parent)[0])
    inner = np.zeros(parent.shape[0], dtype=bool)
    inner[parent[1:]] = True
    return order[~inner[order]]


def intervals(tree: Tree) -> tuple[Rows, Rows]:
    """The leaves under v are `leaf_order(tree)[start[v]:end[v]]`.

    Returns `start` and `end`, (n_nodes,) each. O(n_nodes).
    """
    rank, weight = ranks(tree.parent)
    before = np.zeros(tree.n_nodes + 1, dtype=np.int64)
    np.cumsum(tree.n_children[_inverse(rank)] == 0, out=before[1:])
    return before[rank], before[rank + weight]


def internal(tree: Tree) -> Rows:
    """(n_nodes - n_leaves,) rows of the nodes that have children, in row order."""
    return np.flatnonzero(tree.n_children > 0)


def path(tree: Tree, node: int) -> Rows:
    """(depth + 1,) nodes from the root to `node`. O(depth). UsageError for an unknown node."""
    require_node(tree, node)
    up = [node]
    parent = tree.parent
    while up[-1] != 0:
        up.append(int(parent[up[-1]]))
    return np.array(up[::-1], dtype=np.int64)


def paths(tree: Tree, nodes: npt.ArrayLike) -> tuple[Rows, Rows]:
    """Paths of many nodes, root first: that of `nodes[i]` is `node[start[i]:start[i + 1]]`.

    Returns `start` (n + 1,) and `node` (start[-1],). O(length of the answer + n_nodes log depth).
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


def lca(tree: Tree, first: npt.ArrayLike, second: npt.ArrayLike) -> Rows:
    """(n,) lowest common ancestor of each pair of nodes; a node is its own ancestor.

    UsageError for an unknown node.

    Between the ranks of two nodes, the least rank of a parent is that of their lowest common
    ancestor. Levels of a sparse table are made one by one and answer the pairs of their width.
    O(n_nodes log n_nodes + n) time, O(n_nodes + n) memory.
    """
    rank, _ = ranks(tree.parent)
    order = _inverse(rank)
    a, b = rank[_known(tree, first)], rank[_known(tree, second)]
    low, high = np.minimum(a, b), np.maximum(a, b)
    answer = low.copy()
    # Parents' ranks at ranks low + 1 .. high; a pair of equal nodes has an empty range.
    least = rank[tree.parent[order]]
    least[0] = 0
    width = high - low
    level = np.frexp(width.astype(np.float64))[1] - 1
    for k in range(int(level.max(initial=-1)) + 1):
        if k:
            half = 1 << (k - 1)
            least = np.minimum(least[:-half], least[half:])
        ask = np.flatnonzero(level == k)
        answer[ask] = np.minimum(least[low[ask] + 1], least[high[ask] + 1 - (1 << k)])
    found: Rows = order[answer]
    return found


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a tree as a tree of its own.

    tree : the part. Nodes keep their order, so its row i is row `node[i]` of the whole tree.
    node : (tree.n_nodes,) the nodes of the whole tree, ascending.
    point : (tree.n_points,) the points of the whole tree that lie under the part, ascending.
    folded : (tree.n_nodes,) True where a node is a leaf of the part but not of the whole tree.
    """

    tree: Tree
    node: Rows
    point: Rows
    folded: npt.NDArray[np.bool_]


def part(tree: Tree, root: int = 0, depth: int | None = None) -> Part:
    """The subtree under `root`, at most `depth` edges deep.

    A node at the depth limit becomes a leaf that holds all the points under it. Points elsewhere
    are left out; heights, sizes, names and extra columns are kept. A partition's part is a
    partition. UsageError for an unknown node or a negative depth. O(n_nodes log depth + n_points).
    """
    require_node(tree, root)
    if depth is not None and depth < 0:
        raise UsageError(
            f"The depth of a part is {depth}; it must be 0 or more.",
            code="wrong-part",
            parameter="depth",
        )
    above = tree.parent.tolist()
    deepest = tree.max_depth if depth is None else int(tree.depth[root]) + depth
    inside = tree.depth <= deepest
    # Node of the part that stands for each node of the tree; -1 outside.
    stands = [-1] * tree.n_nodes
    stands[root] = root
    for node, kept in enumerate(inside[root + 1 :].tolist(), root + 1):
        over = stands[above[node]]
        if over >= 0:
            stands[node] = node if kept else over
    standing = np.array(stands, dtype=np.int64)
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
    return Part(small, node_of_row, point, folded)


def subtree(tree: Tree, root: int = 0, depth: int | None = None) -> Tree:
    """The tree of `part`, where neither the former node ids nor the points' rows are needed."""
    return part(tree, root, depth).tree


def contract_unary(tree: Tree) -> Tree:
    """The same tree without inner nodes that have a single child.

    The child takes the place of the node above it and keeps its own height and name. Points stay
    where they are. O(n_nodes + n_points).
    """
    kept = tree.n_children != 1
    if kept.all():
        return tree
    above = tree.parent.tolist()
    # The nearest kept node at or above each node; -1 above a root that goes.
    nearest = [-1] * tree.n_nodes
    for node, keep in enumerate(kept.tolist()):
        if keep:
            nearest[node] = node
        elif node:
            nearest[node] = nearest[above[node]]
    node_of_row = np.flatnonzero(kept)
    row_of_node = np.full(tree.n_nodes + 1, -1, dtype=np.int32)
    row_of_node[node_of_row] = np.arange(node_of_row.size)
    over = np.array(nearest, dtype=np.int64)[tree.parent[node_of_row]]
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
    """(n_nodes,) the greatest height at or under each node; its own where the tree is monotone.

    A stable sort by it, later rows first among equals, puts children before their parents.
    O(n_nodes).
    """
    if tree.monotone:
        return tree.height
    highest = tree.height.tolist()
    above = tree.parent.tolist()
    for node in range(tree.n_nodes - 1, 0, -1):
        if highest[above[node]] < highest[node]:
            highest[above[node]] = highest[node]
    return np.array(highest, dtype=np.float64)


def require_node(tree: Tree, node: int) -> None:
    """UsageError with code "unknown-node" where `node` is not one of the tree's rows."""
    if not 0 <= node < tree.n_nodes:
        raise UsageError(
            f"The tree has no node {node}; its nodes are 0 to {tree.n_nodes - 1}.",
            code="unknown-node",
            node=node,
        )


def _known(tree: Tree, nodes: npt.ArrayLike) -> Rows:
    rows = np.asarray(nodes, dtype=np.int64)
    for odd in rows[(rows < 0) | (rows >= tree.n_nodes)][:1]:
        require_node(tree, int(odd))
    return rows


def _inverse(rank: Rows) -> Rows:
    order = np.empty_like(rank)
    order[rank] = np.arange(rank.size)
    return order

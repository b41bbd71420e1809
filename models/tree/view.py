"""A part of a tree small enough to be drawn: the largest subtrees open, the rest folded."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from models.errors import UsageError
from models.tree.layout import Scale, layout
from models.tree.tree import Tree, sizes
from models.tree.walk import require_node

_counts: WeakKeyDictionary[Tree, npt.NDArray[np.int64]] = WeakKeyDictionary()


def leaf_counts(tree: Tree) -> npt.NDArray[np.int64]:
    """(n_nodes,) number of leaves under each node, 1 for a leaf. O(n_nodes), then kept."""
    found = _counts.get(tree)
    if found is None:
        found = sizes(tree.parent, tree.leaves.astype(np.int32))
        found.flags.writeable = False
        _counts[tree] = found
    return found


@dataclass(frozen=True, slots=True)
class Folded:
    """The nodes that are shown, in preorder (so tips come from left to right).

    node : (n_shown,) their rows in the whole tree.
    parent : (n_shown,) position of the parent in these columns, -1 for the first.
    n_leaves : (n_shown,) leaves under each in the whole tree.
    hidden : (n_shown,) how many of its children are not shown; above 0 the node is folded.
    """

    node: npt.NDArray[np.int64]
    parent: npt.NDArray[np.int64]
    n_leaves: npt.NDArray[np.int64]
    hidden: npt.NDArray[np.int64]


def fold(
    tree: Tree,
    root: int = 0,
    *,
    max_nodes: int = 500,
    max_tips: int | None = None,
    max_depth: int | None = None,
) -> Folded:
    """Open the subtrees with most leaves first (ties: most points, then lowest row) while they fit.

    A node opens whole or stays folded; only a root with more children than fit shows the largest
    of them. O(n_nodes) the first time, then O(shown log shown) and the children looked at.

    Parameters
    ----------
    max_nodes : bound on the nodes shown.
    max_tips : bound on the shown nodes without shown children.
    max_depth : nodes so many edges below `root` stay folded.
    """
    require_node(tree, root)
    for name, value in (("max_nodes", max_nodes), ("max_tips", max_tips), ("depth", max_depth)):
        if value is not None and value < (0 if name == "depth" else 1):
            raise UsageError(
                f"Parameter {name!r} is {value}; it must be at least "
                f"{0 if name == 'depth' else 1}.",
                code="wrong-parameter",
                parameter=name,
            )
    counts = leaf_counts(tree)
    start, child = tree.children
    opened: dict[int, npt.NDArray[np.int64]] = {}
    shown, tips = 1, 1
    queue = [(-int(counts[root]), -int(tree.size[root]), root, 0)]
    while queue:
        _, _, node, depth = heapq.heappop(queue)
        below = child[start[node] : start[node + 1]]
        if not below.size or (max_depth is not None and depth >= max_depth):
            continue
        room = max_nodes - shown
        if max_tips is not None:
            room = min(room, max_tips - tips + 1)
        if below.size > room:
            if node != root or room < 2:
                continue
            best = np.lexsort((below, -tree.size[below], -counts[below]))[:room]
            below = np.sort(below[best])
        opened[node] = below
        shown += below.size
        tips += below.size - 1
        for down in below.tolist():
            if counts[down] > 1 or start[down + 1] > start[down]:
                heapq.heappush(queue, (-int(counts[down]), -int(tree.size[down]), down, depth + 1))
    return _columns(tree, root, opened, counts)


def _columns(
    tree: Tree, root: int, opened: dict[int, npt.NDArray[np.int64]], counts: npt.NDArray[np.int64]
) -> Folded:
    nodes: list[int] = []
    parents: list[int] = []
    stack = [(root, -1)]
    while stack:
        node, up = stack.pop()
        place = len(nodes)
        nodes.append(node)
        parents.append(up)
        if node in opened:
            stack.extend((down, place) for down in reversed(opened[node].tolist()))
    node_column = np.array(nodes, dtype=np.int64)
    parent = np.array(parents, dtype=np.int64)
    seen = np.bincount(parent[1:], minlength=len(nodes))
    return Folded(
        node=node_column,
        parent=parent,
        n_leaves=counts[node_column],
        hidden=tree.n_children[node_column] - seen,
    )


def view(
    tree: Tree, root: int = 0, max_nodes: int = 500, *, scale: Scale = "height"
) -> list[dict[str, Any]]:
    """The part under `root` laid out for drawing, as plain JSON values, in preorder.

    Each node has `id` (its row in the tree), `parent` (None for `root`), `x`, `y` (see
    `models.tree.layout`: the root at y = 0, the lowest height at y = 1), `height`, `size`,
    `n_leaves`, `name`, `folded` (some of its children are not shown) and `hidden` (how many). A
    folded node takes more room across than a leaf, by the logarithm of its leaves.

    Raises UsageError for a root that is no node and max_nodes below 1. Cost as `fold`.
    """
    part = fold(tree, root, max_nodes=max_nodes)
    height = tree.height[part.node]
    # Below a folded node the tree goes on, so its own height must not look like the ground.
    lowest = float(tree.height.min()) if part.hidden.any() else None
    place = layout(
        part.parent, height, scale=scale, lowest=lowest, weight=tip_weight(part.n_leaves)
    )
    ids = part.node.tolist()
    return [
        {
            "id": node,
            "parent": None if up < 0 else ids[up],
            "x": x,
            "y": y,
            "height": h,
            "size": size,
            "n_leaves": leaves,
            "folded": hidden > 0,
            "hidden": hidden,
            "name": name,
        }
        for node, up, x, y, h, size, leaves, hidden, name in zip(
            ids,
            part.parent.tolist(),
            place.x.tolist(),
            place.y.tolist(),
            height.tolist(),
            tree.size[part.node].tolist(),
            part.n_leaves.tolist(),
            part.hidden.tolist(),
            tree.name[part.node].tolist(),
            strict=True,
        )
    ]


def tip_weight(n_leaves: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Room that a tip takes across: 1 for a leaf, one third more for each doubling of leaves."""
    return 1.0 + np.log2(np.maximum(n_leaves, 1)) / 3.0

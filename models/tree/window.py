"""A part of a tree small enough to draw: the largest subtrees are open, the rest is folded."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from models.arrays import Int
from models.errors import UsageError
from models.tree.layout import Scale, layout, readable_scale
from models.tree.noise import noise_of
from models.tree.tree import Tree
from models.tree.walk import leaf_counts, points_before, require_node, spans

_DIGITS = 7
"""The digits of positions: enough for a picture of a million pixels, and half of all digits."""


@dataclass(frozen=True, slots=True)
class Folded:
    """The nodes that are shown, in preorder (so tips come from left to right).

    node : (n_shown,) their rows in the whole tree.
    parent : (n_shown,) position of the parent in these columns, -1 for the first.
    n_leaves : (n_shown,) leaves under each in the whole tree.
    hidden : (n_shown,) number of children that are not shown; above 0 the node is folded.
    """

    node: npt.NDArray[np.int64]
    parent: npt.NDArray[np.int64]
    n_leaves: npt.NDArray[np.int64]
    hidden: npt.NDArray[np.int64]

    @property
    def tip(self) -> npt.NDArray[np.bool_]:
        """(n_shown,) whether no child is shown; a root may be folded without being a tip."""
        ends: npt.NDArray[np.bool_] = np.bincount(self.parent[1:], minlength=self.node.size) == 0
        return ends


def fold(
    tree: Tree,
    root: int = 0,
    *,
    max_nodes: int = 500,
    max_tips: int | None = None,
    max_depth: int | None = None,
    place: npt.NDArray[np.integer] | None = None,
    closed: Int | None = None,
) -> Folded:
    """Open the subtrees with most leaves first (ties: most points, then lowest row) while they fit.

    A node opens completely or stays folded; only a root with more children than fit shows the
    largest of them. O(n_nodes) the first time, then O(shown log shown) and the visited children.

    Parameters
    ----------
    max_nodes : limit on the shown nodes.
    max_tips : limit on the shown nodes without shown children.
    max_depth : nodes this many edges below `root` stay folded.
    place : (n_nodes,) the left-to-right order of siblings; None: by row number.
    closed : rows that stay folded, where they lie below `root`.
    """
    require_node(tree, root)
    shut = _Closed.under(tree, root, closed)
    for name, value in (("max_nodes", max_nodes), ("max_tips", max_tips), ("depth", max_depth)):
        if value is not None and value < (0 if name == "depth" else 1):
            raise UsageError(
                f"Parameter {name!r} is {value}; it must be at least "
                f"{0 if name == 'depth' else 1}.",
                code="wrong-parameter",
                parameter=name,
            )
    opened, n_shown, n_tips = _first(tree, root, max_nodes, max_tips, max_depth, shut)
    first, child = tree.children
    room = max_nodes - n_shown
    if max_tips is not None:
        room = min(room, max_tips - n_tips + 1)
    if opened.size:
        shown = np.append(root, _under(first, child, opened))
        more = _rest(tree, root, shown, opened, room, max_depth, shut)
        shown = np.append(shown, _under(first, child, more)) if more.size else shown
    else:
        # The root alone may be opened in part.
        below = child[first[root] : first[root + 1]]
        if room < 2 or max_depth == 0:
            below = below[:0]
        best = np.lexsort((below, -tree.size[below], -leaf_counts(tree)[below]))[:room]
        shown = np.append(root, below[best])
    return _columns(tree, shown, spans(tree).start if place is None else place)


@dataclass(frozen=True, slots=True)
class _Closed:
    """Nodes below a root that stay folded, the outermost of them.

    rows : ascending. start, stop : the leaves under each, in their order from left to right.
    """

    rows: Int
    start: Int
    stop: Int

    @classmethod
    def under(cls, tree: Tree, root: int, closed: Int | None) -> _Closed | None:
        """None where no node stays folded. O(n_closed log n_closed)."""
        if closed is None or not closed.size:
            return None
        at = spans(tree)
        begin, end = int(at.start[root]), int(at.start[root]) + int(at.count[root])
        start = at.start[closed].astype(np.int64)
        below = (start >= begin) & (start < end) & (closed > root)
        rows, start = closed[below], start[below]
        stop = start + at.count[rows]
        order = np.lexsort((rows, -stop, start))
        rows, start, stop = rows[order], start[order], stop[order]
        # Ranges lie in each other or apart: an outermost one ends beyond all before it.
        outer = np.ones(rows.size, dtype=bool)
        outer[1:] = stop[1:] > np.maximum.accumulate(stop)[:-1]
        return cls(rows[outer], start[outer], stop[outer]) if rows.size else None

    def shuts(self, tree: Tree, nodes: Int) -> npt.NDArray[np.bool_]:
        """Which of `nodes` are closed or lie below a closed one."""
        at = spans(tree)
        start = at.start[nodes]
        place = np.searchsorted(self.start, start, side="right") - 1
        last = np.maximum(place, 0)
        within = (place >= 0) & (start + at.count[nodes] <= self.stop[last])
        # Above it with the same leaves: one that has it as its only child, in an earlier row.
        return within & (nodes >= self.rows[last])


def _first(
    tree: Tree,
    root: int,
    max_nodes: int,
    max_tips: int | None,
    max_depth: int | None,
    closed: _Closed | None,
) -> tuple[Int, int, int]:
    """The nodes opened before the first that does not fit, and the numbers of nodes and tips
    then."""
    counts = leaf_counts(tree)
    inner = np.flatnonzero(tree.n_children)
    if root:
        # Ancestors of the root with the same leaves, if it is an only child, come in earlier rows.
        place = spans(tree).start[inner] - spans(tree).start[root]
        inner = inner[(place >= 0) & (place < counts[root]) & (inner >= root)]
    if max_depth is not None:
        inner = inner[tree.depth[inner] < tree.depth[root] + max_depth]
    if closed is not None:
        inner = inner[~closed.shuts(tree, inner)]
    if inner.size > max_nodes:
        last = inner.size - max_nodes
        inner = inner[counts[inner] >= np.partition(counts[inner], last)[last]]
    # In this order a parent comes before its children.
    order = inner[np.lexsort((inner, -tree.size[inner], -counts[inner]))]
    shown = 1 + np.cumsum(tree.n_children[order])
    tips = 1 + np.cumsum(tree.n_children[order] - 1)
    fits = (shown <= max_nodes) & (tips <= (max_nodes if max_tips is None else max_tips))
    n = int(fits.argmin()) if not fits.all() else order.size
    return (order[:n], int(shown[n - 1]), int(tips[n - 1])) if n else (order[:0], 1, 1)


def _rest(
    tree: Tree,
    root: int,
    shown: Int,
    opened: Int,
    room: int,
    max_depth: int | None,
    closed: _Closed | None,
) -> Int:
    """Smaller nodes that still fit after the first that did not, one at a time."""
    counts = leaf_counts(tree)
    first, child = tree.children
    folded = np.setdiff1d(shown[tree.n_children[shown] > 0], opened, assume_unique=True)
    deepest = None if max_depth is None else int(tree.depth[root]) + max_depth

    def fitting(nodes: Int) -> list[tuple[int, int, int]]:
        if deepest is not None:
            nodes = nodes[tree.depth[nodes] < deepest]
        if closed is not None:
            nodes = nodes[~closed.shuts(tree, nodes)]
        nodes = nodes[(tree.n_children[nodes] > 0) & (tree.n_children[nodes] <= room)]
        keys = zip((-counts[nodes]).tolist(), (-tree.size[nodes]).tolist(), nodes, strict=True)
        return [(count, size, int(node)) for count, size, node in keys]

    queue = fitting(folded) if room > 0 else []
    heapq.heapify(queue)
    more = []
    while queue and room > 0:
        _, _, node = heapq.heappop(queue)
        if tree.n_children[node] > room:
            continue
        below = child[first[node] : first[node + 1]]
        more.append(node)
        room -= below.size
        for entry in fitting(below):
            heapq.heappush(queue, entry)
    return np.array(more, dtype=np.int64)


def _under(first: Int, child: Int, nodes: Int) -> Int:
    """The children of all these nodes."""
    begin, n_below = first[nodes], first[nodes + 1] - first[nodes]
    ends = np.cumsum(n_below)
    below: Int = child[np.repeat(begin - ends + n_below, n_below) + np.arange(int(ends[-1]))]
    return below


def _columns(tree: Tree, shown: Int, place: npt.NDArray[np.integer]) -> Folded:
    """The shown nodes in preorder: by the position of their first leaf, parents before children."""
    counts = leaf_counts(tree)
    node = shown[np.lexsort((shown, -counts[shown], place[shown]))]
    in_order = np.argsort(node)
    parent = in_order[np.searchsorted(node, tree.parent[node], sorter=in_order) % node.size]
    parent[0] = -1
    seen = np.bincount(parent[1:], minlength=node.size)
    return Folded(
        node=node,
        parent=parent,
        n_leaves=counts[node],
        hidden=tree.n_children[node] - seen,
    )


Colours = Callable[[Folded], tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]]
"""Category (-1: none) and share of each shown node, from `models.tree.labels.shared`."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A part of a tree laid out for drawing.

    nodes : plain JSON values, see `scene`.
    scale : what y shows.
    axis : the heights at y = 0 and y = 1; None if y does not depend on the height alone.
    """

    nodes: list[dict[str, Any]]
    scale: Scale
    axis: tuple[float, float] | None


def view(
    tree: Tree, root: int = 0, max_nodes: int = 500, *, scale: Scale = "height"
) -> list[dict[str, Any]]:
    """The nodes of `scene`."""
    return scene(tree, root, max_nodes, scale=scale).nodes


def scene(
    tree: Tree,
    root: int = 0,
    max_nodes: int = 500,
    *,
    scale: Scale | Literal["auto"] = "height",
    colours: Colours | None = None,
    place: npt.NDArray[np.integer] | None = None,
    closed: Int | None = None,
    max_tips: int | None = None,
) -> Scene:
    """The part under `root` laid out for drawing, in preorder.

    Each node has `id` (its row in the tree), `parent` (None for `root`), `x`, `y` (see
    `models.tree.layout`: the root at y = 0, the lowest height at y = 1), `height`, `size`,
    `n_leaves`, `points_before`, `name`, `folded` (some of its children are not shown), `hidden`
    (how many) and, in a tree with noise, `noise`. A folded node is wider than a leaf, by the
    logarithm of its number of leaves. With `colours` it has `category` and `share`, both None for
    none. The scale "auto" picks the most readable one. `place`, `closed` and `max_tips` are as in
    `fold`.

    Raises UsageError for an unknown root and for max_nodes below 1. Cost as `fold`.
    """
    part = fold(tree, root, max_nodes=max_nodes, max_tips=max_tips, place=place, closed=closed)
    height = tree.height[part.node]
    # The tree continues below a folded node, so its height must not look like the lowest one.
    low = float(tree.height.min()) if part.hidden.any() else float(height.min())
    high = float(height.max())
    if scale == "auto":
        scale = readable_scale(part.parent, height)
    elif high == low and scale != "depth":
        scale = "level"
    drawn = layout(part.parent, height, scale=scale, lowest=low, weight=tip_weight(part.n_leaves))
    columns: dict[str, list[Any]] = {
        "id": part.node.tolist(),
        "parent": [None, *part.node[part.parent[1:]].tolist()],
        "x": np.round(drawn.x, _DIGITS).tolist(),
        "y": np.round(drawn.y, _DIGITS).tolist(),
        "height": height.tolist(),
        "size": tree.size[part.node].tolist(),
        "n_leaves": part.n_leaves.tolist(),
        "points_before": points_before(tree)[part.node].tolist(),
        "folded": (part.hidden > 0).tolist(),
        "hidden": part.hidden.tolist(),
        "name": tree.name[part.node].tolist(),
    }
    is_noise = noise_of(tree)
    if is_noise.any():
        columns["noise"] = is_noise[part.node].tolist()
    if colours is not None:
        category, share = colours(part)
        has_category = (category >= 0).tolist()
        for key, values in (
            ("category", category.tolist()),
            ("share", np.round(share, _DIGITS).tolist()),
        ):
            columns[key] = [
                v if any_ else None for v, any_ in zip(values, has_category, strict=True)
            ]
    nodes = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return Scene(nodes, scale, (high, low) if scale in ("height", "sqrt") else None)


def tip_weight(n_leaves: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The width of a tip: 1 for a leaf, one third more for each doubling of leaves."""
    return 1.0 + np.log2(np.maximum(n_leaves, 1)) / 3.0

"""The nodes of a tree that are rows of a heatmap, from left to right, and the points under each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.arrays import Float, Int
from models.errors import UsageError
from models.heatmaps.options import MOST_ROWS
from models.tree.clusters import clusters
from models.tree.leaf_ranges import spans
from models.tree.tree import Tree
from models.tree.window import fold


@dataclass(frozen=True, slots=True)
class Tips:
    """node : (n,) disjoint nodes with points, from left to right. of_point : (n_points,) the tip
    over each point by its place in `node`; `n` for points under none.
    """

    node: Int
    of_point: Int


def tips_of(tree: Tree, cut: Mapping[str, Any] | None) -> tuple[Tips, tuple[str, ...]]:
    """(the clusters of a cut or, without one, the leaves; warnings). Of more leaves than fit, the
    largest subtrees are open and the others are folded.

    cut : one of `k`, `height`, `level`. Raises UsageError for a cut that the tree has not, and for
    one of more than `MOST_ROWS` clusters. O(n_nodes + n_points log n).
    """
    notes: list[str] = []
    if cut is None:
        shown = fold(tree, max_nodes=2 * tree.n_nodes, max_tips=MOST_ROWS)
        nodes = shown.node[shown.tip]
        if nodes.size < tree.n_leaves:
            notes.append(
                f"The tree has {tree.n_leaves:,} leaves; {nodes.size:,} rows are shown, the "
                "largest subtrees open and the others folded."
            )
    else:
        made = clusters(tree, **cut)
        nodes = made.nodes
        notes += [] if made.warning is None else [made.warning]
        if nodes.size > MOST_ROWS:
            raise UsageError(
                f"The cut has {nodes.size:,} clusters; a heatmap has at most {MOST_ROWS:,} rows. "
                "Cut into fewer.",
                code="too-large",
                parameter="cut",
            )
    tips = _under(tree, nodes)
    n_left_out = int((tips.of_point == tips.node.size).sum())
    if n_left_out:
        notes.append(f"{n_left_out:,} points are under none of the rows.")
    return tips, tuple(notes)


def largest_groups(tree: Tree, tips: Tips, most: int) -> Tips:
    """At most `most` subtrees, the largest open; the tips themselves where they are no more."""
    if tips.node.size <= most:
        return tips
    shown = fold(tree, max_nodes=2 * tree.n_nodes, max_tips=most)
    return _under(tree, shown.node[shown.tip])


def _under(tree: Tree, nodes: Int) -> Tips:
    ranges = spans(tree)
    nodes = nodes[tree.size[nodes] > 0]
    nodes = nodes[np.argsort(ranges.start[nodes])]
    start = ranges.start[nodes]
    place = ranges.start[tree.leaf_of_point]
    at = np.searchsorted(start, place, side="right") - 1
    inside = (at >= 0) & (place < start[at] + ranges.count[nodes][at])
    return Tips(nodes, np.where(inside, at, nodes.size))


def meetings(tree: Tree, tips: Tips) -> Float:
    """(n - 1, 2) the node where each tip meets the next one, and its height. O(n_nodes log n).

    The node where two tips meet is, of those between them, the one with the lowest number: a parent
    comes before its children.
    """
    ranges = spans(tree)
    tip_start = ranges.start[tips.node]
    first = np.searchsorted(tip_start, ranges.start)
    behind = np.searchsorted(tip_start, ranges.start + ranges.count)
    (below,) = np.nonzero((first < behind) & (first > first[tree.parent]))
    node = np.zeros(max(0, tips.node.size - 1), dtype=np.int64)
    node[first[below] - 1] = tree.parent[below]
    return np.column_stack([node, tree.height[node]]).astype(np.float64)

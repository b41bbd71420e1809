"""The clusters of a cut without their points: fast enough to follow a slider."""

from __future__ import annotations

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from models.arrays import Int
from models.errors import UsageError
from models.tree.tree import Tree
from models.tree.walk import greatest_heights

CUTS = ("k", "height", "level")
"""What a tree is cut by."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """Disjoint nodes that cover all leaves, as from `models.tree.cut.cut`.

    nodes : (n_clusters,) ascending.
    heights : every height from the first up to, but not including, the second gives this cut (None:
        no bound); None if no height does.
    warning : a sentence if the cut differs from the request.
    """

    nodes: Int
    heights: tuple[float | None, float | None] | None
    warning: str | None = None

    @property
    def n_clusters(self) -> int:
        return int(self.nodes.size)


@dataclass(frozen=True, slots=True)
class _Openings:
    """The inner nodes in the order in which they are opened, with their heights.

    n_clusters : (n_inner + 1,) clusters before the first opening and after each.
    """

    node: npt.NDArray[np.int32]
    height: npt.NDArray[np.float64]
    n_clusters: npt.NDArray[np.int32]


_openings_of: WeakKeyDictionary[Tree, _Openings] = WeakKeyDictionary()


def clusters(
    tree: Tree, k: int | None = None, height: float | None = None, level: int | None = None
) -> Clusters:
    """Cut by at most one of `k`, `height` and `level`; without any, at the leaves.

    Arguments and errors are as in `models.tree.cut.cut`. O(n_nodes log n_nodes) once per tree and
    12 bytes a node kept, then O(n_clusters log n_nodes); by level O(n_nodes).
    """
    criteria = [
        name
        for name, value in (("k", k), ("height", height), ("level", level))
        if value is not None
    ]
    if len(criteria) > 1:
        raise UsageError(
            f"A tree is cut by one of k, height and level; {' and '.join(criteria)} were given.",
            code="wrong-cut",
            parameter=criteria[1],
        )
    if level is not None:
        return Clusters(_by_level(tree, level), None)
    openings = _openings(tree)
    steps, warning = openings.node.size, None
    if k is not None:
        steps, warning = _steps(openings, k, tree.n_leaves)
    elif height is not None:
        if not math.isfinite(height):
            raise UsageError(
                f"The cut's height is {height}; it must be a finite number.",
                code="wrong-cut",
                parameter="height",
            )
        steps = int(np.searchsorted(-openings.height, -height))
    return Clusters(_under(tree, openings.node[:steps]), _heights(openings, steps), warning)


def _openings(tree: Tree) -> _Openings:
    openings = _openings_of.get(tree)
    if openings is None:
        # In this order a parent comes before its children: it is at least as high and has a lower
        # id.
        inner = np.flatnonzero(tree.n_children > 0)
        highest = greatest_heights(tree)[inner]
        order = np.argsort(-highest, kind="stable")
        n_clusters = np.ones(inner.size + 1, dtype=np.int32)
        n_clusters[1:] += np.cumsum(tree.n_children[inner[order]] - 1).astype(np.int32)
        openings = _Openings(inner[order].astype(np.int32), highest[order], n_clusters)
        _openings_of[tree] = openings
    return openings


def _steps(openings: _Openings, k: int, n_leaves: int) -> tuple[int, str | None]:
    """The number of nodes to open for k clusters, and a warning if k cannot be reached."""
    if not 1 <= k <= n_leaves:
        raise UsageError(
            f"The cut asks for k = {k} clusters; the tree has {n_leaves} leaves, so k must be 1 to "
            f"{n_leaves}.",
            code="wrong-cut",
            parameter="k",
        )
    counts = openings.n_clusters
    within = int(np.searchsorted(counts, k, side="right")) - 1
    n_clusters = int(counts[within])
    # Opening a node with one child changes nothing: stop at the first of equal counts.
    steps = int(np.searchsorted(counts, n_clusters))
    if n_clusters == k:
        return steps, None
    return steps, (
        f"The tree is not binary: no such cut has exactly k = {k} clusters. This one has "
        f"{n_clusters}, the next {int(counts[within + 1])}."
    )


def _heights(openings: _Openings, steps: int) -> tuple[float | None, float | None] | None:
    lowest = float(openings.height[steps]) if steps < openings.node.size else None
    below = float(openings.height[steps - 1]) if steps else None
    if lowest is not None and below is not None and lowest >= below:
        return None
    return lowest, below


def _under(tree: Tree, opened: npt.NDArray[np.int32]) -> Int:
    """The closed nodes under the opened ones, which form the top of the tree."""
    if not opened.size:
        return np.zeros(1, dtype=np.int64)
    first, child = tree.children
    begin = first[opened]
    n_below = first[opened + 1] - begin
    ends = np.cumsum(n_below)
    below = child[np.repeat(begin - ends + n_below, n_below) + np.arange(int(ends[-1]))]
    is_open = np.zeros(tree.n_nodes, dtype=bool)
    is_open[opened] = True
    return np.sort(below[~is_open[below]])


def _by_level(tree: Tree, level: int) -> Int:
    if level < 0:
        raise UsageError(
            f"The cut's level is {level}; it must be 0 (the root) or more.",
            code="wrong-cut",
            parameter="level",
        )
    return np.flatnonzero((tree.depth == level) | ((tree.depth < level) & (tree.n_children == 0)))

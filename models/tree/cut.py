"""Flat clusters from a tree: by their number, by height, by depth, or its leaves.

`clusters` finds them without their points, fast enough to follow a slider; `cut` numbers the points
as well. `nested_cuts` gives all cuts of a tree into a few clusters at once: each is a coarsening of
the finest one.

Rows of noise (`models.tree.noise`) are in no cluster: their number is -1, as everywhere in the
field, and `k` does not count them. A cut into k clusters is the one that has most of the noise
apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from models.arrays import Int, Mask
from models.errors import UsageError
from models.tree.noise import crumbs_warning, noise_of
from models.tree.parents import nearest
from models.tree.tree import Tree
from models.tree.walk import greatest_heights

CUTS = ("k", "height", "level")
"""What a tree is cut by."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """Disjoint nodes that cover all leaves with the noise, as from `models.tree.cut.cut`.

    nodes : (n_clusters,) ascending.
    noise : (n,) the nodes that are noise and in no cluster, ascending; together with `nodes` they
        cover all leaves.
    heights : every height from the first up to, but not including, the second gives this cut (None:
        no bound); None if no height does.
    warning : a sentence if the cut differs from the request, or is one cluster with most
        rows and crumbs.
    """

    nodes: Int
    noise: Int
    heights: tuple[float | None, float | None] | None
    warning: str | None = None

    @property
    def n_clusters(self) -> int:
        return int(self.nodes.size)

    @property
    def cover(self) -> Int:
        """The nodes of the clusters and of the noise, ascending."""
        return np.sort(np.concatenate([self.nodes, self.noise]))


@dataclass(frozen=True, slots=True)
class _Openings:
    """The inner nodes, but for noise, in the order in which they are opened, with their heights.

    n_parts, n_clusters : (n_inner + 1,) closed nodes, with and without those that are noise, before
        the first opening and after each. is_noise : (n_nodes,); None: none is.
    """

    node: npt.NDArray[np.int32]
    height: npt.NDArray[np.float64]
    n_parts: npt.NDArray[np.int32]
    n_clusters: npt.NDArray[np.int32]
    is_noise: Mask | None


_openings_of: WeakKeyDictionary[Tree, _Openings] = WeakKeyDictionary()


def clusters(
    tree: Tree, k: int | None = None, height: float | None = None, level: int | None = None
) -> Clusters:
    """Cut by at most one of `k`, `height` and `level`; without any, at the leaves.

    Arguments and errors are as in `models.tree.cut.cut`. O(n_nodes log n_nodes) once per tree and
    12 bytes a node kept, then O(n_clusters log n_nodes), by level O(n_nodes).
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
    openings = _openings(tree)
    if level is not None:
        return _apart(tree, openings, _by_level(tree, level), None, None)
    steps, warning = openings.node.size, None
    if k is not None:
        steps, warning = _steps(openings, k)
    elif height is not None:
        if not math.isfinite(height):
            raise UsageError(
                f"The cut's height is {height}; it must be a finite number.",
                code="wrong-cut",
                parameter="height",
            )
        steps = int(np.searchsorted(-openings.height, -height))
    parts = _under(tree, openings.node[:steps])
    found = _apart(tree, openings, parts, _heights(openings, steps), warning)
    chosen = k is not None or height is not None
    crumbs = crumbs_warning(tree.size[found.nodes]) if chosen else None
    if crumbs is None:
        return found
    notes = crumbs if found.warning is None else f"{found.warning} {crumbs}"
    return replace(found, warning=notes)


def most_clusters(tree: Tree) -> int:
    """The number of clusters in the finest cut: the leaves that are not noise. As `clusters`."""
    return int(_openings(tree).n_clusters[-1])


def _apart(
    tree: Tree,
    openings: _Openings,
    parts: Int,
    heights: tuple[float | None, float | None] | None,
    warning: str | None,
) -> Clusters:
    """The clusters and the noise among the parts of a cut, and a warning of noise in clusters."""
    if openings.is_noise is None:
        return Clusters(parts, parts[:0], heights, warning)
    is_noise = openings.is_noise[parts]
    nodes, noise = parts[~is_noise], parts[is_noise]
    marked = np.flatnonzero(openings.is_noise & (tree.n_children == 0))
    held = int(tree.size[marked].sum() - tree.size[noise].sum())
    if held:
        within = (
            f"{held} row(s) of noise are in the clusters of this cut, which is too coarse to have "
            "them apart."
        )
        warning = within if warning is None else f"{warning} {within}"
    return Clusters(nodes, noise, heights, warning)


def _openings(tree: Tree) -> _Openings:
    openings = _openings_of.get(tree)
    if openings is None:
        # In this order a parent comes before its children: it is at least as high and has a lower
        # id.
        is_noise = noise_of(tree)
        highest = greatest_heights(tree)
        inner = np.flatnonzero((tree.n_children > 0) & ~is_noise)
        order = inner[np.argsort(-highest[inner], kind="stable")]
        n_parts = np.ones(inner.size + 1, dtype=np.int32)
        n_parts[1:] += np.cumsum(tree.n_children[order] - 1).astype(np.int32)
        n_clusters = n_parts
        if is_noise.any():
            n_noise = np.bincount(tree.parent[1:], is_noise[1:], tree.n_nodes).astype(np.int32)
            n_clusters = n_parts - is_noise[0].astype(np.int32)
            n_clusters[1:] -= np.cumsum(n_noise[order]).astype(np.int32)
        openings = _Openings(
            order.astype(np.int32),
            highest[order],
            n_parts,
            n_clusters,
            is_noise if is_noise.any() else None,
        )
        _openings_of[tree] = openings
    return openings


def _steps(openings: _Openings, k: int) -> tuple[int, str | None]:
    """The number of nodes to open for k clusters, and a warning if k cannot be reached."""
    counts, n_leaves = openings.n_clusters, int(openings.n_clusters[-1])
    if not 1 <= k <= n_leaves:
        leaves = "leaves" if openings.is_noise is None else "leaves that are not noise"
        to = f"so k must be 1 to {n_leaves}" if n_leaves else "so it has no clusters"
        raise UsageError(
            f"The cut asks for k = {k} clusters; the tree has {n_leaves} {leaves}, {to}.",
            code="wrong-cut",
            parameter="k",
        )
    within = int(np.searchsorted(counts, k, side="right")) - 1
    n_clusters = int(counts[within])
    # Opening a node with one child changes nothing: stop at the first of equal counts. One that
    # sets noise apart is opened.
    steps = int(np.searchsorted(openings.n_parts, openings.n_parts[within]))
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


@dataclass(frozen=True, slots=True)
class Cut:
    """A flat clustering of a tree's points: disjoint nodes that cover all leaves but noise.

    cluster_of_point : (n_points,) cluster 0 .. n_clusters - 1 of each row, -1 for noise.
    nodes : (n_clusters,) the node of each cluster, ascending.
    noise : (n,) the nodes that are noise, ascending.
    sizes : (n_clusters,) points in each cluster, 0 where a leaf has none.
    warning : a sentence if the cut differs from the request.
    """

    cluster_of_point: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.int64]
    noise: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    warning: str | None = None

    @property
    def n_clusters(self) -> int:
        return int(self.nodes.size)

    @property
    def cover(self) -> npt.NDArray[np.int64]:
        """The nodes of the clusters and of the noise, ascending."""
        return np.sort(np.concatenate([self.nodes, self.noise]))

    @property
    def n_noise(self) -> int:
        """The rows of noise."""
        return int(np.count_nonzero(self.cluster_of_point < 0))

    def with_noise(self) -> Cut:
        """The cut with all its noise as one more cluster, the last, at the first of its nodes; the
        cut itself where it has none."""
        if not self.noise.size:
            return self
        number = self.cluster_of_point
        return replace(
            self,
            cluster_of_point=np.where(number < 0, self.n_clusters, number),
            nodes=np.append(self.nodes, self.noise[0]),
            noise=self.noise[:0],
            sizes=np.append(self.sizes, self.n_noise),
        )


def cut(
    tree: Tree, k: int | None = None, height: float | None = None, level: int | None = None
) -> Cut:
    """Cut a tree by at most one of `k`, `height` and `level`; without any, at the leaves.

    k : open the highest node first, ties by lower node id, until there are k clusters; noise is not
        counted, and is set apart as long as that makes no more clusters. In a tree that is not
        binary, opening a node can skip k: then the cut stops before it, with fewer than k clusters,
        and `warning` says so.
    height : the clusters are the highest nodes whose height is at most `height`, as SciPy's
        `fcluster(..., criterion="distance")`; a leaf above `height` is a cluster too.
    level : the nodes at depth `level`, and the leaves above it.

    Where heights may fall from child to parent (`monotone` is False) a node counts as high as the
    highest node under it, as in SciPy.

    Raises UsageError (code "wrong-cut") for several criteria, k outside 1 .. the number of leaves
    that are not noise, a height that is not a finite number, a negative level. O(n_nodes log
    n_nodes + n_points).
    """
    chosen = clusters(tree, k, height, level)
    cluster = cluster_of_node(tree, chosen.nodes)[tree.leaf_of_point]
    return Cut(cluster, chosen.nodes, chosen.noise, tree.size[chosen.nodes], chosen.warning)


def finest_cut(tree: Tree, most: int) -> Cut:
    """The cut into `most` clusters, or into as many as the tree has. As `cut`."""
    n_clusters = most_clusters(tree)
    return cut(tree, k=min(most, n_clusters)) if n_clusters else cut(tree)


def rows_at(tree: Tree, nodes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """(n_points,) which of the disjoint nodes each row lies under, -1 for none. O(n_nodes log
    depth + n_points)."""
    return cluster_of_node(tree, nodes)[tree.leaf_of_point]


def cluster_of_node(tree: Tree, nodes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """(n_nodes,) the cluster that each node lies in, -1 for noise and for nodes above the cut.

    nodes : (n_clusters,) the node of each cluster. O(n_nodes log depth).
    """
    is_cluster = np.zeros(tree.n_nodes, dtype=bool)
    is_cluster[nodes] = True
    # One more, for the node -1 of those above the cut.
    number = np.full(tree.n_nodes + 1, -1, dtype=np.int64)
    number[nodes] = np.arange(nodes.size)
    return number[nearest(tree.parent, is_cluster)]


@dataclass(frozen=True, slots=True)
class NestedCuts:
    """Cuts by the number of clusters.

    part_of_point : (n_points,) the cluster of each point in the finest cut, or its node of noise.
    nodes : by k, the nodes of the cut into k clusters, ascending.
    coarser : by k, the position in `nodes[k]` of each part of the finest cut, -1 for noise.
    """

    part_of_point: Int
    nodes: dict[int, Int]
    coarser: dict[int, Int]


@dataclass(frozen=True, slots=True)
class _Shown:
    """The nodes that are clusters of any of some cuts. k : (n_cuts,) the cuts, ascending.

    node : (n,) ascending. first, last : (n,) node i is a cluster of the cuts `first[i]` to
        `last[i] - 1`.
    """

    k: Int
    node: Int
    first: Int
    last: Int


def _shown(tree: Tree, most: int) -> _Shown:
    """The clusters of the cuts into 2 to `most`. O(n_nodes log n_nodes) once per tree, then
    O(nodes that are opened)."""
    openings = _openings(tree)
    steps = _steps(openings, min(most, most_clusters(tree)))[0] if most_clusters(tree) else 0
    opened = openings.node[:steps].astype(np.int64)
    k = openings.n_clusters[1 : steps + 1]
    splits = np.flatnonzero((k > 1) & (tree.n_children[opened] > 1)) + 1
    # Noise that is set apart later changes no number: the last such cut counts.
    splits = splits[np.append(np.diff(k[splits - 1]) > 0, True)] if splits.size else splits
    # A node is there from when its parent is opened until it is itself.
    until = np.full(tree.n_nodes, steps + 1, dtype=np.int64)
    until[opened] = np.arange(1, steps + 1)
    first, child = tree.children
    node = np.sort(child[_ranges(first[opened], first[opened + 1])]) if steps else child[:0]
    if openings.is_noise is not None:
        node = node[~openings.is_noise[node]]
    begin = np.searchsorted(splits, until[tree.parent[node]])
    end = np.searchsorted(splits, until[node])
    kept = begin < end
    return _Shown(k[splits - 1].astype(np.int64), node[kept], begin[kept], end[kept])


def _ranges(first: Int, last: Int) -> Int:
    """`first[0]` to `last[0] - 1`, then `first[1]` to `last[1] - 1`, and so on."""
    length = last - first
    ends = np.cumsum(length)
    return np.repeat(last - ends, length) + np.arange(int(ends[-1]))


def nodes_of_cuts(tree: Tree, most: int) -> dict[int, Int]:
    """By k, the nodes of the cut into k clusters, ascending: as `nested_cuts`, without rows.

    O(n_nodes log n_nodes) once per tree, then O(most^2 log most + nodes that are opened).
    """
    shown = _shown(tree, most)
    if not shown.k.size:
        return {}
    cut_at = _ranges(shown.first, shown.last)
    node = np.repeat(shown.node, shown.last - shown.first)
    order = np.argsort(cut_at, kind="stable")
    parts = np.split(node[order], np.cumsum(np.bincount(cut_at))[:-1])
    return dict(zip(shown.k.tolist(), parts, strict=True))


def nested_cuts(tree: Tree, most: int) -> NestedCuts:
    """The cuts into 2 to `most` clusters, for the numbers that `models.tree.cut.cut` reaches
    exactly.

    O(n_nodes log n_nodes + n_points + most^3).
    """
    cover = finest_cut(tree, most).cover
    shown, nodes = _shown(tree, most), nodes_of_cuts(tree, most)
    marked = np.zeros(tree.n_nodes, dtype=bool)
    marked[shown.node] = True
    above = nearest(tree.parent, marked)
    number = np.arange(shown.k.size)[:, None]
    # (n_cuts, n_parts) the cluster of each part, from the finest up.
    cluster = np.full((shown.k.size, cover.size), -1, dtype=np.int64)
    at = above[cover]
    while (at >= 0).any():
        place = np.searchsorted(shown.node, at)
        place[at < 0] = 0
        inside = (shown.first[place] <= number) & (number < shown.last[place]) & (at >= 0)
        cluster = np.where(inside, at, cluster)
        at = np.where(at > 0, above[tree.parent[at]], -1)
    coarser = {
        k: np.where(row < 0, -1, np.searchsorted(nodes[k], row))
        for k, row in zip(shown.k.tolist(), cluster, strict=True)
    }
    return NestedCuts(rows_at(tree, cover), nodes, coarser)

"""Flat clusters from a tree: by their number, by height, by depth, or its leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.errors import UsageError
from models.tree.parents import nearest
from models.tree.tree import Tree
from models.tree.walk import greatest_heights


@dataclass(frozen=True, slots=True)
class Cut:
    """A flat clustering of a tree's points: disjoint nodes that cover all leaves.

    cluster_of_point : (n_points,) cluster 0 .. n_clusters - 1 of each row.
    nodes : (n_clusters,) the node of each cluster, ascending.
    sizes : (n_clusters,) points in each cluster, 0 where a leaf has none.
    warning : a sentence where the cut is not quite what was asked for.
    """

    cluster_of_point: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    warning: str | None = None

    @property
    def n_clusters(self) -> int:
        return int(self.nodes.size)


def cut(
    tree: Tree, k: int | None = None, height: float | None = None, level: int | None = None
) -> Cut:
    """Cut a tree by at most one of `k`, `height` and `level`; without any, at the leaves.

    k : open the highest node first, ties by lower node id, until there are k clusters. In a tree
        that is not binary an opening can jump past k: then the openings stop before it, which
        gives fewer than k clusters, and `warning` says so.
    height : the clusters are the highest nodes whose height is at most `height`, as SciPy's
        `fcluster(..., criterion="distance")`; a leaf above `height` is a cluster too.
    level : the nodes at depth `level`, and the leaves above it.

    Where heights may fall from child to parent (`monotone` is False) a node counts as high as the
    highest node under it, as in SciPy.

    Raises UsageError (code "wrong-cut") for several criteria, k outside 1 .. n_leaves, a height
    that is not a finite number, a negative level. O(n_nodes log n_nodes + n_points).
    """
    given = [
        name
        for name, value in (("k", k), ("height", height), ("level", level))
        if value is not None
    ]
    if len(given) > 1:
        raise UsageError(
            f"A tree is cut by one of k, height and level; {' and '.join(given)} were given.",
            code="wrong-cut",
            parameter=given[1],
        )
    warning = None
    if k is not None:
        opened, warning = _highest(tree, k)
    elif height is not None:
        if not math.isfinite(height):
            raise UsageError(
                f"The cut's height is {height}; it must be a finite number.",
                code="wrong-cut",
                parameter="height",
            )
        opened = greatest_heights(tree) > height
    elif level is not None:
        if level < 0:
            raise UsageError(
                f"The cut's level is {level}; it must be 0 (the root) or more.",
                code="wrong-cut",
                parameter="level",
            )
        opened = tree.depth < level
    else:
        opened = np.ones(tree.n_nodes, dtype=bool)
    opened &= tree.n_children > 0
    # Opened nodes form the top of the tree, so a cluster is a closed node under an opened one.
    chosen = ~opened
    chosen[1:] &= opened[tree.parent[1:]]
    nodes = np.flatnonzero(chosen)
    number = np.empty(tree.n_nodes, dtype=np.int64)
    number[nodes] = np.arange(nodes.size)
    cluster = number[nearest(tree.parent, chosen)[tree.leaf_of_point]]
    return Cut(cluster, nodes, tree.size[nodes], warning)


def _highest(tree: Tree, k: int) -> tuple[npt.NDArray[np.bool_], str | None]:
    """The nodes to open for k clusters, and the warning where k cannot be met."""
    if not 1 <= k <= tree.n_leaves:
        raise UsageError(
            f"The cut asks for k = {k} clusters; the tree has {tree.n_leaves} leaves, so k must be "
            f"1 to {tree.n_leaves}.",
            code="wrong-cut",
            parameter="k",
        )
    # Sorted so, a parent comes before its children: it is as high or higher and has a lower id.
    inner = np.flatnonzero(tree.n_children > 0)
    order = inner[np.argsort(-greatest_heights(tree)[inner], kind="stable")]
    n_clusters = np.concatenate([[1], 1 + np.cumsum(tree.n_children[order] - 1)])
    within = int(np.searchsorted(n_clusters, k, side="right")) - 1
    # Opening a node with one child changes nothing: stop at the first of equal counts.
    steps = int(np.searchsorted(n_clusters, n_clusters[within]))
    opened = np.zeros(tree.n_nodes, dtype=bool)
    opened[order[:steps]] = True
    got = int(n_clusters[steps])
    if got == k:
        return opened, None
    step = int(n_clusters[within + 1])
    return opened, (
        f"The tree is not binary: no such cut has exactly k = {k} clusters. This one has {got}, "
        f"the next {step}."
    )

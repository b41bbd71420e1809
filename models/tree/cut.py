"""Flat clusters from a tree: by their number, by height, by depth, or its leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.tree.clusters import clusters
from models.tree.parents import nearest
from models.tree.tree import Tree


@dataclass(frozen=True, slots=True)
class Cut:
    """A flat clustering of a tree's points: disjoint nodes that cover all leaves.

    cluster_of_point : (n_points,) cluster 0 .. n_clusters - 1 of each row.
    nodes : (n_clusters,) the node of each cluster, ascending.
    sizes : (n_clusters,) points in each cluster, 0 where a leaf has none.
    warning : a sentence if the cut differs from the request.
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
        that is not binary, opening a node can skip k: then the cut stops before it, with fewer than
        k clusters, and `warning` says so.
    height : the clusters are the highest nodes whose height is at most `height`, as SciPy's
        `fcluster(..., criterion="distance")`; a leaf above `height` is a cluster too.
    level : the nodes at depth `level`, and the leaves above it.

    Where heights may fall from child to parent (`monotone` is False) a node counts as high as the
    highest node under it, as in SciPy.

    Raises UsageError (code "wrong-cut") for several criteria, k outside 1 .. n_leaves, a height
    that is not a finite number, a negative level. O(n_nodes log n_nodes + n_points).
    """
    chosen = clusters(tree, k, height, level)
    cluster = cluster_of_node(tree, chosen.nodes)[tree.leaf_of_point]
    return Cut(cluster, chosen.nodes, tree.size[chosen.nodes], chosen.warning)


def cluster_of_node(tree: Tree, nodes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """(n_nodes,) the cluster that each node lies in, -1 for nodes above the cut.

    nodes : (n_clusters,) the node of each cluster. O(n_nodes log depth).
    """
    is_cluster = np.zeros(tree.n_nodes, dtype=bool)
    is_cluster[nodes] = True
    # One more, for the node -1 of those above the cut.
    number = np.full(tree.n_nodes + 1, -1, dtype=np.int64)
    number[nodes] = np.arange(nodes.size)
    return number[nearest(tree.parent, is_cluster)]

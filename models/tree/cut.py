"""Flat clusters from a tree: by their number, by height, by depth, or its leaves.

`nested_cuts` gives all cuts of a tree into a few clusters at once: each is a coarsening of the
finest one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.arrays import Int
from models.tree.clusters import clusters
from models.tree.parents import nearest
from models.tree.tree import Tree
from models.tree.walk import greatest_heights


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


@dataclass(frozen=True, slots=True)
class NestedCuts:
    """Cuts by the number of clusters.

    cluster_of_point : (n_points,) cluster of each point in the finest cut.
    nodes : by k, the nodes of the cut into k clusters, ascending.
    coarser : by k, the position in `nodes[k]` of each cluster of the finest cut.
    """

    cluster_of_point: Int
    nodes: dict[int, Int]
    coarser: dict[int, Int]


def nested_cuts(tree: Tree, most: int) -> NestedCuts:
    """The cuts into 2 to `most` clusters, for the numbers that `models.tree.cut.cut` reaches
    exactly.

    O(n_nodes log n_nodes + n_points + most^2 + most depth).
    """
    finest = cut(tree, k=min(most, tree.n_leaves))
    # From the root down to each cluster of the finest cut.
    paths = []
    for node in finest.nodes.tolist():
        path = [node]
        while path[-1]:
            path.append(int(tree.parent[path[-1]]))
        paths.append(path[::-1])
    above = np.array(sorted({node for path in paths for node in path[:-1]}), dtype=np.int64)
    height = greatest_heights(tree)[above]
    n_clusters, opened = 1, set[int]()
    nodes, coarser = {}, {}
    for node in above[np.argsort(-height, kind="stable")].tolist():
        opened.add(node)
        n_clusters += int(tree.n_children[node]) - 1
        if n_clusters < 2 or tree.n_children[node] < 2:
            continue
        closed = [next((v for v in path if v not in opened), path[-1]) for path in paths]
        nodes[n_clusters], coarser[n_clusters] = np.unique(
            np.array(closed, dtype=np.int64), return_inverse=True
        )
    return NestedCuts(finest.cluster_of_point, nodes, coarser)

"""Flat clusters from a tree: by their number, by height, by depth, or its leaves.

`nested_cuts` gives all cuts of a tree into a few clusters at once: each is a coarsening of the
finest one.

Rows of noise (`models.tree.noise`) are in no cluster: their number is -1, as everywhere in the
field.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from models.arrays import Int
from models.tree.clusters import clusters, most_clusters
from models.tree.noise import noise_of
from models.tree.parents import nearest
from models.tree.tree import Tree
from models.tree.walk import greatest_heights


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


def nested_cuts(tree: Tree, most: int) -> NestedCuts:
    """The cuts into 2 to `most` clusters, for the numbers that `models.tree.cut.cut` reaches
    exactly.

    O(n_nodes log n_nodes + n_points + most^2 + most depth).
    """
    cover = finest_cut(tree, most).cover
    # From the root down to each part of the finest cut.
    paths = []
    for node in cover.tolist():
        path = [node]
        while path[-1]:
            path.append(int(tree.parent[path[-1]]))
        paths.append(path[::-1])
    above = np.array(sorted({node for path in paths for node in path[:-1]}), dtype=np.int64)
    height = greatest_heights(tree)[above]
    is_noise = noise_of(tree)
    n_noise = np.bincount(tree.parent[1:], is_noise[1:], tree.n_nodes).astype(np.int64)
    n_clusters, opened = 1, set[int]()
    nodes, coarser = {}, {}
    for node in above[np.argsort(-height, kind="stable")].tolist():
        opened.add(node)
        n_clusters += int(tree.n_children[node] - n_noise[node]) - 1
        if n_clusters < 2 or tree.n_children[node] < 2:
            continue
        closed = np.array(
            [next((v for v in path if v not in opened), path[-1]) for path in paths], dtype=np.int64
        )
        nodes[n_clusters] = np.unique(closed[~is_noise[closed]])
        place = np.searchsorted(nodes[n_clusters], closed)
        coarser[n_clusters] = np.where(is_noise[closed], -1, place)
    return NestedCuts(rows_at(tree, cover), nodes, coarser)

"""All cuts of a tree into a few clusters at once: each is a coarsening of the finest one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Int
from models.tree.cut import cut
from models.tree.tree import Tree
from models.tree.walk import greatest_heights


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

"""Points merged along the graph of their neighbours into few enough groups to compare all pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Int, row_blocks
from models.graphs.neighbours import Graph
from models.methods.features.linkage.graph_linkage import agglomerate
from models.running.progress import Progress


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Groups of N points, or places of points that coincide.

    merges : (N - m, 2) within the groups, in SciPy's numbering. node : (m,) the last of each group.
    size : (m,) points. rows : (m, D) their means.
    """

    merges: Int
    node: Int
    size: Int
    rows: Array


def grouped(points: Array, graph: Graph, n_groups: int, progress: Progress) -> tuple[Groups, Int]:
    """The `n_groups` groups that Ward's linkage along the graph leaves, and (N - m,) the points
    under each merge.

    points : (N, D), compared by Euclidean distance. graph : of them, with more nodes than groups.

    The time of merging along the graph; O(N D) memory.
    """
    from models.methods.features.walks.loops import roots

    n_points = len(points)
    merges = agglomerate(graph, "ward", points, progress)[0][: n_points - n_groups]
    root, under = roots(merges, n_points)
    node, group = np.unique(root, return_inverse=True)
    size = np.bincount(group, minlength=n_groups)
    centre = np.zeros((n_groups, points.shape[1]))
    for block in row_blocks(n_points, points.shape[1], 1 << 22):
        np.add.at(centre, group[block], points[block])
    return Groups(merges, node, size, centre / size[:, None]), under

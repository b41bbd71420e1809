"""Agglomerative clustering along the edges of a graph: N points, E edges, N - 1 merges.

Two clusters may merge only where an edge joins them, so that neither N^2 distances nor N^2 time are
needed. Distances between clusters follow from the edges between them ('single', 'complete',
'weighted', the mean over edges) or from the clusters' centres, sizes and variances ('ward',
'centroid', 'median', the root of the mean squared distance), which count all points.

Source: scikit-learn's AgglomerativeClustering with connectivity; Dhulipala et al., "Hierarchical
Agglomerative Graph Clustering in Nearly-Linear Time" (2021), for edges that become parallel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from models.arrays import Array, Float, Int, Int32, Single
from models.graphs.neighbours import Graph
from models.methods.features.linkage.constraints import EDGE
from models.numerics.distances import FLAT, DistanceMetric
from models.running.progress import Progress

GraphRule = Literal[
    "single", "complete", "average", "weighted", "ward", "centroid", "median", "spread"
]
GRAPH_RULES: tuple[GraphRule, ...] = (
    "single", "complete", "average", "weighted", "ward", "centroid", "median", "spread",
)  # fmt: skip
"""Numbered as in `linkage.loops`. 'average': mean over edges; 'spread': root of the mean squared
distance over all pairs."""
BY_CENTRE: tuple[GraphRule, ...] = ("ward", "centroid", "median", "spread")

EDGE_BYTES, NODE_BYTES = 66, 160
"""Memory for each edge, and for each point beside its row, while clusters merge."""
STEP = 20_000
"""Merges between two reports of progress."""


def rule_of(linkage: GraphRule, metric: DistanceMetric) -> GraphRule:
    """The rule with which merging along a graph has the definition of a linkage."""
    return "spread" if linkage == "average" and metric in FLAT else linkage


def approximations(linkage: GraphRule, metric: DistanceMetric) -> tuple[str, ...]:
    """Warnings of what a linkage is along a graph, where that is not its definition."""
    if linkage == "average" and metric == "euclidean":
        return (
            "Along the graph, average linkage is the root of the mean squared distance between "
            "the points of two groups.",
        )
    if rule_of(linkage, metric) in BY_CENTRE:
        return ()
    statistic = {"single": "shortest", "complete": "longest"}.get(linkage, "mean")
    return (
        f"Along the graph, {linkage} linkage uses only the distances on the graph's edges "
        f"between two groups: it takes the {statistic} of them.",
    )


def agglomerate(
    graph: Graph, rule: GraphRule, points: Array | None, progress: Progress
) -> tuple[Int, Float]:
    """(N - 1, 2) merges of all points in SciPy's numbering, and their heights.

    points : (n_points, D), for the rules of `BY_CENTRE`.

    Points that coincide merge first, at height 0. The other merges follow in the order in which
    they happen; heights need not increase.
    """
    early, node, size = equal_points(graph.first, graph.place)
    weight = size.astype(np.float64)
    ends, length = graph.ends.copy(), graph.length.copy()
    first_weight, second_weight = weight[ends[:, 0]], weight[ends[:, 1]]
    if rule == "ward":
        length *= np.sqrt(2.0 * first_weight * second_weight / (first_weight + second_weight))
    count = first_weight * second_weight if rule == "average" else np.empty(0)
    kind = np.full(length.size, EDGE, dtype=np.uint8)
    centre, spread = np.empty((0, 0)), np.empty(0)
    if rule in BY_CENTRE and points is not None:
        centre, spread = points[graph.first].astype(np.float64), np.zeros(graph.n_nodes)
    clusters = Clusters(ends, length, count, kind, weight, centre, spread)
    late, height, _ = clusters.merged(rule, progress)
    return all_merges(graph.place.size, early, node, late, height)


def all_merges(n_points: int, early: Int, node: Int, late: Int, height: Float) -> tuple[Int, Float]:
    """Merges of points that coincide, then of the places, numbered by all points; their heights.

    early, node : as of `equal_points`. late, height : merges of nodes, in their own numbering.
    """
    # The node of each place, then of each merge.
    node_of = np.concatenate([node, n_points + len(early) + np.arange(len(late))])
    merges = np.concatenate([early, node_of[late]])
    return merges, np.concatenate([np.zeros(len(early)), height])


def equal_points(first: Int, place_of: Int) -> tuple[Int, Int, Int]:
    """Merges of points that coincide; the last node of each place; its number of points.

    first, place_of : `first` and `place` as of `Graph`.
    """
    n_points = place_of.size
    size = np.bincount(place_of, minlength=first.size)
    node = first.copy()
    repeated = np.ones(n_points, dtype=bool)
    repeated[first] = False
    point = np.flatnonzero(repeated)
    point = point[np.argsort(place_of[point], kind="stable")]
    place = place_of[point]
    merged = n_points + np.arange(point.size)
    merges = np.stack([merged - 1, point], axis=1)
    begins = np.ones(point.size, dtype=bool)
    begins[1:] = place[1:] != place[:-1]
    merges[begins, 0] = first[place[begins]]
    node[place] = merged
    return merges, node, size


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Clusters that an edge joins to others, at the start; the arrays are changed by merging.

    ends : (E, 2) int32, each pair once. length : (E,). count : (E,) the pairs of rows that an edge
        stands for, for the rule 'average'. kind : (E,) uint8, as in `constraints`.
    size : (n,). centre, spread : (n, D) and (n,) the mean, and the mean squared distance to it, for
        rules of `BY_CENTRE`.
    """

    ends: Int32
    length: Float | Single
    count: Float
    kind: npt.NDArray[np.uint8]
    size: Float
    centre: Float
    spread: Float

    def merged(
        self, rule: GraphRule, progress: Progress, nodes: tuple[Int, Int, Int, Int] | None = None
    ) -> tuple[Int, Float, npt.NDArray[np.int8]]:
        """(n - 1, 2) merges in SciPy's numbering, their heights and levels, in their order.

        nodes : as `Constraints.open_nodes`; None without a known tree.
        """
        from models.methods.features.linkage.loops import edges as loops

        n_nodes, n_edges = self.size.size, self.length.size
        if nodes is None:
            free, none = np.full(n_nodes, -1, np.int64), np.zeros(1, np.int64)
            nodes = free, np.zeros(n_nodes, np.int64), none, none
        table = np.empty(1 << max(2, int(2 * n_edges).bit_length()), dtype=np.int32)
        heap, place = np.empty(n_edges, dtype=np.int32), np.empty(n_edges, dtype=np.int32)
        head, follow = np.empty(n_nodes, dtype=np.int32), np.empty(2 * n_edges, dtype=np.int32)
        degree, number = np.zeros(n_nodes, dtype=np.int32), np.arange(n_nodes)
        level, merge_level = np.empty(n_edges, np.int8), np.empty(n_nodes - 1, np.int8)
        merges, height = np.empty((n_nodes - 1, 2), dtype=np.int64), np.empty(n_nodes - 1)
        loops.prepare(
            self.ends, self.kind, level, self.length, nodes[0], table, heap, place, head, follow,
            degree,
        )  # fmt: skip
        n_left = n_edges
        for first in range(0, n_nodes - 1, STEP):
            last = min(first + STEP, n_nodes - 1)
            progress(first / n_nodes, "merging", f"{first:,} of {n_nodes - 1:,} merges")
            n_left = loops.advance(
                GRAPH_RULES.index(rule), first, last, n_left, self.ends, self.kind, level,
                self.length, self.count, table, heap, place, head, follow, degree, self.size,
                number, *nodes, self.centre, self.spread, merges, height, merge_level,
            )  # fmt: skip
        return merges, height, merge_level

"""Agglomerative clustering of features along a graph, under constraints (`constraints`).

The distance of two clusters follows as in `graph_linkage`: from their centres, or from the lengths
of the graph's edges between them. Where no edge joins them it follows from the edges that are added
here, which merge at higher levels: between parts of the graph as `models.graphs.neighbours` joins
them, between rows that cannot link, and between rows next to each other in the known tree.

Cost: O(E log^2 E), times D where distances follow from centres, for E edges with the added ones;
more where a known tree opens nodes of clusters with many edges. Memory O(E + N D).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Array, Float, Int, Int32
from models.graphs.lengths import between
from models.graphs.neighbours import between_parts
from models.methods.features.linkage.constrained_pairs import Levels, group_means
from models.methods.features.linkage.constraints import ACROSS, APART, EDGE, Constraints
from models.methods.features.linkage.graph_linkage import (
    BY_CENTRE,
    EDGE_BYTES,
    Clusters,
    GraphRule,
)
from models.numerics.distances import FLAT, DistanceMetric, flat
from models.running.progress import Progress, subprogress

N_NEIGHBORS = 15
"""Parts to which each part of the graph is joined."""


def bytes_of_edges(n_points: int, n_columns: int, n_edges: int) -> int:
    """Memory for merging along a graph that the user gives."""
    return n_points * (16 * n_columns + 150) + n_edges * (EDGE_BYTES + 150)


def merges_along(
    constraints: Constraints,
    points: Array,
    rule: GraphRule,
    metric: DistanceMetric,
    threads: int,
    progress: Progress,
) -> tuple[Int, Float, Levels]:
    """(n_groups - 1, 2) merges of groups in SciPy's numbering, their heights and levels.

    points : (N, D); for the rules of `BY_CENTRE` with the metric 'euclidean'. The constraints have
        a graph.

    Raises UsageError naming the rows of an edge for which the metric is not defined.
    """
    if constraints.n_groups == 1:
        return np.empty((0, 2), dtype=np.int64), np.empty(0), np.zeros(0, dtype=np.int8)
    progress(0.0, "measuring distances")
    rows = flat(points, metric) if metric in FLAT else points
    pairs, kinds = edges_of(constraints, rows, threads)
    groups, weight = constraints.group[pairs], constraints.size
    centre, spread = np.empty((0, 0)), np.empty(0)
    if rule in BY_CENTRE:
        ends, kind, _, count = _grouped(groups, kinds, np.zeros(len(pairs)), rule)
        centre = group_means(points, constraints)
        spread = _spreads(points, centre, constraints)
        length = _between_centres(ends, rule, weight, centre, spread)
    else:
        apart = between(rows, pairs[:, 0], pairs[:, 1], metric)
        ends, kind, length, count = _grouped(groups, kinds, apart, rule)
    clusters = Clusters(ends, length, count, kind, weight, centre, spread)
    return clusters.merged(rule, subprogress(progress, 0.2, 1.0), constraints.open_nodes())


def edges_of(constraints: Constraints, rows: Array, threads: int) -> tuple[Int, Int]:
    """(E, 2) rows joined by edges, and what each edge is for; a pair may occur several times."""
    edges, part = constraints.edges, constraints.part
    assert edges is not None
    assert part is not None
    several = [(edges, EDGE)]
    joined = part
    while (n_parts := int(joined.max()) + 1) > 1:
        ordered = _by_means(rows, joined, n_parts)
        bridges, joined = between_parts(rows, ordered, n_parts, N_NEIGHBORS, threads)
        several.append((bridges.astype(np.int64), ACROSS))
    if constraints.apart.size or constraints.clades is not None:
        order = np.lexsort(rows.T[::-1])
        first = np.unique(constraints.group[order], return_index=True)[1]
        several.append((order[first][constraints.apart], APART))
        if constraints.clades is not None:
            several.append((constraints.clades.chain(np.argsort(order)), 0))
    ends = np.concatenate([pairs for pairs, _ in several])
    kind = np.repeat([number for _, number in several], [len(pairs) for pairs, _ in several])
    # Rows of different parts, whatever the edge is for.
    return ends, np.where(part[ends[:, 0]] != part[ends[:, 1]], kind | ACROSS, kind)


def _by_means(rows: Array, part: Int, n_parts: int) -> Int:
    """The part of each row, numbered by the parts' means, so that the order of rows does not
    matter. Parts with the same mean are numbered in any order."""
    n_rows = part.size
    member = sp.csr_array((np.ones(n_rows), (part, np.arange(n_rows))), shape=(n_parts, n_rows))
    means = member @ rows.astype(np.float64) / np.bincount(part)[:, None]
    return np.argsort(np.lexsort(means.T[::-1]))[part]


def _grouped(
    ends: Int, kind: Int, length: Float, rule: GraphRule
) -> tuple[Int32, npt.NDArray[np.uint8], Float, Float]:
    """Edges of groups, each pair once: ends, kinds, lengths, and numbers of edges for 'average'.

    Where a pair has several edges, the graph's count alone, else edges between parts; the length is
    the least, the largest or the mean of theirs.
    """
    low, high = ends.min(axis=1), ends.max(axis=1)
    kept = low < high
    low, high, kind, length = low[kept], high[kept], kind[kept], length[kept]
    rank = np.where(kind & EDGE, 0, np.where(kind & ACROSS, 1, 2))
    order = np.lexsort((length, rank, high, low))
    low, high, kind, length, rank = low[order], high[order], kind[order], length[order], rank[order]
    new = np.ones(low.size, dtype=bool)
    new[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    first, pair = np.flatnonzero(new), np.cumsum(new) - 1
    joint = np.bitwise_or.reduceat(kind, first).astype(np.uint8)
    counted = rank == rank[first][pair]
    pair, length = pair[counted], length[counted]
    n = np.bincount(pair, minlength=first.size).astype(np.float64)
    begin = np.flatnonzero(np.concatenate([[True], pair[1:] != pair[:-1]]))
    if rule == "single":
        length = length[begin]
    elif rule == "complete":
        length = np.maximum.reduceat(length, begin)
    else:
        length = np.bincount(pair, length) / n
    both = np.stack([low[first], high[first]], axis=1).astype(np.int32)
    return both, joint, length, n if rule == "average" else np.empty(0)


def _spreads(points: Array, centre: Float, constraints: Constraints) -> Float:
    """(n_groups,) the mean squared distance of the rows of each group to its mean."""
    total = np.zeros(constraints.n_groups)
    if constraints.n_groups < constraints.group.size:
        group = constraints.group
        several = np.flatnonzero(constraints.size[group] > 1)
        apart = points[several] - centre[group[several]]
        np.add.at(total, group[several], np.einsum("nd,nd->n", apart, apart))
    return total / constraints.size


def _between_centres(
    ends: Int32, rule: GraphRule, weight: Float, centre: Float, spread: Float
) -> Float:
    first, second = ends.T
    length = between(centre, first, second, "euclidean")
    if rule == "ward":
        length *= np.sqrt(2.0 * weight[first] * weight[second] / (weight[first] + weight[second]))
    elif rule == "spread":
        length = np.sqrt(length**2 + spread[first] + spread[second])
    return length

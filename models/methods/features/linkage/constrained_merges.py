"""Agglomerative clustering under constraints (`constraints`), among all pairs and along a graph.

All pairs (`merges_under`). The distance of two groups of rows that must link is that of the
linkage, as if all rows of each had merged at once: for weighted linkage the mean over their pairs,
for median linkage that of their means. Cost: where must-links are the only constraints, the time of
the linkage without them, and its memory for single, ward, centroid and median linkage of features.
Otherwise O(N^2) time usually, O(N^3) at worst, and 4.5 N^2 bytes, or 4 N^2 without a graph and
pairs that cannot link; 4 N^2 more for the groups if there are must-links.

Features along a graph (`merges_along`). The distance of two clusters follows as in `graph_linkage`:
from their centres, or from the lengths of the graph's edges between them. Where no edge joins them
it follows from the edges that are added here, which merge at higher levels: between parts of the
graph as `models.graphs.neighbours` joins them, between rows that cannot link, and between rows next
to each other in the known tree. Cost: O(E log^2 E), times D where distances follow from centres,
for E edges with the added ones; more where a known tree opens nodes of clusters with many edges.
Memory O(E + N D).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Array, Float, Int, Int32
from models.graphs.lengths import between
from models.graphs.neighbours import between_parts
from models.methods.features.linkage.all_pairs import (
    EUCLIDEAN_ONLY,
    Linkage,
    all_distances,
    merges_among_all,
)
from models.methods.features.linkage.constraints import ACROSS, APART, EDGE, Constraints
from models.methods.features.linkage.graph_linkage import BY_CENTRE, EDGE_BYTES, Clusters, GraphRule
from models.numerics.agglomeration import AT_ONCE, listed, merged, merged_points
from models.numerics.distances import FLAT, DistanceMetric, flat
from models.running.progress import Progress, subprogress

Levels = npt.NDArray[np.int8]


def keeps_all_distances(linkage: Linkage, role: str, *, alone: bool) -> bool:
    """Whether the distances of all pairs are stored.

    alone : whether must-links are the only constraints.
    """
    without = linkage == "single" or linkage in EUCLIDEAN_ONLY
    return not (alone and role == "features" and without)


def bytes_of_pairs(n_points: int, *, kinds: bool, grouped: bool) -> int:
    """Memory for all pairs of points.

    kinds : whether there are a graph or pairs that cannot link. grouped : whether there are
    must-links.
    """
    each = 8 + kinds + 8 * grouped
    return each * n_points * (n_points - 1) // 2


def merges_under(
    constraints: Constraints,
    values: npt.NDArray[Any],
    role: str,
    linkage: Linkage,
    metric: DistanceMetric,
    threads: int,
    progress: Progress,
) -> tuple[Int, Float, Levels]:
    """(n_groups - 1, 2) merges of groups in SciPy's numbering, their heights and levels.

    Raises UsageError as `all_pairs.merges_among_all`.
    """
    n_groups = constraints.n_groups
    none = np.zeros(n_groups - 1, dtype=np.int8)
    if n_groups == 1:
        return np.empty((0, 2), dtype=np.int64), np.empty(0), none
    if not keeps_all_distances(linkage, role, alone=constraints.links_alone):
        if linkage not in EUCLIDEAN_ONLY:
            merges, height = merges_among_all(values, role, linkage, metric, threads, progress)
            return *_spanning(merges, height, constraints), none
        centres = group_means(values, constraints)
        within = subprogress(progress, 0.05, 0.95)
        joined = merged_points(centres, linkage, within, constraints.size)
        return joined[:, :2].astype(np.int64), joined[:, 2], none
    progress(0.05, "measuring distances")
    distance = all_distances(values, role, metric)
    if linkage in EUCLIDEAN_ONLY:
        with np.errstate(over="ignore"):
            np.multiply(distance, distance, out=distance)
    if n_groups < constraints.group.size:
        distance = _between_groups(distance, constraints, linkage)
    if constraints.links_alone and linkage != "single":
        if linkage in EUCLIDEAN_ONLY:
            np.sqrt(distance, out=distance)
        within = subprogress(progress, 0.4, 0.95)
        chained = merged(distance, linkage, within, constraints.size)
        return chained[:, :2].astype(np.int64), chained[:, 2], none
    return _merged(distance, constraints, linkage, subprogress(progress, 0.4, 0.95))


def group_means(points: Array, constraints: Constraints) -> Float:
    """(n_groups, D) the mean of the rows of each group."""
    n_rows, n_groups = constraints.group.size, constraints.n_groups
    member = sp.csr_array(
        (np.ones(n_rows), (constraints.group, np.arange(n_rows))), shape=(n_groups, n_rows)
    )
    return np.asarray(member @ points.astype(np.float64) / constraints.size[:, None])


def _spanning(merges: Int, height: Float, constraints: Constraints) -> tuple[Int, Float]:
    """The merges of groups by the merges of rows, for single linkage."""
    from models.methods.features.linkage.loops.pairs import spanning

    n_groups = constraints.n_groups
    ends, kept = np.empty((n_groups - 1, 2), dtype=np.int64), np.empty(n_groups - 1)
    spanning(merges, height, constraints.group, np.arange(n_groups), ends, kept)
    return listed(ends, kept)[:, :2].astype(np.int64), kept


def _between_groups(distance: Float, constraints: Constraints, linkage: Linkage) -> Float:
    """(n_groups (n_groups - 1) / 2,) distances of groups, squared for linkages by centres."""
    from models.methods.features.linkage.loops.pairs import gather

    n_groups, size = constraints.n_groups, constraints.size
    out, within = np.empty(n_groups * (n_groups - 1) // 2), np.zeros(n_groups)
    gather(distance, constraints.group, n_groups, _number(linkage), out, within)
    if linkage in ("single", "complete"):
        return out
    begin = 0
    for group in range(n_groups - 1):
        row, n, others = out[begin : begin + n_groups - 1 - group], size[group], size[group + 1 :]
        row /= n * others
        if linkage in EUCLIDEAN_ONLY:
            row -= within[group] / n**2 + within[group + 1 :] / others**2
            np.maximum(row, 0.0, out=row)
        if linkage == "ward":
            row *= 2.0 * n * others / (n + others)
        begin += row.size
    return out


def _merged(
    distance: Float, constraints: Constraints, linkage: Linkage, progress: Progress
) -> tuple[Int, Float, Levels]:
    from models.methods.features.linkage.loops import pairs as loops

    n = constraints.n_groups
    kind, size = _kinds(constraints), constraints.size
    node, n_held, above, n_rows = constraints.open_nodes()
    near, lowest, least = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    ends, height = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1)
    level, active = np.empty(n - 1, dtype=np.int8), np.arange(n)
    step = max(1, AT_ONCE // n)
    for first in range(0, n, step):
        progress(0.3 * first / n, "merging")
        last = min(first + step, n)
        loops.nearest_rows(distance, kind, node, active, near, lowest, least, first, last)
    for first in range(0, n - 1, step):
        progress(0.3 + 0.7 * first / n, "merging", f"{first:,} of {n - 1:,} merges")
        loops.advance(
            distance, kind, _number(linkage), size, node, n_held, above, n_rows,
            active, near, lowest, least, ends, height, level, first, min(first + step, n - 1),
        )  # fmt: skip
    if linkage in EUCLIDEAN_ONLY:
        with np.errstate(invalid="ignore"):
            np.sqrt(height, out=height)
    return listed(ends, height)[:, :2].astype(np.int64), height, level


def _number(linkage: Linkage) -> int:
    from models.numerics.loops import agglomeration

    return int(getattr(agglomeration, linkage.upper()))


def _kinds(constraints: Constraints) -> npt.NDArray[np.uint8]:
    """(n_groups (n_groups - 1) / 2,) what joins two groups and what keeps them apart; empty where
    only the known tree does."""
    n, edges, part = constraints.n_groups, constraints.edges, constraints.part
    if edges is None and not constraints.apart.size:
        return np.empty(0, dtype=np.uint8)
    kind = np.full(n * (n - 1) // 2, EDGE if edges is None else 0, dtype=np.uint8)
    if edges is not None and part is not None:
        own = np.empty(n, dtype=np.int64)
        own[constraints.group] = part
        begin = 0
        for group in range(n - 1) if part.any() else ():
            kind[begin : begin + n - 1 - group] = ACROSS * (own[group + 1 :] != own[group])
            begin += n - 1 - group
        ends = np.sort(constraints.group[edges], axis=1)
        ends = ends[ends[:, 0] < ends[:, 1]]
        kind[_place(ends, n)] |= EDGE
    kind[_place(constraints.apart, n)] |= APART
    return kind


def _place(ends: Int, n: int) -> Int:
    """The places of pairs, the lower first, in a condensed array."""
    low, high = ends[:, 0], ends[:, 1]
    return np.asarray(low * (2 * n - 3 - low) // 2 - 1 + high)


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

"""Agglomerative clustering that compares all pairs, under constraints (`constraints`).

The distance of two groups of rows that must link is that of the linkage, as if all rows of each had
merged at once: for weighted linkage the mean over their pairs, for median linkage that of their
means.

Cost: where must-links are the only constraints, the time of the linkage without them, and its
memory for single, ward, centroid and median linkage of features. Otherwise O(N^2) time usually,
O(N^3) at worst, and 4.5 N^2 bytes, or 4 N^2 without a graph and pairs that cannot link; 4 N^2 more
for the groups if there are must-links.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Array, Float, Int
from models.methods.features.linkage.all_pairs import (
    EUCLIDEAN_ONLY,
    Linkage,
    all_distances,
    merges_among_all,
)
from models.methods.features.linkage.constraints import ACROSS, APART, EDGE, Constraints
from models.numerics.agglomeration import AT_ONCE, listed, merged, merged_points
from models.numerics.distances import DistanceMetric
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

"""The nearest neighbours of each point, for points that are all distinct.

Up to `EXACT_POINTS` points, and for metrics that are not a function of a Euclidean distance, all
pairs are compared (scikit-learn, or SciPy for metrics that count columns). Beyond that they come
from cells of points in half precision (`models.graphs.cells`): the result is approximate, with a
known recall. Nothing is random: the same points give the same neighbours.

Cost: O(N^2 D) for all pairs; else as of `cells`. Memory: the points once more, and 24 bytes for
each neighbour.
"""

from __future__ import annotations

import numpy as np

from models.arrays import Array, Int, row_blocks
from models.errors import UsageError
from models.graphs.cells import Sharing, nearest_by_rows
from models.graphs.lengths import Neighbours, between, nearest_of_all, others
from models.inputs.rows import ArrayRows
from models.numerics.distances import COUNTED, FLAT, DistanceMetric, FlatRows, flat
from models.running.progress import Progress

EXACT_POINTS = 10_000
MOST_POINTS_EXACT = 50_000
"""Number of points at which all pairs of a metric without an index take minutes."""


def nearest(
    points: Array,
    n_neighbors: int,
    metric: DistanceMetric,
    threads: int,
    progress: Progress,
    sharing: Sharing | None = None,
) -> Neighbours:
    """Neighbours of distinct points; `n_neighbors` is below their number.

    sharing : who searches cells; None: this process alone.

    Raises UsageError for a metric without an index on more than `MOST_POINTS_EXACT` points, and
    where a distance is not defined.
    """
    if metric not in FLAT:
        require_index(len(points), metric)
        values = points.astype(np.float64, copy=False)
        if metric in COUNTED:
            index = _by_counts(values, n_neighbors, metric, progress)
        else:
            index = _by_all_pairs(values, n_neighbors, metric, threads, progress)
        return _measured(points, index, metric, None)
    if len(points) <= EXACT_POINTS:
        rows = flat(points, metric)
        index = _by_all_pairs(rows, n_neighbors, "euclidean", threads, progress)
        return _measured(rows, index, metric, None)
    return nearest_by_rows(
        FlatRows(ArrayRows(points), metric),
        n_neighbors,
        metric,
        threads,
        progress,
        np.float64,
        sharing,
    )


def require_index(n_points: int, metric: DistanceMetric) -> None:
    """Raises UsageError if neighbours by `metric` cannot be found among that number of points."""
    if metric not in FLAT and n_points > MOST_POINTS_EXACT:
        raise UsageError(
            f"Neighbours by the metric {metric!r} are sought among all pairs of points, of at most "
            f"{MOST_POINTS_EXACT:,} points; there are {n_points:,}. The metrics "
            f"{', '.join(map(repr, FLAT))} have an index.",
            code="too-large",
            parameter="metric",
        )


def _by_all_pairs(
    rows: Array, n_neighbors: int, metric: str, threads: int, progress: Progress
) -> Int:
    from sklearn.neighbors import NearestNeighbors
    from threadpoolctl import threadpool_limits

    # OpenMP runs Euclidean distances on several threads; processes cannot be started here.
    jobs = None if metric == "euclidean" else threads
    search = NearestNeighbors(
        n_neighbors=n_neighbors + 1, metric=metric, algorithm="brute", n_jobs=jobs
    )
    if metric == "euclidean":
        rows = rows - rows.mean(axis=0, dtype=np.float64).astype(rows.dtype)
    with threadpool_limits(threads):
        search.fit(rows)
        index = np.empty((len(rows), n_neighbors), dtype=np.int64)
        for block in row_blocks(len(rows), len(rows), 1 << 26):
            progress(block.start / len(rows), "neighbours", f"{block.start:,} of {len(rows):,}")
            near = search.kneighbors(rows[block], return_distance=False)
            index[block] = others(near, block.start)
    return index


def _by_counts(rows: Array, n_neighbors: int, metric: DistanceMetric, progress: Progress) -> Int:
    index = np.empty((len(rows), n_neighbors), dtype=np.int64)
    for block in row_blocks(len(rows), len(rows), 1 << 24):
        progress(block.start / len(rows), "neighbours", f"{block.start:,} of {len(rows):,}")
        near = nearest_of_all(rows[block], rows, n_neighbors + 1, metric)
        index[block] = others(near, block.start)
    return index


def _measured(rows: Array, index: Int, metric: DistanceMetric, recall: float | None) -> Neighbours:
    """Neighbours with their distances in float64, nearest first, equally near ones by number."""
    distance = np.empty(index.shape)
    out = np.empty(index.shape, dtype=np.int32)
    for block in row_blocks(len(rows), index.shape[1] * rows.shape[1], 1 << 20):
        near = np.sort(index[block], axis=1)
        own = np.repeat(np.arange(block.start, block.stop), index.shape[1])
        lengths = between(rows, own, near.ravel(), metric).reshape(near.shape)
        order = np.argsort(lengths, axis=1, kind="stable")
        distance[block] = np.take_along_axis(lengths, order, axis=1)
        out[block] = np.take_along_axis(near, order, axis=1)
    return Neighbours(out, distance, recall)

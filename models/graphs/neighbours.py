"""The nearest neighbours of each point, for points that are all distinct.

Up to `EXACT_POINTS` points, and for metrics that are not a function of a Euclidean distance, all
pairs are compared (scikit-learn). Beyond that an inverted file (Faiss: points in cells around
k-means centres) is searched in float32: each point searches its nearest cells, as many as are
needed to find `RECALL` of the true neighbours of a sample. So the result is approximate, with a
known recall. Nothing is random: the same points give the same neighbours.

Cost: O(N^2 D) for all pairs; else O(N D (cells + visited points)). Memory: the points twice in
float32 and 24 bytes for each neighbour.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.arrays import Array, Float, Int, Single, row_blocks
from models.checks import scattered
from models.errors import UsageError
from models.numerics.distances import FLAT, DistanceMetric, as_metric, flat, refuse_distance
from models.progress import Progress
from models.rows import Rows

EXACT_POINTS = 10_000
MOST_POINTS_EXACT = 50_000
"""Number of points at which all pairs of a metric without an index take minutes."""
RECALL = 0.98
"""Share of a sample's true neighbours that a search should find; more cells are read until it
does, or until `MOST_READ` points are read for each point."""
MOST_READ = 20_000
SAMPLE = 128


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The neighbours of each of U points, nearest first.

    index : (U, k) int32, never the point itself.
    distance : (U, k) by the metric, measured in float64 in any case; kept in float32 for rows that
        are read.
    recall : share of a sample's true neighbours that the index found; None if all pairs were
        compared.
    """

    index: npt.NDArray[np.int32]
    distance: Float | Single
    recall: float | None


def nearest(
    points: Array, n_neighbors: int, metric: DistanceMetric, threads: int, progress: Progress
) -> Neighbours:
    """Neighbours of distinct points; `n_neighbors` is below their number.

    Raises UsageError for a metric without an index on more than `MOST_POINTS_EXACT` points, and
    where a distance is not defined.
    """
    if metric not in FLAT:
        require_index(len(points), metric)
        values = points.astype(np.float64, copy=False)
        index = _by_all_pairs(values, n_neighbors, metric, threads, progress)
        return _measured(points, index, metric, None)
    rows = flat(points, metric)
    if len(points) <= EXACT_POINTS:
        index = _by_all_pairs(rows, n_neighbors, "euclidean", threads, progress)
        return _measured(rows, index, metric, None)
    index, recall = _by_cells(_single(rows), n_neighbors, threads, progress)
    return _measured(rows, index, metric, recall)


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


def _single(rows: Array) -> npt.NDArray[np.float32]:
    """Centred rows scaled to at most 1, in float32, which minimises rounding errors."""
    mean = rows.mean(axis=0, dtype=np.float64)
    top = 0.0
    for block in row_blocks(len(rows), rows.shape[1], 1 << 20):
        top = max(top, float(np.abs(rows[block] - mean).max()))
    out = np.empty(rows.shape, dtype=np.float32)
    for block in row_blocks(len(rows), rows.shape[1], 1 << 20):
        out[block] = (rows[block] - mean) / (top or 1.0)
    return out


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


def _by_cells(
    rows: npt.NDArray[np.float32], n_neighbors: int, threads: int, progress: Progress
) -> tuple[Int, float]:
    """Neighbours by an inverted file, and the share of a sample's that it finds."""
    import faiss

    n_points, n_columns = rows.shape
    n_nearest = n_neighbors + 1
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(threads)
    try:
        progress(0.0, "neighbours", "making cells")
        n_cells = int(4 * np.sqrt(n_points))
        index = faiss.IndexIVFFlat(faiss.IndexFlatL2(n_columns), n_columns, n_cells)
        index.cp.niter = 6
        index.cp.min_points_per_centroid = 1
        index.cp.max_points_per_centroid = 40
        index.train(rows)
        progress(0.05, "neighbours", "filling cells")
        index.add(rows)
        some = np.linspace(0, n_points - 1, min(SAMPLE, n_points)).astype(np.int64)
        true, _ = faiss.knn(rows[some], rows, n_nearest)
        # The search sums squared differences, `knn` differences of squares: their last digits
        # differ.
        reach = true[:, -1] * (1 + 1e-5) + 1e-9
        index.nprobe = 4
        while True:
            squared, numbers = index.search(rows[some], n_nearest)
            recall = float(((squared <= reach[:, None]) & (numbers >= 0)).mean())
            more = 2 * index.nprobe
            if recall >= RECALL or more > n_cells or more * n_points > MOST_READ * n_cells:
                break
            index.nprobe = more
        out = np.empty((n_points, n_neighbors), dtype=np.int64)
        for block in row_blocks(n_points, 1, 1 << 15):
            part = 0.1 + 0.9 * block.start / n_points
            progress(part, "neighbours", f"{block.start:,} of {n_points:,}")
            _, numbers = index.search(rows[block], n_nearest)
            lacking = np.flatnonzero(numbers[:, -1] < 0)
            if lacking.size:
                # Their cells hold too few points: read them all.
                _, numbers[lacking] = faiss.knn(rows[block][lacking], rows, n_nearest)
            out[block] = others(numbers, block.start)
    finally:
        faiss.omp_set_num_threads(before)
    return out, recall


def others(index: Int, first_row: int) -> Int:
    """Neighbours without the row itself, or without the last where it is not among them."""
    own = np.arange(first_row, first_row + len(index))[:, None]
    order = np.argsort(index == own, axis=1, kind="stable")
    return np.take_along_axis(index, order[:, :-1], axis=1)


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


def between(rows: Array | Rows, first: Array, second: Array, metric: DistanceMetric) -> Float:
    """(n,) distance by `metric` between pairs of rows, those of `flat` if it has them.

    Raises UsageError naming the rows for which it is not defined.
    """
    out = np.empty(first.size)
    for block in row_blocks(first.size, rows.shape[1], 1 << 20):
        a, b = (scattered(rows, ends[block]).astype(np.float64) for ends in (first, second))
        out[block] = lengths(a, b, metric)
    odd = np.flatnonzero(~np.isfinite(out))
    if odd.size:
        row, column = sorted((int(first[odd[0]]), int(second[odd[0]])))
        refuse_distance(metric, row, column, float(out[odd[0]]), "distinct rows number")
    return out


def lengths(a: Float, b: Float, metric: DistanceMetric) -> Float:
    """(n,) distance by `metric` between the rows of two matrices, those of `flat` if it has them;
    not finite where it is not defined."""
    apart = np.abs(a - b)
    with np.errstate(all="ignore"):
        if metric in FLAT:
            return as_metric(np.sqrt(np.einsum("nd,nd->n", apart, apart)), metric)
        if metric == "cityblock":
            total: Float = apart.sum(axis=1)
        elif metric == "chebyshev":
            total = apart.max(axis=1)
        elif metric == "canberra":
            weight = np.abs(a) + np.abs(b)
            total = np.divide(apart, weight, out=np.zeros_like(apart), where=weight > 0).sum(axis=1)
        else:
            total = apart.sum(axis=1) / np.abs(a + b).sum(axis=1)
    return total

"""The nearest neighbours of many rows, read block by block.

An inverted file (Faiss) keeps each row in the cell of its nearest k-means centre, as its difference
from that centre in half precision: 2 bytes a value. Each row is compared with the rows of its
nearest cells, as many as are needed to find `RECALL` of the true neighbours of a sample, and at
most `MOST_READ` rows. All rows of a block that read one cell are compared with it by one matrix
product, which takes a seventh of the time of Faiss's own search, that scans the cells of each row.
The distances to the neighbours found are then measured on the rows as given. Nothing is random: the
same rows give the same neighbours.

Five passes read the rows in order; the last one also takes the neighbours, in their order, once for
each `AT_ONCE` values.

Cost: O(N D (cells + rows read)). Memory: N (2 D + 8) bytes for the cells, 2 N for each cell that a
row reads, 8 N k for the neighbours, and blocks of about 1 GB.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.arrays import Array, Float, Int, Single, row_blocks
from models.graphs.lengths import Neighbours, lengths, others
from models.inputs.checks import blocks, scattered, take
from models.inputs.rows import Rows
from models.numerics.distances import DistanceMetric
from models.running.progress import Progress, subprogress

RECALL = 0.98
"""Share of a sample's true neighbours that a search should find; more cells are read until it
does, or until `MOST_READ` points are read for each point."""
MOST_READ = 20_000
SAMPLE = 128

AT_ONCE = 1 << 25
"""Values of the rows whose neighbours are sought together."""

TILE, GROUP = 1 << 21, 16
"""Distances that are computed in one call, and calls whose distances are in memory at a time."""

PER_CELL = 20
"""Rows of the sample for each cell."""

SPARE = 4
"""Neighbours measured beyond the requested ones, since half precision may confuse their order."""

TOP = 2.0**13
"""Magnitude of the largest value among the rows in cells: half precision ends at 2^16."""


def bytes_to_find(n_points: int, n_columns: int, n_neighbors: int) -> int:
    """Bytes that `nearest_by_rows` takes at most beyond the rows as they are stored."""
    most = _most_cells(n_points)
    at_once = min(n_points, AT_ONCE // n_columns + 1)
    block = at_once * (24 * n_columns + 16 * most + 60 * (n_neighbors + SPARE))
    sample = 12 * n_columns * PER_CELL * _n_cells(n_points)
    tiles = 4 * TILE * GROUP
    return n_points * (2 * n_columns + 8 + 2 * most + 8 * n_neighbors) + block + sample + tiles


def _n_cells(n_points: int) -> int:
    return max(1, min(int(2 * np.sqrt(n_points)), n_points // 4))


def _most_cells(n_points: int) -> int:
    """How many cells a row may read."""
    n_cells = _n_cells(n_points)
    return min(n_cells, max(4, MOST_READ * n_cells // n_points))


def nearest_by_rows(
    rows: Rows,
    n_neighbors: int,
    metric: DistanceMetric,
    threads: int,
    progress: Progress,
    kind: type[np.floating] = np.float32,
) -> Neighbours:
    """Neighbours of distinct rows as of `FlatRows`; `n_neighbors` is below their number.

    kind : in which their distances are kept; float64 also where those would overflow in float32.
    """
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(threads)
    try:
        return _nearest(rows, n_neighbors, metric, threads, progress, kind)
    finally:
        faiss.omp_set_num_threads(before)


def _nearest(
    rows: Rows,
    n_neighbors: int,
    metric: DistanceMetric,
    threads: int,
    progress: Progress,
    kind: type[np.floating],
) -> Neighbours:
    import faiss

    n_points, n_columns = rows.shape
    frame = _Frame.of(rows, subprogress(progress, 0.0, 0.02))
    cells = _Cells(frame, n_points, n_columns)
    progress(0.02, "neighbours", "making cells")
    cells.make(rows)
    truth = _Truth.of(rows, frame, n_neighbors, subprogress(progress, 0.08, 0.12))
    near = cells.fill(rows, cells.needed(truth), subprogress(progress, 0.12, 0.4))
    n_found = min(n_neighbors + SPARE, n_points - 1)
    index = np.empty((n_points, n_neighbors), dtype=np.int32)
    kept = kind if frame.moderate else np.float64
    distance: Array = np.empty((n_points, n_neighbors), dtype=kept)
    # Each call on one thread, so that their number changes no digit, and none spins for others.
    faiss.omp_set_num_threads(1)
    with ThreadPoolExecutor(threads, "cells", faiss.omp_set_num_threads, (1,)) as pool:
        for block in row_blocks(n_points, n_columns, AT_ONCE):
            begin, end = (0.4 + 0.6 * at / n_points for at in (block.start, block.stop))
            within = subprogress(progress, begin, end, f"{block.start:,} of {n_points:,}")
            values = rows.read(block.start, block.stop)
            numbers = cells.search(frame.single(values), near[block], n_found + 1, pool, within)
            numbers = np.sort(others(numbers, block.start), axis=1)
            measured = _measured(rows, values, numbers, metric, pool)
            order = np.argsort(measured, axis=1, kind="stable")[:, :n_neighbors]
            index[block] = np.take_along_axis(numbers, order, axis=1)
            distance[block] = np.take_along_axis(measured, order, axis=1)
    return Neighbours(index, distance, truth.recall(distance, metric, rows))


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where rows are moved to and by what they are scaled. mean : (D,)."""

    mean: Float
    scale: float

    @classmethod
    def of(cls, rows: Rows, progress: Progress) -> _Frame:
        n_points, n_columns = rows.shape
        total, low = np.zeros(n_columns), np.full(n_columns, np.inf)
        high = -low
        for block, part in blocks(rows):
            progress(block.start / n_points, "neighbours", "reading")
            total += part.sum(axis=0, dtype=np.float64)
            low, high = np.minimum(low, part.min(axis=0)), np.maximum(high, part.max(axis=0))
        mean = total / n_points
        top = max(float((high - mean).max()), float((mean - low).max()))
        return cls(mean, TOP / (top or 1.0))

    @property
    def moderate(self) -> bool:
        """Whether single precision has room for the squares of values and of their differences."""
        return 1e-12 < TOP / self.scale < 1e15

    def single(self, rows: Array) -> Single:
        """The rows moved and scaled, in their own precision where that has room for it."""
        kind = rows.dtype if self.moderate else np.dtype(np.float64)
        moved = rows - self.mean.astype(kind)
        moved *= kind.type(self.scale)
        single: Single = moved.astype(np.float32, copy=False)
        return single

    def parts(self, rows: Rows, progress: Progress, message: str) -> Iterator[tuple[slice, Single]]:
        """All rows moved and scaled, in blocks for matrix products."""
        for block in row_blocks(*rows.shape, 1 << 22):
            progress(block.start / rows.shape[0], "neighbours", message)
            yield block, self.single(rows.read(block.start, block.stop))


@dataclass(frozen=True, slots=True)
class _Truth:
    """The true neighbours of a sample. row : (S,). number : (S, k) rows, the row itself left out.

    here, there : (S, D) and (S k, D) the sample and its neighbours, as they lie in cells.
    """

    row: Int
    number: Int
    here: Single
    there: Single

    @classmethod
    def of(cls, rows: Rows, frame: _Frame, n_neighbors: int, progress: Progress) -> _Truth:
        from faiss.contrib.exhaustive_search import knn_ground_truth

        n_points = rows.shape[0]
        row = np.linspace(0, n_points - 1, min(SAMPLE, n_points)).astype(np.int64)
        here = frame.single(np.asarray(take(rows, row)))

        parts = (part for _, part in frame.parts(rows, progress, "neighbours of a sample"))
        search: Any = knn_ground_truth
        _, number = search(here, parts, n_neighbors + 1)
        number = np.stack([others(one[None], own)[0] for one, own in zip(number, row, strict=True)])
        return cls(row, number, here, frame.single(scattered(rows, number.ravel())))

    def recall(self, distance: Float | Single, metric: DistanceMetric, rows: Rows) -> float:
        """The share of the true neighbours among those found, as far away by `distance`."""
        own, other = (
            scattered(rows, numbers).astype(np.float64)
            for numbers in (np.repeat(self.row, self.number.shape[1]), self.number.ravel())
        )
        reach = lengths(own, other, metric).reshape(self.number.shape).max(axis=1)
        found: Array = distance[self.row] <= (reach * (1 + 1e-6))[:, None]
        return float(found.mean())


class _Cells:
    """Rows in the cells of an inverted file."""

    def __init__(self, frame: _Frame, n_points: int, n_columns: int) -> None:
        import faiss

        self._frame, self._n_points = frame, n_points
        self.n_cells = _n_cells(n_points)
        self._centres = faiss.IndexFlatL2(n_columns)
        self._index = faiss.IndexIVFScalarQuantizer(
            self._centres, n_columns, self.n_cells, faiss.ScalarQuantizer.QT_fp16
        )
        lists: Any = self._index.invlists
        self._lists: Any = faiss.downcast_InvertedLists(lists)

    def make(self, rows: Rows) -> None:
        """Find the centres from a sample."""
        n_rows = min(self._n_points, PER_CELL * self.n_cells)
        chosen = np.random.default_rng(0).choice(self._n_points, n_rows, replace=False)
        parameters = self._index.cp
        parameters.niter, parameters.min_points_per_centroid = 6, 1
        self._index.train(self._frame.single(np.asarray(take(rows, np.sort(chosen)))))

    def needed(self, truth: _Truth) -> int:
        """How many cells a row must read for `RECALL`, or may."""
        most = _most_cells(self._n_points)
        _, near = self._centres.search(truth.here, most)
        _, cell = self._centres.search(truth.there, 1)
        there = near[:, :, None] == cell.reshape(len(near), 1, -1)
        recall = np.cumsum(there.mean(axis=(0, 2)))
        return min(most, max(4, int(np.searchsorted(recall, RECALL)) + 1))

    def fill(self, rows: Rows, n_read: int, progress: Progress) -> Array:
        """Put the rows into their cells; (N, n_read) the cells nearest to each row."""
        import faiss

        kind = np.uint16 if self.n_cells <= 1 << 16 else np.int32
        near = np.empty((self._n_points, n_read), dtype=kind)
        message, first, second = "filling cells", (0.0, 0.9), (0.9, 1.0)
        for block, part in self._frame.parts(rows, subprogress(progress, *first), message):
            near[block] = self._centres.search(part, n_read)[1]
        # Lists that grow would take up to twice their size.
        for cell, size in enumerate(np.bincount(near[:, 0], minlength=self.n_cells).tolist()):
            self._lists.resize(cell, size)
            self._lists.resize(cell, 0)
        for block, part in self._frame.parts(rows, subprogress(progress, *second), message):
            own = near[block, 0].astype(np.int64)
            pointers = faiss.swig_ptr(part), None, faiss.swig_ptr(own)
            self._index.add_core(len(part), *pointers)
        return near

    def search(
        self,
        rows: Single,
        near: Array,
        n_nearest: int,
        pool: ThreadPoolExecutor,
        progress: Progress,
    ) -> Int:
        """(n, n_nearest) rows nearest to each of the given, which read the cells `near`."""
        numbers = self._searched(rows, near, n_nearest, pool, progress)
        n_read = near.shape[1]
        while (lacking := np.flatnonzero(numbers[:, -1] < 0)).size:
            # Their cells hold too few rows.
            n_read = min(4 * n_read, self.n_cells)
            some = rows[lacking]
            _, wider = self._centres.search(some, n_read)
            numbers[lacking] = self._searched(
                some, wider, n_nearest, pool, subprogress(progress, 1.0, 1.0)
            )
        return numbers

    def _searched(
        self,
        rows: Single,
        near: Array,
        n_nearest: int,
        pool: ThreadPoolExecutor,
        progress: Progress,
    ) -> Int:
        import faiss

        order = np.argsort(near, axis=None, kind="stable") // near.shape[1]
        start = np.concatenate([[0], np.cumsum(np.bincount(near.ravel(), minlength=self.n_cells))])
        size = [self._lists.list_size(cell) for cell in range(self.n_cells)]
        tasks = [
            (cell, order[start[cell] + part.start : start[cell] + part.stop])
            for cell in range(self.n_cells)
            if size[cell]
            for part in row_blocks(start[cell + 1] - start[cell], size[cell], TILE)
        ]

        def compare(task: tuple[int, Int]) -> tuple[Int, Single, Int]:
            cell, own = task
            number, there = self._read(cell)
            here = rows[own] - self._centres.reconstruct(cell)
            return own, faiss.pairwise_distances(here, there), number

        heap = faiss.ResultHeap(len(rows), n_nearest)
        for some in row_blocks(len(tasks), 1, GROUP):
            progress(some.start / len(tasks), "neighbours")
            for own, squared, number in pool.map(compare, tasks[some]):
                heap.add_result_subset(own, squared, number)
        heap.finalize()
        return np.asarray(heap.I)

    def _read(self, cell: int) -> tuple[Int, Single]:
        """(n,) and (n, D) the numbers of a cell's rows, and their differences from its centre."""
        import faiss

        size, lists = self._lists.list_size(cell), self._lists
        numbers = faiss.rev_swig_ptr(lists.get_ids(cell), size).copy()
        codes = faiss.rev_swig_ptr(lists.get_codes(cell), size * lists.code_size)
        return numbers, codes.view(np.float16).reshape(size, -1).astype(np.float32)


def _measured(
    rows: Rows, values: Array, number: Int, metric: DistanceMetric, pool: ThreadPoolExecutor
) -> Float:
    """(n, k) distances of `values` to the rows of the given numbers, which are read in order."""
    flat_number = number.ravel()
    order = np.argsort(flat_number, kind="stable")
    out = np.empty(order.size)

    def measure(part: slice) -> None:
        at = order[part]
        own = values[at // number.shape[1]].astype(np.float64)
        other = scattered(rows, flat_number[at]).astype(np.float64)
        out[at] = lengths(own, other, metric)

    for _ in pool.map(measure, row_blocks(order.size, rows.shape[1], 1 << 19)):
        pass
    return out.reshape(number.shape)

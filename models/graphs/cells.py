"""The nearest neighbours of many rows, read block by block.

Each row lies in the cell of its nearest k-means centre (Faiss), as its difference from that centre
in half precision: 2 bytes a value. Each row is compared with the rows of its nearest cells, as many
as are needed to find `RECALL` of the true neighbours of a sample, and at most `MOST_READ` rows. All
rows of a block that read one cell are compared with it by one matrix product, which takes a seventh
of the time of Faiss's own search, that scans the cells of each row. The distances to the neighbours
found are then measured on the rows as given.

Nothing is random: the same rows give the same neighbours. Blocks of rows are pieces of a crew, once
to find the nearest cells, once to find the neighbours; the blocks depend on the shape of the rows
alone, so any number of workers gives the same bits.

Five passes read the rows in order; the last one also takes the neighbours, in their order, once for
each block.

Cost: O(N D (cells + rows read)); all but the means, the centres and the sample is done by pieces.
Memory: N (2 D + 8) bytes for the cells, which pieces share, 2 N for each cell that a row reads,
8 N k for the neighbours, and blocks of about 1 GB.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from models.arrays import Array, Arrays, Float, Int, Single, row_blocks
from models.graphs.lengths import Neighbours, lengths, others
from models.inputs.checks import blocks, scattered, take
from models.inputs.rows import Rows
from models.numerics.distances import DistanceMetric
from models.running.progress import SHARED, Alone, Crew, Piece, Progress, subprogress

RECALL = 0.98
"""Share of a sample's true neighbours that a search should find; more cells are read until it
does, or until `MOST_READ` points are read for each point."""
MOST_READ = 20_000
SAMPLE = 128

AT_ONCE = 1 << 25
"""Values of the rows whose neighbours are sought together, at most."""
LEAST_BLOCKS = 8
"""Blocks of rows whose neighbours are sought, at least, where each has `PART` values."""

PART = 1 << 22
"""Values of the rows that are read together."""

TILE, GROUP = 1 << 21, 16
"""Distances that are computed in one call, and calls whose distances are in memory at a time."""

PER_CELL = 20
"""Rows of the sample for each cell."""

SPARE = 4
"""Neighbours measured beyond the requested ones, since half precision may confuse their order."""

SEED = 1234
"""The seed of k-means."""

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


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who computes blocks of rows.

    crew : its pieces are answered by `piece`. facts, arrays : what these get besides, from which
    whoever answers makes the rows.
    """

    crew: Crew
    facts: Piece = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)


def nearest_by_rows(
    rows: Rows,
    n_neighbors: int,
    metric: DistanceMetric,
    threads: int,
    progress: Progress,
    kind: type[np.floating] = np.float32,
    sharing: Sharing | None = None,
) -> Neighbours:
    """Neighbours of distinct rows as of `FlatRows`; `n_neighbors` is below their number.

    kind : in which their distances are kept; float64 also where those would overflow in float32.
    sharing : the crew that computes blocks of rows; None: this process alone.
    """
    n_points = rows.shape[0]
    with _on_threads(threads):
        frame = _Frame.of(rows, subprogress(progress, 0.0, 0.02))
        progress(0.02, "neighbours", "making cells")
        centres = _centres(rows, frame)
        truth = _Truth.of(rows, frame, n_neighbors, subprogress(progress, 0.08, 0.12))
        n_read = _n_read(centres, truth, n_points)
        near = np.empty((n_points, n_read), dtype=_kind_of_cells(len(centres)))
        facts: Piece = {"n_neighbors": n_neighbors, "metric": metric, "n_read": n_read}
        work = _Work(rows, facts, threads, sharing)
        shared: Arrays = {**frame.arrays(), "centres": centres}
        for block, found in work.done("fill", shared, subprogress(progress, 0.12, 0.37)):
            near[block] = found["near"]
        cells = _Cells.filled(rows, frame, centres, near, subprogress(progress, 0.37, 0.4))
        shared = {**frame.arrays(), **cells.arrays(), "near": near}
        del near, cells
        index = np.empty((n_points, n_neighbors), dtype=np.int32)
        kept = kind if frame.moderate else np.float64
        distance: Array = np.empty((n_points, n_neighbors), dtype=kept)
        for block, found in work.done("search", shared, subprogress(progress, 0.4, 1.0)):
            index[block], distance[block] = found["index"], found["distance"]
    return Neighbours(index, distance, truth.recall(distance, metric, rows))


def piece(rows: Rows, given: Piece, threads: int, progress: Progress) -> Arrays:
    """What `nearest_by_rows` hands to others: of some rows the nearest cells, or the neighbours.

    rows : all of them, as `nearest_by_rows` has them.
    """
    shared, block = given[SHARED], slice(int(given["start"]), int(given["stop"]))
    frame = _Frame.kept(shared)
    with _on_threads(threads):
        if given["task"] == "fill":
            centres = np.asarray(shared["centres"])
            return {"near": _nearest_cells(rows, frame, centres, block, given["n_read"], progress)}
        return _neighbours(
            rows,
            given["metric"],
            frame,
            _Cells.kept(shared),
            shared["near"],
            block,
            int(given["n_neighbors"]),
            threads,
            progress,
        )


@contextmanager
def _on_threads(threads: int) -> Iterator[None]:
    """Let Faiss compute on that many threads."""
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(threads)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


@dataclass(frozen=True, slots=True)
class _Work:
    """The blocks of rows, and who computes them."""

    rows: Rows
    facts: Piece
    threads: int
    sharing: Sharing | None

    def done(self, task: str, shared: Arrays, progress: Progress) -> Iterator[tuple[slice, Arrays]]:
        """The rows of each block, with what `piece` finds for them."""
        if self.sharing is None:
            crew: Crew = Alone(self._here, progress=progress)
            facts, arrays = self.facts, shared
        else:
            crew = self.sharing.crew
            facts = {**self.facts, **self.sharing.facts}
            arrays = {**shared, **self.sharing.arrays}
        blocks = self._blocks()
        pieces = [{"task": task, "start": at.start, "stop": at.stop, **facts} for at in blocks]
        for number, found in crew.compute(pieces, arrays):
            yield blocks[number], found

    def _here(self, given: Piece, progress: Progress) -> Arrays:
        return piece(self.rows, given, self.threads, progress)

    def _blocks(self) -> list[slice]:
        """Whole parts, as `_Frame.parts` reads them, so that no block depends on the others."""
        n_points, n_columns = self.rows.shape
        part = max(1, PART // n_columns)
        at_once = min(AT_ONCE, n_points * n_columns // LEAST_BLOCKS)
        step = part * max(1, at_once // (part * n_columns))
        return [slice(at, min(at + step, n_points)) for at in range(0, n_points, step)]


def _centres(rows: Rows, frame: _Frame) -> Single:
    """(n_cells, D) the centres of the cells, from a sample."""
    import faiss

    n_points, n_columns = rows.shape
    n_cells = _n_cells(n_points)
    chosen = np.random.default_rng(0).choice(
        n_points, min(n_points, PER_CELL * n_cells), replace=False
    )
    means = faiss.Kmeans(n_columns, n_cells, niter=6, min_points_per_centroid=1, seed=SEED)
    means.train(frame.single(np.asarray(take(rows, np.sort(chosen)))))
    return np.asarray(means.centroids)


def _n_read(centres: Single, truth: _Truth, n_points: int) -> int:
    """How many cells a row must read for `RECALL`, or may."""
    most = _most_cells(n_points)
    search = _flat_index(centres).search
    _, near = search(truth.here, most)
    _, cell = search(truth.there, 1)
    reached = near[:, :, None] == cell.reshape(len(near), 1, -1)
    recall = np.cumsum(reached.mean(axis=(0, 2)))
    return min(most, max(4, int(np.searchsorted(recall, RECALL)) + 1))


def _nearest_cells(
    rows: Rows, frame: _Frame, centres: Single, block: slice, n_read: int, progress: Progress
) -> Array:
    """(n, n_read) the cells nearest to the rows of a block."""
    near = np.empty((block.stop - block.start, n_read), dtype=_kind_of_cells(len(centres)))
    search = _flat_index(centres).search
    for part, values in frame.parts(rows, progress, "filling cells", block):
        near[part.start - block.start : part.stop - block.start] = search(values, n_read)[1]
    return near


def _kind_of_cells(n_cells: int) -> type[np.integer]:
    return np.uint16 if n_cells <= 1 << 16 else np.int32


def _flat_index(centres: Single) -> Any:
    import faiss

    index: Any = faiss.IndexFlatL2(centres.shape[1])
    index.add(np.ascontiguousarray(centres))
    return index


def _neighbours(
    rows: Rows,
    metric: DistanceMetric,
    frame: _Frame,
    cells: _Cells,
    near: Array,
    block: slice,
    n_neighbors: int,
    threads: int,
    progress: Progress,
) -> Arrays:
    """index, distance : (n, n_neighbors) of the rows of a block."""
    import faiss

    n_found = min(n_neighbors + SPARE, rows.shape[0] - 1)
    # Each call on one thread, so that their number changes no digit, and none spins for others.
    faiss.omp_set_num_threads(1)
    with ThreadPoolExecutor(threads, "cells", faiss.omp_set_num_threads, (1,)) as pool:
        values = rows.read(block.start, block.stop)
        within = subprogress(progress, 0.0, 0.9)
        numbers = cells.search(frame.single(values), near[block], n_found + 1, pool, within)
        numbers = np.sort(others(numbers, block.start), axis=1)
        progress(0.9, "neighbours", "measuring")
        measured = _measured(rows, values, numbers, metric, pool)
    order = np.argsort(measured, axis=1, kind="stable")[:, :n_neighbors]
    return {
        "index": np.take_along_axis(numbers, order, axis=1).astype(np.int32),
        "distance": np.take_along_axis(measured, order, axis=1),
    }


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

    @classmethod
    def kept(cls, arrays: Arrays) -> _Frame:
        return cls(np.asarray(arrays["mean"]), float(arrays["scale"][0]))

    def arrays(self) -> Arrays:
        return {"mean": self.mean, "scale": np.array([self.scale])}

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

    def parts(
        self, rows: Rows, progress: Progress, message: str, within: slice | None = None
    ) -> Iterator[tuple[slice, Single]]:
        """All rows, or the rows of a block, moved and scaled, in parts for matrix products."""
        first, last = (0, rows.shape[0]) if within is None else (within.start, within.stop)
        for part in row_blocks(last - first, rows.shape[1], PART):
            progress(part.start / (last - first), "neighbours", message)
            start, stop = first + part.start, first + part.stop
            yield slice(start, stop), self.single(rows.read(start, stop))


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


@dataclass(frozen=True, slots=True)
class _Cells:
    """Rows in cells.

    centres : (n_cells, D). start : (n_cells + 1,) where the rows of a cell begin. number, code :
    (N,) and (N, D) the number of a row, and its difference from its centre in half precision.
    """

    centres: Single
    start: Int
    number: Array
    code: Array

    @classmethod
    def filled(
        cls, rows: Rows, frame: _Frame, centres: Single, near: Array, progress: Progress
    ) -> _Cells:
        """The rows, each in the cell `near[:, 0]`."""
        cell = near[:, 0]
        number = np.argsort(cell, kind="stable").astype(np.int32)
        place = np.empty(len(cell), dtype=np.int32)
        place[number] = np.arange(len(cell), dtype=np.int32)
        start = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=len(centres)))])
        code = np.empty(rows.shape, dtype=np.float16)
        for block, part in frame.parts(rows, progress, "filling cells"):
            code[place[block]] = part - centres[cell[block]]
        return cls(centres, start, number, code)

    @classmethod
    def kept(cls, arrays: Arrays) -> _Cells:
        return cls(*(np.asarray(arrays[name]) for name in ("centres", "start", "number", "code")))

    def arrays(self) -> Arrays:
        return {
            "centres": self.centres,
            "start": self.start,
            "number": self.number,
            "code": self.code,
        }

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
            n_read = min(4 * n_read, len(self.centres))
            some = rows[lacking]
            _, wider = _flat_index(self.centres).search(some, n_read)
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

        n_cells = len(self.centres)
        order = np.argsort(near, axis=None, kind="stable") // near.shape[1]
        start = np.concatenate([[0], np.cumsum(np.bincount(near.ravel(), minlength=n_cells))])
        size = np.diff(self.start).tolist()
        tasks = [
            (cell, order[start[cell] + part.start : start[cell] + part.stop])
            for cell in range(n_cells)
            if size[cell]
            for part in row_blocks(start[cell + 1] - start[cell], size[cell], TILE)
        ]

        def compare(task: tuple[int, Int]) -> tuple[Int, Single, Int]:
            cell, own = task
            number, there = self._read(cell)
            here = rows[own] - self.centres[cell]
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
        own = slice(self.start[cell], self.start[cell + 1])
        return self.number[own].astype(np.int64), self.code[own].astype(np.float32)


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

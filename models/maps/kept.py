"""How many nearest neighbours a map keeps: the first thing to ask of a picture of points.

Which points are nearest is found by products in single precision, of rows moved to their medians,
with a bound on what rounding can have done to each: where the nearest are not certain, by products
in double precision, and where these are not, by differences. Points of few columns are found in a
k-d tree. What is compared are sums of squared differences, in double precision.

Cost: O(S N D) for S sampled points, nearly all of it in one product of matrices. Memory: 24 N bytes
beside the map.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float, Int, Mask, row_blocks
from models.inputs.checks import scattered, values_of
from models.inputs.frames import Frame
from models.inputs.rows import Rows

NEIGHBOURS = 10
SAMPLE = 256
SPARE = 10
"""Candidates beyond the nearest ones."""
ROUNDING = 1e-9
"""Points are as near as others up to this share of the squared distance."""
NARROW = 8
"""Points in memory of no more columns are sought in a k-d tree."""
LANES = 8
"""Comparisons are looked at so many at a time."""
_AT_ONCE = 1 << 19
"""Products that are computed at a time."""
_ROOM = {np.dtype(np.float32): 1e30, np.dtype(np.float64): 1e290}
"""Squares up to here are far from overflow."""


def neighbours_kept(rows: Array | Rows, positions: Array, seed: int) -> float | None:
    """The share of the `NEIGHBOURS` nearest points on the map that are as near as the `NEIGHBOURS`
    nearest ones by the rows, over a sample of `SAMPLE` points; None for fewer than two points.

    rows : (n_points, D) dense, Euclidean. positions : (n_points, 2). Points as near as the last
    neighbour count, so that ties do not matter.
    """
    n_points = rows.shape[0]
    k = min(NEIGHBOURS, n_points - 1)
    if k < 1:
        return None
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.choice(n_points, min(SAMPLE, n_points), replace=False))
    given, drawn = _Points.of(rows), _Points.of(positions)
    _, squares = given.nearest(sample, k)
    near, _ = drawn.nearest(sample, k)
    reached = given.squares(given.at(sample), near)
    return float((reached <= squares[:, -1:] * (1 + ROUNDING)).mean())


@dataclass(frozen=True, slots=True)
class _Points:
    """Points, and the frame in which they are about 0."""

    rows: Array | Rows
    frame: Frame

    @classmethod
    def of(cls, rows: Array | Rows) -> _Points:
        return cls(rows, Frame.of(rows, moved_beyond=1.0))

    def at(self, numbers: Int) -> Float:
        """The points of these numbers, in any order."""
        return self.frame.block(scattered(self.rows, numbers))

    def squares(self, queries: Float, index: Int) -> Float:
        """(S, n) squared distances of queries from the points `index`, by differences."""
        squares = np.empty(index.shape)
        for block in row_blocks(len(index), index.shape[1] * queries.shape[1]):
            apart = self.at(index[block].ravel()).reshape(*index[block].shape, -1)
            apart -= queries[block, None]
            with np.errstate(over="ignore"):
                squares[block] = np.einsum("snd,snd->sn", apart, apart)
        return squares

    def nearest(self, sample: Int, k: int) -> tuple[Int, Float]:
        """(S, k) the points nearest to each of the sample but itself, and their squared distances,
        nearest first."""
        queries = self.at(sample)
        index = np.empty((sample.size, k), dtype=np.int64)
        squares = np.empty(index.shape)
        left = np.arange(sample.size)
        narrow = isinstance(self.rows, np.ndarray) and queries.shape[1] <= NARROW
        for by in (self._by_tree,) if narrow else (self._by_single, self._by_double, self._by_all):
            candidates, floor = by(queries[left], min(k + 1 + SPARE, self.rows.shape[0]))
            apart = self.squares(queries[left], candidates)
            apart[candidates == sample[left, None]] = np.inf
            order = np.lexsort((candidates, apart))[:, :k]
            index[left] = np.take_along_axis(candidates, order, axis=1)
            squares[left] = np.take_along_axis(apart, order, axis=1)
            left = left[squares[left, -1] * (1 - ROUNDING) > floor]
            if not left.size:
                break
        return index, squares

    # Each gives (S, n_found) points that may be near queries, and (S,) a bound on the squared
    # distances of all others.

    def _by_tree(self, queries: Float, n_found: int) -> tuple[Int, Float]:
        from scipy.spatial import cKDTree

        values = self.frame.block(np.asarray(self.rows))
        tree = cKDTree(values, leafsize=64, balanced_tree=False, compact_nodes=False)
        _, index = tree.query(queries, np.arange(1, n_found + 1))
        return index, np.full(len(queries), np.inf)

    def _by_single(self, queries: Float, n_found: int) -> tuple[Int, Float]:
        return self._by_products(queries, n_found, np.float32)

    def _by_double(self, queries: Float, n_found: int) -> tuple[Int, Float]:
        return self._by_products(queries, n_found, np.float64)

    def _by_all(self, queries: Float, n_found: int) -> tuple[Int, Float]:
        index, _ = _least(self._differences(queries), len(queries), n_found)
        return index, np.full(len(queries), np.inf)

    def _by_products(self, queries: Float, n_found: int, kind: type) -> tuple[Int, Float]:
        rounding = float(np.finfo(kind).eps) / 2 * (queries.shape[1] + 8)
        index, least = _least(self._products(queries, kind, rounding), len(queries), n_found)
        own = np.einsum("nd,nd->n", queries, queries)
        floor = least.max(axis=1) + own * (1 - rounding)
        # A product that overflows is of a row farther away than any that could matter.
        room = _ROOM[np.dtype(kind)]
        floor[~((own < room) & (floor < room))] = -np.inf
        if n_found == self.rows.shape[0]:
            floor[:] = np.inf
        return np.maximum(index, 0), floor

    def _products(self, queries: Float, kind: type, rounding: float) -> Iterator[tuple[int, Array]]:
        """The first row of each block, and (n, S) what its squared distances from the queries are
        at least, less the squared lengths of these and their rounding."""
        with np.errstate(over="ignore", invalid="ignore"):
            across: Array = (-2.0 * queries.T).astype(kind)
            for block, values in self._blocks(len(queries)):
                rows = self.frame.block(values, kind)
                least = rows @ across
                least += np.einsum("nd,nd->n", rows, rows)[:, None] * kind(1 - 2 * rounding)
                yield block.start, least

    def _differences(self, queries: Float) -> Iterator[tuple[int, Array]]:
        """The first row of each block, and (n, S) its squared distances from the queries."""
        from scipy.spatial.distance import cdist

        for block, values in self._blocks(len(queries)):
            yield block.start, cdist(self.frame.block(values), queries, "sqeuclidean")

    def _blocks(self, n_queries: int) -> Iterator[tuple[slice, Array]]:
        n_points, n_columns = self.rows.shape
        for block in row_blocks(n_points, max(n_columns, n_queries), _AT_ONCE):
            yield block, values_of(self.rows, block)


def _least(blocks: Iterator[tuple[int, Array]], n_queries: int, n_found: int) -> tuple[Int, Float]:
    """(S, n_found) the rows with the least values in each column of blocks (n, S), and these; -1
    and infinite where there are fewer that are finite."""
    index = np.full((n_queries, n_found), -1, dtype=np.int64)
    found = np.full(index.shape, np.inf)
    for start, values in blocks:
        n_head = 0
        if start == 0:
            head = np.ascontiguousarray(values[: 8 * n_found].T)
            n_head = head.shape[1]
            new, least = np.broadcast_to(np.arange(n_head), head.shape), head
            index, found = _merged(index, found, new, least)
        bound = found.max(axis=1).astype(values.dtype)
        row, query = _where(values[n_head:] < bound)
        if row.size:
            row += n_head
            new, least = _by_query(start + row, query, values[row, query], n_queries)
            index, found = _merged(index, found, new, least)
    return index, found


def _merged(index: Int, found: Float, new: Int, least: Array) -> tuple[Int, Float]:
    """The rows with the least values of two tables, and these."""
    n_found = index.shape[1]
    every = np.hstack([found, np.where(np.isnan(least), np.inf, least)])
    best = np.argpartition(every, n_found - 1, axis=1)[:, :n_found]
    merged = np.take_along_axis(np.hstack([index, new]), best, axis=1)
    return merged, np.take_along_axis(every, best, axis=1)


def _where(mask: Mask) -> tuple[Int, Int]:
    """As np.nonzero, for a matrix that holds few."""
    if mask.shape[1] % LANES or not mask.size:
        row, query = np.nonzero(mask)
        return row, query
    at = np.flatnonzero(mask.view(np.uint64))
    few, lane = np.nonzero(mask.reshape(-1, LANES)[at])
    return np.divmod(at[few] * LANES + lane, mask.shape[1])


def _by_query(row: Int, query: Int, value: Array, n_queries: int) -> tuple[Int, Float]:
    """(S, most of one query) rows and values by query; -1 and infinite beyond them."""
    order = np.argsort(query, kind="stable")
    count = np.bincount(query, minlength=n_queries)
    place = np.arange(query.size) - np.repeat(np.cumsum(count) - count, count)
    rows = np.full((n_queries, int(count.max(initial=0))), -1, dtype=np.int64)
    values = np.full(rows.shape, np.inf)
    rows[query[order], place] = row[order]
    values[query[order], place] = value[order]
    return rows, values

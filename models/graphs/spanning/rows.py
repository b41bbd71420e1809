"""The minimum spanning tree by any distances, from one row of them at a time (Prim), exact.

From the points reached so far the first edge leads to the next one. Edges are ordered as in `tree`:
by length, then by the distance of their ends.

Cost: each row once, O(N^2) time besides; O(N) memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from models.arrays import Array, Float, Int
from models.numerics.agglomeration import listed, tiled
from models.running.progress import Progress

RowOf: TypeAlias = Callable[[int], Float]
"""The distances of a point to all points, (N,), until the next row."""

AT_ONCE = 1 << 20
"""Distances between two reports of progress."""


@dataclass(frozen=True, slots=True)
class SpanningTree:
    """The N - 1 edges, shortest first. ends : (N - 1, 2) points. length : (N - 1,)."""

    ends: Int
    length: Float

    def linkage(self) -> Float:
        """(N - 1, 4) merges of single linkage as SciPy's: two clusters, height, size."""
        return listed(self.ends, self.length)


def tile_rows(points: Array, metric: int) -> RowOf:
    """Rows of distances of points, measured as needed. metric : its number in `tree.METRICS`."""
    from models.graphs.spanning.loops.rows import measure

    tiles = tiled(points)
    row = np.empty((len(tiles), tiles.shape[2]))

    def row_of(point: int) -> Float:
        measure(tiles, metric, point, row)
        return row.ravel()[: len(points)]

    return row_of


def condensed_rows(distances: Float, n_points: int) -> RowOf:
    """Rows of condensed distances; the distance of a point to itself is 0."""
    number = np.arange(n_points)
    # The pair i < j is at start[i] + j.
    start = number * (2 * n_points - 3 - number) // 2 - 1

    def row_of(point: int) -> Float:
        row = np.empty(n_points)
        row[:point] = distances[start[:point] + point]
        row[point] = 0.0
        begin = start[point] + point + 1
        row[point + 1 :] = distances[begin : begin + n_points - point - 1]
        return row

    return row_of


def core_distances(row_of: RowOf, n_points: int, rank: int, progress: Progress) -> Float:
    """(N,) distance of each point to its `rank`-th neighbour, at most N - 1."""
    core = np.empty(n_points)
    for point in range(n_points):
        if point % max(1, AT_ONCE // n_points) == 0:
            progress(point / n_points, "finding neighbours")
        core[point] = np.partition(row_of(point), rank)[rank]
    return core


def tree_by_rows(row_of: RowOf, core: Float, progress: Progress) -> SpanningTree:
    """The tree of two points or more. core : (N,) core distances, 0 for distances as they are."""
    from models.graphs.spanning.loops.rows import reach

    n_points = core.size
    ends, lengths = np.empty((n_points - 1, 2), dtype=np.int64), np.empty((n_points - 1, 2))
    left = np.arange(n_points)
    best, source = np.full((n_points, 2), np.inf), np.zeros(n_points, dtype=np.int64)
    point = 0
    for edge in range(n_points - 1):
        if edge % max(1, AT_ONCE // n_points) == 0:
            progress(edge / n_points, "joining")
        point = reach(row_of(point), core, point, left, n_points - edge, best, source)
        ends[edge], lengths[edge] = (source[point], point), best[point]
    order = np.lexsort((lengths[:, 1], lengths[:, 0]))
    return SpanningTree(ends[order], lengths[order, 0])

"""The nearest neighbours of points in a search tree, compiled by numba.

The points of a leaf look together: a node is left out where its box is farther from theirs than the
farthest neighbour that one of them has so far.

Cost: at most O(N^2 D) time.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from models.graphs.spanning.loops.boxes import (
    CHEBYSHEV,
    CITYBLOCK,
    SQUARES,
    point_gap,
    push_children,
    slack,
)
from models.numerics.loops.tiles import (
    LANES,
    add_differences,
    add_shares,
    add_squares,
    take_largest,
)

CHUNK = 64
"""Columns after which distances that are all too large are abandoned."""

DEEPEST = 64
"""Size of the stack of a walk, more than the levels of a tree."""


@njit(cache=True)
def distances(row, tile, n_points, enough, metric, total):
    """Fill `total` with distances to the points of a tile.

    Returns whether one may be less than `enough`; if none is, they may be those by some columns.
    """
    total[:] = 0.0
    for start in range(0, row.size, CHUNK):
        stop = min(start + CHUNK, row.size)
        if metric == SQUARES:
            add_squares(row, tile, start, stop, total)
        elif metric == CITYBLOCK:
            add_differences(row, tile, start, stop, total)
        elif metric == CHEBYSHEV:
            take_largest(row, tile, start, stop, total)
        else:
            add_shares(row, tile, start, stop, total)
        least = np.inf
        for lane in range(n_points):
            least = min(least, total[lane])
        if least >= enough:
            return False
    return True


@njit(cache=True)
def _replace_farthest(key, number, squared, point):
    """Put a point in place of the farthest of a heap."""
    at, n = 0, key.size
    while True:
        below = 2 * at + 1
        if below >= n:
            break
        if below + 1 < n and key[below + 1] > key[below]:
            below += 1
        if key[below] <= squared:
            break
        key[at], number[at] = key[below], number[below]
        at = below
    key[at], number[at] = squared, point


@njit(cache=True)
def _offer_all(total, start, n_points, but, key, number):
    """Offer the points of a tile to a heap; `but` is the lane that is the point itself, or -1."""
    for lane in range(n_points):
        if total[lane] < key[0] and lane != but:
            _replace_farthest(key, number, total[lane], start + lane)


@njit(cache=True, nogil=True)
def nearest(
    points, order, span, box, tiles, metric, first, last, n_nearest, rank, core, squared, number
):
    """The nearest neighbours of the points in leaves first .. last - 1.

    rank : which neighbour's distance `core`, (N,), gets; 0 for none, at most `n_nearest`.
    squared, number : (N, n) filled with the first n <= n_nearest distances and places, the nearest
        first. All distances are squared if the metric is `SQUARES`.
    """
    n_leaves, n_columns = tiles.shape[:2]
    bottom, fewer = n_leaves - 1, slack(n_columns)
    rows, total = np.empty((LANES, n_columns)), np.empty(LANES)
    key, place = np.empty((LANES, n_nearest)), np.empty((LANES, n_nearest), dtype=np.int64)
    node_at, gap_at = np.empty(DEEPEST, dtype=np.int64), np.empty(DEEPEST)
    for own in range(bottom + first, bottom + last):
        start = span[own, 0]
        n_rows = span[own, 1] - start
        key[:], place[:] = np.inf, -1
        for r in range(n_rows):
            rows[r] = points[order[start + r]]
        for r in range(n_rows):
            distances(rows[r], tiles[own - bottom], n_rows, np.inf, metric, total)
            _offer_all(total, start, n_rows, r, key[r], place[r])
        height = 1
        node_at[0], gap_at[0] = 0, 0.0
        while height:
            height -= 1
            node = node_at[height]
            farthest = 0.0
            for r in range(n_rows):
                farthest = max(farthest, key[r, 0])
            if gap_at[height] >= farthest or node == own:
                continue
            if node >= bottom:
                there, n_there = span[node, 0], span[node, 1] - span[node, 0]
                tile = tiles[node - bottom]
                for r in range(n_rows):
                    worst = key[r, 0]
                    if (
                        fewer * point_gap(rows[r], box[node], metric) < worst
                        and distances(rows[r], tile, n_there, worst, metric, total)
                    ):  # fmt: skip
                        _offer_all(total, there, n_there, -1, key[r], place[r])
                continue
            height = push_children(node, own, box, fewer, metric, node_at, gap_at, height)
        for r in range(n_rows):
            by_distance = np.argsort(key[r])
            if rank:
                core[start + r] = key[r, by_distance[rank - 1]]
            for n in range(number.shape[1]):
                squared[start + r, n] = key[r, by_distance[n]]
                number[start + r, n] = place[r, by_distance[n]]

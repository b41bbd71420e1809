"""A search tree of boxes (k-d tree) over points and neighbours found in it, compiled by numba.

Node v has the children 2 v + 1 and 2 v + 2; each is split at the median of its widest column, so
all leaves are on the last level and hold at most `LANES` points, whose values lie in a tile. Points
are numbered by their place in the order of the leaves.

Cost: O(N D log N) time.

For the nearest neighbours the points of a leaf look together: a node is left out where its box is
farther from theirs than the farthest neighbour that one of them has so far.

Cost: at most O(N^2 D) time.
"""

from __future__ import annotations

import numpy as np

from models.numerics.loops.tiles import (
    LANES,
    add_differences,
    add_shares,
    add_squares,
    take_largest,
)
from models.running.loops import njit

SQUARES, CITYBLOCK, CHEBYSHEV, CANBERRA = range(4)
"""What the distance of two points is: squared Euclidean, or the metric of this name."""


@njit(cache=True)
def _sorted_part(points, order, start, stop, column):
    key = np.empty(stop - start)
    for at in range(start, stop):
        key[at - start] = points[order[at], column]
    by_key = np.argsort(key, kind="mergesort")
    order[start:stop] = order[start:stop][by_key]


@njit(cache=True)
def _halve(points, order, start, stop, middle, column):
    """Put the smallest values of a column before `middle`: quickselect, and in a sequence that is
    bad for it, a sort."""
    left, right, tries = start, stop - 1, 0
    while left < right:
        tries += 1
        if tries > 60:
            _sorted_part(points, order, left, right + 1, column)
            return
        pivot = points[order[(left + right) // 2], column]
        i, j = left, right
        while i <= j:
            while points[order[i], column] < pivot:
                i += 1
            while points[order[j], column] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            right = j
        elif middle >= i:
            left = i
        else:
            return


@njit(cache=True, nogil=True)
def build(points, order, span, box):
    """Fill `span`, (n_nodes, 2) first place and the one after the last, and `box`, (n_nodes, 2, D)
    smallest and largest values; permute `order`, (N,) the point at each place."""
    n_nodes, n_columns = len(span), points.shape[1]
    span[0, 0], span[0, 1] = 0, len(order)
    for node in range(n_nodes):
        start, stop = span[node, 0], span[node, 1]
        low, high = box[node, 0], box[node, 1]
        low[:], high[:] = np.inf, -np.inf
        for at in range(start, stop):
            row = points[order[at]]
            for d in range(n_columns):
                low[d], high[d] = min(low[d], row[d]), max(high[d], row[d])
        left = 2 * node + 1
        if left < n_nodes:
            middle = (start + stop) // 2
            _halve(points, order, start, stop, middle, np.argmax(high - low))
            span[left, 0], span[left, 1] = start, middle
            span[left + 1, 0], span[left + 1, 1] = middle, stop


@njit(cache=True, nogil=True)
def fill(points, order, span, tiles):
    """Fill `tiles`, (n_leaves, D, LANES), with the points of the leaves."""
    n_leaves = len(tiles)
    for leaf in range(n_leaves):
        start, stop = span[n_leaves - 1 + leaf, 0], span[n_leaves - 1 + leaf, 1]
        for lane in range(stop - start):
            row = points[order[start + lane]]
            for d in range(row.size):
                tiles[leaf, d, lane] = row[d]


@njit(cache=True, inline="always")
def _added(total, away, near, metric):
    """A gap with one more column, where boxes lie `away` from each other; `near` is the sum of the
    magnitudes of the ends that face each other."""
    if metric == CITYBLOCK:
        return total + away
    if metric == CHEBYSHEV:
        return max(total, away)
    return total + away / near if away > 0.0 else total


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
def box_gap(box, other, metric):
    """Smallest distance of two boxes, but for rounding; squared for `SQUARES`."""
    total = 0.0
    if metric == SQUARES:
        for d in range(box.shape[1]):
            away = max(box[0, d] - other[1, d], other[0, d] - box[1, d], 0.0)
            total += away * away
        return total
    for d in range(box.shape[1]):
        after, before = other[0, d] - box[1, d], box[0, d] - other[1, d]
        if after > before:
            total = _added(total, max(after, 0.0), abs(other[0, d]) + abs(box[1, d]), metric)
        else:
            total = _added(total, max(before, 0.0), abs(box[0, d]) + abs(other[1, d]), metric)
    return total


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
def point_gap(row, box, metric):
    """Smallest distance of a point to a box, but for rounding; squared for `SQUARES`."""
    total = 0.0
    if metric == SQUARES:
        for d in range(row.size):
            away = max(box[0, d] - row[d], row[d] - box[1, d], 0.0)
            total += away * away
        return total
    for d in range(row.size):
        after, before = box[0, d] - row[d], row[d] - box[1, d]
        if after > before:
            total = _added(total, max(after, 0.0), abs(box[0, d]) + abs(row[d]), metric)
        else:
            total = _added(total, max(before, 0.0), abs(row[d]) + abs(box[1, d]), metric)
    return total


@njit(cache=True)
def slack(n_columns):
    """Factor that makes a gap a bound of every distance, which is summed in another order."""
    return 1.0 - 2.0**-51 * (n_columns + 8)


@njit(cache=True, inline="always")
def push_children(node, own, box, fewer, metric, node_at, gap_at, height):
    """Put a node's children on a stack, that nearer to the box of `own` on top, with their gaps;
    returns the new height."""
    near, far = 2 * node + 1, 2 * node + 2
    near_gap = fewer * box_gap(box[own], box[near], metric)
    far_gap = fewer * box_gap(box[own], box[far], metric)
    if near_gap > far_gap:
        near, far, near_gap, far_gap = far, near, far_gap, near_gap
    node_at[height], gap_at[height] = far, far_gap
    node_at[height + 1], gap_at[height + 1] = near, near_gap
    return height + 2


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

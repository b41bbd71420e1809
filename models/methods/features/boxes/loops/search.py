"""Searches in a growing tree, compiled by numba; all distances are squared.

A search opens every node that its bound does not rule out, so its result is exact unless it gives
up at its limit.
"""

from __future__ import annotations

import numpy as np

from models.methods.features.boxes.loops.layout import (
    FOLLOW,
    HEAD,
    LEFT,
    NONE,
    RIGHT,
    ROOT,
    SIZE,
    apart,
    box_gap,
    box_of,
    box_span,
    first,
    is_end,
    n_boxes,
    nearest_of,
    reach,
    some,
)
from models.running.loops import njit

ALL = 1 << 62
"""No limit on a search."""

TILE = 256
"""Points that a scan compares with all rows at a time, so that they stay in a cache."""


@njit(cache=True)
def slack(t):
    """Relative rounding error of sums in the points' precision."""
    return 1e-5 if t.points.itemsize == 4 else 1e-13


@njit(cache=True)
def gap(t, v, w):
    """Lower bound on the squared distance of a point of v to one of w."""
    low, high = box_of(t, v)
    other_low, other_high = box_of(t, w)
    return np.float64(box_gap(low, high, other_low, other_high))


@njit(cache=True)
def span(t, v, w):
    """Upper bound on the squared distance of a point of v to one of w."""
    low, high = box_of(t, v)
    other_low, other_high = box_of(t, w)
    return np.float64(box_span(low, high, other_low, other_high))


@njit(cache=True)
def _rise(key, node, n, bound, v):
    """Add v to a heap of n nodes."""
    at = n
    while at > 0:
        above = (at - 1) >> 1
        if key[above] <= bound:
            break
        key[at], node[at] = key[above], node[above]
        at = above
    key[at], node[at] = bound, v


@njit(cache=True)
def _sink(key, node, n):
    """Remove the first of n + 1 nodes of a heap: the last one sinks from its place."""
    bound, v = key[n], node[n]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= n:
            break
        if below + 1 < n and key[below + 1] < key[below]:
            below += 1
        if key[below] >= bound:
            break
        key[at], node[at] = key[below], node[below]
        at = below
    key[at], node[at] = bound, v


@njit(cache=True)
def nearest(t, x, root, looks):
    """The nearest point to x under a node, ties to the earliest, and its squared distance.

    The search is best-first: the open node with the nearest box is opened next. NONE if the result
    is not certain after `looks` nodes.
    """
    base = n_boxes(t)
    edge = 1.0 + slack(t)
    if root >= base:
        return root - base, apart(x, t.points[root - base], np.inf)
    best, found = np.inf, NONE
    t.key[0], t.room[0, 0] = 0.0, root
    n = 1
    while n > 0 and t.key[0] <= best * edge and best > 0.0:
        if looks == 0:
            return NONE, best
        looks -= 1
        n -= 1
        v = t.room[0, 0]
        _sink(t.key, t.room[0], n)
        if t.link[v, LEFT] < 0:
            i = t.link[v, HEAD]
            while i >= 0:
                away = apart(x, t.points[i], best * edge)
                if away < best or (away == best and i < found):
                    best, found = away, i
                i = t.chain[i, FOLLOW]
            continue
        for w in (t.link[v, LEFT], t.link[v, RIGHT]):
            if w >= base:
                away = apart(x, t.points[w - base], best * edge)
                if away < best or (away == best and w - base < found):
                    best, found = away, w - base
            else:
                bound = reach(x, t.box[w, 0], t.box[w, 1], best * edge)
                if bound <= best * edge:
                    _rise(t.key, t.room[0], n, bound, w)
                    n += 1
    return found, best


@njit(cache=True)
def row_scan(points, i, start, near, away):
    """As `scan`, for point i and the points from `start` to i - 1."""
    away, near = nearest_of(points[i], points, start, i, away, near)
    return near, away


@njit(cache=True, nogil=True)
def scan(rows, points, start, stop, near, away):
    """Update `near` and `away`, the number and squared distance of each row's nearest point, by
    `points[start:stop]`; ties to the earliest. O((stop - start) n_rows D)."""
    for lower in range(start, stop, TILE):
        upper = min(lower + TILE, stop)
        for i in range(rows.shape[0]):
            away[i], near[i] = nearest_of(rows[i], points, lower, upper, away[i], near[i])


@njit(cache=True, nogil=True)
def search(t, rows, looks, near, away):
    """As `scan` of all points, by the tree; NONE where the search gave up. Returns how many did."""
    given_up = 0
    for i in range(rows.shape[0]):
        near[i], away[i] = nearest(t, rows[i], t.counts[ROOT], looks)
        given_up += near[i] < 0
    return given_up


@njit(cache=True)
def _opened(t, v, w):
    """Whether to open v rather than w: the larger one, if it has children."""
    if is_end(t, v):
        return False
    return is_end(t, w) or t.above[v, SIZE] >= t.above[w, SIZE]


@njit(cache=True)
def farthest(t, v, w, enough, looks):
    """The largest squared distance of a point of v to one of w, or the first one above `enough`, or
    the largest so far once `looks` pairs of nodes have been opened (32 pairs of points count as
    one); and whether it is certainly the largest. Depth-first, so that a first value comes soon."""
    edge = 1.0 + slack(t)
    best, sure = -1.0, True
    t.room[0, 0], t.room[1, 0], t.key[0] = v, w, span(t, v, w)
    n = 1
    while n > 0 and best <= enough and (looks > 0 or best < 0.0):
        n -= 1
        looks -= 1
        a, b = t.room[0, n], t.room[1, n]
        if t.key[n] * edge <= best:
            continue
        if is_end(t, a) and is_end(t, b):
            pairs = _many(t, a) * _many(t, b)
            if pairs >> 5 <= looks:
                looks -= pairs >> 5
                best = max(best, _ends(t, a, b, False))
            else:
                best = max(best, apart(t.points[some(t, a)], t.points[some(t, b)], np.inf))
                sure = sure and pairs == 1
            continue
        if _opened(t, a, b):
            one, two, c, d = t.link[a, LEFT], t.link[a, RIGHT], b, b
        else:
            one, two, c, d = a, a, t.link[b, LEFT], t.link[b, RIGHT]
        here, there = span(t, one, c), span(t, two, d)
        if here > there:
            one, two, c, d, here, there = two, one, d, c, there, here
        # The more promising pair is opened first.
        t.room[0, n], t.room[1, n], t.key[n] = one, c, here
        t.room[0, n + 1], t.room[1, n + 1], t.key[n + 1] = two, d, there
        n += 2
    return best, sure and n == 0


@njit(cache=True)
def closest(t, v, w, enough, looks):
    """The smallest squared distance of a point of v to one of w; otherwise as `farthest`."""
    edge = 1.0 + slack(t)
    best, sure = np.inf, True
    t.room[0, 0], t.room[1, 0], t.key[0] = v, w, gap(t, v, w)
    n = 1
    while n > 0 and best >= enough and (looks > 0 or best == np.inf):
        n -= 1
        looks -= 1
        a, b = t.room[0, n], t.room[1, n]
        if t.key[n] > best * edge:
            continue
        if is_end(t, a) and is_end(t, b):
            pairs = _many(t, a) * _many(t, b)
            if pairs >> 5 <= looks:
                looks -= pairs >> 5
                best = min(best, _ends(t, a, b, True))
            else:
                best = min(best, apart(t.points[some(t, a)], t.points[some(t, b)], np.inf))
                sure = sure and pairs == 1
            continue
        if _opened(t, a, b):
            one, two, c, d = t.link[a, LEFT], t.link[a, RIGHT], b, b
        else:
            one, two, c, d = a, a, t.link[b, LEFT], t.link[b, RIGHT]
        here, there = gap(t, one, c), gap(t, two, d)
        if here < there:
            one, two, c, d, here, there = two, one, d, c, there, here
        t.room[0, n], t.room[1, n], t.key[n] = one, c, here
        t.room[0, n + 1], t.room[1, n + 1], t.key[n + 1] = two, d, there
        n += 2
    return best, sure and n == 0


@njit(cache=True)
def _many(t, v):
    """Upper bound on the number of distinct points of a node without children."""
    return 1 if v >= n_boxes(t) else t.above[v, SIZE]


@njit(cache=True)
def _ends(t, a, b, near):
    """The smallest or largest squared distance of the points of two nodes without children."""
    best = np.inf if near else -1.0
    i = first(t, a)
    while i >= 0:
        j = first(t, b)
        while j >= 0:
            away = apart(t.points[i], t.points[j], np.inf)
            best = min(best, away) if near else max(best, away)
            # The other points of a leaf's chain are equal to the first.
            j = NONE if b >= n_boxes(t) else t.chain[j, FOLLOW]
        i = NONE if a >= n_boxes(t) else t.chain[i, FOLLOW]
    return best


@njit(cache=True)
def points_under(t, v, found):
    """Write a node's distinct points to `found`; returns their number."""
    n = n_open = 0
    # Open nodes are stored at the end of the array.
    end = found.size
    found[end - 1] = v
    n_open = 1
    while n_open > 0:
        w = found[end - n_open]
        n_open -= 1
        if w >= n_boxes(t):
            found[n] = w - n_boxes(t)
            n += 1
        elif t.link[w, LEFT] < 0:
            i = t.link[w, HEAD]
            while i >= 0:
                found[n] = i
                n += 1
                i = t.chain[i, FOLLOW]
        else:
            found[end - n_open - 1] = t.link[w, LEFT]
            found[end - n_open - 2] = t.link[w, RIGHT]
            n_open += 2
    return n

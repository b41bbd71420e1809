"""Squared distances of points and boxes, compiled by numba.

The bounds hold for any number of columns: those between two boxes are computed column by column,
not from corners. No two points of the boxes are nearer or farther than their bounds, except for the
rounding of sums in another order, which `slack` covers.
"""

from __future__ import annotations

import numpy as np
from numba import njit

LOOSE = {"reassoc", "contract", "nsz"}
"""Fast-math flags that let sums be vectorized; NaN never occurs here."""

CHUNK = 128
"""Number of columns after which a distance that is already too large is abandoned."""


@njit(cache=True, fastmath=LOOSE)
def _apart(x, y):
    total = x.dtype.type(0)
    for d in range(x.size):
        away = x[d] - y[d]
        total += away * away
    return total


@njit(cache=True)
def _long_apart(x, y, enough):
    total = x.dtype.type(0)
    for at in range(0, x.size, CHUNK):
        total += _apart(x[at : at + CHUNK], y[at : at + CHUNK])
        if total > enough:
            break
    return total


@njit(cache=True)
def apart(x, y, enough):
    """Squared distance of two points; may stop early with a value above `enough`."""
    if x.size > 2 * CHUNK:
        return np.float64(_long_apart(x, y, enough))
    return np.float64(_apart(x, y))


@njit(cache=True, fastmath=LOOSE)
def _reach(x, low, high):
    zero = x.dtype.type(0)
    total = zero
    for d in range(x.size):
        away = max(low[d] - x[d], x[d] - high[d], zero)
        total += away * away
    return total


@njit(cache=True)
def _long_reach(x, low, high, enough):
    total = x.dtype.type(0)
    for at in range(0, x.size, CHUNK):
        end = at + CHUNK
        total += _reach(x[at:end], low[at:end], high[at:end])
        if total > enough:
            break
    return total


@njit(cache=True)
def reach(x, low, high, enough):
    """Smallest squared distance of a point to a box; may stop early with a value above `enough`."""
    if x.size > 2 * CHUNK:
        return np.float64(_long_reach(x, low, high, enough))
    return np.float64(_reach(x, low, high))


@njit(cache=True, fastmath=LOOSE)
def box_gap(low, high, other_low, other_high):
    zero = low.dtype.type(0)
    total = zero
    for d in range(low.size):
        away = max(low[d] - other_high[d], other_low[d] - high[d], zero)
        total += away * away
    return total


@njit(cache=True, fastmath=LOOSE)
def box_span(low, high, other_low, other_high):
    total = low.dtype.type(0)
    for d in range(low.size):
        away = max(other_high[d] - low[d], high[d] - other_low[d])
        total += away * away
    return total


@njit(cache=True, fastmath=LOOSE)
def extreme(points, one, two, enough, near):
    """The smallest (`near`) or largest squared distance between points numbered `one` and points
    numbered `two`, or the first one below or above `enough`. O(len(one) len(two) D)."""
    best = np.inf if near else -1.0
    for i in one:
        x = points[i]
        for j in two:
            y = points[j]
            total = x.dtype.type(0)
            for d in range(x.size):
                away = x[d] - y[d]
                total += away * away
            best = min(best, np.float64(total)) if near else max(best, np.float64(total))
        if best < enough if near else best > enough:
            break
    return best


@njit(cache=True, fastmath=LOOSE)
def _scan(x, points, start, stop, best, found):
    for j in range(start, stop):
        y = points[j]
        total = x.dtype.type(0)
        for d in range(x.size):
            away = x[d] - y[d]
            total += away * away
        if total < best:
            best, found = np.float64(total), j
    return best, found


@njit(cache=True)
def nearest_of(x, points, start, stop, best, found):
    if x.size <= 2 * CHUNK:
        return _scan(x, points, start, stop, best, found)
    for j in range(start, stop):
        total = _long_apart(x, points[j], best)
        if total < best:
            best, found = np.float64(total), j
    return best, found

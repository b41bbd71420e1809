"""A growing tree as arrays, and squared distances of points and boxes, compiled by numba.

The bounds hold for any number of columns: those between two boxes are computed column by column,
not from corners. No two points of the boxes are nearer or farther than their bounds, except for the
rounding of sums in another order, which `slack` covers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from models.running.loops import njit

Int = npt.NDArray[np.int64]

NONE = -1

LEFT, RIGHT, HEAD, SOME, PLACE, WAIT = range(6)
"""Columns of `Grown.link`."""

PARENT, SIZE, LAST = range(3)
"""Columns of `Grown.above`."""

FOLLOW, OWNER, HOME = range(3)
"""Columns of `Grown.chain`."""

HEAP, FREE = range(2)
"""Rows of `Grown.lists`."""

ROOT, N_BOXES, N_FREE, N_HEAP, N_LEAVES, N_MASKED, N_BALANCED, N_PAIRS, N_OPEN, BOUNDED = range(10)
N_COUNTS = 10
"""Indices of `Grown.counts`: the root; boxes ever used; free boxes; nodes in the heap; leaves;
rotations for masking and for balance; pairs of points compared to decide masking; undecided cases;
and whether the number of leaves is limited, so that the heap is maintained."""


class Grown(NamedTuple):
    """The tree as arrays. Node v < n_boxes is boxed; node n_boxes + i is the leaf of point i.

    points : (n_points, n_columns) in order of insertion.
    box : (n_boxes, 2, n_columns) smallest and largest values under each boxed node.
    link : (n_boxes, 6) children, `LEFT` and `RIGHT`, NONE for a collapsed node, whose points are a
        chain from `HEAD` on; `SOME` point under the node; its `PLACE` in the heap, NONE outside;
        `WAIT`: the number of points its parent must have before balance is tried again there.
    above : (n_boxes + n_points, 3) `PARENT`, NONE for the root; `SIZE`, the number of points under
        the node; `LAST` point of the chain of a node without children. Points equal to a leaf's are
        in its chain.
    chain : (n_points, 3) the point to `FOLLOW`, NONE at the chain's end; the `OWNER`, a point that
        represents the chain; and, for an owner, its `HOME`, the node of the chain.
    lists : (2, n_boxes) `HEAP`: nodes whose children are leaves, smallest box first; `FREE` boxes
        for reuse.
    counts : (N_COUNTS,) counts, and the root.
    key, room : workspace of searches.
    """

    points: npt.NDArray[Any]
    box: npt.NDArray[Any]
    link: Int
    above: Int
    chain: Int
    lists: Int
    counts: Int
    key: npt.NDArray[np.float64]
    room: Int


@njit(cache=True)
def n_boxes(t):
    return t.link.shape[0]


@njit(cache=True)
def is_end(t, v):
    """Whether a node has no children."""
    return v >= n_boxes(t) or t.link[v, LEFT] < 0


@njit(cache=True)
def first(t, v):
    """First point of a node without children."""
    return v - n_boxes(t) if v >= n_boxes(t) else t.link[v, HEAD]


@njit(cache=True)
def some(t, v):
    """A point under a node."""
    return v - n_boxes(t) if v >= n_boxes(t) else t.link[v, SOME]


@njit(cache=True)
def box_of(t, v):
    """Smallest and largest values under a node."""
    if v >= n_boxes(t):
        point = t.points[v - n_boxes(t)]
        return point, point
    return t.box[v, 0], t.box[v, 1]


@njit(cache=True)
def sibling(t, v):
    above = t.above[v, PARENT]
    return t.link[above, RIGHT] if t.link[above, LEFT] == v else t.link[above, LEFT]


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

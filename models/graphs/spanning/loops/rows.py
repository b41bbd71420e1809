"""Steps of a spanning tree that grows from a point (Prim), compiled by numba."""

from __future__ import annotations

import numpy as np
from numba import njit

from models.graphs.spanning.loops.neighbours import distances
from models.numerics.loops.tiles import LANES


@njit(cache=True, nogil=True)
def measure(tiles, metric, point, row):
    """Fill `row`, (n, LANES), with the distances of a point to all in `tiles`, (n, D, LANES)."""
    values = tiles[point // LANES, :, point % LANES].copy()
    for t in range(len(tiles)):
        distances(values, tiles[t], LANES, np.inf, metric, row[t])


@njit(cache=True, nogil=True)
def reach(apart, core, point, left, n_left, best, source):
    """The point that is reached next, once `point` has been.

    apart : (N,) distances of `point`. left : (N,) the points not reached before it, `n_left` of
        them, ascending; `point` is taken out. best, source : (N, 2) length and distance of the
        first edge to each point from those reached, and (N,) from which; lowered.
    """
    n_kept, nearest = 0, -1
    for k in range(n_left):
        other = left[k]
        if other == point:
            continue
        left[n_kept] = other
        n_kept += 1
        length = max(apart[other], core[other], core[point])
        if length < best[other, 0] or (length == best[other, 0] and apart[other] < best[other, 1]):
            best[other, 0], best[other, 1], source[other] = length, apart[other], point
        if (
            nearest < 0
            or best[other, 0] < best[nearest, 0]
            or (best[other, 0] == best[nearest, 0] and best[other, 1] < best[nearest, 1])
        ):
            nearest = other
    return nearest

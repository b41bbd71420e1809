"""The shortest edge between two groups of points that lie apart, compiled by numba.

Along the line through their centres the points of each group reach some way towards the other: two
points are at least as far apart as the centres are, less the reach of both. Both groups come in the
order of reach, so the search ends where no pair can be nearer.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from models.graphs.spanning.loops.boxes import SQUARES
from models.graphs.spanning.loops.neighbours import distances
from models.numerics.loops.tiles import LANES


@njit(cache=True, nogil=True)
def shortest(rows, row_reach, row_core, tiles, reach, core, apart, enough):
    """(squared length, squared distance, row, point) of the first edge no longer than `enough`.

    rows : (n, D), and tiles : (m, D, LANES), float64, those with the farthest reach first, as
        `row_reach` and `reach` tell. row_core, core : squared core distances. apart : distance of
        the centres, less a bound for rounding.
    """
    total, n_points = np.empty(LANES), len(reach)
    length, squared, best_row, best_point = np.nextafter(enough, np.inf), np.inf, -1, -1
    for r in range(len(rows)):
        left = apart - row_reach[r]
        gap = max(left - reach[0], 0.0)
        if gap * gap >= length:
            break
        for t in range(len(tiles)):
            start = t * LANES
            gap = max(left - reach[start], 0.0)
            if gap * gap >= length or row_core[r] > length:
                break
            n_there = min(LANES, n_points - start)
            if not distances(
                rows[r], tiles[t], n_there, np.nextafter(length, np.inf), SQUARES, total
            ):
                continue
            for lane in range(n_there):
                here = max(total[lane], row_core[r], core[start + lane])
                if here < length or (here == length and total[lane] < squared):
                    length, squared = here, total[lane]
                    best_row, best_point = r, start + lane
    return length, squared, best_row, best_point

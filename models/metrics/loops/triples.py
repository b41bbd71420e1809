"""The loops over triples of points, compiled by numba; serial, compiled as in `trees`."""

from __future__ import annotations

import numpy as np
from numba import njit, types

_INTS = types.Array(types.int64, 1, "C", readonly=True)
_FLOATS = types.Array(types.float64, 1, "C", readonly=True)
_SQUARE = types.Array(types.float64, 2, "C", readonly=True)

_SUMS = {"reassoc", "contract", "nsz", "nnan"}
"""Sums in any order, so that they become vectors; values are finite."""


_ROWS, _COLUMNS = 32, 512
"""Rows and columns of a tile of the matrix; two tiles fit in the cache of a core."""


@njit([types.float64(_SQUARE)], cache=True, nogil=True, fastmath=_SUMS)
def least_costs(weight):
    """Sum, over unordered triples, of the two lesser of their three weights.

    weight : (n, n), of which the part above the diagonal is read. O(n^3), about a fifth of a
    nanosecond a triple.
    """
    total = 0.0
    n = weight.shape[0]
    for left in range(0, n, _COLUMNS):
        right = min(left + _COLUMNS, n)
        for top in range(0, right, _ROWS):
            for middle in range(top, right, _ROWS):
                for i in range(top, min(top + _ROWS, right)):
                    for j in range(max(middle, i + 1), min(middle + _ROWS, right - 1)):
                        first = max(left, j + 1)
                        one, other = weight[i, first:right], weight[j, first:right]
                        own = weight[i, j]
                        part = own * one.size
                        for k in range(one.size):
                            part += one[k] + other[k] - max(max(one[k], other[k]), own)
                        total += part
    return total


@njit([types.float64(_INTS, _INTS, _FLOATS)], cache=True, nogil=True)
def least_of_triangles(start, end, value):
    """Sum, over triangles of a graph, of their least weight.

    start : (n_points + 1,) the edges out of point v are those from `start[v]` to `start[v + 1]`.
    end, value : (n_edges,) the end of an edge, and its weight above 0. Each edge is stored once,
        directed so that there are no cycles.
    O(number of paths of two edges).
    """
    total = 0.0
    n_points = start.size - 1
    reached = np.zeros(n_points, dtype=np.float64)
    for u in range(n_points):
        for first in range(start[u], start[u + 1]):
            reached[end[first]] = value[first]
        for first in range(start[u], start[u + 1]):
            v = end[first]
            for second in range(start[v], start[v + 1]):
                closing = reached[end[second]]
                if closing > 0.0:
                    total += min(value[first], value[second], closing)
        for first in range(start[u], start[u + 1]):
            reached[end[first]] = 0.0
    return total

"""Compiled loops over all pairs of places, in SciPy's condensed order; serial."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def add_joins(order, start, merges, size, value, apart):
    """Add to each pair of places the value of the merge that joins them. O(n^2).

    order : (n,) places from left to right. start : (2 n - 1,) where those under each id begin in
        it. merges : (n - 1, 2) in SciPy's numbering. size : (2 n - 1,) places under each id.
    value : (n - 1,). apart : (n (n - 1) / 2,), changed in place.
    """
    n = order.size
    for step in range(n - 1):
        a, b = merges[step, 0], merges[step, 1]
        for p in range(start[a], start[a] + size[a]):
            i = order[p]
            for q in range(start[b], start[b] + size[b]):
                j = order[q]
                low, high = min(i, j), max(i, j)
                apart[low * (2 * n - low - 1) // 2 + high - low - 1] += value[step]


@njit(cache=True, nogil=True)
def unlike(similarity, leaning, apart):
    """Fill `apart`, (n (n - 1) / 2,) with distances, with 1 - similarity / greatest similarity,
    and `leaning` of the distance over the greatest. O(n^2).

    similarity : (n, n) symmetric, of which the upper part is read; not below 0.
    """
    n = len(similarity)
    top, far = 0.0, 0.0
    at = 0
    for i in range(n):
        for j in range(i + 1, n):
            top = max(top, np.float64(similarity[i, j]))
            far = max(far, apart[at])
            at += 1
    by = leaning / far if far > 0.0 else 0.0
    part = 1.0 / top if top > 0.0 else 0.0
    at = 0
    for i in range(n):
        for j in range(i + 1, n):
            apart[at] = max(1.0 - similarity[i, j] * part, 0.0) + by * apart[at]
            at += 1

"""The compiled search for features or directions along which points split with a small objective.

Along one of them, x, the K clusters are intervals with cuts t_1 <= ... <= t_{K-1}, each cut in the
widest gap that the bounds on sizes allow, from the left. The weights u (k - (K - 1) / 2) for
cluster k make neighbouring clusters' scores differ by u (x - t_k); as a function of u the objective
of `splitting.objective` is convex, and a golden-section search finds its minimum.
"""

from __future__ import annotations

import numpy as np
from numba import njit

GOLDEN = 0.6180339887498949

NARROWEST = 0.1
"""Lower end of the search for u, in units of 1 / the standard deviation of the feature."""

DECADES = 4.0
"""Width of the search for u, in powers of ten."""

EVALUATIONS = 16
"""Shrinkings of the search interval."""


@njit(cache=True, nogil=True)
def cuts(values, low, high, n_clusters, cut):
    """Fill `cut` (K + 1,) with the first position of each cluster among ascending `values`.

    The cut between two clusters has `low` to `high` points between it and the next. O(N).
    """
    n_points = values.size
    cut[0], cut[n_clusters] = 0, n_points
    for k in range(1, n_clusters):
        left = n_clusters - k
        first = max(cut[k - 1] + low, n_points - left * high)
        last = min(cut[k - 1] + high, n_points - left * low)
        cut[k] = first
        widest = values[first] - values[first - 1]
        for at in range(first + 1, last + 1):
            gap = values[at] - values[at - 1]
            if gap > widest:
                widest, cut[k] = gap, at


@njit(cache=True, nogil=True)
def interval_hinge(values, cut, u):
    """The mean squared hinge of intervals at slope u. O(N K)."""
    n_points, n_clusters = values.size, cut.size - 1
    offset = np.zeros(n_clusters)
    for k in range(1, n_clusters):
        offset[k] = offset[k - 1] + 0.5 * (values[cut[k] - 1] + values[cut[k]])
    total = 0.0
    for own in range(n_clusters):
        for i in range(cut[own], cut[own + 1]):
            score = own * values[i] - offset[own]
            for k in range(n_clusters):
                lack = 1.0 - u * (score - k * values[i] + offset[k])
                if k != own and lack > 0.0:
                    total += lack * lack
    return total / (n_points * n_clusters)


@njit(cache=True, nogil=True)
def screened(points, low, high, n_clusters, l1, l2, ridge):
    """(n_axes,) the smallest objective of intervals along each column of `points` (N, n_axes).

    l1, l2, ridge : weights of the penalty for a weight of 1 along each column.

    Infinite for a column of equal values. O(N log N + N K) each.
    """
    n_axes = points.shape[1]
    value = np.full(n_axes, np.inf)
    place = np.arange(n_clusters) - 0.5 * (n_clusters - 1)
    absolute, squared = np.abs(place).sum(), (place * place).sum()
    cut = np.empty(n_clusters + 1, dtype=np.int64)
    for p in range(n_axes):
        column = np.sort(points[:, p])
        spread = column.std()
        if not spread > 0.0:
            continue
        cuts(column, low, high, n_clusters, cut)
        linear, bend = l1[p] * absolute + l2[p] * np.sqrt(squared), ridge[p] * squared
        a, b = 0.0, DECADES
        inner = np.array([b - GOLDEN * (b - a), a + GOLDEN * (b - a)])
        at = np.empty(2)
        for j in range(2):
            u = NARROWEST * 10.0 ** inner[j] / spread
            at[j] = interval_hinge(column, cut, u) + linear * u + bend * u * u
        for _ in range(EVALUATIONS):
            if at[0] <= at[1]:
                b, inner[1], at[1] = inner[1], inner[0], at[0]
                j = 0
                inner[0] = b - GOLDEN * (b - a)
            else:
                a, inner[0], at[0] = inner[0], inner[1], at[1]
                j = 1
                inner[1] = a + GOLDEN * (b - a)
            u = NARROWEST * 10.0 ** inner[j] / spread
            at[j] = interval_hinge(column, cut, u) + linear * u + bend * u * u
        value[p] = at.min()
    return value

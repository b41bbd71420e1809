"""The seeds of k-means, compiled by numba.

Greedy k-means++: of a few points drawn with chances proportional to their squared distance from the
seeds so far, the one that leaves the least sum of squared distances is the next seed. Distances are
sums of squared differences in double precision. Random numbers are handed in: the same ones give
the same bits. scikit-learn's own seeds take 70% of a run on 10,000 x 64 in 20 clusters.

Source: Arthur and Vassilvitskii, "k-means++: The Advantages of Careful Seeding" (2007), section 5;
the number of trials is scikit-learn's. Cost: O(N K D log K) time; 8 N log K bytes.
"""

from __future__ import annotations

import numpy as np
from numba import njit

LOOSE = {"reassoc", "contract", "nsz"}
"""Fast-math flags that let sums be vectorized; NaN never occurs here."""


@njit(cache=True, inline="always")
def _drawn(reached, weight, draw):
    """A point drawn with chances in proportion to its weight, whose running sums are `reached`."""
    at = np.searchsorted(reached, draw * reached[-1], side="right")
    at = min(at, len(reached) - 1)
    while at > 0 and weight[at] == 0.0:
        at -= 1
    return at


@njit(cache=True, nogil=True, fastmath=LOOSE)
def seeds(points, draws, n_centres):
    """(K, D) seeds of k-means by `draws` from [0, 1): one for the first, then some per seed."""
    n_points, n_columns = points.shape
    n_trials = (len(draws) - 1) // max(n_centres - 1, 1)
    centre = np.empty((n_centres, n_columns))
    centre[0] = points[min(np.int64(draws[0] * n_points), n_points - 1)]
    weight, reached = np.empty(n_points), np.empty(n_points)
    for i in range(n_points):
        weight[i] = 0.0
        for d in range(n_columns):
            away = points[i, d] - centre[0, d]
            weight[i] += away * away
    trial, potential = np.empty((n_points, n_trials)), np.empty(n_trials)
    candidate = np.empty((n_trials, n_columns))
    for c in range(1, n_centres):
        running = 0.0
        for i in range(n_points):
            running += weight[i]
            reached[i] = running
        for t in range(n_trials):
            draw = draws[1 + (c - 1) * n_trials + t]
            candidate[t] = points[_drawn(reached, weight, draw)]
            potential[t] = 0.0
        for i in range(n_points):
            for t in range(n_trials):
                apart = 0.0
                for d in range(n_columns):
                    away = points[i, d] - candidate[t, d]
                    apart += away * away
                trial[i, t] = min(apart, weight[i])
                potential[t] += trial[i, t]
        best = np.argmin(potential)
        centre[c] = candidate[best]
        for i in range(n_points):
            weight[i] = trial[i, best]
    return centre

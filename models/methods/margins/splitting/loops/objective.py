"""The compiled loops over the points of a split: the squared hinge, its gradient, the costs.

Weights are (K, P), class by class; points (N, P) in rows; scores (K, N). A point x of cluster y
adds sum over k != y of [1 - w_y.x + w_k.x]_+^2 / (N K) (Zhou et al., "Hierarchical Maximum-Margin
Clustering", 2015, eq. 5).
"""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 1 << 15
"""The number of values in a block of points, which stays in the cache of a core."""


@njit(cache=True, nogil=True)
def hinge(points, cluster, weights, scores, gradient):
    """The mean squared hinge; `scores` (K, N) and `gradient` (K, P) are filled. O(N K P)."""
    n_points, n_features = points.shape
    n_clusters = weights.shape[0]
    gradient[:] = 0.0
    total = 0.0
    step = max(16, BLOCK // n_features)
    pull = np.empty((n_clusters, step))
    for first in range(0, n_points, step):
        last = min(first + step, n_points)
        rows = points[first:last]
        score = np.dot(weights, rows.T)
        scores[:, first:last] = score
        for i in range(last - first):
            own = cluster[first + i]
            margin = 1.0 - score[own, i]
            back = 0.0
            for k in range(n_clusters):
                lack = margin + score[k, i]
                if k != own and lack > 0.0:
                    total += lack * lack
                    pull[k, i] = lack
                    back -= lack
                else:
                    pull[k, i] = 0.0
            pull[own, i] = back
        if last - first == step:
            gradient += np.dot(pull, rows)
        else:
            gradient += np.dot(pull[:, : last - first].copy(), rows)
    gradient *= 2.0 / (n_points * n_clusters)
    return total / (n_points * n_clusters)


@njit(cache=True, nogil=True)
def costs(scores, cost):
    """Fill `cost` (K, N) with the cost of each point in each cluster, eq. 6 without the division
    by N K.

    The paper prints the same cluster in both terms; correct is 1 - w_y.x +
    w_k.x. O(N K^2).
    """
    n_clusters, n_points = scores.shape
    for y in range(n_clusters):
        for i in range(n_points):
            cost[y, i] = 0.0
        for k in range(n_clusters):
            if k == y:
                continue
            for i in range(n_points):
                lack = max(1.0 - scores[y, i] + scores[k, i], 0.0)
                cost[y, i] += lack * lack

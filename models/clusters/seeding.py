"""The seeds of k-means: greedy k-means++ by compiled loops, or by scikit-learn.

Both do the same with other random numbers, so neither can take the other's place in a method
without another result for the same seed.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Int, Matrix
from models.inputs.checks import for_loops


def seeds(points: Matrix, n_clusters: int, rng: np.random.Generator) -> Float:
    """(n_clusters, D) points drawn by greedy k-means++ (`clusters.loops`).

    points : (N, D) float32 or float64. Sparse and dense ones give the same seeds, unless a draw
        falls between two points to the last digit.
    """
    from models.clusters import loops

    n_trials = 2 + int(math.log(n_clusters))
    draws = rng.random(1 + (n_clusters - 1) * n_trials)
    if isinstance(points, sp.csr_array):
        return _sparse_seeds(points, n_clusters, draws[0], draws[1:].reshape(-1, n_trials))
    drawn: Float = loops.seeds(for_loops(points), draws, n_clusters)
    return drawn


def _sparse_seeds(points: sp.csr_array, n_clusters: int, first: float, draws: Float) -> Float:
    """As `loops.seeds`. draws : (n_clusters - 1, n_trials)."""
    n_points = points.shape[0]
    wide = points.astype(np.float64)
    own: Float = np.asarray(wide.multiply(wide).sum(axis=1)).ravel()

    def squared(chosen: Int) -> Float:
        apart: Float = (wide @ wide[chosen].T).toarray()
        apart *= -2.0
        apart += own[:, None] + own[chosen]
        # What cancels would make a chance of a point that is drawn already.
        apart[apart <= 1e-12 * (own[:, None] + own[chosen])] = 0.0
        return apart

    seed = [min(int(first * n_points), n_points - 1)]
    weight = squared(np.array(seed))[:, 0]
    for drawn in draws:
        reached = np.cumsum(weight)
        at = np.minimum(np.searchsorted(reached, drawn * reached[-1], side="right"), n_points - 1)
        left = np.minimum(squared(at), weight[:, None])
        best = int(left.sum(axis=0).argmin())
        seed.append(int(at[best]))
        weight = left[:, best]
    dense: Float = wide[np.array(seed)].toarray()
    return dense


def seed_rows(
    features: Matrix, n_clusters: int, rng: np.random.Generator, weight: Float | None = None
) -> Int:
    """(n_clusters,) numbers of rows, drawn by scikit-learn's greedy k-means++; O(N K D log K).

    features : at least `n_clusters` rows. weight : (N,) of the rows. Unit rows are drawn by cosine:
    their squared distances are 2 - 2 cosine.
    """
    from sklearn.cluster import kmeans_plusplus
    from threadpoolctl import threadpool_limits

    seed = int(rng.integers(2**31))
    with threadpool_limits(1):
        _, rows = kmeans_plusplus(features, n_clusters, sample_weight=weight, random_state=seed)
    return np.asarray(rows, dtype=np.int64)

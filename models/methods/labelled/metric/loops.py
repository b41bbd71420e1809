"""The compiled loop of `planes`: moves of single rows to a clustering that lacks more."""

from __future__ import annotations

import numpy as np

from models.running.loops import njit


@njit(cache=True, nogil=True)
def climb(points, known, cluster, n_clusters, most_sweeps):
    """Move rows to other clusters, one at a time, each to where the clustering lacks most, until
    no move adds to that; `cluster` is changed.

    What a clustering lacks is, but for a constant, the squares between clusters, divided by the
    number of rows, minus its adjusted Rand index with `known`, where that is above 0.

    points : (N, r) float64 rows about their mean. known, cluster : (N,) below `n_clusters`.
    O(most_sweeps N K r).
    """
    n, width = points.shape
    sums = np.zeros((n_clusters, width))
    table = np.zeros((n_clusters, n_clusters))
    size, known_size = np.zeros(n_clusters), np.zeros(n_clusters)
    for row in range(n):
        sums[cluster[row]] += points[row]
        table[cluster[row], known[row]] += 1.0
        size[cluster[row]] += 1.0
        known_size[known[row]] += 1.0
    together = 0.5 * np.sum(table * (table - 1.0))
    pairs = 0.5 * np.sum(size * (size - 1.0))
    known_pairs = 0.5 * np.sum(known_size * (known_size - 1.0))
    all_pairs = 0.5 * n * (n - 1.0)
    squares = np.zeros(n_clusters)
    for k in range(n_clusters):
        if size[k] > 0.0:
            squares[k] = np.dot(sums[k], sums[k]) / size[k]
    for _ in range(most_sweeps):
        moved = False
        for row in range(n):
            x, own, true = points[row], cluster[row], known[row]
            rest = 0.0
            if size[own] > 1.0:
                for j in range(width):
                    rest += (sums[own, j] - x[j]) ** 2
                rest /= size[own] - 1.0
            now = _index(together, pairs, known_pairs, all_pairs)
            best, most = own, 1e-12
            for k in range(n_clusters):
                if k == own:
                    continue
                more = 0.0
                for j in range(width):
                    more += (sums[k, j] + x[j]) ** 2
                more /= size[k] + 1.0
                then = _index(
                    together + table[k, true] - table[own, true] + 1.0,
                    pairs + size[k] - size[own] + 1.0,
                    known_pairs,
                    all_pairs,
                )
                gain = (rest + more - squares[own] - squares[k]) / n + now - then
                if gain > most:
                    best, most = k, gain
            if best == own:
                continue
            together += table[best, true] - table[own, true] + 1.0
            pairs += size[best] - size[own] + 1.0
            sums[own] -= x
            sums[best] += x
            table[own, true] -= 1.0
            table[best, true] += 1.0
            size[own] -= 1.0
            size[best] += 1.0
            for k in (own, best):
                squares[k] = np.dot(sums[k], sums[k]) / size[k] if size[k] > 0.0 else 0.0
            cluster[row] = best
            moved = True
        if not moved:
            return


@njit(cache=True, nogil=True)
def _index(together, pairs, known_pairs, all_pairs):
    """The adjusted Rand index, where it is above 0."""
    expected = pairs * known_pairs / all_pairs if all_pairs > 0.0 else 0.0
    most = 0.5 * (pairs + known_pairs) - expected
    return max((together - expected) / most, 0.0) if most > 0.0 else 0.0

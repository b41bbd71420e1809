"""Compiled loops over all pairs of places, in SciPy's condensed order; serial."""

from __future__ import annotations

import numpy as np

from models.running.loops import njit


@njit(cache=True, nogil=True)
def add_joins(order, span, merges, value, first, last, apart):
    """Add to the pairs of each place i, first <= i < last, with later places the values, in each
    tree, of the merges that join the two. O(T n) for each i.

    order : (T, n) places from left to right. span : (T, 2 n - 1, 2) where those under each SciPy
        id begin and end in it. merges : (T, n - 1, 2). value : (T, n - 1).
    apart : (n (n - 1) / 2,), changed in place.
    """
    n_trees, n = order.shape
    parent = np.full((n_trees, 2 * n - 1), -1)
    beside = np.full((n_trees, 2 * n - 1), -1)
    for tree in range(n_trees):
        for step in range(n - 1):
            one, other = merges[tree, step, 0], merges[tree, step, 1]
            parent[tree, one], parent[tree, other] = n + step, n + step
            beside[tree, one], beside[tree, other] = other, one
    row = np.empty(n)
    for i in range(first, last):
        row[:] = 0.0
        for tree in range(n_trees):
            node = i
            while parent[tree, node] >= 0:
                other, node = beside[tree, node], parent[tree, node]
                here = value[tree, node - n]
                for p in range(span[tree, other, 0], span[tree, other, 1]):
                    row[order[tree, p]] += here
        at = i * (2 * n - i - 1) // 2 - i - 1
        for j in range(i + 1, n):
            apart[at + j] += row[j]


@njit(cache=True, nogil=True)
def unlike(likeness, leaning, distance):
    """Change `likeness`, (n (n - 1) / 2,) and not below 0, to 1 - likeness / greatest likeness, and
    `leaning` of the distance over the greatest. O(n^2)."""
    top, far = 0.0, 0.0
    for at in range(likeness.size):
        top, far = max(top, likeness[at]), max(far, distance[at])
    by = leaning / far if far > 0.0 else 0.0
    part = 1.0 / top if top > 0.0 else 0.0
    for at in range(likeness.size):
        likeness[at] = max(1.0 - likeness[at] * part, 0.0) + by * distance[at]


@njit(cache=True, nogil=True)
def roots(merges, n_points):
    """(n_points,) the last node over each point, by merges in SciPy's numbering that need not join
    all, and (n_merges,) the points under each. O(N)."""
    last = np.arange(n_points + len(merges))
    size = np.ones(n_points + len(merges), dtype=np.int64)
    for step in range(len(merges)):
        size[n_points + step] = size[merges[step, 0]] + size[merges[step, 1]]
    for step in range(len(merges) - 1, -1, -1):
        for side in range(2):
            last[merges[step, side]] = last[n_points + step]
    return last[:n_points], size[n_points:]

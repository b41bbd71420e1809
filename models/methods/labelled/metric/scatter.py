"""Mean squares and products of differences between known rows: near ones less far ones."""

from __future__ import annotations

import numpy as np

from models.arrays import Float
from models.methods.labelled.supervision.known import KnownClusters


def pair_scatter(known: KnownClusters, cross_weight: float) -> Float:
    """(D, D) M: the mean of (x - m)(x - m)' over rows x and their cluster's mean m, and of
    (x - y)(x - y)' over pairs in one cluster, less `cross_weight` times that over pairs across.

    Pairs are summed by moments: n times the squares and products about the mean of n rows are those
    of their pairs. O(N D^2).
    """
    points = known.points.astype(np.float64)
    size, n_rows = known.size, known.code.size
    away = points - known.means[known.code]
    within = away.T @ away
    same = away.T @ (away * size[known.code, None])
    points -= points.mean(axis=0)
    cross = n_rows * (points.T @ points) - same
    n_same = float((size * (size - 1)).sum()) / 2.0
    n_cross = n_rows * (n_rows - 1) / 2.0 - n_same
    scatter: Float = within / n_rows + same / n_same - cross_weight / n_cross * cross
    return scatter

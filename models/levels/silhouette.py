"""The curve of the mean silhouette over a tree's cuts, from the features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from models.arrays import Int
from models.inputs.rows import Rows
from models.tree.nested_cuts import nested_cuts
from models.tree.tree import Tree

if TYPE_CHECKING:
    from models.arrays import Matrix

SAMPLE = 1000
"""Number of points that are measured: with more points the curve is an estimate."""

KS = (*range(2, 11), 12, 15, 20, 25, 30, 40, 50)


def curve(tree: Tree, features: Matrix | Rows) -> list[tuple[int, float]]:
    """(k, mean silhouette) of the cuts into `KS` clusters (Rousseeuw 1987), by Euclidean distance
    of at most `SAMPLE` evenly spaced points; numbers that no cut gives are left out.

    Distances are measured within the sample: O(SAMPLE^2 (D + len(KS))).
    """
    if tree.n_points < 3 or tree.n_leaves < 3:
        return []
    sample, apart = sampled_distances(tree.n_points, features, SAMPLE)
    cuts = nested_cuts(tree, min(KS[-1], tree.n_leaves - 1))
    finest = cuts.cluster_of_point[sample]
    return [
        (k, mean_silhouette(apart, cuts.coarser[k][finest]))
        for k in KS
        if k in cuts.coarser and k < len(sample)
    ]


def sampled_distances(
    n_points: int, features: Matrix | Rows, most: int
) -> tuple[Int, npt.NDArray[Any]]:
    """At most `most` evenly spaced rows, and the Euclidean distances between them."""
    from sklearn.metrics import pairwise_distances

    sample = np.unique(np.linspace(0, n_points - 1, min(most, n_points)).astype(np.int64))
    points = features.take(sample) if isinstance(features, Rows) else features[sample]
    return sample, pairwise_distances(points)


def mean_silhouette(apart: npt.NDArray[Any], cluster: Int) -> float:
    """The mean over m points of their silhouettes; that of a point alone in its cluster is 0.

    apart : (m, m) distances. cluster : (m,).
    """
    names, cluster = np.unique(cluster, return_inverse=True)
    if len(names) < 2:
        return 0.0
    size = np.bincount(cluster)
    member = np.zeros((len(cluster), len(names)))
    member[np.arange(len(cluster)), cluster] = 1.0
    total = apart @ member
    own = np.arange(len(cluster)), cluster
    inside = total[own] / np.maximum(size[cluster] - 1, 1)
    total /= size
    total[own] = np.inf
    other = total.min(axis=1)
    largest = np.maximum(inside, other)
    value = np.divide(other - inside, largest, out=np.zeros_like(other), where=largest > 0)
    return float(np.where(size[cluster] > 1, value, 0.0).mean())

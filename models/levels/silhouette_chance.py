"""How strong a tree's silhouettes are against those of points without structure.

Reference sets are uniform in the box around the points, along their principal axes, as for the gap
statistic. Each is cut into k clusters by Ward's linkage, improved by `_MOVES` rounds of k-means,
and the better silhouette of both counts. The p-value is that of Student's t for one more value
beside those of the references, times the number of k of a curve.

Source: Tibshirani, Walther, Hastie, "Estimating the number of clusters in a data set via the gap
statistic" (2001), section 3, for the references.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int
from models.inputs.rows import Rows
from models.levels.silhouette import KS, mean_silhouette, sampled_distances
from models.numerics.agglomeration import merged

if TYPE_CHECKING:
    from models.arrays import Matrix

SAMPLE = 200
"""Number of points of a reference set. With fewer points silhouettes of chance are larger, so that
those of a tree over many points are held against more than they need."""

_REFERENCES = 10
_MOVES = 3


def p_values(
    n_points: int, features: Matrix | Rows, curve: Sequence[tuple[int, float]]
) -> list[tuple[int, float]]:
    """(k, p-value) of the (k, mean silhouette) in `curve` with at least 3 points for each cluster.

    The same features give the same p-values. O(SAMPLE^2 (SAMPLE + n_features)).
    """
    from scipy.special import stdtr

    apart = sampled_distances(n_points, features, SAMPLE)[1]
    tested = [(k, score) for k, score in curve if 3 * k <= len(apart)]
    if not tested:
        return []
    ks = [k for k, _ in tested]
    box = np.ptp(principal_coordinates(apart), axis=0)
    rng = np.random.default_rng(0)
    values = np.array(
        [_silhouettes(box * rng.random((len(apart), box.size)), ks) for _ in range(_REFERENCES)]
    )
    above = np.array([score for _, score in tested]) - values.mean(axis=0)
    error = values.std(axis=0, ddof=1) * np.sqrt(1.0 + 1.0 / _REFERENCES)
    # Without deviation, as of points that are all equal, chance gives nothing else.
    by_error = np.divide(above, error, out=np.zeros_like(above), where=error > 0)
    p_value = np.minimum(len(KS) * stdtr(_REFERENCES - 1, -by_error), 1.0)
    return list(zip(ks, p_value.tolist(), strict=True))


def principal_coordinates(apart: Float) -> Float:
    """(m, rank) coordinates along principal axes of m points with these Euclidean distances."""
    m = len(apart)
    centring = np.eye(m) - 1.0 / m
    value, axis = np.linalg.eigh(-0.5 * centring @ (apart**2) @ centring)
    kept = value > max(value[-1], 0.0) * 1e-10
    return np.asarray(axis[:, kept] * np.sqrt(value[kept]), dtype=np.float64)


def _silhouettes(points: Float, ks: Sequence[int]) -> list[float]:
    """The better mean silhouette of two partitions into k clusters, for each k."""
    from scipy.cluster.hierarchy import fcluster
    from scipy.spatial.distance import pdist, squareform

    distances = pdist(points)
    apart = squareform(distances)
    merges = merged(distances, "ward")
    best = []
    for k in ks:
        cluster = fcluster(merges, k, "maxclust").astype(np.int64) - 1
        moved = _moved(points, cluster)
        best.append(max(mean_silhouette(apart, cluster), mean_silhouette(apart, moved)))
    return best


def _moved(points: Float, cluster: Int) -> npt.NDArray[Any]:
    """The clusters after some rounds of k-means."""
    for _ in range(_MOVES):
        cluster = np.unique(cluster, return_inverse=True)[1]
        member = np.zeros((cluster.max() + 1, len(points)))
        member[cluster, np.arange(len(points))] = 1.0
        centres = member @ points / member.sum(axis=1, keepdims=True)
        cluster = np.argmin((centres**2).sum(axis=1) - 2.0 * points @ centres.T, axis=1)
    return cluster

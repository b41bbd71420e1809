"""Other clusterings of the known rows, beside the known one.

A clustering z of the N rows is as good as F_A(z) = -tr(A W_z) / N, W_z the squares and products
about its clusters' means. The squares of all rows are those within clusters and those between
them, so that F_A(y) - F_A(z) = <A, B_y - B_z> / N with the squares B between clusters, of rank
K - 1 each: linear in A, one matrix a clustering.

Its loss is 1 minus the adjusted Rand index with the known clustering, 1 at most: it is blind to how
clusters are numbered, 0 for the same partition alone, and about 1 for one drawn by chance, however
many clusters there are (without the adjustment it would fall as 2 / K).

Source: Gopal, "Large-scale Structured Learning" (2014), §7.3.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float, Int
from models.methods.labelled.supervision.known import KnownClusters
from models.metrics.flat import ari, contingency

MOST_STEPS = 100
"""Of a run of k-means."""


@dataclass(frozen=True, slots=True)
class Plane:
    """What the metric A owes the known clustering over another: <A, normal> >= loss - slack.

    normal : (D, D) (B_y - B_z) / N. loss : 0 to 1.
    """

    normal: Float
    loss: float

    def lacks(self, metric: Float) -> float:
        """The slack that the metric needs here; negative where there is room."""
        return self.loss - float(np.vdot(self.normal, metric))


class Clusterings:
    """Clusterings of known rows into as many clusters as are known."""

    def __init__(self, known: KnownClusters) -> None:
        self._points = known.points - known.points.mean(axis=0)
        self._code, self._n_clusters = known.code, known.n_clusters
        self._known_between = self._between(known.code)

    def plane(self, cluster: Int) -> Plane:
        """For the clustering (N,) of numbers below the number of known clusters. O(N D + K D^2)."""
        table = contingency(cluster, self._code, self._n_clusters, self._n_clusters)
        loss = 1.0 - max(ari(table) or 0.0, 0.0)
        return Plane(self._known_between - self._between(cluster), loss)

    def worst(
        self, transformation: Float, metric: Float, n_runs: int, rng: np.random.Generator
    ) -> Plane:
        """Of the clusterings that runs of k-means find, the one that lacks most.

        transformation : (r, D) L, L'L = metric. The runs start at k-means++ seeds. What they find
        is a good clustering of the transformed rows, but none is sure to be the best, nor does
        k-means know of the loss. O(n_runs N K r) for each of its tens of steps.
        """
        folded = self._points @ transformation.T.astype(self._points.dtype)
        planes = [self.plane(k_means(folded, self._n_clusters, rng)) for _ in range(n_runs)]
        return max(planes, key=lambda plane: plane.lacks(metric))

    def _between(self, cluster: Int) -> Float:
        """(D, D) the clusters' squares about the mean of all rows, divided by N."""
        size = np.bincount(cluster, minlength=self._n_clusters)
        indicator = np.zeros((self._n_clusters, cluster.size), dtype=self._points.dtype)
        indicator[cluster, np.arange(cluster.size)] = 1.0
        sums = (indicator @ self._points).astype(np.float64)
        root = sums / np.sqrt(np.maximum(size, 1) * float(cluster.size))[:, None]
        return np.asarray(root.T @ root)


def k_means(points: Array, n_clusters: int, rng: np.random.Generator) -> Int:
    """(N,) clusters by Lloyd's iterations from k-means++ seeds; some may be empty.

    Rounds call this hundreds of times on few rows, where what scikit-learn does around a run would
    take most of the time. O(N K r) a step.
    """
    centers = _seeds(points, n_clusters, rng)
    rows = np.arange(points.shape[0])
    before = np.full(points.shape[0], -1)
    for _ in range(MOST_STEPS):
        closeness = points @ centers.T - 0.5 * np.einsum("kr,kr->k", centers, centers)
        cluster = closeness.argmax(axis=1)
        if (cluster == before).all():
            break
        before = cluster
        indicator = np.zeros((n_clusters, points.shape[0]), dtype=points.dtype)
        indicator[cluster, rows] = 1.0
        size = indicator.sum(axis=1)
        filled = size > 0.0
        centers[filled] = (indicator @ points)[filled] / size[filled, None]
    return before


def _seeds(points: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    seeds = np.empty((n_clusters, points.shape[1]), dtype=points.dtype)
    nearest = np.full(points.shape[0], np.inf)
    chance = None
    for place in range(n_clusters):
        seeds[place] = points[rng.choice(points.shape[0], p=chance)]
        np.minimum(nearest, ((points - seeds[place]) ** 2).sum(axis=1), out=nearest)
        total = float(nearest.sum())
        chance = nearest / total if total > 0.0 else None
    return seeds

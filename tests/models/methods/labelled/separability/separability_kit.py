"""Known clusters drawn at random, of different spreads."""

from __future__ import annotations

import numpy as np

from models.methods.labelled.metric.nearest import Moments
from models.methods.labelled.supervision.inputs import KnownClusters


def drawn(seed: int, n_clusters: int = 5, n_columns: int = 4, apart: float = 1.0) -> KnownClusters:
    """12 rows a cluster, the last cluster of a single row."""
    rng = np.random.default_rng(seed)
    code = np.append(np.repeat(np.arange(n_clusters - 1), 12), n_clusters - 1)
    stretch = rng.uniform(0.3, 1.5, (n_clusters, n_columns))
    points = apart * rng.normal(size=(n_clusters, n_columns))[code]
    return KnownClusters(points + rng.normal(size=points.shape) * stretch[code], code, n_clusters)


def literal(known: KnownClusters, gamma: float) -> np.ndarray:
    """(n_pairs, D, D) G of each pair, by its formula."""
    moments = Moments.of(known)
    means, covariances = moments.means, moments.covariances
    return np.array(
        [
            np.outer(means[i] - means[j], means[i] - means[j])
            - gamma * (covariances[i] + covariances[j])
            for i in range(known.n_clusters)
            for j in range(i + 1, known.n_clusters)
        ]
    )

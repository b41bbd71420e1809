"""Points in blobs, and whether clusters are the blobs."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import adjusted_rand_score

from models.method import Fitted


def blobs(
    seed: int = 0, n_clusters: int = 5, each: int = 40, width: int = 8, apart: float = 6.0
) -> tuple[np.ndarray, np.ndarray]:
    """Round clusters around corners of a simplex, and each point's."""
    rng = np.random.default_rng(seed)
    own = rng.permutation(np.arange(n_clusters * each) % n_clusters)
    rows = rng.normal(size=(len(own), width)) + apart * np.eye(n_clusters, width)[own]
    return rows.astype(np.float32), own


def together(fitted: Fitted, own: np.ndarray) -> float:
    return adjusted_rand_score(own, fitted.tree.leaf_of_point)

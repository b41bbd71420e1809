"""Counts of words of artificial texts."""

from __future__ import annotations

import numpy as np


def texts(
    seed: int = 0, n_points: int = 60, n_terms: int = 8, length: int = 12, n_clusters: int = 3
) -> tuple[np.ndarray, np.ndarray]:
    """Counts of terms drawn from as many topics, and the topic of each row."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_terms, 0.3), size=n_clusters)
    group = rng.integers(n_clusters, size=n_points)
    return np.array([rng.multinomial(length, topics[k]) for k in group]).astype(float), group

"""Gradients by finite differences, and known clusters to take them at."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from models.arrays import Float
from models.methods.labelled.supervision.inputs import KnownClusters


def numeric_gradient(
    function: Callable[[Float], tuple[float, Float]], point: Float, step: float = 1e-6
) -> Float:
    """Central differences of the first value that a function gives."""
    gradient = np.zeros_like(point)
    for place in np.ndindex(point.shape):
        ahead, behind = point.copy(), point.copy()
        ahead[place] += step
        behind[place] -= step
        gradient[place] = (function(ahead)[0] - function(behind)[0]) / (2.0 * step)
    return gradient


def clusters(
    seed: int, n_rows: int = 60, n_columns: int = 4, n_clusters: int = 3, apart: float = 1.0
) -> KnownClusters:
    """Gaussian clusters of unequal size, `apart` times a standard Gaussian from one another."""
    rng = np.random.default_rng(seed)
    code = np.concatenate([np.arange(n_clusters), rng.integers(n_clusters, size=n_rows)])
    code = np.sort(code)
    means = apart * rng.normal(size=(n_clusters, n_columns))
    return KnownClusters(means[code] + rng.normal(size=(code.size, n_columns)), code, n_clusters)

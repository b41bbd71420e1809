"""Cosines of class means where variances within classes are 1 in all directions."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from models.arrays import Float

SHRINKAGE = 0.1
"""Part of the mean variance that each direction has besides its own."""


def whitened(mean: Float, within: Float) -> Float:
    """(u, u) cosines of class means, where variances within classes are 1 in all directions.

    mean : (u, u) mean logits by class. within : (u, u) covariance within classes; where it is 0,
    directions stay as they are.
    """
    apart = mean - mean.mean(axis=0)
    n = len(apart)
    variance = np.trace(within) / n
    if not variance > 0.0:
        return cosines(apart @ apart.T)
    shrunk = within / variance + SHRINKAGE * np.eye(n)
    lower = linalg.cholesky(shrunk, lower=True, overwrite_a=True, check_finite=False)
    white = linalg.solve_triangular(lower, apart.T, lower=True, check_finite=False)
    return cosines(white.T @ white)


def cosines(products: Float) -> Float:
    """(u, u) cosines of vectors by their scalar products; 0 for a vector without a length, 1 on the
    diagonal."""
    length = np.sqrt(np.maximum(np.diag(products), 0.0))
    tiny = 1e-12 * length.max(initial=0.0)
    length = np.where(length > tiny, length, np.inf)
    found = np.minimum(products / (length[:, None] * length), 1.0)
    found = 0.5 * (found + found.T)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)

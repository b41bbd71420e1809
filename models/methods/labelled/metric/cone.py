"""The semidefinite matrix nearest to a symmetric one."""

from __future__ import annotations

import numpy as np

from models.arrays import Float


def on_cone(matrix: Float) -> tuple[Float, float]:
    """(D, D) the nearest semidefinite matrix, and the sum of the squares of its entries. O(D^3)."""
    eigenvalues, vectors = np.linalg.eigh(matrix)
    kept = eigenvalues > 0.0
    eigenvalues, vectors = eigenvalues[kept], vectors[:, kept]
    return (vectors * eigenvalues) @ vectors.T, float(eigenvalues @ eigenvalues)

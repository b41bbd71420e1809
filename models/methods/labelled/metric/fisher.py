"""Generalized eigenvectors of the squares between known clusters and those within them.

Source: Gopal, "Large-scale Structured Learning" (2014), §6.6.1, eq. 6.4 and §D.1.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from models.arrays import Float
from models.errors import UsageError
from models.methods.labelled.supervision.inputs import KnownClusters
from models.methods.labelled.supervision.method import Learned


def of_means(known: KnownClusters) -> Float:
    """(D, K) whose product with its transpose is S_B of Fisher's discriminants."""
    away = known.means - np.average(known.means, axis=0, weights=known.size)
    return np.asarray((away * np.sqrt(known.size)[:, None]).T)


def of_pairs(known: KnownClusters) -> Float:
    """(D, K) whose product with its transpose sums the squares of all pairs' differences.

    Sum over i < j of (m_i - m_j)(m_i - m_j)' = K sum over i of (m_i - m)(m_i - m)', m their mean.
    """
    away = known.means - known.means.mean(axis=0)
    return np.asarray(away.T * np.sqrt(known.n_clusters))


def discriminants(known: KnownClusters, between: Float, gamma: float) -> Learned:
    """The K - 1 best directions, or fewer where means lie in fewer, with e' S_W e = 1.

    between : (D, K) a root of S_B. O(N D^2 + D^3).
    """
    within = known.within
    within[np.diag_indices_from(within)] += gamma
    most = min(known.n_clusters - 1, within.shape[0])
    try:
        ratios, vectors = eigh(
            between @ between.T,
            within,
            subset_by_index=(within.shape[0] - most, within.shape[0] - 1),
        )
    except np.linalg.LinAlgError:
        raise UsageError(
            "Known rows do not spread in all directions within their clusters, so that directions "
            "without spread would count without bound; use a 'gamma' above 0.",
            code="wrong-parameter",
            parameter="gamma",
        ) from None
    kept = ratios > 1e-10 * max(float(ratios[-1]), 0.0)
    matrix = vectors.T[kept][::-1]
    peak = np.abs(matrix).argmax(axis=1)
    matrix = matrix * np.sign(matrix[np.arange(matrix.shape[0]), peak])[:, None]
    return Learned(
        np.ascontiguousarray(matrix), curves={"ratio": list(enumerate(ratios[::-1].tolist(), 1))}
    )

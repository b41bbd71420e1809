"""The directions in which known rows differ at all."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from models.arrays import Float
from models.methods.labelled.supervision.known import KnownClusters
from models.methods.labelled.supervision.transformation import factor

NEGLIGIBLE = 1e-13
"""The share of the largest eigenvalue of the squares below which a direction shows no spread."""


@dataclass(frozen=True, slots=True)
class Subspace:
    """basis : (D, r) orthonormal directions that hold all differences of known rows.

    Where known rows are all that a metric A is learned from, and what holds it is |A - I|^2, A is
    the identity in other directions: a problem of D columns is one of r, exactly.
    """

    basis: Float

    @classmethod
    def of(cls, known: KnownClusters) -> Subspace:
        """O(N D^2 + D^3)."""
        away = known.points - known.points.mean(axis=0)
        eigenvalues, vectors = np.linalg.eigh(np.asarray(away.T @ away, dtype=np.float64))
        kept = eigenvalues > NEGLIGIBLE * eigenvalues.size * eigenvalues[-1]
        # At most one direction fewer than rows, whatever rounding says.
        kept[: max(0, eigenvalues.size - (known.code.size - 1))] = False
        return cls(np.eye(eigenvalues.size) if kept.all() else vectors[:, kept])

    def within(self, known: KnownClusters) -> KnownClusters:
        """The known rows as (N, r) coordinates in these directions."""
        return replace(known, points=known.points @ self.basis.astype(known.points.dtype))

    def transformation(self, metric: Float) -> Float:
        """(p, D) L whose L'L is the (r, r) metric, and the identity in all other directions.

        Without a row where the metric is 0, so that all known rows fall together.
        """
        n_columns, n_within = self.basis.shape
        if not metric.any():
            return np.empty((0, n_columns))
        away = metric - np.eye(n_within)
        return factor(np.eye(n_columns) + self.basis @ away @ self.basis.T)

"""The linear transformation that a method learns, and rows prepared for it, applied as they came.

Rows are put on one scale: wide ones are cut by SVD, moved to their mean, divided by one number.

Also what the metric of a transformation is made of: its factors, the nearest semidefinite matrix,
and the directions in which known rows differ at all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Arrays, Float, Matrix, row_blocks
from models.errors import UsageError
from models.methods.labelled.supervision.inputs import CUT_TO, WIDE, KnownClusters
from models.preprocess import pipeline


@dataclass(frozen=True, slots=True)
class Preparation:
    """Rows x become (x B - c) / s, where c may be 0.

    basis : (D, p) B; None: the columns stay. center : (p,) c. scale : s, so that the mean square
        of a value is 1.
    """

    basis: Float | None
    center: Float
    scale: float


def prepare(
    features: Matrix,
    n_components: int | Literal["auto"] | None,
    seed: int,
    *,
    centered: bool = True,
) -> tuple[Preparation, Array, tuple[str, ...]]:
    """The preparation, (n_rows, p) the prepared rows, and warnings.

    centered : whether rows are moved to their mean.

    Rows in single precision stay so. Sparse rows are cut without being moved first.

    Raises UsageError for rows that are all equal. O(N D^2) where they are cut, see
    `models.preprocess.steps`; else O(N D).
    """
    kept = n_kept(features.shape, n_components)
    basis: Float | None = None
    notes: tuple[str, ...] = ()
    rows = features
    if kept < features.shape[1]:
        step = "svd" if sp.issparse(features) else "pca"
        done, _, _ = pipeline.fit([{"step": step, "n": kept}], features, seed)
        (learned,) = done.learned
        basis = np.ascontiguousarray(learned["components"].T)
        rows = features @ basis.astype(features.dtype if features.dtype.kind == "f" else None)
        notes = (
            f"Rows of {features.shape[1]} columns were cut to {kept} by SVD, which keeps "
            f"{float(learned['explained'][0]):.0%} of their "
            f"{'squares' if step == 'svd' else 'variance'}.",
        )
    points = rows.toarray() if isinstance(rows, sp.csr_array) else np.asarray(rows)
    points = points.astype(np.float32 if points.dtype == np.float32 else np.float64)
    center = np.zeros(points.shape[1])
    if centered:
        center = points.mean(axis=0, dtype=np.float64)
        points -= center.astype(points.dtype)
    squares = (float(np.square(points[b], dtype=np.float64).sum()) for b in _blocks(points))
    scale = float(np.sqrt(sum(squares) / points.size))
    if not scale > 0.0:
        raise UsageError(
            "Input 'features' has equal rows only.", code="wrong-input", role="features"
        )
    points /= points.dtype.type(scale)
    return Preparation(basis, center, scale), points, notes


def spreads(features: Matrix) -> Float:
    """(D,) the standard deviation of each column. O(N D), for sparse rows O(nnz + D)."""
    n_rows, n_columns = features.shape
    mean = np.asarray(features.mean(axis=0, dtype=np.float64)).ravel()
    squares = np.zeros(n_columns)
    if isinstance(features, sp.csr_array):
        if not features.has_canonical_format:
            features = features.copy()
            features.sum_duplicates()
        column = features.indices
        squares += np.bincount(column, (features.data - mean[column]) ** 2, n_columns)
        squares += (n_rows - np.bincount(column, minlength=n_columns)) * mean**2
    else:
        for block in _blocks(features):
            squares += ((features[block] - mean) ** 2).sum(axis=0)
    return np.asarray(np.sqrt(squares / n_rows))


def _blocks(points: Array) -> list[slice]:
    return list(row_blocks(*points.shape))


def n_kept(shape: tuple[int, ...], n_components: int | Literal["auto"] | None) -> int:
    """The number of columns that rows of a (n_rows, n_columns) matrix are cut to."""
    n_rows, n_columns = shape
    if n_components == "auto":
        n_components = CUT_TO if n_columns > WIDE else n_columns
    return min(n_components or n_columns, n_columns, n_rows)


NEGLIGIBLE = 1e-10
"""The share of a metric's largest eigenvalue below which one counts as 0."""


def factor(metric: Float, most: int | None = None) -> Float:
    """(r, D) L with L'L = A for a semidefinite A, of its rank r; longest rows first. O(D^3).

    most : rows that are kept at most; the shortest are left out.
    """
    eigenvalues, vectors = np.linalg.eigh(metric)
    kept = eigenvalues > NEGLIGIBLE * max(float(eigenvalues[-1]), 0.0)
    if most is not None:
        kept[: max(0, eigenvalues.size - most)] = False
    rows = np.sqrt(eigenvalues[kept])[:, None] * vectors.T[kept]
    # Signs are arbitrary: each row's largest entry is positive.
    peak = np.abs(rows).argmax(axis=1)
    rows *= np.sign(rows[np.arange(rows.shape[0]), peak])[:, None]
    return np.ascontiguousarray(rows[::-1])


@dataclass(frozen=True, slots=True)
class Transformation:
    """Rows x become x P - c.

    projection : (D, r) P. offset : (r,) c.
    """

    projection: Float
    offset: Float

    @classmethod
    def of(cls, preparation: Preparation, matrix: Float) -> Transformation:
        """What prepares rows and multiplies them by (r, p) L."""
        projection = matrix.T / preparation.scale
        offset = preparation.center @ projection
        if preparation.basis is not None:
            projection = preparation.basis @ projection
        return cls(np.ascontiguousarray(projection), offset)

    @classmethod
    def of_arrays(cls, arrays: Arrays) -> Transformation:
        return cls(np.asarray(arrays["projection"]), np.asarray(arrays["offset"]))

    @property
    def arrays(self) -> dict[str, Float]:
        return {"projection": self.projection, "offset": self.offset}

    @property
    def stretch(self) -> Float:
        """(D,) the length of each row of P: how far a row moves when one feature grows by 1."""
        return np.asarray(np.hypot.reduce(self.projection, axis=1))

    def apply(self, rows: Matrix) -> Array:
        """(n_rows, r) float64. O(N D r), or for sparse rows O(nnz r); dense rows in single
        precision are widened a block at a time."""
        if isinstance(rows, sp.csr_array):
            return np.asarray(rows @ self.projection - self.offset)
        applied = np.empty((rows.shape[0], self.offset.size))
        for block in row_blocks(*rows.shape):
            np.matmul(rows[block], self.projection, out=applied[block])
        applied -= self.offset
        return applied


def on_cone(matrix: Float) -> tuple[Float, float]:
    """(D, D) the nearest semidefinite matrix, and the sum of the squares of its entries. O(D^3)."""
    eigenvalues, vectors = np.linalg.eigh(matrix)
    kept = eigenvalues > 0.0
    eigenvalues, vectors = eigenvalues[kept], vectors[:, kept]
    return (vectors * eigenvalues) @ vectors.T, float(eigenvalues @ eigenvalues)


NO_SPREAD = 1e-13
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
        kept = eigenvalues > NO_SPREAD * eigenvalues.size * eigenvalues[-1]
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

"""Rows on one scale: wide ones cut by SVD, moved to their mean, divided by one number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Float, Matrix, row_blocks
from models.errors import UsageError
from models.methods.labelled.supervision.inputs import CUT_TO, WIDE
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

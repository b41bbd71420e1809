"""The leading principal components of rows, few or very many.

Up to `EXACT_COLUMNS` columns, and where rows are few, they are the components of the preprocessing
step `pca`: exact, by second moments of rows read in blocks. For wider rows the leading subspace is
found by iterating on random directions, each pass over the rows bringing them nearer (randomized
SVD: Halko, Martinsson and Tropp, "Finding structure with randomness", 2011, algorithm 4.4), until
their variances change by less than `TOLERANCE`. Rows are read in blocks and never held whole.

Cost for N rows of D columns: O(N D^2) once, or O(N D (n + 10)) twice in each of a few passes.
Memory: 16 D (n + 10) bytes, and the components of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Matrix, Single
from models.errors import UsageError
from models.inputs.checks import blocks, require_usable
from models.inputs.frames import Frame
from models.inputs.rows import Rows
from models.preprocess import pipeline
from models.running.progress import Progress

EXACT_COLUMNS = 512
OVERSAMPLED = 10
MOST_PASSES = 12
TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True)
class Components:
    """points : (n_points, n) float32, each component with its largest weight positive; columns of
    zeros where there are fewer. explained : share of the variance in them, 1 where there is none.
    frame : in which the points lie; `scaled_back` gives them the unit of the rows.
    """

    points: Single
    explained: float
    frame: Frame


def components(rows: Matrix | Rows, n: int, seed: int, progress: Progress) -> Components:
    """The `n` leading principal components of dense or sparse rows.

    Raises UsageError for rows without columns, and for values that are not finite or too large.
    """
    n_points, n_features = rows.shape
    if n_points == 0 or n_features == 0:
        raise UsageError(
            f"The rows to be mapped have shape {n_points} x {n_features}; at least one row and one "
            "column are needed.",
            code="wrong-shape",
            role="features",
        )
    frame = Frame.of(rows)
    rows = frame.rows(rows)
    most = min(n, n_points, n_features)
    points = np.zeros((n_points, n), dtype=np.float32)
    many = n_features > EXACT_COLUMNS and n_points > EXACT_COLUMNS
    if many and not isinstance(rows, sp.csr_array):
        mean, axes, explained = _by_iteration(rows, most, seed, progress)
        for block, values in blocks(rows):
            progress(0.9 + 0.1 * block.start / n_points, "projecting")
            points[block, :most] = (values.astype(np.float64) - mean) @ axes
        return Components(points, explained, frame)
    progress(0.0, "principal components")
    fitted, prepared, _ = pipeline.fit([{"step": "pca", "n": most}], rows, seed)
    for block, values in blocks(prepared):
        progress(block.start / n_points, "projecting")
        points[block, :most] = values
    return Components(points, fitted.explained["pca_explained_variance"], frame)


def _by_iteration(
    rows: Matrix | Rows, n: int, seed: int, progress: Progress
) -> tuple[Float, Float, float]:
    """(mean, axes as columns, share of the variance), by iteration on random directions."""
    n_points, n_features = rows.shape
    mean, squares = np.zeros(n_features), 0.0
    origin = None
    for block, values in blocks(rows):
        require_usable(values, block.start, n_points)
        wide = values.astype(np.float64)
        # About the first row, sums of squares lose few digits.
        origin = wide[0].copy() if origin is None else origin
        wide -= origin
        mean += wide.sum(axis=0)
        squares += float(np.einsum("nd,nd->", wide, wide))
    assert origin is not None
    mean /= n_points
    total = squares / n_points - float(mean @ mean)
    mean += origin
    width = min(n + OVERSAMPLED, n_features)
    axes = np.linalg.qr(np.random.default_rng(seed).normal(size=(n_features, width)))[0]
    before = np.zeros(n)
    for step in range(MOST_PASSES):
        progress(0.05 + 0.85 * step / MOST_PASSES, "principal components", f"pass {step + 1}")
        product = np.zeros((n_features, width))
        for _, values in blocks(rows):
            wide = values.astype(np.float64) - mean
            product += wide.T @ (wide @ axes)
        # The rows' covariance within the subspace gives its best axes; one more product turns it.
        variances, turn = np.linalg.eigh(axes.T @ product)
        variances, turn = variances[::-1] / n_points, turn[:, ::-1]
        leading = axes @ turn[:, :n]
        if np.abs(variances[:n] - before).max() <= TOLERANCE * max(variances[0], 0.0):
            break
        before = variances[:n]
        axes = np.linalg.qr(product)[0]
    largest = leading[np.abs(leading).argmax(axis=0), np.arange(n)]
    leading = leading * np.where(largest < 0, -1.0, 1.0)
    share = float(variances[:n].sum()) / total if total > 0 else 1.0
    return mean, leading, min(max(share, 0.0), 1.0)

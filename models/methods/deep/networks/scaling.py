"""Rows as networks see them: about their mean, divided by one number.

The number is the root of the features' mean variance, so that values are about 1 in size and
distances between rows keep their ratios: the fit is the same for images in 0 to 255 and in 0 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Arrays, Float, Int, Single, row_blocks

BLOCK = 1 << 20
"""Values of a block of rows that are read at a time."""


@dataclass(frozen=True, slots=True)
class RowScaling:
    """The scaling of rows: x becomes (x - mean) / factor.

    mean : (n_features,). factor : positive.
    """

    mean: Float
    factor: float

    def apply(self, rows: Array) -> Single:
        """(n, n_features) rows scaled; infinite where they exceed single precision."""
        with np.errstate(over="ignore"):
            return ((rows - self.mean) / self.factor).astype(np.float32)

    def undo(self, scaled: Array) -> Float:
        """(n, n_features) rows on their own scale."""
        rows: Float = scaled.astype(np.float64) * self.factor + self.mean
        return rows

    def arrays(self) -> dict[str, Array]:
        """The scaling as arrays of a model."""
        return {"mean": self.mean, "factor": np.array([self.factor])}

    @classmethod
    def of(cls, arrays: Arrays) -> RowScaling:
        """The scaling in a model's arrays."""
        return cls(arrays["mean"], float(arrays["factor"][0]))


def measure_scaling(rows: Array, order: Int) -> RowScaling:
    """The scaling of finite rows; the factor is 1 where (almost) no value differs from its mean.

    order : (n_points,) the order in which they are read, so that the last digits do not depend on
        that of the input. Two passes, O(size).
    """
    n_points, n_features = rows.shape
    mean = np.zeros(n_features)
    for block in row_blocks(n_points, n_features, BLOCK):
        mean += rows[order[block]].sum(axis=0, dtype=np.float64)
    mean /= n_points
    squares = 0.0
    for block in row_blocks(n_points, n_features, BLOCK):
        squares += float(np.square(rows[order[block]] - mean).sum())
    return RowScaling(mean, float(np.sqrt(squares / (n_points * n_features))) or 1.0)

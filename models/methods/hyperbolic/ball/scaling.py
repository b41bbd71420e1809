"""How features become points of the Poincaré ball.

'unit'     about their mean, each on the sphere of radius `point_norm`: only directions count. A
           point at the mean has no direction and lies at the origin.
'largest'  about their mean, all divided by one number, so that the farthest has norm `point_norm`.
'none'     as they are; each must lie within the ball.

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §3.1; means and the radius 0.9 from the authors' program.

Cost: one pass over the rows by blocks, two for 'largest'.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.arrays import Array, Arrays, Float, Single, row_blocks
from models.checks import require_usable
from models.errors import UsageError
from models.methods.hyperbolic.ball.effort import ScalingKind
from models.progress import Progress
from models.rows import Rows

_BLOCK = 1 << 22
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class BallScaling:
    """Features minus `mean`, times a factor per row for 'unit', else times `factor`.

    mean : (D,), zeros for 'none'.
    """

    kind: ScalingKind
    mean: Float
    factor: float
    point_norm: float

    def apply(self, values: Array, first_row: int = 0) -> Single:
        """(n, D) points of the ball.

        first_row : number of the first of these rows, for errors.
        Raises UsageError for a row outside the ball if the kind is 'none'.
        """
        wide = values.astype(np.float64)
        moved = wide - self.mean
        length = np.sqrt(np.einsum("nd,nd->n", moved, moved))[:, None]
        if self.kind == "unit":
            # At the mean, only rounding errors are left of a point.
            least = _ROUNDING * (np.abs(wide).max(axis=1, keepdims=True, initial=0.0) + 1e-300)
            directed = length > least
            moved *= np.where(directed, self.point_norm / np.where(directed, length, 1.0), 0.0)
        elif self.kind == "largest":
            moved *= self.factor
        else:
            beyond = np.flatnonzero(length >= 1.0)
            if beyond.size:
                row = int(beyond[0])
                raise UsageError(
                    f"Input 'features' has a row of norm {length[row, 0]:.6g}, row "
                    f"{first_row + row}: with 'scaling': 'none' every row must lie within the "
                    "ball, at norm below 1. The scalings 'unit' and 'largest' place rows there.",
                    code="outside-the-ball",
                    role="features",
                    row=first_row + row,
                )
        return moved.astype(np.float32)

    def arrays(self) -> dict[str, Array]:
        return {"mean": self.mean}

    def facts(self) -> dict[str, Any]:
        return {"scaling": self.kind, "factor": self.factor, "point_norm": self.point_norm}


def from_model(arrays: Arrays, facts: Mapping[str, Any]) -> BallScaling:
    """The scaling described by `arrays` and `facts`."""
    return BallScaling(facts["scaling"], arrays["mean"], facts["factor"], facts["point_norm"])


def measure_scaling(
    rows: Rows, kind: ScalingKind, point_norm: float, progress: Progress
) -> BallScaling:
    """The scaling for these rows, all of which are read and checked.

    Raises UsageError naming the first row that is not finite, too large or, for 'none', outside the
    ball.
    """
    n_points, n_features = rows.shape
    total = np.zeros(n_features)
    for block in row_blocks(n_points, n_features, _BLOCK):
        progress(block.start / n_points, "reading features")
        values = rows.values(block.start, block.stop)
        require_usable(values, block.start, n_points)
        total += values.sum(axis=0, dtype=np.float64)
        if kind == "none":
            BallScaling(kind, np.zeros(n_features), 1.0, point_norm).apply(values, block.start)
    mean = np.zeros(n_features) if kind == "none" else total / n_points
    if kind != "largest":
        return BallScaling(kind, mean, 1.0, point_norm)
    largest = 0.0
    for block in row_blocks(n_points, n_features, _BLOCK):
        progress(1.0, "reading features")
        moved = rows.values(block.start, block.stop) - mean
        largest = max(largest, float(np.einsum("nd,nd->n", moved, moved).max()))
    return BallScaling(
        kind, mean, float(point_norm / np.sqrt(largest)) if largest else 1.0, point_norm
    )

"""How features become points of the Poincaré ball.

'unit'     about their mean, each on the sphere of radius `point_norm`: only directions count. A
           point at the mean has none and lies at the origin.
'largest'  about their mean, all divided by one number, so that the farthest has norm `point_norm`.
'none'     as they are; each must lie within the ball.

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §3.1; means and the radius 0.9 from the authors' program.

Cost: one pass over the rows by blocks, two for 'largest'.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Single, row_blocks
from models.checks import require_usable
from models.errors import UsageError
from models.progress import Progress
from models.rows import Rows

Kind = Literal["unit", "largest", "none"]


_BLOCK = 1 << 22
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Scaling:
    """Features less `mean` times a factor: each row's own for 'unit', else `factor`.

    mean : (D,), zeros for 'none'.
    """

    kind: Kind
    mean: Float
    factor: float
    point_norm: float

    def apply(self, values: npt.NDArray[Any], first_row: int = 0) -> Single:
        """(n, D) points of the ball.

        first_row : number of the first row given, for errors. UsageError for a row outside the
        ball where the kind is 'none'.
        """
        wide = values.astype(np.float64)
        moved = wide - self.mean
        length = np.sqrt(np.einsum("nd,nd->n", moved, moved))[:, None]
        if self.kind == "unit":
            # What is left of a point at the mean is rounding.
            least = _ROUNDING * (np.abs(wide).max(axis=1, keepdims=True, initial=0.0) + 1e-300)
            some = length > least
            moved *= np.where(some, self.point_norm / np.where(some, length, 1.0), 0.0)
        elif self.kind == "largest":
            moved *= self.factor
        else:
            beyond = np.flatnonzero(length >= 1.0)
            if beyond.size:
                row = int(beyond[0])
                raise UsageError(
                    f"Input 'features' has a row of norm {length[row, 0]:.6g}, row "
                    f"{first_row + row}: with 'scaling': 'none' all must lie within the ball, of "
                    "norm below 1. Scalings 'unit' and 'largest' bring them there.",
                    code="outside-the-ball",
                    role="features",
                    row=first_row + row,
                )
        return moved.astype(np.float32)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"mean": self.mean}

    def facts(self) -> dict[str, Any]:
        return {"scaling": self.kind, "factor": self.factor, "point_norm": self.point_norm}


def from_model(arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, Any]) -> Scaling:
    """What `arrays` and `facts` tell of."""
    return Scaling(facts["scaling"], arrays["mean"], facts["factor"], facts["point_norm"])


def measured(rows: Rows, kind: Kind, point_norm: float, progress: Progress) -> Scaling:
    """The scaling of these rows, all of which are read and checked.

    UsageError naming the first row that is not finite, too large or, for 'none', outside the ball.
    """
    n_points, n_features = rows.shape
    total = np.zeros(n_features)
    for block in row_blocks(n_points, n_features, _BLOCK):
        progress(block.start / n_points, "reading features")
        values = rows.values(block.start, block.stop)
        require_usable(values, block.start, n_points)
        total += values.sum(axis=0, dtype=np.float64)
        if kind == "none":
            Scaling(kind, np.zeros(n_features), 1.0, point_norm).apply(values, block.start)
    mean = np.zeros(n_features) if kind == "none" else total / n_points
    if kind != "largest":
        return Scaling(kind, mean, 1.0, point_norm)
    largest = 0.0
    for block in row_blocks(n_points, n_features, _BLOCK):
        progress(1.0, "reading features")
        moved = rows.values(block.start, block.stop) - mean
        largest = max(largest, float(np.einsum("nd,nd->n", moved, moved).max()))
    return Scaling(kind, mean, float(point_norm / np.sqrt(largest)) if largest else 1.0, point_norm)

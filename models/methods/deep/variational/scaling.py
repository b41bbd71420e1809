"""Rows as the networks take them: images in [0, 1], other values around 0 with mean variance 1.

Images without negative values are divided by their largest value where that is above 1, so that
integers of 8 bits lie in [0, 1]. Then Bernoulli values stay as they are; Gaussian ones are scaled
as DeepECT's rows (`networks.scaling`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.arrays import Array, Float, Int, Single, row_blocks
from models.errors import UsageError
from models.inputs.data import require_finite
from models.methods.deep.networks.scaling import BLOCK, RowScaling, measure_scaling
from models.methods.deep.variational.densities import Likelihood


@dataclass(frozen=True, slots=True)
class Scaling:
    """How rows are scaled, and what they are then. lowest, highest : values of the rows."""

    likelihood: Likelihood
    scale: RowScaling
    lowest: float
    highest: float

    @classmethod
    def of(cls, rows: Array, order: Int, likelihood: Likelihood | None, images: bool) -> Scaling:
        """The scaling of finite rows (n_points, n_values).

        order : (n_points,) in which rows are read, so that last digits do not depend on theirs.
        likelihood : None: 'bernoulli' where all values lie in [0, 1] once images are scaled.

        Raises UsageError for 'bernoulli' and values outside [0, 1].
        """
        lowest, highest = float(rows.min()), float(rows.max())
        unit = highest if images and lowest >= 0.0 and highest > 1.0 else 1.0
        within = lowest >= 0.0 and highest / unit <= 1.0
        if likelihood == "bernoulli" and not within:
            raise UsageError(
                "Parameter 'likelihood' is 'bernoulli', which needs values from 0 to 1, but input "
                f"'features' has values from {lowest:.4g} to {highest:.4g}. Use 'gaussian', or "
                "scale the input.",
                code="wrong-parameter",
                parameter="likelihood",
            )
        if likelihood == "bernoulli" or (likelihood is None and within):
            stretched = RowScaling(np.zeros(rows.shape[1]), unit)
            return cls("bernoulli", stretched, lowest, highest)
        return cls("gaussian", measure_scaling(rows, order), lowest, highest)

    @classmethod
    def from_model(cls, arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> Scaling:
        """The scaling that `arrays` and `facts` give."""
        lowest, highest = facts["range"]
        return cls(
            facts["likelihood"], RowScaling(arrays["centre"], facts["spread"]), lowest, highest
        )

    def facts(self) -> dict[str, Any]:
        """All but the centre, as JSON."""
        return {
            "likelihood": self.likelihood,
            "spread": float(self.scale.factor),
            "range": [self.lowest, self.highest],
        }

    def blocks(self, rows: Array, most: int | None = None) -> Iterator[tuple[slice, Float]]:
        """The rows scaled, by blocks of at most `most` rows.

        Raises UsageError for values that are not finite.
        """
        n_values = BLOCK if most is None else min(BLOCK, most * rows.shape[1])
        for block in row_blocks(rows.shape[0], rows.shape[1], n_values):
            values = rows[block].astype(np.float64)
            require_finite(values, "features", first_row=block.start)
            yield block, (values - self.scale.mean) / self.scale.factor

    def singles(self, rows: Array, order: Int) -> Single:
        """(n_points, n_values) finite rows scaled, in this order and in single precision."""
        scaled = np.empty(rows.shape, dtype=np.float32)
        for block in row_blocks(rows.shape[0], rows.shape[1], BLOCK):
            scaled[block] = self.scale.apply(rows[order[block]])
        return scaled

    def pixels(self, decoded: Array) -> Array:
        """Means of the data, scaled, as grey or colour levels 0 to 255 (uint8)."""
        values = self.scale.undo(decoded)
        lowest = 0.0 if self.lowest >= 0.0 else self.lowest
        highest = max(1.0, self.highest) if self.lowest >= 0.0 else self.highest
        share = np.clip((values - lowest) / ((highest - lowest) or 1.0), 0.0, 1.0)
        return np.rint(255.0 * share).astype(np.uint8)

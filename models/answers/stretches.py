"""How a model's transformation stretches features, as the hook `Method.stretches` gives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.arrays import Float


@dataclass(frozen=True, slots=True)
class FeatureStretches:
    """Rows x become x P - c.

    stretch : (n_features,) how far a transformed row moves when the feature grows by 1: the length
        of the feature's row of P.
    spread : (n_features,) standard deviation of the feature among the rows that were fitted.
    n_components : number of columns of a transformed row.
    names : of the features; None where they have none.
    """

    stretch: Float
    spread: Float
    n_components: int
    names: Sequence[str] | None

    @property
    def reach(self) -> Float:
        """(n_features,) how far a transformed row moves when the feature grows by its spread."""
        return self.stretch * self.spread

"""The contract of a step that prepares features, and what steps share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from models.arrays import Arrays, Matrix
from models.errors import UsageError

Blocks: TypeAlias = "Callable[[], Iterable[Matrix]]"
"""Yields all rows from the first to the last, in blocks, each time it is called."""


class BaseStep(BaseModel):
    """keeps_columns : whether each column keeps its meaning and its place."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    keeps_columns: ClassVar[bool] = True

    @abstractmethod
    def fit(self, blocks: Blocks, seed: int) -> tuple[Arrays, tuple[str, ...]]:
        """What it learns from all rows, and warnings."""

    @abstractmethod
    def apply(self, rows: Matrix, learned: Arrays) -> Matrix:
        """The prepared rows; the argument is not changed."""

    def n_columns(self, before: int) -> int:
        """Number of columns after the step, out of `before`."""
        return before


def real(rows: Matrix) -> Matrix:
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)


def require_sums(sums: npt.NDArray[Any]) -> None:
    """Raises UsageError if sums of squares have overflowed."""
    if not np.isfinite(sums).all():
        raise UsageError(
            "Input 'features' has values whose squares overflow; scale the input down.",
            code="too-large",
            role="features",
        )

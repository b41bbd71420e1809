"""The logits as the passes over them see them: blocks of contiguous float32 or float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int
from models.data import require_finite
from models.errors import UsageError
from models.rows import ArrayRows, Rows, widened

Kind = Literal["logits", "log_probs", "probs"]

TOTAL = 0.02
"""Most that the probabilities of a row may differ from 1 in sum: float16 and printed ones do."""


@dataclass(frozen=True, slots=True)
class Source:
    """A (n_points, n_classes) matrix of one kind, at one temperature.

    Probabilities are read as their logarithms in float64. Blocks are as stored where that is
    float32 or float64, else converted exactly; they are not to be written to.
    """

    rows: Rows
    kind: Kind = "logits"
    temperature: float = 1.0

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64: what blocks are of."""
        if self.kind == "probs":
            return np.dtype(np.float64)
        if self.rows.bfloat16 or self.rows.dtype in (np.float16, np.float32):
            return np.dtype(np.float32)
        return np.dtype(np.float64)

    @property
    def scale(self) -> float:
        """What logits are multiplied by."""
        return 1.0 / self.temperature

    @property
    def limits(self) -> npt.NDArray[Any]:
        """The lowest value allowed and the largest."""
        finfo = np.finfo(self.dtype)
        lowest = finfo.min if self.kind == "logits" else -np.inf
        return np.array([lowest, finfo.max], dtype=self.dtype)

    @property
    def tolerance(self) -> float:
        """Most that a quick sum of a row's probabilities may differ from 1; inf where that cannot
        be told from what is read. A little over `TOTAL`: what a quick sum refuses, an exact one
        does too."""
        return TOTAL + 1e-4 if self.kind != "logits" and self.temperature == 1.0 else np.inf

    def require_values(self, start: int, stop: int) -> None:
        """Raise UsageError for the first of the rows [start, stop) that holds what is no value of
        its kind."""
        values = self.rows.values(start, stop)
        if self.kind == "logits":
            require_finite(values, "logits", first_row=start)
            return
        wide = values.astype(np.float64)
        with np.errstate(over="ignore"):
            probs = np.exp(wide) if self.kind == "log_probs" else wide
        total = probs.sum(axis=1)
        odd = ~(np.abs(total - 1.0) <= TOTAL) | (probs < 0).any(axis=1)
        if odd.any():
            row = int(np.argmax(odd))
            what = "log-probabilities" if self.kind == "log_probs" else "probabilities"
            raise UsageError(
                f"Row {start + row} of input 'logits' (counted from 0) holds no {what}: "
                f"{_why(probs[row], float(total[row]))}.",
                code="not-probabilities",
                role="logits",
                row=start + row,
            )

    def block(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Rows [start, stop), (stop - start, n_classes)."""
        return self._converted(self.rows.read(start, stop))

    def gather(self, rows: Int) -> tuple[npt.NDArray[Any], Int]:
        """(x, at): row rows[i] is x[at[i]]. Nothing is copied where the matrix lies in memory."""
        if isinstance(self.rows, ArrayRows) and self._as_stored(self.rows.array):
            return self.rows.array, rows
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
            return self.block(int(rows[0]), int(rows[-1]) + 1), np.arange(len(rows))
        return self._converted(self.rows.take(rows)), np.arange(len(rows))

    def _as_stored(self, values: npt.NDArray[Any]) -> bool:
        flags = values.flags
        return (
            self.kind != "probs"
            and not self.rows.bfloat16
            and values.dtype == self.dtype
            and values.dtype.isnative
            and flags.c_contiguous
            and flags.aligned
        )

    def _converted(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self._as_stored(values):
            return values
        if self.rows.bfloat16:
            values = widened(values)
        if self.kind != "probs":
            if values.dtype == np.float16:
                return _widened_halves(values)
            return np.ascontiguousarray(values, dtype=self.dtype)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(np.ascontiguousarray(values, dtype=np.float64))


def _widened_halves(values: npt.NDArray[np.float16]) -> npt.NDArray[np.float32]:
    from models.methods.logits.merging.loops import rows as row_loops

    wide = np.empty(values.shape, dtype=np.float32)
    bits = np.ascontiguousarray(values, dtype=np.float16).view(np.uint16)
    row_loops.widen_halves(bits.reshape(-1), wide.reshape(-1))
    return wide


def _why(probs: Float, total: float) -> str:
    if np.isnan(total):
        return f"column {int(np.argmax(np.isnan(probs)))} is NaN"
    if (probs < 0).any():
        return f"column {int(np.argmax(probs < 0))} is negative"
    return f"the probabilities sum to {total:.6g}, not to 1"

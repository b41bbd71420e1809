"""The logits as blocks of contiguous numbers, for the passes over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int, read_only
from models.errors import UsageError
from models.inputs.data import require_finite
from models.inputs.rows import ArrayRows, Rows, widened

Kind = Literal["logits", "log_probs", "probs"]

TOTAL = 0.02
"""Largest deviation of a row's sum of probabilities from 1; float16 and printed values deviate."""


@dataclass(frozen=True, slots=True)
class LogitMatrix:
    """A (n_points, n_classes) matrix of one kind, at one temperature. A logit of -inf is a class
    that its row cannot have.

    Probabilities are read as their logarithms in float64. Blocks are as stored for float32 and
    float64, otherwise converted exactly; they cannot be written to.
    """

    rows: Rows
    kind: Kind = "logits"
    temperature: float = 1.0

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of blocks, float32 or float64."""
        if self.kind == "probs":
            return np.dtype(np.float64)
        if self.rows.bfloat16 or self.rows.dtype in (np.float16, np.float32):
            return np.dtype(np.float32)
        return np.dtype(np.float64)

    @property
    def scale(self) -> float:
        """The factor of the logits."""
        return 1.0 / self.temperature

    @property
    def limits(self) -> npt.NDArray[Any]:
        """(2,) the lowest and the highest value allowed."""
        return np.array([-np.inf, np.finfo(self.dtype).max], dtype=self.dtype)

    @property
    def tolerance(self) -> float:
        """Largest deviation of a quick sum of a row's probabilities from 1; inf where the values
        read do not determine it. Slightly above `TOTAL`, so that a row refused by the quick sum
        is also refused by the exact one."""
        return TOTAL + 1e-4 if self.kind != "logits" and self.temperature == 1.0 else np.inf

    def require_values(self, start: int, stop: int) -> None:
        """Raises UsageError for the first of the rows [start, stop) with an invalid value for the
        kind. A logit may be -inf, a class of probability 0, where its row has another class."""
        values = self.rows.values(start, stop)
        if self.kind == "logits":
            _require_logits(values, start)
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
        return read_only(self._converted(self.rows.read(start, stop)))

    def take(self, rows: Int) -> npt.NDArray[Any]:
        """The rows of ascending numbers, (len(rows), n_classes)."""
        return read_only(self._converted(self.rows.take(rows)))

    def packed(self, start: int, stop: int) -> npt.NDArray[Any]:
        """As `block`, for the compiled loops: float16 as its bits, uint16, which they widen."""
        return self._packed(self.rows.read(start, stop))

    def gather(self, rows: Int) -> tuple[npt.NDArray[Any], Int]:
        """(x, at): row rows[i] is x[at[i]], x as of `packed`. rows : ascending numbers.

        Nothing is copied where the matrix lies in memory as loops read it.
        """
        if isinstance(self.rows, ArrayRows) and self._in_place(self.rows.array):
            return self._packed(self.rows.array), rows
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
            return self.packed(int(rows[0]), int(rows[-1]) + 1), np.arange(len(rows))
        return self._packed(self.rows.take(rows)), np.arange(len(rows))

    def _packed(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self.rows.dtype == np.float16 and self.kind != "probs":
            values = np.ascontiguousarray(values, dtype=np.float16).view(np.uint16)
        else:
            values = self._converted(values)
        return read_only(values)

    def _in_place(self, values: npt.NDArray[Any]) -> bool:
        if values.dtype == np.float16:
            return self.kind != "probs" and _loops_may_read(values)
        return self._as_stored(values)

    def _as_stored(self, values: npt.NDArray[Any]) -> bool:
        return (
            self.kind != "probs"
            and not self.rows.bfloat16
            and values.dtype == self.dtype
            and _loops_may_read(values)
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


def _loops_may_read(values: npt.NDArray[Any]) -> bool:
    flags = values.flags
    return values.dtype.isnative and flags.c_contiguous and flags.aligned


def _widened_halves(values: npt.NDArray[np.float16]) -> npt.NDArray[np.float32]:
    from models.methods.logits.merging.loops import rows as row_loops

    wide = np.empty(values.shape, dtype=np.float32)
    bits = np.ascontiguousarray(values, dtype=np.float16).view(np.uint16)
    row_loops.widen_halves(read_only(bits.reshape(-1)), wide.reshape(-1))
    return wide


def _require_logits(values: npt.NDArray[Any], first_row: int) -> None:
    if values.dtype.kind != "f":
        return
    masked = np.isneginf(values)
    if not masked.any():
        require_finite(values, "logits", first_row=first_row)
        return
    nothing = masked.all(axis=1)
    n_fine = int(np.argmax(nothing)) if nothing.any() else len(values)
    others = np.where(masked[:n_fine], 0, values[:n_fine])
    require_finite(others, "logits", first_row=first_row)
    if n_fine < len(values):
        row = first_row + n_fine
        raise UsageError(
            f"Row {row} of input 'logits' (counted from 0) is -inf throughout, or a mask such as "
            "-1e9, so no class is left to it; both are accepted for classes that a row cannot "
            "have.",
            code="not-finite",
            role="logits",
            row=row,
        )


def _why(probs: Float, total: float) -> str:
    if np.isnan(total):
        return f"column {int(np.argmax(np.isnan(probs)))} is NaN"
    if (probs < 0).any():
        return f"column {int(np.argmax(probs < 0))} is negative"
    return f"the probabilities sum to {total:.6g}, not to 1"

"""Time stamps of rows, and the periods that they fall into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Array, Arrays, Int
from models.data import Data
from models.errors import UsageError

ROLE = "timestamps"

MOST_PERIODS = 2000

FURTHEST = 10_000
"""Periods after the last one that are told apart."""


"""(n,) int64 or float64; of times the microseconds since 1970 in UTC."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Periods:
    """marks : (T,) the distinct stamps, each a period, or (T + 1,) the edges of T equal bins if
    `binned`. dated : whether they are times."""

    marks: Array
    binned: bool
    dated: bool

    @classmethod
    def of(cls, stamps: Array, dated: bool, n_periods: int | None) -> Periods:
        """UsageError for too many distinct stamps."""
        if n_periods is not None:
            low, high = float(stamps.min()), float(stamps.max())
            return cls(np.linspace(low, high, n_periods + 1), True, dated)
        marks = np.unique(stamps)
        if marks.size > MOST_PERIODS:
            raise UsageError(
                f"Input {ROLE!r} has {marks.size:,} distinct stamps, each of which would be a "
                f"period; {MOST_PERIODS:,} are the most that are taken. Give 'n_periods' to cut "
                "the time into bins.",
                code="too-large",
                role=ROLE,
            )
        return cls(marks, False, dated)

    @property
    def n(self) -> int:
        return len(self.marks) - self.binned

    def period(self, stamps: Array) -> Int:
        """(n,) 0 .. T - 1; beyond the last, T and more; before the first, 0.

        A stamp between two periods' is of the earlier one, one after all distinct ones of T.
        """
        first, last = self.marks[0], self.marks[-1]
        if not self.binned:
            at = np.searchsorted(self.marks, stamps, side="right") - 1
            return np.where(stamps > last, self.n, np.maximum(at, 0)).astype(np.int64)
        width = (float(last) - float(first)) / self.n
        if width == 0.0:
            return np.where(stamps > last, self.n, 0).astype(np.int64)
        at = np.floor((np.asarray(stamps, dtype=np.float64) - float(first)) / width)
        at = np.where(stamps == last, self.n - 1, at)
        return np.clip(at, 0, self.n + FURTHEST).astype(np.int64)

    def labels(self) -> list[str]:
        """Of each period its stamp, or where it begins."""
        return [self._label(one) for one in self.marks[: self.n]]

    def _label(self, mark: Any) -> str:
        if not self.dated:
            return str(mark.item()) if isinstance(mark.item(), int) else f"{mark.item():.10g}"
        seconds, micro = divmod(int(mark), 1_000_000)
        at = np.datetime64(seconds, "s").item()
        assert isinstance(at, datetime)
        return at.replace(microsecond=micro).isoformat() + "Z"

    def arrays(self) -> dict[str, Array]:
        return {"marks": self.marks}

    def facts(self) -> dict[str, Any]:
        return {"periods": self.labels(), "binned": self.binned, "dated": self.dated}

    @classmethod
    def kept(cls, arrays: Arrays, facts: Mapping[str, Any]) -> Periods:
        """From a model's `arrays` and `facts`."""
        return cls(arrays["marks"], bool(facts["binned"]), bool(facts["dated"]))


def stamps_of(data: Data, n_points: int, dated: bool | None = None) -> tuple[Array, bool]:
    """The stamps, and whether they are times.

    dated : what they must be; None for either. UsageError naming the row of one that is missing, no
    number and no time of ISO 8601; for another number of stamps than of rows.
    """
    given = data.values[ROLE]
    if not isinstance(given, (np.ndarray, list)) or np.ndim(given) != 1:
        raise UsageError(
            f"Input {ROLE!r} must be one column, a stamp for each row.",
            code="wrong-input",
            role=ROLE,
        )
    if len(given) != n_points:
        raise UsageError(
            f"Input {ROLE!r} has {len(given)} stamps for {n_points} rows of 'features'.",
            code="wrong-shape",
            role=ROLE,
        )
    column = np.asarray(given)
    is_text = column.dtype.kind in "OUS"
    if dated is not None and dated != is_text:
        raise UsageError(
            f"Input {ROLE!r} holds {'times' if is_text else 'numbers'}; the model was fitted on "
            f"{'times' if dated else 'numbers'}.",
            code="wrong-input",
            role=ROLE,
        )
    if is_text:
        return _times(column.tolist()), True
    if column.dtype.kind == "f":
        _require_finite(column)
        return column.astype(np.float64), False
    if column.dtype.kind in "iub":
        return column.astype(np.int64), False
    raise UsageError(
        f"Input {ROLE!r} must hold integers, numbers or times.", code="wrong-input", role=ROLE
    )


def said_of_empty_periods(periods: Periods, n_rows: Int) -> tuple[str, ...]:
    """A warning where no row was fitted in a period, else nothing; n_rows : (T,) of those."""
    empty = np.flatnonzero(n_rows == 0)
    if not empty.size:
        return ()
    return (
        f"{empty.size} of {periods.n} periods have no row to fit, the first is "
        f"{periods.labels()[int(empty[0])]}; means and weights there follow from those around.",
    )


def _require_finite(column: npt.NDArray[Any]) -> None:
    bad = np.flatnonzero(~np.isfinite(column))
    if bad.size:
        row = int(bad[0])
        word = "NaN" if np.isnan(column[row]) else "infinite"
        raise UsageError(
            f"Input {ROLE!r} has a stamp that is {word} at row {row} (counted from 0); every row "
            "needs one.",
            code="not-finite",
            role=ROLE,
            row=row,
        )


def _times(texts: Sequence[Any]) -> Array:
    """Microseconds since 1970 in UTC, the zone of those that name none."""
    known: dict[str, int] = {}
    found = np.empty(len(texts), dtype=np.int64)
    for row, text in enumerate(texts):
        if text not in known:
            known[text] = _time(str(text), row)
        found[row] = known[text]
    return found


def _time(text: str, row: int) -> int:
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            f"Input {ROLE!r} has {text[:60]!r} at row {row} (counted from 0), which is no time of "
            "ISO 8601; accepted are integers, numbers and times like 2024-05-31 or "
            "2024-05-31T12:00:00Z.",
            code="wrong-input",
            role=ROLE,
            row=row,
        ) from None
    zoned = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    since = zoned - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds

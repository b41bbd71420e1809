"""Time stamps of rows, the periods that they fall into, and rows by period.

`TimedRows` are rows ordered by period; `log_predictive_in_time` is their predictive density, each
row in its own period.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Array, Arrays, Float, Int
from models.errors import UsageError, shown
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.method import Model
from models.methods.sphere.bayes.concentrations import log_predictive
from models.methods.sphere.mixture.rows import UnitRows
from models.numerics import sphere


@dataclass(frozen=True, slots=True, eq=False)
class TimedRows:
    """points : the rows sorted by period, in memory.

    order : (n_points,) the original number of each row.
    start : (T + 1,) rows of period t are `start[t]:start[t + 1]`."""

    points: UnitRows
    order: Int
    start: Int

    @classmethod
    def of(cls, points: UnitRows, period: Int, n_periods: int) -> TimedRows:
        """Reads dense rows once, in their order. O(N D) time and memory."""
        order = np.argsort(period, kind="stable")
        start = np.searchsorted(period[order], np.arange(n_periods + 1))
        return cls(_sorted(points, order), order, start)

    @property
    def n_periods(self) -> int:
        return len(self.start) - 1

    def parts(self) -> list[UnitRows]:
        """The rows of each period, dense ones not copied."""
        values, points = self.points.values, self.points
        bounds = [slice(*pair) for pair in zip(self.start[:-1], self.start[1:], strict=True)]
        if isinstance(values, sp.csr_array):
            return [UnitRows(values[rows], points.kind) for rows in bounds]
        assert isinstance(values, ArrayRows)
        return [UnitRows(ArrayRows(values.array[rows]), points.kind) for rows in bounds]


def log_predictive_in_time(
    timed: TimedRows, arrays: Arrays, c0: float, threads: int = 1
) -> tuple[Float, Float]:
    """As `log_predictive`, each row by the clusters of the row's period, in original order.

    arrays : `psi` (T, K, D), `gamma` and `weights` (T, K), `log_mean` and `log_sd` (K,). In a
    period h steps after the last one, mu follows the vMF whose mean has the length left by h steps
    of vMF(., c0), A(gamma) A(c0)^h; the means of the weights stay.
    """
    psi, gamma, log_weights = arrays["psi"], arrays["gamma"], np.log(arrays["weights"])
    last, n_features = len(psi) - 1, psi.shape[2]
    n_points = timed.points.shape[0]
    joint, evidence = np.empty((n_points, psi.shape[1])), np.empty(n_points)
    for t, part in enumerate(timed.parts()):
        if not part.shape[0]:
            continue
        known = min(t, last)
        own_gamma = gamma[known]
        if t > last:
            length = sphere.ratio(n_features, own_gamma)
            length = length * sphere.ratio(n_features, c0) ** (t - last)
            own_gamma = sphere.concentration(n_features, length)
        rows = timed.order[timed.start[t] : timed.start[t + 1]]
        joint[rows], evidence[rows] = log_predictive(
            part,
            log_weights[known],
            psi[known],
            own_gamma,
            arrays["log_mean"],
            arrays["log_sd"],
            threads,
        )
    return joint, evidence


def _sorted(points: UnitRows, order: Int) -> UnitRows:
    if isinstance(points.values, sp.csr_array):
        return UnitRows(points.values[order], points.kind)
    if (order == np.arange(order.size)).all():
        held = points.held()
        if isinstance(held.values, ArrayRows) and held.values.array.dtype == points.kind:
            return UnitRows(held.values, points.kind)
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    by_period = np.empty(points.shape, dtype=points.kind)
    for rows in points.slices():
        by_period[place[rows]] = points.block(rows)
    return UnitRows(ArrayRows(by_period), points.kind)


ROLE = "timestamps"

MOST_PERIODS = 2000

FURTHEST = 10_000
"""The largest number of distinguished periods after the last one."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Periods:
    """marks : (T,) the distinct stamps, each a period, or (T + 1,) the edges of T equal bins if
    `binned`. dated : whether they are times, in microseconds since 1970 in UTC."""

    marks: Array
    binned: bool
    dated: bool

    @classmethod
    def of(cls, stamps: Array, dated: bool, n_periods: int | None) -> Periods:
        """The periods of these stamps. Raises UsageError for too many distinct ones."""
        if n_periods is not None:
            low, high = float(stamps.min()), float(stamps.max())
            return cls(np.linspace(low, high, n_periods + 1), True, dated)
        marks = np.unique(stamps)
        if marks.size > MOST_PERIODS:
            raise UsageError(
                f"Input {ROLE!r} has {marks.size:,} distinct stamps, each of which would be a "
                f"period; at most {MOST_PERIODS:,} are accepted. Give 'n_periods' to cut the time "
                "into bins.",
                code="too-large",
                role=ROLE,
            )
        return cls(marks, False, dated)

    @property
    def n(self) -> int:
        return len(self.marks) - self.binned

    def period(self, stamps: Array) -> Int:
        """(n,) the period of each stamp: 0 .. T - 1, T and more after the last, 0 before the first.

        A stamp between two distinct stamps belongs to the earlier one; a stamp after all of them to
        T.
        """
        first, last = self.marks[0], self.marks[-1]
        if not self.binned:
            period = np.searchsorted(self.marks, stamps, side="right") - 1
            return np.where(stamps > last, self.n, np.maximum(period, 0)).astype(np.int64)
        width = (float(last) - float(first)) / self.n
        if width == 0.0:
            return np.where(stamps > last, self.n, 0).astype(np.int64)
        period = np.floor((np.asarray(stamps, dtype=np.float64) - float(first)) / width)
        period = np.where(stamps == last, self.n - 1, period)
        return np.clip(period, 0, self.n + FURTHEST).astype(np.int64)

    def labels(self) -> list[str]:
        """The stamp of each period, or its beginning."""
        return [self._label(mark) for mark in self.marks[: self.n]]

    def _label(self, mark: Any) -> str:
        if not self.dated:
            return str(mark.item()) if isinstance(mark.item(), int) else f"{mark.item():.10g}"
        seconds, micro = divmod(int(mark), 1_000_000)
        time = np.datetime64(seconds, "s").item()
        assert isinstance(time, datetime)
        return time.replace(microsecond=micro).isoformat() + "Z"

    def arrays(self) -> dict[str, Array]:
        return {"marks": self.marks}

    def facts(self) -> dict[str, Any]:
        return {"periods": self.labels(), "binned": self.binned, "dated": self.dated}

    @classmethod
    def of_model(cls, model: Model) -> Periods:
        """The periods stored in the `arrays` and `facts` of a model."""
        return cls(model.arrays["marks"], bool(model.facts["binned"]), bool(model.facts["dated"]))


def stamps_of(data: Data, n_points: int, dated: bool | None = None) -> tuple[Array, bool]:
    """The stamps, and whether they are times; times as microseconds since 1970 in UTC.

    dated : whether they must be times; None: either is accepted.
    Raises UsageError naming the row of a stamp that is missing, or neither a number nor an ISO 8601
    time; also if their number differs from that of the rows.
    """
    stamps = data.values[ROLE]
    if not isinstance(stamps, (np.ndarray, list)) or np.ndim(stamps) != 1:
        raise UsageError(
            f"Input {ROLE!r} must be one column, a stamp for each row.",
            code="wrong-input",
            role=ROLE,
        )
    if len(stamps) != n_points:
        raise UsageError(
            f"Input {ROLE!r} has {len(stamps)} stamps for {n_points} rows of 'features'.",
            code="wrong-shape",
            role=ROLE,
        )
    column = np.asarray(stamps)
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


def empty_period_warnings(periods: Periods, n_rows: Int) -> tuple[str, ...]:
    """A warning if a period has no row to fit; n_rows : (T,) fitted rows."""
    empty = np.flatnonzero(n_rows == 0)
    if not empty.size:
        return ()
    return (
        f"{empty.size} of {periods.n} periods have no row to fit, the first is "
        f"{periods.labels()[int(empty[0])]}; their means and weights follow from the periods "
        "around.",
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
    """Microseconds since 1970 in UTC, which is also the zone of times that name none."""
    known: dict[str, int] = {}
    times = np.empty(len(texts), dtype=np.int64)
    for row, text in enumerate(texts):
        if text not in known:
            known[text] = _time(str(text), row)
        times[row] = known[text]
    return times


def _time(text: str, row: int) -> int:
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            f"Input {ROLE!r} has {shown(text)} at row {row} (counted from 0), which is not a time "
            "of ISO 8601; accepted are integers, numbers and times like 2024-05-31 or "
            "2024-05-31T12:00:00Z.",
            code="wrong-input",
            role=ROLE,
            row=row,
        ) from None
    zoned = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    since = zoned - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds

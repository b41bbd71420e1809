"""Unit rows in the order of their periods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from models.partitions.points import Float, Int
from models.rows import ArrayRows
from models.vmf.points import UnitRows


@dataclass(frozen=True, slots=True, eq=False)
class TimedRows:
    """points : the rows sorted by period, in memory. order : (n_points,) the row that each was.
    start : (T + 1,) rows of period t are `start[t]:start[t + 1]`."""

    points: UnitRows
    order: Int
    start: Int

    @classmethod
    def of(cls, points: UnitRows, period: Int, n_periods: int) -> TimedRows:
        """Reads dense rows once, in their order. O(N D), and as much memory."""
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


@dataclass(frozen=True, slots=True)
class TimedSums:
    """size (T, K), total (T, K, D) as those of `passes.Sums`; evidence their sum over rows."""

    size: Float
    total: Float
    evidence: float


def _sorted(points: UnitRows, order: Int) -> UnitRows:
    if isinstance(points.values, sp.csr_array):
        return UnitRows(points.values[order], points.kind)
    if (order == np.arange(order.size)).all():
        held = points.held()
        if isinstance(held.values, ArrayRows) and held.values.array.dtype == points.kind:
            return UnitRows(held.values, points.kind)
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    found = np.empty(points.shape, dtype=points.kind)
    for rows in points.slices():
        found[place[rows]] = points.block(rows)
    return UnitRows(ArrayRows(found), points.kind)

"""Rows ordered by period, and their predictive density, each row in its own period."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from models.arrays import Arrays, Float, Int
from models.inputs.rows import ArrayRows
from models.methods.sphere.bayes.predictive import log_predictive
from models.methods.sphere.mixture.rows import UnitRows
from models.numerics import bessel


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
    """As `log_predictive`, each row by the clusters of its own period, in original order.

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
            length = bessel.ratio(n_features, own_gamma)
            length = length * bessel.ratio(n_features, c0) ** (t - last)
            own_gamma = bessel.concentration(n_features, length)
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

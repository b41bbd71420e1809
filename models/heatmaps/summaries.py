"""Sums, means and medians of the features of points by group, read in blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Float, Int, Matrix
from models.inputs.checks import Points, blocks, require_usable

HELD = 1 << 25
"""Values of all rows that `medians` holds at a time."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Of each column. n : (n_groups,) points. mean : (n_groups, D) by group. whole, deviation :
    (D,) mean and standard deviation of all grouped points. between : (D,) the share of the variance
    that lies between groups; 0 for a constant column.
    """

    n: Int
    mean: Float
    whole: Float
    deviation: Float
    between: Float


def moments(rows: Points, group: Int, n_groups: int) -> Moments:
    """The moments of dense or sparse rows, (n_points, D), by the group of each; points of the group
    `n_groups` are left out.

    Raises UsageError for values that are not finite or too large. One pass, O(N D); memory
    O(n_groups D).
    """
    n_points, n_columns = rows.shape
    sums, squares = np.zeros((n_groups + 1, n_columns)), np.zeros(n_columns)
    origin = np.zeros(n_columns)
    for block, values in blocks(rows):
        require_usable(values, block.start, n_points)
        wide: Matrix = values.astype(np.float64)
        if not isinstance(wide, sp.csr_array):
            # About the first row, sums of squares lose few digits.
            if block.start == 0:
                origin = wide[0].copy()
            wide -= origin
        indicator = _indicator(group[block], n_groups + 1)
        kept = (group[block] < n_groups).astype(np.float64)
        squares += kept @ (wide * wide)
        sums += indicator @ wide
    n = np.bincount(group, minlength=n_groups + 1)[:n_groups]
    sums = sums[:n_groups]
    total = max(1, int(n.sum()))
    whole = sums.sum(axis=0) / total
    variance = np.maximum(squares / total - whole**2, 0.0)
    mean = sums / np.maximum(n, 1)[:, None]
    between = n @ (mean - whole) ** 2 / total
    # Rounding of a constant column is no variance.
    variance[variance <= 1e-14 * squares / total] = 0.0
    share = np.divide(between, variance, out=np.zeros(n_columns), where=variance > 0)
    return Moments(n, mean + origin, whole + origin, np.sqrt(variance), np.minimum(share, 1.0))


def means(rows: Points, columns: Int, group: Int, n_groups: int) -> Float:
    """(n_groups, len(columns)) means of these columns; groups have points. As `moments`."""
    sums = np.zeros((n_groups + 1, columns.size))
    for block, values in blocks(rows):
        sums += _indicator(group[block], n_groups + 1) @ _dense(values, columns)
    n = np.bincount(group, minlength=n_groups + 1)
    return (sums / np.maximum(n, 1)[:, None])[:n_groups]


def medians(rows: Points, columns: Int, group: Int, n_groups: int) -> Float:
    """(n_groups, len(columns)) medians of these columns; groups have points.

    A pass over the rows for every `HELD` values of them; O(N log N) for each column.
    """
    n_points = rows.shape[0]
    n = np.bincount(group, minlength=n_groups + 1)[:n_groups]
    first = np.cumsum(n) - n
    out = np.empty((n_groups, columns.size))
    step = max(1, HELD // n_points)
    for begin in range(0, columns.size, step):
        part = columns[begin : begin + step]
        held = np.empty((n_points, part.size))
        for block, values in blocks(rows):
            held[block] = _dense(values, part)
        for at in range(part.size):
            ordered = held[np.lexsort((held[:, at], group)), at]
            out[:, begin + at] = (ordered[first + (n - 1) // 2] + ordered[first + n // 2]) / 2
    return out


def _dense(values: Matrix, columns: Int) -> Float:
    part: Array = values[:, columns]
    wide: Float = (part.toarray() if isinstance(part, sp.csr_array) else part).astype(np.float64)
    return wide


def _indicator(group: Int, n_groups: int) -> sp.csr_array:
    """(n_groups, n_rows) 1 where a row is of a group."""
    n_rows = group.size
    return sp.csr_array((np.ones(n_rows), (group, np.arange(n_rows))), shape=(n_groups, n_rows))

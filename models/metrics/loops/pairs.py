"""The loop over pairs of cells that compares two trees, compiled by numba; serial.

It is compiled like the loops of `trees`.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

_INTS = types.Array(types.int64, 1, "C", readonly=True)
_FLOATS = types.Array(types.float64, 1, "C", readonly=True)
_TOP = np.int64(1 << 62)

_SUMS = {"reassoc", "contract", "nsz", "nnan"}
"""Sums in any order; values are finite."""


@njit(
    [
        types.float64(
            *(_INTS, _INTS, _INTS, _FLOATS),
            *(_INTS, _FLOATS, _FLOATS, _FLOATS),
            *(_INTS, _FLOATS, _FLOATS, _FLOATS, _FLOATS),
        )
    ],
    cache=True,
    nogil=True,
    fastmath=_SUMS,
)
def squared_gap(
    row_of_cell,
    member,
    start,
    count,
    meet,
    up,
    add,
    rate,
    row_meet,
    row_up,
    row_add,
    row_rate,
    alone,
):
    """Sum, over pairs of points in different cells, of two trees' squared difference of numbers.

    A cell is the set of points that share a leaf in both trees; a row is a leaf of the other tree
    that has points. Cells and rows are ordered from left to right in their tree. A tree's number
    for two leaves is `up` of their lowest common ancestor, times the lesser of their `rate`s, plus
    both their `add`s.

    row_of_cell, count : (n_cells,) each cell's row and number of points.
    member, start : the cells of row r are `member[start[r]:start[r + 1]]`, ascending.
    meet : (n_cells - 1,) lowest node over each cell and the next. row_meet : (n_rows - 1,).
    up, row_up : by node. add, rate : (n_cells,). row_add, row_rate : (n_rows,).
    alone : (n_rows,) the other tree's number for two points in one leaf.

    O(n_cells^2 + n_rows^2), about a nanosecond each.
    """
    n_rows = row_add.size
    number_of_row = np.empty(n_rows, dtype=np.float64)
    total = 0.0
    for row in range(n_rows):
        least = _TOP
        for at in range(row + 1, n_rows):
            least = min(least, row_meet[at - 1])
            share = min(row_rate[row], row_rate[at])
            number_of_row[at] = row_up[least] * share + row_add[row] + row_add[at]
        least = _TOP
        for at in range(row - 1, -1, -1):
            least = min(least, row_meet[at])
            share = min(row_rate[row], row_rate[at])
            number_of_row[at] = row_up[least] * share + row_add[row] + row_add[at]
        number_of_row[row] = alone[row]
        for place in range(start[row], start[row + 1]):
            cell = member[place]
            above, rows, counts = meet[cell:], row_of_cell[cell + 1 :], count[cell + 1 :]
            adds, rates = add[cell + 1 :], rate[cell + 1 :]
            own_add, own_rate = add[cell], rate[cell]
            least, high, part = _TOP, 0.0, 0.0
            for at in range(rows.size):
                if above[at] < least:
                    least = above[at]
                    high = up[least]
                gap = high * min(own_rate, rates[at]) + own_add + adds[at] - number_of_row[rows[at]]
                part += counts[at] * (gap * gap)
            total += count[cell] * part
    return total

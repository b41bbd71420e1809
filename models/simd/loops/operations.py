"""The operations that compiled loops call, as vectors or as plain loops.

On a row of numbers, float32 or float64, and on single numbers (`vectors.rows` has their contracts);
on several rows side by side, as columns, and distances of a row to the points of a tile
(`vectors.columns`).
"""

from __future__ import annotations

from models.simd.loops import plain
from models.simd.loops.choice import chosen
from models.simd.loops.constants import LANES, POINTS, RANKED, SIDE_BY_SIDE, SLOTS
from models.simd.loops.vectors import columns, rows

__all__ = [
    "LANES",
    "POINTS",
    "RANKED",
    "SIDE_BY_SIDE",
    "SLOTS",
    "add_differences",
    "add_shares",
    "add_squares",
    "best",
    "exp2",
    "exponentials",
    "larger",
    "largest",
    "least",
    "lowest_bit",
    "n_bits",
    "n_finite",
    "powers",
    "ranks",
    "reaching",
    "sum_of_powers",
    "sum_tops",
    "tails",
    "take_largest",
    "tops",
    "widen",
]

_rows = chosen(rows, plain)

tops = _rows.tops
sum_tops = _rows.sum_tops
reaching = _rows.reaching
largest = _rows.largest
least = _rows.least
n_finite = _rows.n_finite
ranks = _rows.ranks
widen = _rows.widen
sum_of_powers = _rows.sum_of_powers
exponentials = _rows.exponentials

larger = _rows.larger
n_bits = _rows.n_bits
lowest_bit = _rows.lowest_bit
exp2 = _rows.exp2

_columns = chosen(columns, plain)

best = _columns.best
powers = _columns.powers
tails = _columns.tails

add_squares = _columns.add_squares
add_differences = _columns.add_differences
take_largest = _columns.take_largest
add_shares = _columns.add_shares

"""Operations on a row of numbers, float32 or float64; `vectors.rows` has their contracts."""

from __future__ import annotations

from models.simd.loops.choice import chosen
from models.simd.loops.constants import LANES, RANKED
from models.simd.loops.plain import rows as plain
from models.simd.loops.vectors import rows as vectors

__all__ = [
    "LANES",
    "RANKED",
    "exponentials",
    "largest",
    "least",
    "n_finite",
    "ranks",
    "reaching",
    "sum_of_powers",
    "sum_tops",
    "tops",
    "widen",
]

_used = chosen(vectors, plain)

tops = _used.tops
sum_tops = _used.sum_tops
reaching = _used.reaching
largest = _used.largest
least = _used.least
n_finite = _used.n_finite
ranks = _used.ranks
widen = _used.widen
sum_of_powers = _used.sum_of_powers
exponentials = _used.exponentials

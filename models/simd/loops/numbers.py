"""Operations on single numbers; `vectors.numbers` has their contracts."""

from __future__ import annotations

from models.simd.loops.choice import chosen
from models.simd.loops.plain import numbers as plain
from models.simd.loops.vectors import numbers as vectors

__all__ = ["exp2", "larger", "lowest_bit", "n_bits"]

_used = chosen(vectors, plain)

larger = _used.larger
n_bits = _used.n_bits
lowest_bit = _used.lowest_bit
exp2 = _used.exp2

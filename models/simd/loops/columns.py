"""Operations on several rows side by side, as columns; `vectors.columns` has their contracts."""

from __future__ import annotations

from models.simd.loops.choice import chosen
from models.simd.loops.constants import SIDE_BY_SIDE, SLOTS
from models.simd.loops.plain import columns as plain
from models.simd.loops.vectors import columns as vectors

__all__ = ["SIDE_BY_SIDE", "SLOTS", "best", "powers", "tails"]

_used = chosen(vectors, plain)

best = _used.best
powers = _used.powers
tails = _used.tails

"""Distances of a row to the points of a tile; `vectors.tiles` has the operations' contracts."""

from __future__ import annotations

from models.simd.loops.choice import chosen
from models.simd.loops.constants import POINTS
from models.simd.loops.plain import tiles as plain
from models.simd.loops.vectors import tiles as vectors

__all__ = ["POINTS", "add_differences", "add_shares", "add_squares", "take_largest"]

_used = chosen(vectors, plain)

add_squares = _used.add_squares
add_differences = _used.add_differences
take_largest = _used.take_largest
add_shares = _used.add_shares

"""Distances of a row to the points of a tile, `LANES` at a time, from `models.simd`."""

from __future__ import annotations

from models.simd.loops.operations import (
    POINTS,
    add_differences,
    add_shares,
    add_squares,
    take_largest,
)

__all__ = ["LANES", "add_differences", "add_shares", "add_squares", "take_largest"]

LANES = POINTS
"""Points of a tile, of which (n_columns, LANES) values are stored; fewer are padded."""

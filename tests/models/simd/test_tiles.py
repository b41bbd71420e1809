"""Distances of a row to the points of a tile, as vectors and as plain loops, against NumPy."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from models.simd.loops import plain
from models.simd.loops.constants import POINTS
from models.simd.loops.vectors import columns as vectors
from tests.models.simd.simd_kit import LENGTHS, SORTS, Array, called, numbers, same

BOTH = pytest.mark.parametrize("loops", [vectors, plain], ids=["vectors", "plain"])
OPERATIONS = ("add_squares", "add_differences", "take_largest", "add_shares")


def in_order(name: str, row: Array, tile: Array, total: Array) -> Array:
    """The distances added up column by column, each operation rounded."""
    total = total.copy()
    for value, points in zip(row, tile, strict=True):
        apart = np.abs(value - points)
        if name == "add_squares":
            total += apart * apart
        elif name == "add_differences":
            total += apart
        elif name == "take_largest":
            total = np.where(apart > total, apart, total)
        else:
            share = np.divide(apart, np.abs(value) + np.abs(points))
            total += np.where(apart == 0.0, 0.0, share)
    return total


@BOTH
@pytest.mark.parametrize("name", OPERATIONS)
def test_distances(loops: ModuleType, name: str) -> None:
    for n in LENGTHS[:-1]:
        for sort in SORTS:
            row, tile = numbers(sort, n, "float64"), numbers(sort, n * POINTS, "float64")
            tile = tile.reshape(n, POINTS)
            start, stop = n // 5, n - n // 7
            before = np.full(POINTS, 0.25)
            total, other = before.copy(), before.copy()
            called(loops, name)(row, tile, start, stop, total)
            called(plain, name)(row, tile, start, stop, other)
            assert same(total, other)
            with np.errstate(invalid="ignore", over="ignore"):
                expected = in_order(name, row[start:stop], tile[start:stop], before)
            if name != "add_squares" or sort == "ties":
                assert same(total, expected)
            else:
                # The products may be fused with the sums, that is, not rounded.
                finite = np.isfinite(expected)
                assert same(total[~finite], expected[~finite])
                error = np.abs(total[finite] - expected[finite])
                assert (error <= 2 * (stop - start) * 2.0**-53 * expected[finite]).all()


@BOTH
def test_squares_have_the_same_bits_from_either_end(loops: ModuleType) -> None:
    points = numbers("spread", 50 * POINTS, "float64").reshape(POINTS, 50)
    tile = np.ascontiguousarray(points.T)
    apart = np.zeros((POINTS, POINTS))
    for row, total in zip(points, apart, strict=True):
        called(loops, "add_squares")(row, tile, 0, 50, total)
    assert same(apart, np.ascontiguousarray(apart.T))

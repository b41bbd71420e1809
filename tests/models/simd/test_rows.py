"""Operations on a row, as vectors and as plain loops, against NumPy and against each other."""

from __future__ import annotations

from itertools import islice
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from models.simd.loops import plain
from models.simd.loops.constants import LANES, RANKED, UNDERFLOW, WIDE
from models.simd.loops.vectors import rows as vectors
from tests.models.simd.simd_kit import LENGTHS, REALS, SORTS, Array, called, numbers, rows, same

BOTH = pytest.mark.parametrize("loops", [vectors, plain], ids=["vectors", "plain"])
DTYPE = pytest.mark.parametrize("dtype", REALS)


def in_lanes(x: Array) -> Array:
    """(n / LANES, LANES), padded with -inf, which also stands for NaN."""
    padded = np.full(max(1, -(-len(x) // LANES)) * LANES, -np.inf, dtype=x.dtype)
    padded[: len(x)] = np.where(np.isnan(x), -np.inf, x)
    return padded.reshape(-1, LANES)


def tops(loops: ModuleType, x: Array) -> tuple[Any, Array]:
    top = np.empty(LANES, dtype=x.dtype)
    return called(loops, "tops")(x, top), top


@BOTH
@DTYPE
def test_the_largest_of_each_lane(loops: ModuleType, dtype: str) -> None:
    for x in rows(dtype):
        check, top = tops(loops, x)
        assert (top == in_lanes(x).max(0)).all()
        assert check == 0.0 if np.isfinite(x).all() else np.isnan(check)
        assert same(top, tops(plain, x)[1])


@BOTH
@DTYPE
def test_the_largest_of_each_lane_of_a_sum(loops: ModuleType, dtype: str) -> None:
    for x in rows(dtype):
        shut = np.where(np.arange(len(x)) % 3, 0.0, -np.inf).astype(dtype)
        n_padded = -(-len(x) // LANES) * LANES
        y, top = np.full(n_padded + 1, 7.0, dtype=dtype), np.empty(LANES, dtype=dtype)
        called(loops, "sum_tops")(x, shut, y, top)
        with np.errstate(invalid="ignore"):
            total = x + shut
        assert same(y[: len(x)], total)
        assert (y[len(x) : n_padded] == -np.inf).all()
        assert y[n_padded] == 7.0
        assert (top == in_lanes(total).max(0)).all()
        assert same(top, tops(plain, total)[1])


@BOTH
@DTYPE
def test_the_bits_of_what_reaches_a_bound(loops: ModuleType, dtype: str) -> None:
    reaching = called(loops, "reaching")
    for x in rows(dtype):
        for bound in (x.dtype.type(0.0), x.dtype.type(-np.inf), x.dtype.type(2.0)):
            for start in range(0, len(x), LANES if len(x) % 7 else 29):
                bits = np.zeros(64, dtype=np.uint8)
                part = x[start : start + LANES] >= bound
                bits[: len(part)] = part
                expected = int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")
                assert reaching(x, np.uintp(start), bound) == expected


@BOTH
@DTYPE
def test_facts_of_lanes(loops: ModuleType, dtype: str) -> None:
    for x in rows(dtype):
        top = tops(plain, x)[1]
        above = top[top > -np.inf]
        assert called(loops, "largest")(top) == top.max()
        assert called(loops, "least")(top) == above.min(initial=np.inf)
        assert called(loops, "n_finite")(top) == len(above)


@BOTH
@DTYPE
def test_ranks_are_those_of_a_stable_sort(loops: ModuleType, dtype: str) -> None:
    for sort in SORTS:
        for seed in range(300):
            value = numbers(sort, RANKED + seed, dtype)[seed:].copy()
            value[np.isnan(value)] = -np.inf
            rank = np.empty(RANKED, dtype=np.int32)
            called(loops, "ranks")(value, rank)
            assert (rank[np.argsort(-value, kind="stable")] == np.arange(RANKED)).all()


@BOTH
def test_float16_is_widened_exactly(loops: ModuleType) -> None:
    bits = np.arange(2**16, dtype=np.uint16)
    for part in (bits, *(np.roll(bits, 97 * n)[:n].copy() for n in LENGTHS)):
        wide = np.full(len(part) + 1, 7.0, dtype=np.float32)
        called(loops, "widen")(part, wide[:-1])
        assert same(wide[:-1], part.view(np.float16).astype(np.float32))
        assert wide[-1] == 7.0


def test_nan_is_widened_to_the_same_bits() -> None:
    bits = np.arange(2**16, dtype=np.uint16)
    wide = np.empty((2, len(bits)), dtype=np.float32)
    called(vectors, "widen")(bits, wide[0])
    called(plain, "widen")(bits, wide[1])
    assert (wide[0].view(np.uint32) == wide[1].view(np.uint32)).all()


def powers_below(loops: ModuleType, x: Array, factor: float, limit: float, other: str) -> Any:
    kind = x.dtype.type
    base = kind(np.nanmax(np.where(x < limit, x, -np.inf), initial=-np.inf))
    base = base if base > -np.inf else kind(0.0)
    matrix = np.zeros((3, len(x)), dtype=other)
    total = called(loops, "sum_of_powers")(x, base, kind(factor), kind(limit), matrix, np.uintp(2))
    return total, base


@BOTH
@DTYPE
@pytest.mark.parametrize("factor", [0.01, 1.4426950408889634, 30.0])
def test_the_sum_of_powers(loops: ModuleType, dtype: str, factor: float) -> None:
    whole = factor == 30.0
    for other in ("uint16", "float32", "float64") if whole else (dtype,):
        for x in islice(rows(dtype), None, None, 1 if whole else 7):
            for limit in (np.inf, 2.0):
                total, base = powers_below(loops, x, factor, limit, other)
                assert same(total, powers_below(plain, x, factor, limit, other)[0])
                below = x[x < limit]
                t = ((below - base) * x.dtype.type(factor)).astype(np.float32)
                exact = np.exp2(t[t > -126].astype(np.float64)).sum()
                n_added = len(x) // LANES + 7
                assert abs(total - exact) <= exact * (3.6e-6 + n_added * 2.0**-24) + len(x) * 2e-38


@BOTH
@DTYPE
@pytest.mark.parametrize("scale", [0.01, 1.0, 40.0])
def test_exponentials(loops: ModuleType, dtype: str, scale: float) -> None:
    for x in rows(dtype):
        base = float(np.nanmax(np.where(x < np.inf, x, -np.inf), initial=-1e30))
        x[x == np.inf] = -np.inf
        e, other = np.full((2, len(x) + 1), 7.0)
        total = called(loops, "exponentials")(x, base, scale, e)
        assert total == called(plain, "exponentials")(x, base, scale, other)
        assert same(e, other)
        assert e[-1] == 7.0
        d = (x.astype(np.float64) - base) * scale
        counts = d >= UNDERFLOW
        true = np.exp(d[counts].astype(np.longdouble))
        assert (np.abs(e[:-1][counts] - true) <= 6 * 2.0**-53 * true).all()
        assert (e[:-1][~counts] == 0.0).all()
        n_added = len(x) // WIDE + 5
        assert abs(total - true.sum()) <= (6 + n_added) * 2.0**-53 * true.sum()

"""Operations on several rows side by side, as vectors and as plain loops, against NumPy."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from models.simd.loops import plain
from models.simd.loops.constants import SLOTS, UNDERFLOW
from models.simd.loops.vectors import columns as vectors
from tests.models.simd.simd_kit import SORTS, Array, called, numbers, same

BOTH = pytest.mark.parametrize("loops", [vectors, plain], ids=["vectors", "plain"])
DTYPE = pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
ROWS = {"float16": 8, "float32": 8, "float64": 4}
MOST = 191


def block(sort: str, n: int, dtype: str, *, finite: bool = False) -> Array:
    """(n, R) numbers."""
    n_rows = ROWS[dtype]
    return numbers(sort, n * n_rows, dtype, finite=finite).reshape(n, n_rows)


def stored(columns: Array) -> Array:
    return columns.view(np.uint16) if columns.dtype == np.float16 else columns


def kind_of(columns: Array) -> Any:
    return np.float64 if columns.dtype == np.float64 else np.float32


def best(
    loops: ModuleType, columns: Array, lowest: float = -np.inf, highest: float = np.inf
) -> tuple[Array, Array, Array]:
    """(value, place, whether each row is within the limits)."""
    kind, n_rows = kind_of(columns), columns.shape[1]
    value = np.empty((SLOTS, n_rows), dtype=kind)
    place = np.empty((SLOTS, n_rows), dtype=np.int32)
    fine = called(loops, "best")(stored(columns), kind(lowest), kind(highest), value, place)
    assert fine >> n_rows == 0
    return value, place, (int(fine) >> np.arange(n_rows)) & 1


@BOTH
@DTYPE
def test_the_best_in_order(loops: ModuleType, dtype: str) -> None:
    for n in range(1, MOST + 1):
        for sort in SORTS:
            columns = block(sort, n, dtype)
            for got, other in zip(best(loops, columns), best(plain, columns), strict=True):
                assert same(got, other)
            columns[np.isnan(columns)] = 0.5
            value, place, fine = best(loops, columns)
            order = np.argsort(-columns, axis=0, kind="stable")[:SLOTS]
            assert (place[: len(order)] == order).all()
            sorted_values = np.take_along_axis(columns, order, axis=0).astype(value.dtype)
            assert same(value[: len(order)], sorted_values + value.dtype.type(0))
            assert np.isnan(value[n:]).all()
            assert (place[n:] == 0).all()
            assert fine.all()


@BOTH
@DTYPE
def test_numbers_out_of_limits_are_seen(loops: ModuleType, dtype: str) -> None:
    for n in range(1, MOST + 1, 3):
        for lowest, highest in ((-6.0, 6.0), (-np.inf, 1.0), (0.0, np.inf)):
            for sort in SORTS:
                columns = block(sort, n, dtype)
                within = ((columns >= lowest) & (columns <= highest)).all(0)
                assert (best(loops, columns, lowest, highest)[2] == within).all()


@BOTH
@DTYPE
@pytest.mark.parametrize("scale", [0.1, 1.0, 50.0])
def test_exponentials(loops: ModuleType, dtype: str, scale: float) -> None:
    for n in range(SLOTS, MOST + 1, 13):
        for sort in SORTS:
            value, _, _ = best(plain, block(sort, n, dtype, finite=True))
            for n_slots in range(1, SLOTS + 1):
                e, other = np.full((2, SLOTS, value.shape[1]), 7.0)
                called(loops, "powers")(value, scale, n_slots, e)
                called(plain, "powers")(value, scale, n_slots, other)
                assert same(e, other)
                assert (e[n_slots:] == 7.0).all()
                d = (value.astype(np.float64) - value[1]) * scale
                d[0] *= -1
                true = np.exp(d[:n_slots].astype(np.longdouble))
                true[d[:n_slots] < UNDERFLOW] = 0
                assert (np.abs(e[:n_slots] - true) <= 6 * 2.0**-53 * true).all()


@BOTH
@DTYPE
@pytest.mark.parametrize("factor", [0.1, 1.4426950408889634, 30.0])
def test_tails(loops: ModuleType, dtype: str, factor: float) -> None:
    for n in range(SLOTS, MOST + 1, 1 if factor == 30.0 else 13):
        for sort in SORTS:
            columns = block(sort, n, dtype)
            columns[np.isnan(columns) | (columns == np.inf)] = -np.inf
            value, place, _ = best(plain, columns)
            kind = kind_of(columns)
            for last in (1, SLOTS - 1):
                total, other = np.empty((2, columns.shape[1]))
                arguments = (stored(columns), value, place, last, kind(factor))
                called(loops, "tails")(*arguments, total)
                called(plain, "tails")(*arguments, other)
                assert same(total, other)
                order = np.argsort(-columns, axis=0, kind="stable")[last + 1 :]
                left = np.take_along_axis(columns, order, axis=0).astype(kind)
                with np.errstate(invalid="ignore"):
                    t = ((left - value[1]) * kind(factor)).astype(np.float32).astype(np.float64)
                terms = np.where(t > -126, np.exp2(np.where(t > -126, t, 0.0)), 0.0)
                exact = terms.sum(0)
                assert (np.abs(total - exact) <= exact * (3.6e-6 + n * 2.0**-24) + n * 2e-38).all()

"""Operations called from Python, numbers of every sort to give them, and comparison to the bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]

LENGTHS = (*range(201), 1000, 8193)
REALS = ("float32", "float64")
SORTS = ("spread", "ties", "odd")


@cache
def called(loops: ModuleType, name: str) -> Callable[..., Any]:
    """The operation of a module, compiled: an intrinsic can only be called from such a function."""
    operation = getattr(loops, name)
    return njit(lambda *arguments: operation(*arguments))


def numbers(sort: str, n: int, dtype: str, *, finite: bool = False) -> Array:
    """n numbers, the same each time. `odd`: NaN, infinities, zeros of both signs and denormals."""
    rng = np.random.default_rng([n, SORTS.index(sort)])
    kind = np.dtype(dtype).type
    x = (rng.normal(size=n) * 10).astype(dtype)
    if sort == "ties":
        return rng.integers(-3, 3, size=n).astype(dtype)
    if sort == "odd":
        tiny = np.finfo(dtype).smallest_subnormal
        odd = [0.0, -0.0, tiny, -3 * tiny, np.finfo(dtype).tiny, -np.finfo(dtype).tiny]
        if not finite:
            odd += [np.nan, np.inf, -np.inf]
        at = np.flatnonzero(rng.random(n) < 0.3)
        x[at] = np.array(odd, dtype=kind)[rng.integers(len(odd), size=len(at))]
    return x


def rows(dtype: str, *, finite: bool = False) -> Iterator[Array]:
    """A row of each length and sort."""
    for n in LENGTHS:
        for sort in SORTS:
            yield numbers(sort, n, dtype, finite=finite)


def same(one: Array, other: Array) -> bool:
    """Whether two arrays are equal to the bit, any NaN for another."""
    one, other = np.asarray(one), np.asarray(other)
    assert one.dtype == other.dtype
    assert one.shape == other.shape
    if one.dtype.kind == "f":
        unlike = np.isnan(one) != np.isnan(other)
        return not unlike.any() and same(
            np.nan_to_num(one, nan=0.0, posinf=np.inf, neginf=-np.inf).view(f"u{one.itemsize}"),
            np.nan_to_num(other, nan=0.0, posinf=np.inf, neginf=-np.inf).view(f"u{one.itemsize}"),
        )
    return bool((one == other).all())

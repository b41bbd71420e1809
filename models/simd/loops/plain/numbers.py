"""Single numbers: exponentials, float16 and bits."""

from __future__ import annotations

import numpy as np
from numba import njit

from models.simd.loops.constants import (
    COEFFICIENTS,
    LEAST_BITS,
    LN2_HIGH,
    LN2_LOW,
    LOG2E,
    ROUNDER,
    ROUNDER_64,
    TAYLOR,
    UNDERFLOW,
)

_F = np.float32
_C0, _C1, _C2, _C3, _C4 = (_F(c) for c in COEFFICIENTS)
_ROUNDER, _ZERO = _F(ROUNDER), _F(0.0)
_T0, _T1, _T2, _T3, _T4, _T5, _T6, _T7, _T8, _T9, _T10, _T11, _T12 = TAYLOR
_UPWARDS = _F(2.0**112)
_ONE = np.uint64(1)

_CONTRACT = {"contract"}
"""As vectors do it: `_rounded` and whoever calls these must not be fused."""


@njit(cache=True, nogil=True)
def larger(one, other):
    return one if one > other else other


@njit(cache=True, nogil=True)
def n_bits(bits):
    n = 0
    while bits != 0:
        bits &= bits - _ONE
        n += 1
    return n


@njit(cache=True, nogil=True)
def lowest_bit(bits):
    at = np.uintp(0)
    while bits & _ONE == 0:
        bits >>= _ONE
        at += np.uintp(1)
    return at


@njit(cache=True, nogil=True, fastmath=_CONTRACT)
def exp2(t):
    shifted = t + _ROUNDER
    fraction = t - (shifted - _ROUNDER)
    power = _C4 * fraction + _C3
    power = power * fraction + _C2
    power = power * fraction + _C1
    power = power * fraction + _C0
    bits = np.float32(shifted).view(np.int32)
    if bits <= LEAST_BITS:
        return _ZERO
    scale = np.int64(bits) << 23
    return np.int32(np.float32(power).view(np.int32) + scale).view(np.float32)


@njit(cache=True, nogil=True)
def _rounded(y):
    """`ROUNDER_64` more than the integer nearest to y / ln 2."""
    return y * LOG2E + ROUNDER_64


@njit(cache=True, nogil=True, fastmath=_CONTRACT)
def exp64(d):
    """exp of a float64 d <= 0, to 3 ulp; 0 below `UNDERFLOW` and for NaN."""
    if not d >= UNDERFLOW:
        return 0.0
    shifted = _rounded(d)
    whole = shifted - ROUNDER_64
    r = whole * -LN2_LOW + (whole * -LN2_HIGH + d)
    r2 = r * r
    r4 = r2 * r2
    first = r2 * (r * _T3 + _T2) + (r * _T1 + _T0)
    second = r2 * (r * _T7 + _T6) + (r * _T5 + _T4)
    third = r2 * (r * _T11 + _T10) + (r * _T9 + _T8)
    power = r4 * (r4 * (r4 * _T12 + third) + second) + first
    scale = np.float64(shifted).view(np.int64) << 52
    return np.int64(np.float64(power).view(np.int64) + scale).view(np.float64)


@njit(cache=True, nogil=True)
def widened(half):
    """The float32 of a float16 given as its bits, uint16; NaN becomes quiet."""
    size = half & 0x7FFF
    upper = size << 13
    if size < 0x7C00:
        # As the upper bits of a float32 it is 2^112 times too small, also for subnormal numbers.
        value = np.uint32(upper).view(np.float32) * _UPWARDS
        upper = np.int64(np.float32(value).view(np.uint32))
    else:
        upper |= 0x7FC00000 if size > 0x7C00 else 0x7F800000
    return np.uint32(upper | (half & 0x8000) << 16).view(np.float32)

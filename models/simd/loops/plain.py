"""The operations as loops over single numbers, compiled by numba.

Each does what the operation of its name in `vectors` does, which has the contract, and adds up in
the same order: a row's numbers are dealt to lanes where they are added up, distances of a row to
the points of a tile are added up in the order of columns.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from models.running.loops import njit
from models.simd.loops.constants import (
    COEFFICIENTS,
    LANES,
    LEAST_BITS,
    LN2_HIGH,
    LN2_LOW,
    LOG2E,
    POINTS,
    RANKED,
    ROUNDER,
    ROUNDER_64,
    SLOTS,
    TAYLOR,
    UNDERFLOW,
    WIDE,
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


@njit(cache=True, nogil=True)
def tops(x, top):
    zero = x.dtype.type(0.0)
    check = zero
    top[:] = -np.inf
    for j in range(x.size):
        if x[j] > top[j % LANES]:
            top[j % LANES] = x[j]
        # NaN and infinity times 0 are NaN.
        check += x[j] * zero
    return check


@njit(cache=True, nogil=True)
def sum_tops(x, other, y, top):
    top[:] = -np.inf
    for j in range(x.size):
        y[j] = x[j] + other[j]
        if y[j] > top[j % LANES]:
            top[j % LANES] = y[j]
    for j in range(x.size, (x.size + LANES - 1) // LANES * LANES):
        y[j] = -np.inf


@njit(cache=True, nogil=True)
def reaching(x, start, bound):
    bits = np.uint64(0)
    first = np.int64(start)
    for i in range(min(LANES, x.size - first)):
        if x[first + i] >= bound:
            bits |= np.uint64(1) << np.uint64(i)
    return bits


@njit(cache=True, nogil=True)
def largest(top):
    found = top[0]
    for value in top[:LANES]:
        if value > found:
            found = value
    return found


@njit(cache=True, nogil=True)
def least(top):
    found = top.dtype.type(np.inf)
    for value in top[:LANES]:
        if -np.inf < value < found:
            found = value
    return found


@njit(cache=True, nogil=True)
def n_finite(top):
    n = 0
    for value in top[:LANES]:
        n += value > -np.inf
    return n


@njit(cache=True, nogil=True)
def ranks(value, rank):
    for j in range(RANKED):
        place = 0
        for i in range(RANKED):
            place += value[i] > value[j] or (i < j and value[i] == value[j])
        rank[j] = place


@njit(cache=True, nogil=True)
def widen(halves, wide):
    for j in range(halves.size):
        wide[j] = widened(halves[j])


@njit(cache=True, nogil=True)
def sum_of_powers(x, base, factor, limit, matrix, coming):
    """Nothing is fetched."""
    sums = np.zeros(LANES, dtype=np.float32)
    for j in range(x.size):
        if x[j] < limit:
            sums[j % LANES] += exp2(np.float32((x[j] - base) * factor))
    return _add_up(sums)


@njit(cache=True, nogil=True)
def exponentials(x, base, scale, e):
    sums = np.zeros(WIDE)
    for j in range(x.size):
        e[j] = exp64((np.float64(x[j]) - base) * scale)
        sums[j % WIDE] += e[j]
    return _add_up(sums)


@njit(cache=True, nogil=True)
def _add_up(sums):
    """The upper half is added to the lower one until one is left."""
    n = sums.size
    while n > 1:
        n //= 2
        for i in range(n):
            sums[i] += sums[n + i]
    return sums[0]


_MOST = {32: 2**31 - 1, 64: 2**63 - 1}


def _real(x):
    """A number of columns as float: that of float16 is given as its bits."""


@overload(_real)
def _real_typed(x):
    if x == types.uint16:
        return lambda x: widened(x)
    return lambda x: x


def _key(value):
    """An integer in the order of floats: -0 as 0, NaN outside of the others."""


@overload(_key)
def _key_typed(value):
    kind = np.int32 if value == types.float32 else np.int64
    real = np.float32 if value == types.float32 else np.float64
    zero = real(0.0)
    bits = value.bitwidth
    most = _MOST[bits]

    def key(value):
        word = np.int64(real(value + zero).view(kind))
        return word ^ ((word >> (bits - 1)) & most)

    return key


def _value(key, like):
    """The float of `key`, in the type of the array `like`."""


@overload(_value)
def _value_typed(key, like):
    kind = np.int32 if like.dtype == types.float32 else np.int64
    real = np.float32 if like.dtype == types.float32 else np.float64
    bits = like.dtype.bitwidth
    most = _MOST[bits]

    def value(key, like):
        return kind(key ^ ((key >> (bits - 1)) & most)).view(real)

    return value


def _most(like):
    """The largest key of the array's type."""


@overload(_most)
def _most_typed(like):
    most = _MOST[like.dtype.bitwidth]
    return lambda like: most


@njit(cache=True, nogil=True)
def best(columns, lowest, highest, value, place):
    n, n_rows = columns.shape
    fine = np.uint64(0)
    keys, places = np.empty(SLOTS, dtype=np.int64), np.empty(SLOTS, dtype=np.int64)
    most = _most(value)
    for i in range(n_rows):
        keys[:] = -most - 1
        places[:] = 0
        least = most
        for column in range(n):
            key = _key(_real(columns[column, i]))
            least = min(least, key)
            # From the first slot on that holds less, each number moves on by one slot.
            moving, at = key, column
            for s in range(SLOTS):
                if key > keys[s]:
                    keys[s], moving = moving, keys[s]
                    places[s], at = at, places[s]
        for s in range(SLOTS):
            value[s, i] = _value(keys[s], value)
            place[s, i] = places[s]
        if least >= _key(lowest) and keys[0] <= _key(highest):
            fine |= np.uint64(1) << np.uint64(i)
    return fine


@njit(cache=True, nogil=True)
def powers(value, scale, n_slots, e):
    for i in range(value.shape[1]):
        base = np.float64(value[1, i])
        e[0, i] = exp64((base - np.float64(value[0, i])) * scale)
        for s in range(1, n_slots):
            e[s, i] = exp64((np.float64(value[s, i]) - base) * scale)


@njit(cache=True, nogil=True)
def tails(columns, value, place, last, factor, total):
    for i in range(columns.shape[1]):
        rest = np.float32(0.0)
        base, least, least_at = value[1, i], value[last, i], place[last, i]
        for column in range(columns.shape[0]):
            x = _real(columns[column, i])
            t = np.float32((x - base) * factor)
            after = x < least or (x == least and column > least_at)
            # Not a number where both are -inf.
            if after and t <= 0.0:
                rest += exp2(t)
        total[i] = rest


@njit(cache=True, nogil=True, fastmath={"contract"})
def add_squares(row, tile, start, stop, total):
    for column in range(start, stop):
        for i in range(POINTS):
            apart = row[column] - tile[column, i]
            total[i] += apart * apart


@njit(cache=True, nogil=True)
def add_differences(row, tile, start, stop, total):
    for column in range(start, stop):
        for i in range(POINTS):
            total[i] += abs(row[column] - tile[column, i])


@njit(cache=True, nogil=True)
def take_largest(row, tile, start, stop, total):
    for column in range(start, stop):
        for i in range(POINTS):
            apart = abs(row[column] - tile[column, i])
            if apart > total[i]:
                total[i] = apart


@njit(cache=True, nogil=True, error_model="numpy")
def add_shares(row, tile, start, stop, total):
    for column in range(start, stop):
        for i in range(POINTS):
            apart = abs(row[column] - tile[column, i])
            whole = abs(row[column]) + abs(tile[column, i])
            total[i] += 0.0 if apart == 0.0 else apart / whole

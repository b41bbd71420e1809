"""Several rows side by side, one number after the other."""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numba.extending import overload

from models.simd.loops.constants import SLOTS
from models.simd.loops.plain.numbers import exp2, exp64, widened

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

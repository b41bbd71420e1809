"""A row's numbers, one after the other, dealt to lanes where they are added up."""

from __future__ import annotations

import numpy as np
from numba import njit

from models.simd.loops.constants import LANES, RANKED, WIDE
from models.simd.loops.plain.numbers import exp2, exp64, widened


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

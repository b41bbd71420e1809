"""The pass over rows of few classes, several rows side by side, compiled by numba."""

from __future__ import annotations

import numpy as np
from numba.extending import overload

from models.methods.logits.merging.loops.bounds import TAIL_ERROR, WEIGHT_ERROR
from models.methods.logits.merging.loops.rows import room_of_values
from models.running.loops import njit
from models.simd.loops import operations
from models.simd.loops.operations import SIDE_BY_SIDE, SLOTS

MOST = 128
"""Up to this many classes are few: with more, `rows.scan` is as fast. At most 191, for `tails`."""

_U = np.uintp
"""Indices known not to be negative: otherwise numba allows for negative ones, at a cost."""

_LOG2E = 1.4426950408889634


def _room_of_columns(x):
    """Work space for a block of rows as columns, (K, R), stored as x is."""


@overload(_room_of_columns)
def _room_of_columns_typed(x):
    lanes = SIDE_BY_SIDE[x.dtype]
    return lambda x: np.empty((x.shape[1], lanes), dtype=x.dtype)


@njit(cache=True, nogil=True)
def scan(
    x,
    scale,
    limits,
    tolerance,
    label,
    listed,
    weight,
    tail,
    second,
    size,
    confidence,
    slack,
    masked,
    infinite,
):
    """As `rows.scan`, for at most MOST classes and lists of fewer than SLOTS. O(n K)."""
    n, n_classes = x.shape
    n_listed = listed.shape[1]
    block = _room_of_columns(x)
    lanes = block.shape[1]
    kind = room_of_values(x).dtype
    value, place = np.empty((SLOTS, lanes), dtype=kind), np.empty((SLOTS, lanes), dtype=np.int32)
    e = np.empty((SLOTS, lanes), dtype=np.float64)
    rest, others, sure = np.zeros(lanes), np.empty(lanes), np.empty(lanes)
    factor = kind.type(scale * _LOG2E)
    for start in range(0, n, lanes):
        n_rows = min(lanes, n - start)
        for i in range(_U(lanes)):
            row = x[_U(start) + min(i, _U(n_rows - 1))]
            n_masked = 0
            for c in range(_U(n_classes)):
                block[c, i] = row[c]
                n_masked += row[c] == infinite
            if n_masked and i < n_rows:
                for c in range(_U(n_classes)):
                    masked[c] += row[c] == infinite
        fine = operations.best(block, limits[0], limits[1], value, place)
        operations.powers(value, scale, n_listed + 1, e)
        if n_listed < n_classes - 1:
            operations.tails(block, value, place, n_listed, factor, rest)
        for i in range(_U(lanes)):
            others[i] = 0.0
        for m in range(_U(1), _U(n_listed + 1)):
            for i in range(_U(lanes)):
                others[i] += e[m, i]
        for i in range(_U(lanes)):
            sure[i] = 1.0 / (1.0 + e[0, i] * (others[i] + rest[i]))
        for i in range(_U(n_rows)):
            if not (fine >> i) & np.uint64(1) or value[0, i] == -np.inf:
                return np.int64(start + i)
            own, p = place[0, i], sure[i]
            r = _U(start) + i
            label[r] = own
            tail[r] = rest[i]
            for m in range(_U(n_listed)):
                listed[r, m] = place[m + _U(1), i]
                weight[r, m] = e[m + _U(1), i]
            if (
                tolerance < np.inf
                and not abs(np.exp(np.float64(value[0, i])) / p - 1.0) <= tolerance
            ):
                return np.int64(r)
            second[r] = p * e[0, i]
            size[own] += 1
            confidence[own] += p
            slack[own] += p * p * e[0, i] * (others[i] * WEIGHT_ERROR + rest[i] * TAIL_ERROR)
    return -1

"""The loops over a block of rows, compiled by numba: posteriors, sums of rows by cluster; log C_D.

Blocks and weights are in single or double precision, sums over rows in double. `fastmath` lets the
compiler vectorize the loops over clusters and columns; all values are finite.

log C_D(kappa), the normalizing constant of a von Mises-Fisher distribution, is for arrays, and for
single numbers within loops. The expansion is that of `models.numerics.sphere`, one number at a
time: some tens of nanoseconds each, more for lower D. The array `table(D)` holds everything that
depends on D alone.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from models.arrays import Float
from models.numerics import sphere
from models.running.loops import njit
from models.simd.loops.operations import larger

_ORDER, _START, _ADDED, _N_FALL, _HEAD = 0, 1, 2, 3, 4


@lru_cache(maxsize=64)
def table(n_features: int) -> Float:
    """The table of D for `log_constant`: its order, the one that is expanded, log C_D(0), and the
    expansion's polynomials `fall` and `first`, highest power first."""
    order = sphere.order_of(n_features)
    start = order + max(0, math.ceil(sphere.LEAST - order))
    expansion = sphere.expansion(start)
    head = [order, start, float(sphere.log_c(n_features, 0.0)), float(len(expansion.fall))]
    return np.array([*head, *expansion.fall[::-1], *expansion.first[::-1]])


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def log_constant(kappa, known):
    """log C_D(kappa); known : `table(D)`."""
    order, start, n_fall = known[_ORDER], known[_START], int(known[_N_FALL])
    square = kappa * kappa
    s = math.sqrt(start * start + square)
    p = start / s
    w = square / (2.0 * start * (s + start))
    fall = 0.0
    for at in range(_HEAD, _HEAD + n_fall):
        fall = fall * p + known[at]
    grown = start * (2.0 * w - math.log1p(w)) - 0.5 * math.log1p(2.0 * w)
    grown -= square / (s * (s + start)) * fall
    if start > order:
        first = 0.0
        for at in range(_HEAD + n_fall, known.size):
            first = first * p + known[at]
        part = 2.0 * (start + 1.0) / s * (s / (s + start) - (0.5 + p * first) / s)
        # The sum of the steps' logarithms is that of their product, which stays below 10^150.
        product, u = 1.0, start
        while u > order + 0.5:
            more = square * part / (4.0 * u * (u + 1.0))
            product *= 1.0 + more
            part = 1.0 / (1.0 + more)
            u -= 1.0
        grown += math.log(product)
    return known[_ADDED] - grown


@njit(cache=True, nogil=True)
def log_constants(kappa, known, out):
    """`log_constant` of each number of a vector."""
    for i in range(kappa.size):
        out[i] = log_constant(kappa[i], known)


def log_c(n_features: int, kappa: Float) -> Float:
    """`sphere.log_c` of an array by the compiled loop, which is faster for any length."""
    out = np.empty(kappa.size)
    log_constants(np.ascontiguousarray(kappa, dtype=np.float64).ravel(), table(n_features), out)
    return out.reshape(kappa.shape)


BLOCK = 256
"""Rows that `assign` multiplies at a time."""

STRETCH = 2048
"""Rows that it sums in their own precision, a multiple of `BLOCK`."""

_SINGLE, _DOUBLE = np.float32, np.float64
_CONTRACT = {"contract", "nnan", "ninf", "nsz"}
"""Without reordering, by which an exponential would lose its precision."""


@njit(cache=True, nogil=True, fastmath=_CONTRACT)
def _single(x):
    n = np.floor(x * _SINGLE(1.44269504) + _SINGLE(0.5))
    r = x - n * _SINGLE(0.693359375)
    r -= n * _SINGLE(-2.12194440e-4)
    p = _SINGLE(1.9875691500e-4)
    p = p * r + _SINGLE(1.3981999507e-3)
    p = p * r + _SINGLE(8.3334519073e-3)
    p = p * r + _SINGLE(4.1665795894e-2)
    p = p * r + _SINGLE(1.6666665459e-1)
    p = p * r + _SINGLE(5.0000001201e-1)
    p = (p * (r * r) + r) + _SINGLE(1.0)
    scale = np.int32((np.int64(np.int32(n)) + 127) << 23).view(np.float32)
    return p * scale if x > _SINGLE(-87.0) else _SINGLE(0.0)


@njit(cache=True, nogil=True, fastmath=_CONTRACT)
def _double(x):
    n = np.floor(x * 1.4426950408889634 + 0.5)
    r = x - n * 6.93145751953125e-1
    r -= n * 1.42860682030941723212e-6
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = (p * (r * r) + r) + 1.0
    scale = np.int64((np.int64(n) + 1023) << 52).view(np.float64)
    return p * scale if x > -708.0 else 0.0


def exponential(x: Any) -> Any:
    """exp(x) for x <= 0, for compiled loops: as 2^n exp(r) with |r| <= log(2) / 2.

    Single precision by the polynomial of degree 7 of Cephes (Moshier 1989, `expf`), with a relative
    error under 2e-7; double by Taylor's of degree 13, under 1e-15. 0 below -87 and -708, so that no
    number is subnormal.
    """
    raise NotImplementedError


@overload(exponential, jit_options={"fastmath": _CONTRACT, "nogil": True})
def _exponential(x):
    if x == types.float32:
        return lambda x: _single(x)
    return lambda x: _double(x)


@njit(cache=True, nogil=True, fastmath=True)
def posteriors(joint, offsets, counted, size, evidence):
    """Replaces each row of log densities, `offsets` added, by its posteriors.

    They sum to `counted[i]` and are added to `size`; `evidence[i]` is the log of their sum before.
    """
    n_rows, n_clusters = joint.shape
    for i in range(n_rows):
        row = joint[i]
        high = row[0] + offsets[0]
        for k in range(n_clusters):
            value = row[k] + offsets[k]
            row[k] = value
            high = larger(high, value)
        total = high - high
        for k in range(n_clusters):
            value = exponential(row[k] - high)
            row[k] = value
            total += value
        evidence[i] = high + math.log(np.float64(total))
        scale = counted[i] / total
        for k in range(n_clusters):
            value = row[k] * scale
            row[k] = value
            size[k] += value


@njit(cache=True, nogil=True, fastmath=True)
def assign(rows, weights, offsets, counted, evidence, size, total):
    """Adds each row to its likeliest cluster, the first of several; its value to `evidence`.

    Products are by BLAS, `BLOCK` rows at a time, which then are in the cache. Rows are summed in
    their own precision over `STRETCH` of them.
    """
    n_clusters, n_features = weights.shape[1], rows.shape[1]
    room = np.empty((BLOCK, n_clusters), rows.dtype)
    part = np.zeros((n_clusters, n_features), rows.dtype)
    none, shifted = np.int32(n_clusters), np.any(offsets != 0.0)
    for start in range(0, rows.shape[0], BLOCK):
        stop = min(start + BLOCK, rows.shape[0])
        joint = room[: stop - start]
        np.dot(rows[start:stop], weights, joint)
        for i in range(stop - start):
            row = joint[i]
            if shifted:
                for k in range(n_clusters):
                    row[k] += offsets[k]
            high = row[0]
            for k in range(n_clusters):
                high = larger(high, row[k])
            # This vectorizes, which a search that may stop does not.
            first = none
            for k in range(none):
                first = min(first, np.int32(k) if row[k] >= high else none)
            first = min(first, none - np.int32(1))
            evidence[start + i] = high
            weight = counted[start + i]
            if weight == 0.0:
                continue
            own, x = part[first], rows[start + i]
            size[first] += weight
            for d in range(n_features):
                own[d] += weight * x[d]
        if stop % STRETCH == 0 or stop == rows.shape[0]:
            for k in range(n_clusters):
                own, whole = part[k], total[k]
                for d in range(n_features):
                    whole[d] += own[d]
                    own[d] = 0.0


@njit(cache=True, nogil=True, fastmath=True)
def add_rows(rows, cluster, counted, size, total):
    """Adds each row to the sum of its cluster, `counted[i]` times."""
    n_rows, n_features = rows.shape
    for i in range(n_rows):
        weight = np.float64(counted[i])
        if weight == 0.0:
            continue
        own, row = total[cluster[i]], rows[i]
        size[cluster[i]] += weight
        for d in range(n_features):
            own[d] += weight * row[d]


@njit(cache=True, nogil=True, fastmath=True)
def add_sparse_rows(start, column, data, cluster, counted, size, total):
    """The same for sparse rows."""
    for i in range(start.size - 1):
        weight = np.float64(counted[i])
        if weight == 0.0:
            continue
        own = total[cluster[i]]
        size[cluster[i]] += weight
        for at in range(start[i], start[i + 1]):
            own[column[at]] += weight * data[at]


@njit(cache=True, nogil=True, fastmath=True)
def multiply(start, column, data, weights, joint):
    """Writes the products of sparse rows with `weights`, (n_features, n_clusters)."""
    for i in range(start.size - 1):
        row = joint[i]
        for k in range(row.size):
            row[k] = 0.0
        _combine(column, data, start[i], start[i + 1], weights, row)


@njit(cache=True, nogil=True, fastmath=True)
def gather(start, row, data, part, total):
    """Adds to `total`, (n_features, n_clusters), the sums of a block's columns in each cluster.

    start, row, data : the block by columns, so that `total` is read and written once.
    """
    n_clusters = part.shape[1]
    sums = np.empty(n_clusters, part.dtype)
    for column in range(start.size - 1):
        first, stop = start[column], start[column + 1]
        whole = total[column]
        if stop - first == 1:
            value, own = data[first], part[row[first]]
            for k in range(n_clusters):
                whole[k] += value * own[k]
        elif stop > first:
            for k in range(n_clusters):
                sums[k] = 0.0
            _combine(row, data, first, stop, part, sums)
            for k in range(n_clusters):
                whole[k] += sums[k]


@njit(cache=True, nogil=True, fastmath=True)
def _combine(rows, data, start, stop, table, sums):
    """Adds to `sums` rows of `table`, each times its value in `data`; by fours, to spare stores."""
    at, fours = start, stop - 4
    while at <= fours:
        a, b = table[rows[at]], table[rows[at + 1]]
        c, d = table[rows[at + 2]], table[rows[at + 3]]
        p, q, r, s = data[at], data[at + 1], data[at + 2], data[at + 3]
        for k in range(sums.size):
            sums[k] += (p * a[k] + q * b[k]) + (r * c[k] + s * d[k])
        at += 4
    while at < stop:
        p, a = data[at], table[rows[at]]
        for k in range(sums.size):
            sums[k] += p * a[k]
        at += 1


@njit(cache=True, nogil=True)
def turn(matrix, out):
    """Writes the transpose of a matrix into `out`, by squares that stay in the cache."""
    n_rows, n_columns = matrix.shape
    for top in range(0, n_rows, 32):
        for left in range(0, n_columns, 32):
            for i in range(top, min(top + 32, n_rows)):
                for j in range(left, min(left + 32, n_columns)):
                    out[j, i] = matrix[i, j]


@njit(cache=True, nogil=True)
def predict(cosine, gamma, kappa, offsets, known):
    """Replaces each cosine x . psi_k by the log of the sum over the nodes j of
    exp(offsets[k, j]) / C_D(|kappa[k, j] x + gamma[k] psi_k|); known : `constants.table(D)`."""
    n_rows, n_clusters = cosine.shape
    n_nodes = kappa.shape[1]
    parts = np.empty(n_nodes)
    for i in range(n_rows):
        for k in range(n_clusters):
            high = -np.inf
            for j in range(n_nodes):
                a, b = kappa[k, j], gamma[k]
                # (a - b)^2 + 2 a b (1 + cos) does not cancel below 0.
                square = (a - b) * (a - b) + 2.0 * a * b * max(0.0, 1.0 + cosine[i, k])
                parts[j] = offsets[k, j] - log_constant(math.sqrt(square), known)
                high = max(high, parts[j])
            total = 0.0
            for j in range(n_nodes):
                total += math.exp(parts[j] - high)
            cosine[i, k] = high + math.log(total)

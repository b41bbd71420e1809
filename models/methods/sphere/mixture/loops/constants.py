"""log C_D(kappa) for arrays, and for single numbers within compiled loops.

The expansion is that of `models.numerics.sphere`, one number at a time: some tens of nanoseconds
each, more for lower D. The array `table(D)` holds everything that depends on D alone.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numba import njit

from models.arrays import Float
from models.numerics import sphere

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
    """`bessel.log_c` of an array by the compiled loop, which is faster for any length."""
    out = np.empty(kappa.size)
    log_constants(np.ascontiguousarray(kappa, dtype=np.float64).ravel(), table(n_features), out)
    return out.reshape(kappa.shape)

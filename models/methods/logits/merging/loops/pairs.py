"""The compiled loops that add up which classes the rows of each class give probability to.

`table` holds a cell for each pair and reads rows in storage order, which suits few classes;
`of_classes` holds a cell for each class and reads the rows class by class. Both add the rows of a
class in the same order, so both give the same bits.
"""

from __future__ import annotations

import numpy as np

from models.running.loops import njit

_U = np.uintp
"""Indices known not to be negative: otherwise numba allows for negative ones, at a cost."""


@njit(cache=True, nogil=True)
def table(label, listed, weight, tail, second, mass, rest, most, total):
    """Add each row's probabilities to (label, listed) of `mass`, (K, K).

    label, listed, weight, tail, second : see `row_digest.Digest`; rows with a NaN as `second` are
    left out. rest, most, total : (K,) added to: the probability of classes that are not listed, the
    most that one of them can have, and the number of rows. O(n M).
    """
    for row in range(_U(label.size)):
        scale = np.float64(second[row])
        if np.isnan(scale):
            continue
        own = _U(label[row])
        total[own] += 1.0
        # A class without probability may have an infinite weight.
        if scale > 0.0:
            for m in range(_U(listed.shape[1])):
                mass[own, _U(listed[row, m])] += scale * weight[row, m]
            rest[own] += scale * tail[row]
            most[own] += scale * weight[row, _U(listed.shape[1] - 1)]


@njit(cache=True, nogil=True)
def of_classes(
    c, order, start, listed, weight, tail, second, sums, touched, rest, most, total, others, pairs
):
    """`table`, as pairs, for the classes from `c` on, until `pairs` may not hold another class's.

    order, start : the rows of class c, ascending, are order[start[c]:start[c + 1]].
    sums, touched : (K,) zeros, and (K,) work space. others : (K,) output, the mass of each class's
    pairs. pairs : (class, other class, mass), outputs.

    Returns the first class left, and the number of pairs. O(rows M).
    """
    of, taken_for, mass = pairs
    n = _U(0)
    while c < total.size and n + _U(total.size) <= _U(of.size):
        n_touched = _U(0)
        for i in range(start[c], start[c + 1]):
            row = _U(order[i])
            scale = np.float64(second[row])
            if np.isnan(scale):
                continue
            total[c] += 1.0
            if scale > 0.0:
                for m in range(_U(listed.shape[1])):
                    p = scale * weight[row, m]
                    j = _U(listed[row, m])
                    if sums[j] == 0.0 and p > 0.0:
                        touched[n_touched] = j
                        n_touched += _U(1)
                    sums[j] += p
                rest[c] += scale * tail[row]
                most[c] += scale * weight[row, _U(listed.shape[1] - 1)]
        for i in range(n_touched):
            j = _U(touched[i])
            of[n], taken_for[n], mass[n] = c, j, sums[j]
            others[c] += sums[j]
            sums[j] = 0.0
            n += _U(1)
        c += 1
    return c, np.int64(n)

"""Ranges of rows, and the sums over rows of `class_trees.sums`, compiled by numba.

All are serial and release the interpreter lock. Rows may be bits of float16. What is summed are
whole numbers, so that no sum depends on the order of rows.
"""

from __future__ import annotations

import numpy as np

from models.methods.logits.merging.loops.rows import _values, room_of_values
from models.running.loops import njit

_FEW = 16
"""So many values of one level are put in order by insertion; more by a comparison sort."""

_ROUND = 6755399441055744.0
"""1.5 * 2^52: adding and subtracting it rounds a number below 2^51 to a whole one."""

_LAST = np.uint32(0xFFFFFFFF)


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz", "reassoc"})
def _range(v):
    """(lowest finite, lowest, highest) of the values of a row."""
    infinite = v.dtype.type(np.inf)
    finite, least, most = infinite, infinite, -infinite
    for j in range(len(v)):
        x = v[j]
        least = min(least, x)
        most = max(most, x)
        finite = min(finite, x if x > -infinite else infinite)
    return finite, least, most


@njit(cache=True, nogil=True)
def ranges(x, flat):
    """Half the widest range of the finite values of a row of `x`.

    flat : (n,) bool, out: whether all values of a row are equal. Rows have no NaN and no +inf.
    """
    wide = room_of_values(x)
    widest = 0.0
    for i in range(x.shape[0]):
        finite, least, most = _range(_values(x, i, wide))
        flat[i] = least == most
        widest = max(widest, 0.5 * np.float64(most) - 0.5 * np.float64(finite))
    return widest


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz", "contract"})
def _add_values(v, least, most, factor, total):
    """Add half the distances below the row's highest value, in whole steps, to `total`."""
    top = 0.5 * np.float64(most)
    for j in range(len(v)):
        below = 0.5 * np.float64(max(v[j], least)) - top
        total[j] += (below * factor + _ROUND) - _ROUND


@njit(cache=True, nogil=True)
def add_values(x, own, factor, total):
    """Add the rows of `x` to `total`, (classes, K) float64, at the row `own` of each; -1: to none.

    factor : steps per half unit. A value of -inf counts as the lowest finite one of its row.
    """
    wide = room_of_values(x)
    for i in range(x.shape[0]):
        if own[i] >= 0:
            v = _values(x, i, wide)
            finite, _, most = _range(v)
            _add_values(v, finite, most, factor, total[own[i]])


@njit(cache=True, nogil=True)
def pick(x, row, own, used, factor, picked, total):
    """Write the rows `row` of `x` into `picked`, (len(row), len(used)) float64, in whole steps, as
    `add_values` would add them; and add them to `total`, at the row `own` of each."""
    wide = room_of_values(x)
    for at in range(len(row)):
        v = _values(x, row[at], wide)
        finite, _, most = _range(v)
        top = 0.5 * np.float64(most)
        for k in range(len(used)):
            below = 0.5 * np.float64(max(v[used[k]], finite)) - top
            steps = (below * factor + _ROUND) - _ROUND
            picked[at, k] = steps
            total[own[at], k] += steps


@njit(cache=True, nogil=True)
def keys(x, row, own, used, bits, key):
    """Numbers that put the classes of each row in order, but for values of one level.

    row, own : (n,) rows of `x`, and the class of each as a position in `used`, which is last.
    used : (u,) classes, ascending, u <= 2^bits.
    key : (n, u) uint32, out: the level below the highest, and the position in `used`.
    """
    wide = room_of_values(x)
    shift = np.uint32(bits)
    levels = np.float64((1 << (32 - bits)) - 2)
    n_used = len(used)
    w = np.empty(n_used)
    for at in range(len(row)):
        v = _values(x, row[at], wide)
        low, high = np.inf, -np.inf
        for k in range(n_used):
            a = 0.5 * np.float64(v[used[k]])
            w[k] = a
            if k != own[at]:
                high = a if a > high else high
                low = a if -np.inf < a < low else low
        width = high - low
        factor = levels / width if width > 0.0 else 0.0
        if not factor < np.inf:
            factor = 0.0
        to = key[at]
        for k in range(n_used):
            a = w[k]
            below = (high - (a if a > low else low)) * factor
            below = below if below > 0.0 else 0.0
            # Above the highest is only the row's own class.
            to[k] = (np.uint32(below) << shift) | np.uint32(k)
        to[own[at]] = _LAST


@njit(cache=True, nogil=True)
def _settle(value, number, first, last):
    """Sort value[first:last], and number beside it, by falling value."""
    if last - first > _FEW:
        part = value[first:last].copy()
        numbers = number[first:last].copy()
        by = np.argsort(-part, kind="mergesort")
        for k in range(last - first):
            value[first + k] = part[by[k]]
            number[first + k] = numbers[by[k]]
        return
    for k in range(first + 1, last):
        a, j, at = value[k], number[k], k
        while at > first and value[at - 1] < a:
            value[at] = value[at - 1]
            number[at] = number[at - 1]
            at -= 1
        value[at] = a
        number[at] = j


@njit(cache=True, nogil=True)
def add_ranks(x, row, own, used, bits, key, share, ranks):
    """Add 1 / rank of each class in the rows `row` of `x` to `ranks`, the mean of equal ones.

    key : as of `keys`, each row sorted. share : (u,) int64, share[r] the sum of 1 / rank over the
    ranks 1 .. r, in whole steps. ranks : (u, u) int64, the row's own class first.
    """
    wide = room_of_values(x)
    n_others = len(used) - 1
    mask, shift = np.uint32((1 << bits) - 1), np.uint32(bits)
    number = np.empty(n_others, dtype=np.int32)
    value = np.empty(n_others)
    for at in range(len(row)):
        v = _values(x, row[at], wide)
        ordered = key[at]
        first = 0
        level = ordered[0] >> shift
        for k in range(n_others):
            j = ordered[k] & mask
            if ordered[k] >> shift != level:
                if k - first > 1:
                    _settle(value, number, first, k)
                first = k
                level = ordered[k] >> shift
            number[k] = j
            value[k] = v[used[j]]
        if n_others - first > 1:
            _settle(value, number, first, n_others)
        to = ranks[own[at]]
        first = 0
        while first < n_others:
            last = first + 1
            while last < n_others and value[last] == value[first]:
                last += 1
            each = share[last] - share[first]
            if last - first > 1:
                each //= last - first
            for k in range(first, last):
                to[number[k]] += each
            first = last

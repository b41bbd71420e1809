"""The loops over rows of L2H, compiled by numba: one pass in cache, short lists, exact re-reads.

All are serial and release the interpreter lock, so that threads may run them in parallel.

For a row x, `scan` keeps its class and its next best classes, ordered by logit, ties by lowest
class. For each of these it keeps the number (`listed`) and the `weight` exp(x_j - x_b), b the first
listed class; for all others the sum of their weights, the `tail`.

`relist` lists rows again by the current groups of classes: the best class of each of the best
groups, without the row's own group, its weight, and the group's `mass`, the sum of the weights of
its classes; the tail is the sum of the masses of the other groups. `since` is the number of the
state of the groups in which a row was listed, 0 for `scan`.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from models.methods.logits.merging.loops.bounds import TAIL_ERROR, WEIGHT_ERROR
from models.running.loops import njit
from models.simd.loops import operations as simd
from models.simd.loops.operations import LANES, RANKED

_CHUNK = 128 * LANES
"""The number of terms added up in float32 lanes before these are added to a float64."""

_PART = 191

_AHEAD = 4
"""A row is prefetched from memory this many rows before it is needed."""

_U = np.uintp
"""Indices known not to be negative: otherwise numba allows for negative ones, at a cost."""

_MANY = 48
_CONTRACT = {"contract"}
_SUMS = {"contract", "reassoc", "nsz"}

_F = np.float32
_LOG2E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ZERO_32 = _F(0.0)
_C3, _C4, _C5, _C6, _C7, _C8 = 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040, 1 / 40320
_C9, _C10, _C11, _C12 = 1 / 362880, 1 / 3628800, 1 / 39916800, 1 / 479001600


@njit(cache=True, inline="always", fastmath=_CONTRACT)
def _exp64(x):
    """exp of a float64 in [-708, 0], to 3 ulp; 0 below."""
    y = min(max(x, -708.0), 0.0)
    k = np.int32(y * _LOG2E - 0.5)
    n = np.float64(k)
    r = (y - n * _LN2_HIGH) - n * _LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    p = (
        (1.0 + r + r2 * (0.5 + r * _C3))
        + r4 * ((_C4 + r * _C5) + r2 * (_C6 + r * _C7))
        + r4 * r4 * ((_C8 + r * _C9) + r2 * ((_C10 + r * _C11) + r2 * _C12))
    )
    e = p * np.int64((np.int64(k) + 1023) << 52).view(np.float64)
    return e if x >= -708.0 else 0.0


@njit(cache=True, nogil=True)
def widen_halves(bits, wide):
    """float32 of float16 given as its bits, exact; both one-dimensional. NumPy takes ten times as
    long."""
    simd.widen(bits, wide)


def room_of_values(x):
    """Work space of `_values`."""


def _values(x, i, wide):
    """The values of row i of `x`, which may be bits of float16: widened into `wide` then."""


@overload(room_of_values)
def _room_of_values_typed(x):
    if x.dtype == types.uint16:
        return lambda x: np.empty(x.shape[1], dtype=np.float32)
    return lambda x: np.empty(0, dtype=x.dtype)


@overload(_values, inline="always")
def _values_typed(x, i, wide):
    if x.dtype == types.uint16:

        def widened(x, i, wide):
            simd.widen(x[i], wide)
            return wide

        return widened
    return lambda x, i, wide: x[i]


@njit(cache=True, nogil=True)
def _bound(top, wanted):
    """A number that at least `wanted` lanes reach, and preferably few more.

    -inf if fewer lanes hold a finite one.
    """
    if simd.n_finite(top) < wanted:
        return top.dtype.type(-np.inf)
    bound = simd.least(top)
    high = np.float64(simd.largest(top))
    for _ in range(64):
        middle = top.dtype.type(0.5 * bound + 0.5 * high)
        if not bound < middle:
            break
        n = simd.n_bits(simd.reaching(top, _U(0), middle))
        if n >= wanted:
            bound = middle
            if n <= wanted + 3:
                break
        else:
            high = np.float64(middle)
    return bound


@njit(cache=True, nogil=True)
def _room(n_classes, dtype):
    """The work space of `_candidates`: (largest number of each lane, bits of the classes that reach
    the bound, the classes found, the same unordered, numbers to be ranked, their ranks)."""
    return (
        np.empty(LANES, dtype=dtype),
        np.empty(n_classes // LANES + 1, dtype=np.uint64),
        np.empty(n_classes + 1, dtype=np.int64),
        np.empty(RANKED, dtype=np.int64),
        np.empty(RANKED, dtype=dtype),
        np.empty(RANKED, dtype=np.int32),
    )


@njit(cache=True, nogil=True)
def _candidates(x, wanted, lowest, room):
    """Find the `wanted` best classes at or above `lowest`, best first, all ties of the last one,
    and possibly a few more.

    At least `wanted` lanes reach the `wanted`-th largest of their maxima, so at least that many
    classes do. `simd.tops` must have filled room[0]. Returns the number found.
    """
    top, bits, found, loose, value, rank = room
    bound = max(_bound(top, wanted), lowest)
    n_words = _U(0)
    for start in range(_U(0), _U(x.size), _U(LANES)):
        bits[n_words] = simd.reaching(x, start, bound)
        n_words += _U(1)
    n = _U(0)
    for w in range(n_words):
        left = bits[w]
        if n > _U(_MANY):
            break
        while left != 0:
            found[n] = w * _U(LANES) + simd.lowest_bit(left)
            n += _U(1)
            left &= left - np.uint64(1)
    if n > _U(_MANY):
        return _select(x, wanted, bound, found)
    if n <= _U(RANKED):
        for i in range(_U(RANKED)):
            value[i] = -np.inf
        for i in range(n):
            loose[i] = found[i]
            value[i] = x[_U(found[i])]
        simd.ranks(value, rank)
        for i in range(n):
            found[_U(rank[i])] = loose[i]
        return np.int64(n)
    for i in range(_U(1), n):
        j = found[i]
        v = x[_U(j)]
        at = i
        while at > _U(0) and v > x[_U(found[at - _U(1)])]:
            found[at] = found[at - _U(1)]
            at -= _U(1)
        found[at] = j
    return np.int64(n)


@njit(cache=True, nogil=True)
def _select(x, wanted, lowest, found):
    """`_candidates`, one by one, for rows with many equal logits."""
    n = 0
    while n < wanted:
        at = -1
        for j in range(x.size):
            later = (
                n == 0 or x[j] < x[found[n - 1]] or (x[j] == x[found[n - 1]] and j > found[n - 1])
            )
            if later and x[j] >= lowest and (at < 0 or x[j] > x[at]):
                at = j
        if at < 0:
            return n
        found[n] = at
        n += 1
    for j in range(found[n - 1] + 1, x.size):
        if x[j] == x[found[wanted - 1]]:
            found[n] = j
            n += 1
    return n


@njit(cache=True, nogil=True)
def _sum_below(x, base, scale, limit, matrix, coming):
    """Sum of exp((x_j - base) scale) over the classes below `limit`.

    Meanwhile a row of `matrix` is prefetched.
    """
    factor = x.dtype.type(scale * _LOG2E)
    if x.size <= _CHUNK:
        return np.float64(simd.sum_of_powers(x, base, factor, limit, matrix, coming))
    total = 0.0
    for start in range(0, x.size, _CHUNK):
        part = x[start : start + _CHUNK]
        total += simd.sum_of_powers(part, base, factor, limit, matrix, coming)
    return total


@njit(cache=True, nogil=True)
def _allowed(x, lowest, highest, masked):
    """Whether all values are; counts each -inf in `masked`, (K,)."""
    n_bad = 0
    for v in x:
        n_bad += not lowest <= v <= highest
    if n_bad == 0:
        for c in range(_U(x.size)):
            masked[c] += x[c] == -np.inf
    return n_bad == 0


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
    """Read the rows of a block once.

    x : (n, K) float32, float64 or the bits of float16, uint16; contiguous.
    scale : 1 / temperature.
    limits : the lowest value allowed and the largest, of the values' type.
    tolerance : the largest difference of a row's sum of exp(x) from 1.
    label, listed, weight, tail, second : (n,), (n, M), (n, M), (n,), (n,) outputs; the last is
        the probability of the first listed class.
    size, confidence, slack : (K,) added to: points of each class, the sum of their winning
        probabilities, a bound on that sum's error.
    masked : (K,) added to: the number of values of each class that are -inf.
    infinite : -inf as x stores it; what is in rows of many values is seen without it.

    Returns the first row with a value out of limits, nothing but -inf or a wrong sum, -1 if there
    is none.
    O(n K).
    """
    n, n_classes = x.shape
    n_listed = listed.shape[1]
    wide = room_of_values(x)
    room = _room(n_classes, wide.dtype)
    found = room[2]
    # The best numbers of a row in order, and their exponentials relative to the second.
    best = np.empty(n_listed + 1, dtype=wide.dtype)
    e = np.empty(best.size)
    for r in range(_U(n)):
        row = _values(x, r, wide)
        if simd.tops(row, room[0]) != 0.0 and not _allowed(row, limits[0], limits[1], masked):
            return np.int64(r)
        n_found = _candidates(row, n_listed + 1, limits[0], room)
        for i in range(_U(n_listed + 1)):
            best[i] = row[_U(found[i])]
        if best[0] == -np.inf:
            return np.int64(r)
        others = _exponentials(best[1 : n_listed + 1], np.float64(best[1]), scale, e)
        rest = _rest(row, found, n_found, scale, n_listed, e[n_listed - 1], x, r)
        own = found[0]
        for i in range(_U(n_listed)):
            listed[r, i] = found[i + _U(1)]
            weight[r, i] = e[i]
        label[r] = own
        tail[r] = rest
        ratio = _exp64((np.float64(best[1]) - np.float64(best[0])) * scale)
        sure = 1.0 / (1.0 + ratio * (others + rest))
        if tolerance < np.inf and not abs(np.exp(np.float64(best[0])) / sure - 1.0) <= tolerance:
            return np.int64(r)
        second[r] = sure * ratio
        size[own] += 1
        confidence[own] += sure
        slack[own] += sure * sure * ratio * (others * WEIGHT_ERROR + rest * TAIL_ERROR)
    return -1


@njit(cache=True, nogil=True)
def _rest(x, found, n_found, scale, n_listed, weight, rows, r):
    """The tail of x, row r, whose list is found[1 : n_listed + 1]; its last class has that
    weight."""
    coming = min(r + _U(_AHEAD), _U(rows.shape[0] - 1))
    last = x[_U(found[n_listed])]
    equal = 0
    for i in range(_U(n_listed + 1), _U(n_found)):
        equal += x[_U(found[i])] == last
    return _sum_below(x, x[_U(found[1])], scale, last, rows, coming) + equal * weight


@njit(cache=True, nogil=True)
def relist(
    x,
    at,
    lowest,
    scale,
    rows,
    slot,
    order,
    start,
    names,
    state,
    listed,
    weight,
    mass,
    tail,
    label,
    since,
):
    """Read rows again and list them by the current groups.

    x : (n, K) values, as for `scan`; row rows[i] is x[at[i]].
    lowest : the lowest finite number, of the values' type.
    slot : (K,) int32, the group of each class, named by its lowest class.
    names, order, start : group names[g] has the classes order[start[g]:start[g + 1]], ascending.
    state : the number of the present state of the groups.

    O(n K).
    """
    n_classes = x.shape[1]
    wide = room_of_values(x)
    room = _room(n_classes, wide.dtype)
    y = np.empty(n_classes, dtype=wide.dtype)
    e = np.empty(n_classes, dtype=np.float32)
    place = np.empty(n_classes, dtype=np.int64)
    for g in range(names.size):
        place[names[g]] = g
    for i in range(_U(rows.size)):
        row = _U(rows[i])
        own = slot[_U(label[row])]
        values = _values(x, _U(at[i]), wide)
        for j in range(n_classes):
            y[j] = -np.inf if slot[j] == own else values[j]
        simd.tops(y, room[0])
        tail[row] = _list_groups(
            y,
            lowest,
            scale,
            slot,
            order,
            start,
            place,
            room,
            e,
            listed[row],
            weight[row],
            mass[row],
        )
        since[row] = state


@njit(cache=True, nogil=True)
def _list_groups(y, lowest, scale, slot, order, start, place, room, e, listed, weight, mass):
    """List the groups of the best classes at or above `lowest`; returns the tail."""
    n_found = _candidates(y, 2 * listed.size, lowest, room)
    found = room[2]
    base = y[_U(found[0])] if n_found else lowest
    _weights(y, base, scale, e)
    n = _U(0)
    for c in range(_U(n_found)):
        j = _U(found[c])
        group = slot[j]
        known = False
        for m in range(n):
            known |= slot[_U(listed[m])] == group
        if known:
            continue
        if n == _U(listed.size):
            break
        g = place[group]
        listed[n] = j
        weight[n] = _exp64((np.float64(y[j]) - np.float64(base)) * scale)
        mass[n] = _take(e, order[start[g] : start[g + 1]])
        n += _U(1)
    for m in range(n, _U(listed.size)):
        listed[m] = y.size
        weight[m] = mass[m] = _ZERO_32
    return _sum_all(e) if n > _U(0) else 0.0


@njit(cache=True, nogil=True)
def _weights(x, base, scale, e):
    """exp((x - base) scale) of every class at or below `base`, float32."""
    factor = x.dtype.type(scale * _LOG2E)
    for j in range(x.size):
        e[j] = simd.exp2(_F((x[j] - base) * factor))


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _take(e, classes):
    """The sum of the weights of some classes, which become 0."""
    total = 0.0
    for i in range(classes.size):
        j = _U(classes[i])
        total += e[j]
        e[j] = _ZERO_32
    return total


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _part(e):
    part = _ZERO_32
    for j in range(e.size):
        part += e[j]
    return part


@njit(cache=True, nogil=True)
def _sum_all(e):
    total = 0.0
    for start in range(0, e.size, _PART):
        total += _part(e[start : start + _PART])
    return total


@njit(cache=True, nogil=True)
def _shut(x, shut, y, top):
    """Fill y with x + shut; the first of its best classes."""
    simd.sum_tops(x, shut, y, top)
    return _first(y, simd.largest(top))


@njit(cache=True, nogil=True)
def _first(x, bound):
    """The first class that reaches `bound`, -1 if none does."""
    for start in range(_U(0), _U(x.size), _U(LANES)):
        bits = simd.reaching(x, start, bound)
        if bits != 0:
            return np.int64(start + simd.lowest_bit(bits))
    return -1


@njit(cache=True, nogil=True)
def _room_for(x):
    """(work space of `_values`, room for a row's values, padded to whole vectors, room for the
    largest of each lane)."""
    wide = room_of_values(x)
    n_vectors = (x.shape[1] + LANES - 1) // LANES
    return wide, np.empty(n_vectors * LANES, dtype=wide.dtype), np.empty(LANES, dtype=wide.dtype)


@njit(cache=True, nogil=True)
def outside(x, at, scale, shut, low, high):
    """Bound the contributions of rows to classes outside a group, by reading them: nearly exact.

    x : (n, K) values, as for `scan`; the rows are x[at[i]].
    shut : (K,) of the values' type, -inf for the group's classes, 0 for others.
    low, high : (K,) by best class outside, added to; a row that gives them all the probability 0
        adds nothing.

    O(n K).
    """
    wide, y, top = _room_for(x)
    n = _U(at.size)
    for i in range(n):
        coming = _U(at[min(i + _U(_AHEAD), n - _U(1))])
        best = _U(_shut(_values(x, _U(at[i]), wide), shut, y, top))
        base = y[best]
        if base == -np.inf:
            continue
        total = _sum_below(y, base, scale, np.inf, x, coming)
        low[best] += (1.0 - TAIL_ERROR) / total
        high[best] += (1.0 + TAIL_ERROR) / total


@njit(cache=True, nogil=True)
def exact(x, at, scale, shut, taken):
    """`outside` in float64: add to `taken`, (K,) by class, the rows' winning probabilities."""
    wide, y, top = _room_for(x)
    e = np.empty(y.size, dtype=np.float64)
    for i in range(_U(at.size)):
        best = _U(_shut(_values(x, _U(at[i]), wide), shut, y, top))
        base = np.float64(y[best])
        if base == -np.inf:
            continue
        taken[best] += 1.0 / _exponentials(y, base, scale, e)


@njit(cache=True, nogil=True)
def masses(x, scale, column, wanted, total):
    """Add to total[column of a row's class] its probabilities of the classes `wanted`, in float64.

    x : as for `scan`. column : (K,) int64. wanted : (E,) classes. total : (columns, E). O(n K).
    """
    e = np.empty(x.shape[1], dtype=np.float64)
    wide = room_of_values(x)
    top = np.empty(LANES, dtype=wide.dtype)
    for r in range(_U(x.shape[0])):
        values = _values(x, r, wide)
        simd.tops(values, top)
        best = _first(values, simd.largest(top))
        sure = 1.0 / _exponentials(values, np.float64(values[_U(best)]), scale, e)
        to = _U(column[_U(best)])
        for i in range(_U(wanted.size)):
            total[to, i] += e[_U(wanted[i])] * sure


@njit(cache=True, nogil=True)
def _exponentials(x, base, scale, e):
    return simd.exponentials(x, base, scale, e)


@njit(cache=True, nogil=True)
def best_means(total, size, near, best, n_near):
    """The largest total[i, j] / size[i] of each column j, and how many reach `near` times it.

    total : (n, m). size : (n,). best, n_near : (m,) zeros, filled. O(n m), in the table's order.
    """
    for i in range(_U(total.shape[0])):
        for j in range(_U(total.shape[1])):
            mean = total[i, j] / size[i]
            best[j] = mean if mean > best[j] else best[j]
    for i in range(_U(total.shape[0])):
        for j in range(_U(total.shape[1])):
            n_near[j] += total[i, j] / size[i] >= best[j] * near


@njit(cache=True, nogil=True)
def near_means(total, size, near, best, start, tied):
    """Fill `tied`, for column j from start[j] on, with the rows that reach near * best[j]."""
    at = start.copy()
    for i in range(_U(total.shape[0])):
        for j in range(_U(total.shape[1])):
            if total[i, j] / size[i] >= best[j] * near:
                tied[at[j]] = i
                at[j] += 1

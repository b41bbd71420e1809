"""The loops over rows of L2H, compiled by numba: one pass in cache, short lists, exact re-reads.

All are serial and release the interpreter's lock, so that threads may run them side by side.

What is kept of a row x: its class c, and its best groups of classes after its own in order of their
best (logit, lowest class first). Of each of these the best class (`listed`), its `weight`
exp(x_j - x_b), b the first listed class, and the group's `mass`, the sum of exp(x_j - x_b) over its
classes; of all other groups the sum of their masses, the `tail`. After `scan` every class is its
own group; `relist` lists anew by the groups there are then, with the row's own left out whole.
`since` numbers the state of the groups that a row's list goes by.

Comparisons are made on keys: integers in the order of the floats, -0 equal to +0, exact and quick
to compare. Exponentials are computed by the usual reduction to [-ln 2 / 2, ln 2 / 2] and a
polynomial, so that the compiler makes vector code of them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

LEAST = np.float32(1e-26)
"""A weight below it is not trusted: what follows may have underflowed. A million terms below
exp(-87) = 1.6e-38, taken as 0, are less than `TAIL_ERROR` of it."""

WEIGHT_ERROR = 2.0**-23
"""Bound on a weight's relative error: computed in float64, rounded to float32."""

TAIL_ERROR = 3.2e-5
"""Bound on the relative error of sums of float32 exponentials, on processors with and without fused
multiply-add. A term exp(d), d in [-87, 0], is off by at most 3 |d| half ulp for the roundings of d
(difference, scale, product) and 1 ulp for the exponential itself, a sum of `_CHUNK` terms by 255
half ulp in whatever order: (261 + 2 + 256) 2^-24 = 3.1e-5."""

_BUCKETS = 64
"""A row's classes are dealt into so many; the largest of each say where the listed ones begin."""

_CHUNK = 256
_U = np.uintp
"""Indices known not to be negative: numba allows for negative ones among the others, at a cost."""

_MANY = 48
_CONTRACT = {"contract"}
_SUMS = {"contract", "reassoc", "nsz"}

_FLOATS = {
    types.float32: (types.int32, ir.IntType(32), ir.FloatType()),
    types.float64: (types.int64, ir.IntType(64), ir.DoubleType()),
}
_INTS = {
    types.int32: (types.float32, ir.FloatType()),
    types.int64: (types.float64, ir.DoubleType()),
}


@intrinsic
def _key(typing_context: Any, value: Any) -> Any:
    """The integer of the same size that orders as the float `value` does."""
    integer, bits, real = _FLOATS[value]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # Adding +0 turns -0 into +0.
        plain = builder.fadd(arguments[0], ir.Constant(real, 0.0))
        word = builder.bitcast(plain, bits)
        sign = builder.ashr(word, ir.Constant(bits, bits.width - 1))
        flip = builder.and_(sign, ir.Constant(bits, (1 << (bits.width - 1)) - 1))
        return builder.xor(word, flip)

    return integer(value), generate


@intrinsic
def _from_bits(typing_context: Any, value: Any) -> Any:
    """The float whose bits are the integer `value`."""
    real, kind = _INTS[value]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], kind)

    return real(value), generate


_F = np.float32
_LOG2E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LOG2E_32, _HALF_32, _ONE_32, _ZERO_32 = _F(_LOG2E), _F(0.5), _F(1.0), _F(0.0)
_LN2_HIGH_32, _LN2_LOW_32 = _F(0.693359375), _F(-2.12194440e-4)
_C3, _C4, _C5, _C6, _C7, _C8 = 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040, 1 / 40320
_C9, _C10, _C11, _C12 = 1 / 362880, 1 / 3628800, 1 / 39916800, 1 / 479001600
_D3, _D4, _D5, _D6, _D7 = _F(_C3), _F(_C4), _F(_C5), _F(_C6), _F(_C7)
_LOW_32 = _F(-87.0)


@njit(cache=True, inline="always", fastmath=_CONTRACT)
def _exp32(x):
    """exp of a float32 in [-87, 0], to 3 ulp; 0 below."""
    y = min(max(x, _LOW_32), _ZERO_32)
    k = np.int32(y * _LOG2E_32 - _HALF_32)
    n = _F(k)
    r = (y - n * _LN2_HIGH_32) - n * _LN2_LOW_32
    r2 = r * r
    p = (_ONE_32 + r) + r2 * ((_HALF_32 + r * _D3) + r2 * ((_D4 + r * _D5) + r2 * (_D6 + r * _D7)))
    e = p * _from_bits(np.int32((k + 127) << 23))
    return e if x >= _LOW_32 else _ZERO_32


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
    e = p * _from_bits((np.int64(k) + 1023) << 52)
    return e if x >= -708.0 else 0.0


_SCALE_16 = _F(2.0**112)


@njit(cache=True, nogil=True)
def widen_halves(bits, wide):
    """float32 of float16 given as its bits, exact; both one-dimensional. NumPy takes ten times as
    long."""
    for i in range(bits.size):
        half = np.int32(bits[i])
        size = half & np.int32(0x7FFF)
        # As the upper bits of a float32 it is 2^112 times too small, below normal numbers as well.
        value = _from_bits(np.int32(size << 13)) * _SCALE_16
        odd = _from_bits(np.int32(0x7F800000 | (size << 13)))
        value = odd if size >= 0x7C00 else value
        wide[i] = -value if half & 0x8000 else value


@njit(cache=True, nogil=True)
def _keys(x, key, top, nothing):
    """Fill `key` with the keys of x and `top` with the largest of each bucket; the lowest key."""
    n = x.size
    for b in range(_BUCKETS):
        top[b] = nothing
    lowest = _key(x[0])
    whole = n // _BUCKETS * _BUCKETS
    for start in range(0, whole, _BUCKETS):
        for b in range(_BUCKETS):
            k = _key(x[start + b])
            key[start + b] = k
            top[b] = max(top[b], k)
            lowest = min(lowest, k)
    for j in range(whole, n):
        k = _key(x[j])
        key[j] = k
        top[j - whole] = max(top[j - whole], k)
        lowest = min(lowest, k)
    return lowest


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _candidates(key, top, wanted, found, nothing):
    """The `wanted` best classes and those tied with or close to them, best first; their number.

    At least `wanted` buckets reach the `wanted`-th largest of their maxima, so at least so many
    classes do. Bisection finds a bound near that, and only the buckets that reach it are searched.
    """
    low, high = np.int64(top[0]), np.int64(top[0])
    for b in range(_BUCKETS):
        low = min(low, np.int64(top[b]))
        high = max(high, np.int64(top[b]))
    buckets = np.empty(_BUCKETS + 1, dtype=np.int64)
    while low < high:
        # Halves first: the sum of two keys may overflow.
        middle = (low >> 1) + (high >> 1) + ((low & 1) | (high & 1))
        bound = top.dtype.type(middle)
        n = _ZERO_32
        for b in range(_BUCKETS):
            n += _ONE_32 if top[b] >= bound else _ZERO_32
        if n >= wanted:
            low = middle
            if n <= wanted + 3:
                break
        else:
            high = middle - 1
    # Nothing but what is hidden has the key `nothing`.
    bound = top.dtype.type(max(low, np.int64(nothing) + 1))
    n_reached = _U(0)
    for b in range(_U(_BUCKETS)):
        buckets[n_reached] = b
        n_reached += _U(top[b] >= bound)
    n_found = _U(0)
    for i in range(n_reached):
        for j in range(_U(buckets[i]), _U(key.size), _U(_BUCKETS)):
            if key[j] >= bound:
                found[n_found] = j
                n_found += _U(1)
    if n_found > _U(_MANY):
        return _select(key, wanted, found, nothing)
    for i in range(_U(1), n_found):
        j = found[i]
        k = key[j]
        at = i
        while at > _U(0) and _before(k, j, key[found[at - _U(1)]], found[at - _U(1)]):
            found[at] = found[at - _U(1)]
            at -= _U(1)
        found[at] = j
    return np.int64(n_found)


@njit(cache=True, inline="always")
def _before(k, j, other_k, other_j):
    return k > other_k or (k == other_k and j < other_j)


@njit(cache=True, nogil=True)
def _select(key, wanted, found, nothing):
    """The `wanted` best classes one after the other: for rows with many equal logits."""
    n_found = 0
    while n_found < wanted:
        best, at = nothing, -1
        for j in range(key.size):
            k = key[j]
            later = n_found == 0 or _before(
                key[found[n_found - 1]], found[n_found - 1], k, np.int64(j)
            )
            if later and k > best:
                best, at = k, j
        if at < 0:
            break
        found[n_found] = at
        n_found += 1
    return n_found


@njit(cache=True, nogil=True, fastmath=_CONTRACT)
def _weights(x, base, scale, e):
    """exp((x - base) scale) of every class at or below `base`, float32; 1 above."""
    factor = x.dtype.type(scale)
    for j in range(x.size):
        e[j] = _exp32(_F((x[j] - base) * factor))


# The loops of sums go over slices: where an index starts at an unknown number, numba allows for a
# negative one, and the compiler makes no vector code.


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _part_below(e, key, limit):
    part = same = _ZERO_32
    for j in range(e.size):
        part += e[j] if key[j] < limit else _ZERO_32
        same += _ONE_32 if key[j] == limit else _ZERO_32
    return part, same


@njit(cache=True, nogil=True)
def _sum_below(e, key, limit):
    """Sum of the weights whose key is below `limit`, and how many keys equal it."""
    total, equal = 0.0, 0
    for start in range(0, e.size, _CHUNK):
        part, same = _part_below(e[start : start + _CHUNK], key[start : start + _CHUNK], limit)
        total += part
        equal += np.int64(same)
    return total, equal


@njit(cache=True, nogil=True)
def scan(
    x,
    scale,
    limits,
    tolerance,
    label,
    listed,
    weight,
    mass,
    tail,
    size,
    confidence,
    slack,
):
    """Read the rows of a block once.

    x : (n, K) float32 or float64, contiguous.
    scale : 1 / temperature.
    limits : keys of (the lowest value allowed, the largest, nothing).
    tolerance : most that the sum of exp(x) of a row may differ from 1.
    label, listed, weight, mass, tail : (n,), (n, M), (n, M), (n, M), (n,) outputs.
    size, confidence, slack : (K,) added to: points of each class, the sum of their winning
        probabilities, a bound on that sum's error.

    Returns the first row with a value out of limits or with another sum, -1 where there is none.
    O(n K).
    """
    n, n_classes = x.shape
    lowest_allowed, highest_allowed, nothing = limits
    key = np.empty(n_classes, dtype=limits.dtype)
    top = np.empty(_BUCKETS, dtype=limits.dtype)
    found = np.empty(n_classes + 1, dtype=np.int64)
    e = np.empty(n_classes, dtype=np.float32)
    apart = np.empty(listed.shape[1])
    for r in range(n):
        row = x[r]
        lowest = _keys(row, key, top, nothing)
        _candidates(key, top, listed.shape[1] + 1, found, nothing)
        own = found[0]
        if lowest < lowest_allowed or key[own] > highest_allowed:
            return r
        rest = _list(row, key, found, scale, e, apart, listed[r], weight[r])
        label[r] = own
        tail[r] = rest
        others = 0.0
        for i in range(weight.shape[1]):
            mass[r, i] = weight[r, i]
            others += weight[r, i]
        ratio = _exp64((np.float64(row[found[1]]) - np.float64(row[own])) * scale)
        sure = 1.0 / (1.0 + ratio * (others + rest))
        if tolerance < np.inf and not abs(np.exp(np.float64(row[own])) / sure - 1.0) <= tolerance:
            return r
        size[own] += 1
        confidence[own] += sure
        slack[own] += sure * sure * ratio * (others * WEIGHT_ERROR + rest * TAIL_ERROR)
    return -1


@njit(cache=True, nogil=True)
def _list(x, key, found, scale, e, apart, listed, weight):
    """Fill a row's list from found[1:]; its tail."""
    n_listed = listed.size
    base = x[found[1]]
    _weights(x, base, scale, e)
    for i in range(n_listed):
        listed[i] = found[1 + i]
        apart[i] = np.float64(x[found[1 + i]]) - np.float64(base)
    for i in range(n_listed):
        weight[i] = _exp64(apart[i] * scale)
    last = key[found[n_listed]]
    tail, equal = _sum_below(e, key, last)
    for i in range(1 + n_listed):
        equal -= np.int64(key[found[i]] == last)
    return tail + equal * np.float64(weight[n_listed - 1])


@njit(cache=True, nogil=True)
def walk(
    rows,
    inside,
    n_group,
    n_since,
    sure_of_tail,
    label,
    listed,
    weight,
    mass,
    tail,
    since,
    low,
    high,
    width,
):
    """Bound what the rows of a group give to the groups outside, from their lists.

    rows : (n,) the group's rows.
    inside : (K + 1,) uint8, 1 for the group's classes, 0 for others, 2 at K.
    n_group : number of the group's classes.
    n_since : (states, K) how many classes the group of each class had in each state.
    sure_of_tail : 1, or 0 where a tail is only the most that it may be.
    low, high : (K,) by best class outside, added to.
    width : (n,) output: of each row's interval; 2 where nothing is known of it and it is not added.
        May be empty: not wanted.

    Returns the number of rows of which nothing is known. O(n M).
    """
    n_outside_all = inside.size - 1 - n_group
    n_listed = _U(listed.shape[1])
    n_unknown = 0
    for i in range(_U(rows.size)):
        row = _U(rows[i])
        state = _U(since[row])
        n_inside = n_outside = 0
        best = -1
        best_weight = outside = last = 0.0
        for at in range(n_listed):
            j = _U(listed[row, at])
            where = inside[j]
            if where == 2:
                break
            last = np.float64(weight[row, at])
            if where == 1:
                n_inside += n_since[state, j]
            else:
                n_outside += n_since[state, j]
                if best < 0:
                    best = np.int64(j)
                    best_weight = last
                outside += np.float64(mass[row, at])
        if best < 0 or best_weight < LEAST:
            if width.size:
                width[i] = 2.0
            n_unknown += 1
            continue
        # A class of the group that is not listed weighs no more than the last one listed.
        unlisted = n_group - n_since[state, _U(label[row])] - n_inside
        rest = np.float64(tail[row])
        most, least = rest * (1.0 + TAIL_ERROR), rest * (1.0 - TAIL_ERROR) * sure_of_tail
        if n_outside == n_outside_all:
            most = least = 0.0
        elif unlisted > 0:
            least = max(0.0, least - unlisted * last * (1.0 + WEIGHT_ERROR))
        # At first every class is a group, and its mass is its weight.
        error = WEIGHT_ERROR if state == 0 else TAIL_ERROR
        upper = best_weight / (outside * (1.0 - error) + least) * (1.0 + WEIGHT_ERROR)
        lower = best_weight / (outside * (1.0 + error) + most) * (1.0 - WEIGHT_ERROR)
        low[best] += lower
        high[best] += upper
        if width.size:
            width[i] = upper - lower
    return n_unknown


@njit(cache=True, nogil=True)
def relist(
    x,
    at,
    scale,
    limits,
    rows,
    slot,
    order,
    start,
    names,
    state,
    label,
    listed,
    weight,
    mass,
    tail,
    since,
):
    """Read rows again and list them by the groups that there are now.

    x : (n, K) values; row rows[i] is x[at[i]].
    slot : (K,) int32, the group of each class, named by its lowest class.
    names, order, start : group names[g] has the classes order[start[g]:start[g + 1]], ascending.
    state : the number of the present state of the groups.

    O(n K).
    """
    n_classes = x.shape[1]
    nothing = limits[2]
    key = np.empty(n_classes, dtype=limits.dtype)
    top = np.empty(_BUCKETS, dtype=limits.dtype)
    found = np.empty(n_classes + 1, dtype=np.int64)
    e = np.empty(n_classes, dtype=np.float32)
    place = np.empty(n_classes, dtype=np.int64)
    for g in range(names.size):
        place[names[g]] = g
    for i in range(_U(rows.size)):
        row = _U(rows[i])
        tail[row] = _list_groups(
            x[at[i]], scale, slot, slot[label[row]], order, start, place, key, top, found, e,
            nothing, listed[row], weight[row], mass[row],
        )  # fmt: skip
        since[row] = state


@njit(cache=True, nogil=True)
def _list_groups(
    values, scale, slot, own, order, start, place, key, top, found, e, nothing,
    listed, weight, mass,
):  # fmt: skip
    """List the groups of the best classes outside the group `own`; the tail."""
    _keys(values, key, top, nothing)
    _hide(key, top, slot, own, nothing)
    n_found = _candidates(key, top, 2 * listed.size, found, nothing)
    base = values[found[0]]
    _weights(values, base, scale, e)
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
        weight[n] = _exp64((np.float64(values[j]) - np.float64(base)) * scale)
        mass[n] = _take(e, order[start[g] : start[g + 1]])
        n += _U(1)
    for m in range(n, _U(listed.size)):
        listed[m] = values.size
        weight[m] = mass[m] = _ZERO_32
    return _sum_visible(e, key, nothing)


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _take(e, classes):
    """The sum of the weights of some classes, which become 0."""
    total = 0.0
    for i in range(classes.size):
        j = _U(classes[i])
        total += e[j]
        e[j] = _ZERO_32
    return total


@njit(cache=True, nogil=True)
def _hide(key, top, slot, own, nothing):
    """Take the classes of the group `own` out of `key` and `top`."""
    for j in range(key.size):
        key[j] = nothing if slot[j] == own else key[j]
    for b in range(_BUCKETS):
        top[b] = nothing
    whole = key.size // _BUCKETS * _BUCKETS
    for begin in range(0, whole, _BUCKETS):
        for b in range(_BUCKETS):
            top[b] = max(top[b], key[begin + b])
    for j in range(whole, key.size):
        top[j - whole] = max(top[j - whole], key[j])


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _part_visible(e, key, nothing):
    part = _ZERO_32
    for j in range(e.size):
        part += e[j] if key[j] != nothing else _ZERO_32
    return part


@njit(cache=True, nogil=True)
def _sum_visible(e, key, nothing):
    total = 0.0
    for start in range(0, e.size, _CHUNK):
        total += _part_visible(e[start : start + _CHUNK], key[start : start + _CHUNK], nothing)
    return total


@njit(cache=True, nogil=True)
def exact(x, at, scale, limits, inside, taken):
    """Add to `taken`, (K,) by class, the winning probability of each row among the classes not
    `inside`, in float64; a row that gives them all the probability 0 takes none. O(n K)."""
    e = np.empty(x.shape[1], dtype=np.float64)
    key = np.empty(x.shape[1], dtype=limits.dtype)
    for i in range(at.size):
        values = x[at[i]]
        best = _best_visible(values, inside, key, limits[2])
        base = np.float64(values[best])
        if base == -np.inf:
            continue
        _exponentials(values, base, scale, inside, e)
        taken[best] += 1.0 / _sum(e)


@njit(cache=True, nogil=True)
def _best_visible(x, inside, key, nothing):
    """The first of the best classes that are not `inside`."""
    for j in range(x.size):
        key[j] = _key(x[j])
    best = nothing
    for j in range(x.size):
        best = max(best, nothing if inside[j] else key[j])
    for j in range(_U(x.size)):
        if key[j] == best and inside[j] == 0:
            return np.int64(j)
    return -1


@njit(cache=True, nogil=True)
def masses(x, scale, column, wanted, total):
    """Add to total[column of a row's class] its probabilities of the classes `wanted`, in float64.

    column : (K,) int64. wanted : (E,) classes. total : (columns, E). O(n K).
    """
    nothing = np.zeros(x.shape[1], dtype=np.uint8)
    e = np.empty(x.shape[1], dtype=np.float64)
    for values in x:
        best = 0
        for j in range(values.size):
            if values[j] > values[best]:
                best = j
        _exponentials(values, np.float64(values[best]), scale, nothing, e)
        sure = 1.0 / _sum(e)
        to = column[best]
        for i in range(wanted.size):
            total[to, i] += e[wanted[i]] * sure


@njit(cache=True, nogil=True, fastmath=_CONTRACT)
def _exponentials(x, base, scale, inside, e):
    for j in range(x.size):
        term = _exp64((np.float64(x[j]) - base) * scale)
        e[j] = 0.0 if inside[j] else term


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _sum(e):
    total = 0.0
    for j in range(e.size):
        total += e[j]
    return total


@njit(cache=True, nogil=True)
def lowest(low, high, tie):
    """The first of the lowest scores where bounds on them tell it, -1 where they do not.

    Scores within a relative `tie` of the lowest are equal to it.
    """
    bound = floor = np.inf
    for g in range(low.size):
        bound = min(bound, high[g])
        floor = min(floor, low[g])
    first = -1
    most = 0.0
    n = 0
    for g in range(low.size):
        if low[g] <= bound * (1.0 + tie):
            n += 1
            most = max(most, high[g])
            if first < 0:
                first = g
    return first if n == 1 or most <= floor * (1.0 + tie) else -1


@njit(cache=True, nogil=True)
def host(group, low, high, slot, n_members, n_unknown, tie, candidates):
    """The group of the highest mean rp, -1 where bounds do not tell it; what keeps them from it.

    group : G*, which is no candidate.
    low, high : (K,) bounds on rp by class, added up by group here.
    n_unknown : number of rows that may add up to 1 each to any candidate.
    candidates : (K,) room to work in.

    Returns (group, room): `room` is how much of rp all intervals together may hide for the two best
    to be told apart, by the middles of their intervals.
    """
    for c in range(slot.size):
        g = slot[c]
        if g != c and high[c] > 0.0:
            low[g] += low[c]
            high[g] += high[c]
            low[c] = high[c] = 0.0
    best = second = floor = 0.0
    n_best = n_second = 1
    n = 0
    for g in range(slot.size):
        if n_members[g] and g != group:
            candidates[n] = g
            n += 1
            if high[g] > 0.0:
                floor = max(floor, low[g] / n_members[g])
                middle = 0.5 * (low[g] + high[g]) / n_members[g]
                if middle > best:
                    second, n_second = best, n_best
                    best, n_best = middle, n_members[g]
                elif middle > second:
                    second, n_second = middle, n_members[g]
    if n == 1:
        return candidates[0], np.inf
    found = -1
    n_near = 0
    for i in range(n):
        g = candidates[i]
        if (high[g] + n_unknown) / n_members[g] >= floor * (1.0 - tie):
            n_near += 1
            found = g
            if n_near > 1:
                break
    return found if n_near == 1 else -1, (best - second) * min(n_best, n_second)


LARGE = 8
"""Groups of so many classes and more are left to the caller by `advance`."""

HOST, SCORES = 1, 2
"""Why `advance` stopped: a host is wanted, or the bounds do not tell the lowest score."""


@njit(cache=True, nogil=True)
def members(slot, head, following, found):
    """Write the classes of a group, in no order, into `found`; their number."""
    n = 0
    c = head[slot]
    while c >= 0:
        found[n] = c
        n += 1
        c = following[c]
    return n


@njit(cache=True, nogil=True)
def join(step, a, b, groups, scores, merges):
    """Merge the groups in slots a (G*) and b, as merge number `step`.

    groups : (slot, head, last, following, n_members, node) of `models.l2h.merging.Groups`.
    scores : (value, slack, size, low, high, aggregation): (K,) score and bound of each class,
        its points, (K,) outputs by slot; aggregation 0: sums, 1: means over points, 2: points.
    merges : (left, right).
    """
    slot, head, last, following, n_members, node = groups
    left, right = merges
    left[step], right[step] = node[a], node[b]
    home, gone = min(a, b), max(a, b)
    c = head[gone]
    while c >= 0:
        slot[c] = home
        c = following[c]
    following[last[home]] = head[gone]
    last[home] = last[gone]
    head[gone] = -1
    n_members[home] += n_members[gone]
    n_members[gone] = 0
    node[home] = slot.size + step
    scores[3][gone] = scores[4][gone] = np.inf
    score(home, head, following, scores)


@njit(cache=True, nogil=True)
def score(home, head, following, scores):
    """Bounds on the score of the group in slot `home`."""
    value, slack, size, low, high, aggregation = scores
    total = error = 0.0
    points = 0
    c = head[home]
    while c >= 0:
        total += value[c]
        error += slack[c]
        points += size[c]
        c = following[c]
    if aggregation == 1:
        total /= max(1, points)
        error /= max(1, points)
    elif aggregation == 2:
        total, error = np.float64(points), 0.0
    low[home], high[home] = total - error, total + error


@njit(cache=True, nogil=True)
def score_all(head, following, scores):
    """`score` for every class as its own group."""
    for c in range(head.size):
        score(c, head, following, scores)


@njit(cache=True, nogil=True)
def advance(step, stop, tie, groups, scores, merges, order, start, n_since, sure_of_tail, digest):
    """Decide merges from lists while they decide and the groups are small.

    order, start : the rows of class c are order[start[c]:start[c + 1]].
    digest : (label, listed, weight, mass, tail, since).

    Returns (the first step that is not decided or `stop`, G* or -1, HOST or SCORES).
    """
    slot, head, _, following, n_members, _ = groups
    n_classes = slot.size
    inside = np.zeros(n_classes + 1, dtype=np.uint8)
    inside[n_classes] = 2
    by_class = np.zeros((2, n_classes))
    candidates = np.empty(n_classes, dtype=np.int64)
    unwanted = np.empty(0, dtype=np.float32)
    while step < stop:
        g = lowest(scores[3], scores[4], tie)
        if g < 0:
            return step, -1, SCORES
        if n_members[g] >= LARGE:
            return step, g, HOST
        by_class[:] = 0.0
        n_unknown = 0
        c = head[g]
        while c >= 0:
            inside[c] = 1
            c = following[c]
        c = head[g]
        while c >= 0:
            n_unknown += walk(
                order[start[c] : start[c + 1]],
                inside,
                n_members[g],
                n_since,
                sure_of_tail,
                *digest,
                by_class[0],
                by_class[1],
                unwanted,
            )
            c = following[c]
        c = head[g]
        while c >= 0:
            inside[c] = 0
            c = following[c]
        other, _ = host(g, by_class[0], by_class[1], slot, n_members, n_unknown, tie, candidates)
        if other < 0:
            return step, g, HOST
        join(step, g, other, groups, scores, merges)
        step += 1
    return step, -1, 0


@njit(cache=True, nogil=True)
def by_class(label, start, order):
    """Fill `order` with the rows of each class, ascending: class c's begin at start[c]."""
    at = start.copy()
    for row in range(label.size):
        c = label[row]
        order[at[c]] = row
        at[c] += 1


@njit(cache=True, nogil=True)
def widest(width, left, chosen):
    """Choose the widest intervals, such that all others together are no wider than `left`.

    Widths that share their power of two are chosen together. chosen : (n,) output.
    """
    sums = np.zeros(64)
    for w in width:
        sums[_power(w)] += w
    least = 0
    total = sums[0]
    while least < 63 and total <= left:
        least += 1
        total += sums[least]
    n = 0
    for i in range(width.size):
        chosen[i] = width[i] > 1.0 or _power(width[i]) >= least
        n += chosen[i]
    return n


@njit(cache=True, nogil=True)
def _power(w):
    """The power of two at or below w in [0, 2], from 0 for what is below 2^-62."""
    return max(0, min(63, math.frexp(w)[1] + 61)) if w > 0.0 else 0

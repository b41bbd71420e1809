"""The loops that decide merges of L2H from lists, compiled by numba.

`merging.loops.rows` describes the lists.
"""

from __future__ import annotations

import math

import numpy as np

from models.methods.logits.merging.loops.bounds import LEAST, TAIL_ERROR, WEIGHT_ERROR
from models.running.loops import njit

_U = np.uintp
"""Indices known not to be negative: otherwise numba allows for negative ones, at a cost."""


@njit(cache=True, nogil=True)
def walk(
    rows,
    inside,
    n_group,
    sure_of_tail,
    listed,
    weight,
    mass,
    tail,
    label,
    since,
    n_since,
    low,
    high,
    width,
    touched,
):
    """Bound the contributions of a group's rows to the groups outside, from their lists.

    rows : (n,) the group's rows.
    inside : (K + 1,) uint8, 1 for the group's classes, 0 for others, 2 at K.
    n_group : number of the group's classes.
    sure_of_tail : 1, or 0 if tails are only upper bounds.
    label, since : empty if no row was ever listed again; mass then is weight.
    n_since : (states, K) number of classes in the group of each class in each state.
    low, high : (K,) by best class outside, added to.
    width : (n,) output: width of each row's interval; 2 for an unknown row, which is not added.
        Empty if not needed.
    touched : (K + 1,) the classes of which `high` is not 0, in touched[:touched[K]]; added to.
        Empty if not needed. Returns the number of unknown rows.
    O(n M).
    """
    first = since.size == 0
    if first and n_group == 1 and sure_of_tail == 1.0:
        return _walk_class(rows, inside.size - 2, listed, weight, tail, low, high, width, touched)
    n_outside_all = inside.size - 1 - n_group
    n_listed = _U(listed.shape[1])
    n_unknown = 0
    for i in range(_U(rows.size)):
        row = _U(rows[i])
        state = _U(0) if first else _U(since[row])
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
                n_inside += 1 if first else n_since[state, j]
            else:
                n_outside += 1 if first else n_since[state, j]
                if best < 0:
                    best = np.int64(j)
                    best_weight = last
                outside += np.float64(mass[row, at])
        if best < 0 or best_weight < LEAST:
            if width.size:
                width[i] = 2.0
            n_unknown += 1
            continue
        # A class of the group that is not listed weighs at most as much as the last listed one.
        unlisted = n_group - n_inside - (1 if first else n_since[state, _U(label[row])])
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
        if touched.size and high[best] == 0.0:
            _touch(best, touched)
        low[best] += lower
        high[best] += upper
        if width.size:
            width[i] = upper - lower
    return n_unknown


@njit(cache=True, nogil=True)
def _walk_class(rows, n_outside, listed, weight, tail, low, high, width, touched):
    """`walk` for a group of one class, whose rows list other classes only; the same bits.

    n_outside : number of the other classes.
    """
    n_listed = _U(listed.shape[1])
    has_tail = np.float64(n_listed < _U(n_outside))
    n_unknown = 0
    for i in range(_U(rows.size)):
        row = _U(rows[i])
        best_weight = np.float64(weight[row, 0])
        if best_weight < LEAST:
            if width.size:
                width[i] = 2.0
            n_unknown += 1
            continue
        outside = 0.0
        for at in range(n_listed):
            outside += np.float64(weight[row, at])
        rest = np.float64(tail[row]) * has_tail
        most, least = rest * (1.0 + TAIL_ERROR), rest * (1.0 - TAIL_ERROR)
        upper = best_weight / (outside * (1.0 - WEIGHT_ERROR) + least) * (1.0 + WEIGHT_ERROR)
        lower = best_weight / (outside * (1.0 + WEIGHT_ERROR) + most) * (1.0 - WEIGHT_ERROR)
        best = _U(listed[row, 0])
        if touched.size and high[best] == 0.0:
            _touch(np.int64(best), touched)
        low[best] += lower
        high[best] += upper
        if width.size:
            width[i] = upper - lower
    return n_unknown


@njit(cache=True, nogil=True)
def _touch(c, touched):
    n = touched[-1]
    touched[n] = c
    touched[-1] = n + 1


@njit(cache=True, nogil=True)
def lowest(low, high, tie):
    """The first of the lowest scores if bounds on them decide, else -1.

    Scores within a relative `tie` of the lowest count as equal to it.
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
    """The group with the highest mean rp, -1 if bounds do not decide, and how far they are from it.

    group : G*, which is not a candidate.
    low, high : (K,) bounds on rp by class, added up by group here.
    n_unknown : number of rows that may each add up to 1 to any candidate.

    candidates : (K,) work space. Returns (group, room): `room` is the total width of intervals at
        which the two best could be distinguished, judged by the midpoints of their intervals.
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


@njit(cache=True, nogil=True)
def _host_of_few(group, low, high, slot, n_members, n_unknown, tie, touched):
    """The group of `host` among groups of the classes `touched`; -2 if others may be as good."""
    for i in range(touched[-1]):
        c = touched[i]
        g = slot[c]
        if g != c:
            if high[g] == 0.0:
                _touch(g, touched)
            low[g] += low[c]
            high[g] += high[c]
            low[c] = high[c] = 0.0
    floor = 0.0
    for i in range(touched[-1]):
        g = touched[i]
        if high[g] > 0.0:
            floor = max(floor, low[g] / n_members[g])
    floor *= 1.0 - tie
    if n_unknown >= floor:
        return -2
    near = -1
    for i in range(touched[-1]):
        g = touched[i]
        if high[g] > 0.0 and (high[g] + n_unknown) / n_members[g] >= floor:
            if near >= 0:
                return -1
            near = g
    return near


_BLOCK = 64
"""Slots of which `_lowest_of_blocks` looks at the lowest scores only."""


@njit(cache=True, nogil=True)
def _update_block(g, low, high, least_low, least_high):
    """Keep the least of each block up to date, after slot g changed."""
    block = g // _BLOCK
    first = block * _BLOCK
    a = b = np.inf
    for i in range(first, min(first + _BLOCK, low.size)):
        a = min(a, low[i])
        b = min(b, high[i])
    least_low[block], least_high[block] = a, b


@njit(cache=True, nogil=True)
def _lowest_of_blocks(low, high, least_low, least_high, tie):
    """`lowest`, from the least of each block."""
    bound, floor = least_high.min(), least_low.min()
    first = -1
    most = 0.0
    n = 0
    for block in range(least_low.size):
        if least_low[block] > bound * (1.0 + tie):
            continue
        start = block * _BLOCK
        for g in range(start, min(start + _BLOCK, low.size)):
            if low[g] <= bound * (1.0 + tie):
                n += 1
                most = max(most, high[g])
                if first < 0:
                    first = g
    return first if n == 1 or most <= floor * (1.0 + tie) else -1


LARGE = 8
"""Groups of at least this many classes are left to the caller by `advance`."""

HOST, SCORES = 1, 2
"""Why `advance` stopped: the host, or the lowest score, is not decided by the bounds."""


@njit(cache=True, nogil=True)
def members(slot, head, following, found):
    """Write the classes of a group, unordered, into `found`; returns their number."""
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

    groups : (slot, head, last, following, n_members, node) of `merging.merging._Groups`.
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
    """The bounds of `score` for every class as its own group."""
    for c in range(head.size):
        score(c, head, following, scores)


@njit(cache=True, nogil=True)
def advance(step, stop, tie, groups, scores, merges, order, start, sure_of_tail, lists):
    """Decide merges from lists as long as these suffice and the groups are small.

    order, start : the rows of class c are order[start[c]:start[c + 1]].
    lists : (listed, weight, mass, tail, label, since, n_since), see `walk`.

    Returns (the first step that is not decided or `stop`, G* or -1, HOST or SCORES).
    """
    slot, head, _, following, n_members, _ = groups
    n_classes = slot.size
    inside = np.zeros(n_classes + 1, dtype=np.uint8)
    inside[n_classes] = 2
    by_class = np.zeros((2, n_classes))
    candidates = np.empty(n_classes, dtype=np.int64)
    touched = np.zeros(n_classes + 1, dtype=np.int64)
    unwanted = np.empty(0, dtype=np.float32)
    n_blocks = -(-n_classes // _BLOCK)
    least_low, least_high = np.empty(n_blocks), np.empty(n_blocks)
    for block in range(n_blocks):
        _update_block(block * _BLOCK, scores[3], scores[4], least_low, least_high)
    while step < stop:
        g = _lowest_of_blocks(scores[3], scores[4], least_low, least_high, tie)
        if g < 0:
            return step, -1, SCORES
        if n_members[g] >= LARGE:
            return step, g, HOST
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
                sure_of_tail,
                *lists,
                by_class[0],
                by_class[1],
                unwanted,
                touched,
            )
            c = following[c]
        c = head[g]
        while c >= 0:
            inside[c] = 0
            c = following[c]
        bounds = by_class[0], by_class[1]
        other = _host_of_few(g, *bounds, slot, n_members, n_unknown, tie, touched)
        if other == -2:
            other, _ = host(g, *bounds, slot, n_members, n_unknown, tie, candidates)
        for i in range(touched[n_classes]):
            by_class[:, touched[i]] = 0.0
        touched[n_classes] = 0
        if other < 0:
            return step, g, HOST
        join(step, g, other, groups, scores, merges)
        for changed in (g, other):
            _update_block(changed, scores[3], scores[4], least_low, least_high)
        step += 1
    return step, -1, 0


@njit(cache=True, nogil=True)
def by_class(label, start, order):
    """Fill `order` with the rows of each class, ascending; class c begins at start[c]."""
    at = start.copy()
    for row in range(label.size):
        c = label[row]
        order[at[c]] = row
        at[c] += 1


@njit(cache=True, nogil=True)
def arranged(label, start, listed, weight, tail, to_listed, to_weight, to_tail):
    """Fill the last three arrays with the rows of the three before, in the order of `by_class`.

    Read in storage order, written to as many places as there are classes.
    """
    at = start.copy()
    for row in range(_U(label.size)):
        c = _U(label[row])
        i = _U(at[c])
        at[c] += 1
        for m in range(_U(listed.shape[1])):
            to_listed[i, m] = listed[row, m]
        for m in range(_U(listed.shape[1])):
            to_weight[i, m] = weight[row, m]
        to_tail[i] = tail[row]


@njit(cache=True, nogil=True)
def widest(width, left, chosen):
    """Choose the widest intervals, so that the total width of the others is at most `left`.

    Widths with the same power of two are chosen together. chosen : (n,) output.
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
    """The power of two at or below w in [0, 2], counted from 0 for values below 2^-62."""
    return max(0, min(63, math.frexp(w)[1] + 61)) if w > 0.0 else 0

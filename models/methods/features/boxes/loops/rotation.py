"""PERCH's rotations, and the collapse of nodes that these prepare, compiled by numba.

A node v with the sibling s and the aunt a (its parent's sibling) is *masked* if all of its points
are nearer to all of a than to any of s. Rotations start at the sibling of the new leaf. As long as
a node is masked, s and a are exchanged, and the loop continues at the new parent of v and a; it
ends at the first inner node that is not masked. With balance, s and a are then exchanged from the
same leaf up to the root wherever that makes the two sides of the grandparent more equal in size and
v has a point that is nearer to one of a than to one of s, so that no pure subtree is split.

Bounds of boxes decide where they can. Otherwise the subtrees are searched until a pair of points
decides, so a rotation never depends on how loose a box is.

A heap has the nodes that can collapse; `collapse` takes one of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.methods.features.boxes.loops.layout import (
    BOUNDED,
    FOLLOW,
    FREE,
    HEAD,
    HEAP,
    HOME,
    LAST,
    LEFT,
    N_BALANCED,
    N_BOXES,
    N_FREE,
    N_HEAP,
    N_LEAVES,
    N_MASKED,
    N_OPEN,
    N_PAIRS,
    NONE,
    OWNER,
    PARENT,
    PLACE,
    RIGHT,
    SIZE,
    SOME,
    WAIT,
    apart,
    box_of,
    extreme,
    first,
    is_end,
    n_boxes,
    sibling,
    some,
)
from models.methods.features.boxes.loops.search import closest, farthest, gap, points_under, span
from models.running.loops import njit


@njit(cache=True)
def _before(t, v, w):
    """Whether v's box is smaller than w's; ties are broken by the lower number."""
    one, two = span(t, v, v), span(t, w, w)
    return one < two or (one == two and v < w)


@njit(cache=True)
def _up(t, at):
    v = t.lists[HEAP, at]
    while at > 0:
        above = (at - 1) >> 1
        if not _before(t, v, t.lists[HEAP, above]):
            break
        t.lists[HEAP, at] = t.lists[HEAP, above]
        t.link[t.lists[HEAP, at], PLACE] = at
        at = above
    t.lists[HEAP, at] = v
    t.link[v, PLACE] = at


@njit(cache=True)
def _down(t, at):
    n = t.counts[N_HEAP]
    v = t.lists[HEAP, at]
    while True:
        below = 2 * at + 1
        if below >= n:
            break
        if below + 1 < n and _before(t, t.lists[HEAP, below + 1], t.lists[HEAP, below]):
            below += 1
        if not _before(t, t.lists[HEAP, below], v):
            break
        t.lists[HEAP, at] = t.lists[HEAP, below]
        t.link[t.lists[HEAP, at], PLACE] = at
        at = below
    t.lists[HEAP, at] = v
    t.link[v, PLACE] = at


@njit(cache=True)
def review(t, v):
    """Put v into the heap if its children are leaves, else remove it."""
    if not t.counts[BOUNDED]:
        return
    there = t.link[v, LEFT] >= 0 and is_end(t, t.link[v, LEFT]) and is_end(t, t.link[v, RIGHT])
    at = t.link[v, PLACE]
    if at >= 0:
        # Its box may have changed, so it is removed and inserted again.
        t.link[v, PLACE] = NONE
        t.counts[N_HEAP] -= 1
        n = t.counts[N_HEAP]
        if at < n:
            moved = t.lists[HEAP, n]
            t.lists[HEAP, at] = moved
            t.link[moved, PLACE] = at
            _up(t, at)
            _down(t, t.link[moved, PLACE])
    if there:
        n = t.counts[N_HEAP]
        t.counts[N_HEAP] += 1
        t.lists[HEAP, n] = v
        _up(t, n)


@njit(cache=True)
def review_all(t):
    """Build the heap."""
    for v in range(t.counts[N_BOXES]):
        review(t, v)


@njit(cache=True)
def collapse(t):
    """Make a leaf of the node with the smallest box among those whose children are leaves."""
    v = t.lists[HEAP, 0]
    one, two = t.link[v, LEFT], t.link[v, RIGHT]
    if t.above[one, SIZE] < t.above[two, SIZE]:
        one, two = two, one
    # The longer chain keeps its owner, so a point's owner changes at most log2(n_points) times.
    kept = t.chain[first(t, one), OWNER]
    i = first(t, two)
    t.chain[t.above[one, LAST], FOLLOW] = i
    t.link[v, HEAD] = first(t, one)
    while i >= 0:
        t.chain[i, OWNER] = kept
        i = t.chain[i, FOLLOW]
    t.chain[kept, HOME] = v
    t.above[v, LAST] = t.above[two, LAST]
    t.link[v, LEFT] = t.link[v, RIGHT] = NONE
    for child in (one, two):
        if child < n_boxes(t):
            t.lists[FREE, t.counts[N_FREE]] = child
            t.counts[N_FREE] += 1
    t.counts[N_LEAVES] -= 1
    review(t, v)
    if t.above[v, PARENT] >= 0:
        review(t, t.above[v, PARENT])


class Rule(NamedTuple):
    """The rules by which a tree grows.

    most_leaves : the limit above which leaves are collapsed.
    bounds, most_pairs : each search for masking uses at most `bounds` bounds, then all pairs of
        points, up to `most_pairs` pairs in total; beyond that, masking is left undecided.
    tries, looks : see `drawn`; tries = 0 for no rotations for balance.
    again : after a failure, balance is tried again at a node once its points have grown by this
        factor.
    """

    most_leaves: int
    bounds: int
    most_pairs: int
    tries: int
    looks: int
    again: float


@njit(cache=True)
def _all_pairs(t, v, w, enough, near, most_pairs):
    """As `extreme` for the points under two nodes; NaN if the total would exceed `most_pairs`."""
    pairs = t.above[v, SIZE] * t.above[w, SIZE]
    if t.counts[N_PAIRS] + pairs > most_pairs:
        return np.nan
    t.counts[N_PAIRS] += pairs
    one = t.room[2][: points_under(t, v, t.room[2])]
    two = t.room[3][: points_under(t, w, t.room[3])]
    return extreme(t.points, one, two, enough, near)


@njit(cache=True)
def masked(t, v, known, rule):
    """Whether all of v is nearer to all of its aunt than to any of its sibling; v has an aunt.

    known : the smallest squared distance between v and its sibling; negative if unknown.
    """
    s, a = sibling(t, v), sibling(t, t.above[v, PARENT])
    x = t.points[some(t, v)]
    # Any pair of points can refute masking.
    near = known if known >= 0.0 else apart(x, t.points[some(t, s)], np.inf)
    if apart(x, t.points[some(t, a)], np.inf) >= near:
        return False
    if gap(t, v, s) > span(t, v, a):
        return True
    far, sure = farthest(t, v, a, near, rule.bounds)
    if not sure and far < near:
        far = _all_pairs(t, v, a, near, False, rule.most_pairs)
    if far >= near:
        return False
    if known < 0.0:
        over = np.nextafter(far, np.inf)
        near, sure = closest(t, v, s, over, rule.bounds)
        if not sure and near >= over:
            near = _all_pairs(t, v, s, over, True, rule.most_pairs)
    if np.isnan(far) or np.isnan(near):
        t.counts[N_OPEN] += 1
        return False
    return near > far


@njit(cache=True)
def _drawn(t, v, s, a, looks):
    """Whether a point of v, which has no children, is nearer to one of a than to one of s, as far
    as the limited searches show."""
    near = closest(t, v, a, np.inf, 0)[0]
    far = farthest(t, v, s, near, looks)[0]
    return far > near or closest(t, v, a, far, looks)[0] < far


@njit(cache=True)
def drawn(t, v, rule):
    """Whether a point of v is nearer to one of its aunt than to one of its sibling.

    True is exact. The answer is False after `rule.tries` nodes of v, with at most `rule.looks`
    pairs of nodes in each search for each point among them.
    """
    s, a = sibling(t, v), sibling(t, t.above[v, PARENT])
    x = t.points[some(t, v)]
    near = apart(x, t.points[some(t, a)], np.inf)
    if apart(x, t.points[some(t, s)], np.inf) > near:
        return True
    tries = rule.tries
    t.room[2, 0] = v
    n = 1
    while n > 0 and tries > 0:
        n -= 1
        tries -= 1
        u = t.room[2, n]
        if span(t, u, s) <= gap(t, u, a):
            continue
        if u >= n_boxes(t):
            if _drawn(t, u, s, a, rule.looks):
                return True
        elif t.link[u, LEFT] < 0:
            i = t.link[u, HEAD]
            while i >= 0 and tries > 0:
                tries -= 1
                if _drawn(t, n_boxes(t) + i, s, a, rule.looks):
                    return True
                i = t.chain[i, FOLLOW]
        else:
            t.room[2, n] = t.link[u, LEFT]
            t.room[2, n + 1] = t.link[u, RIGHT]
            n += 2
    return False


@njit(cache=True)
def wrap(t, v):
    """Compute the box of v from its two children's boxes."""
    low, high = box_of(t, t.link[v, LEFT])
    other_low, other_high = box_of(t, t.link[v, RIGHT])
    for d in range(low.size):
        t.box[v, 0, d] = min(low[d], other_low[d])
        t.box[v, 1, d] = max(high[d], other_high[d])


@njit(cache=True)
def wrap_all(t, order):
    """Compute the boxes of nodes in `order`, children first; collapsed ones from their points."""
    for v in order:
        if t.link[v, LEFT] >= 0:
            wrap(t, v)
            continue
        i = t.link[v, HEAD]
        low, high = t.box[v, 0], t.box[v, 1]
        low[:] = t.points[i]
        high[:] = t.points[i]
        while i >= 0:
            for d in range(low.size):
                low[d] = min(low[d], t.points[i, d])
                high[d] = max(high[d], t.points[i, d])
            i = t.chain[i, FOLLOW]


@njit(cache=True)
def rotate(t, v):
    """Exchange v's sibling and aunt; v's parent keeps its number."""
    above = t.above[v, PARENT]
    top = t.above[above, PARENT]
    s, a = sibling(t, v), sibling(t, above)
    t.link[above, LEFT], t.link[above, RIGHT] = v, a
    t.link[top, LEFT], t.link[top, RIGHT] = above, s
    t.above[a, PARENT], t.above[s, PARENT] = above, top
    t.above[above, SIZE] = t.above[v, SIZE] + t.above[a, SIZE]
    t.link[above, SOME] = some(t, v)
    t.link[above, WAIT] = t.link[top, WAIT] = 0
    wrap(t, above)
    review(t, above)


@njit(cache=True)
def settle(t, y, new, away, rule):
    """Rotate from the leaf y up while masked; `away` is its squared distance to the new leaf."""
    v = y
    while True:
        above = t.above[v, PARENT]
        if above < 0 or t.above[above, PARENT] < 0:
            return
        # While the new leaf is the sibling, y is its nearest leaf of all.
        if masked(t, v, away if sibling(t, v) == new else -1.0, rule):
            rotate(t, v)
            t.counts[N_MASKED] += 1
        elif not is_end(t, v):
            return
        v = t.above[v, PARENT]


@njit(cache=True)
def level(t, y, rule):
    """Rotate for balance from the leaf y up to the root."""
    v = y
    while True:
        above = t.above[v, PARENT]
        if above < 0 or t.above[above, PARENT] < 0:
            return
        top = t.above[above, PARENT]
        if t.above[top, SIZE] >= t.link[above, WAIT]:
            s = sibling(t, v)
            aunt = t.above[sibling(t, above), SIZE]
            before = abs(t.above[above, SIZE] - aunt)
            # The smaller of the two is tried first.
            one, two = (s, v) if t.above[s, SIZE] < t.above[v, SIZE] else (v, s)
            for w, other in ((one, two), (two, one)):
                if abs(t.above[other, SIZE] - aunt - t.above[w, SIZE]) < before:
                    if drawn(t, w, rule):
                        rotate(t, w)
                        t.counts[N_BALANCED] += 1
                        break
                    t.link[above, WAIT] = np.int64(t.above[top, SIZE] * rule.again)
        v = above

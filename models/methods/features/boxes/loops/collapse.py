"""The heap of collapsible nodes, and the collapse of one; compiled by numba."""

from __future__ import annotations

from numba import njit

from models.methods.features.boxes.loops.layout import (
    BOUNDED,
    FOLLOW,
    FREE,
    HEAD,
    HEAP,
    HOME,
    LAST,
    LEFT,
    N_BOXES,
    N_FREE,
    N_HEAP,
    N_LEAVES,
    NONE,
    OWNER,
    PARENT,
    PLACE,
    RIGHT,
    SIZE,
    first,
    is_end,
    n_boxes,
)
from models.methods.features.boxes.loops.search import span


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

"""PERCH's loop over points, each inserted beside its nearest leaf; compiled by numba."""

from __future__ import annotations

import numpy as np

from models.methods.features.boxes.loops.layout import (
    FOLLOW,
    FREE,
    HOME,
    LAST,
    LEFT,
    N_BOXES,
    N_FREE,
    N_LEAVES,
    NONE,
    OWNER,
    PARENT,
    RIGHT,
    ROOT,
    SIZE,
    SOME,
    WAIT,
    n_boxes,
    some,
)
from models.methods.features.boxes.loops.rotation import collapse, level, review, settle, wrap
from models.methods.features.boxes.loops.search import nearest, row_scan
from models.running.loops import njit


@njit(cache=True)
def _same(t, i, j):
    return (t.points[i] == t.points[j]).all()


@njit(cache=True)
def _split(t, y, new):
    """Insert a boxed node as the parent of the leaf y and the new leaf."""
    if t.counts[N_FREE] > 0:
        t.counts[N_FREE] -= 1
        v = t.lists[FREE, t.counts[N_FREE]]
    else:
        v = t.counts[N_BOXES]
        t.counts[N_BOXES] += 1
    above = t.above[y, PARENT]
    t.above[v, PARENT] = above
    if above < 0:
        t.counts[ROOT] = v
    elif t.link[above, LEFT] == y:
        t.link[above, LEFT] = v
    else:
        t.link[above, RIGHT] = v
    t.link[v, LEFT], t.link[v, RIGHT] = y, new
    t.link[v, WAIT] = 0
    t.above[y, PARENT] = t.above[new, PARENT] = v
    t.above[v, SIZE] = t.above[y, SIZE]
    t.link[v, SOME] = some(t, y)
    wrap(t, v)
    if above >= 0:
        review(t, above)
    review(t, v)


@njit(cache=True)
def _insert(t, i, j, away, rule):
    """Insert point i into the tree; j is its nearest point, at the squared distance `away`."""
    new = n_boxes(t) + i
    t.above[new, PARENT] = NONE
    t.above[new, SIZE] = 1
    t.above[new, LAST] = i
    t.chain[i, FOLLOW] = NONE
    t.chain[i, OWNER], t.chain[i, HOME] = i, new
    if t.counts[ROOT] < 0:
        t.counts[ROOT] = new
        t.counts[N_LEAVES] = 1
        return
    y = t.chain[t.chain[j, OWNER], HOME]
    if away == 0.0 and _same(t, i, j):
        t.chain[t.above[y, LAST], FOLLOW] = i
        t.above[y, LAST] = i
        t.chain[i, OWNER] = t.chain[j, OWNER]
        v = y
        while v >= 0:
            t.above[v, SIZE] += 1
            v = t.above[v, PARENT]
        return
    _split(t, y, new)
    _stretch(t, i, t.above[new, PARENT])
    t.counts[N_LEAVES] += 1
    settle(t, y, new, away, rule)
    if rule.tries > 0:
        level(t, y, rule)
    if t.counts[N_LEAVES] > rule.most_leaves:
        collapse(t)


@njit(cache=True)
def _stretch(t, i, v):
    """Add point i to the sizes and boxes from v up."""
    inside = False
    box = v
    while v >= 0:
        t.above[v, SIZE] += 1
        if not inside:
            # The box of the first node already contains the point.
            inside = v != box
            for d in range(t.points.shape[1]):
                x = t.points[i, d]
                if x < t.box[v, 0, d]:
                    t.box[v, 0, d] = x
                    inside = False
                if x > t.box[v, 1, d]:
                    t.box[v, 1, d] = x
                    inside = False
        v = t.above[v, PARENT]


@njit(cache=True, nogil=True)
def advance(t, start, stop, seen, near, away, looks, rule):
    """Insert points number `start` to `stop` - 1; returns how many tree searches gave up.

    near, away : (stop - start,) for each point its nearest of the first `seen` points, and the
        squared distance. If `seen` is 0, the tree is searched; each search opens at most `looks`
        nodes before it falls back to a scan of all points.
    """
    given_up = 0
    for i in range(start, stop):
        j, far = near[i - start], away[i - start]
        begin = seen
        if seen == 0 and i > 0:
            j, far = nearest(t, t.points[i], t.counts[ROOT], looks)
            begin = i
            if j < 0:
                given_up += 1
                begin, far = 0, np.inf
        j, far = row_scan(t.points, i, begin, j, far)
        _insert(t, i, j, far, rule)
    return given_up

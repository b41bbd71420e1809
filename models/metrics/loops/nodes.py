"""The loops up the tree that a report on every node needs, compiled by numba; serial.

They are compiled like the loops of `trees`.

The heavy child of a node is the one with most items, and a heavy path goes up from a leaf as long
as each node is the heavy child of its parent. Along a path, the statistics of the items under a
node are extended by the items of the other children, so each item is added once for each path above
it: O(log) times, whatever the depth. Items are ordered from left to right in the tree: those under
node v have numbers `start[v]` to `end[v]` - 1.

`nearest` finds the points nearest to the mean of each node, going up heavy paths, too. A mean moves
little from one node to the next, so few points must be measured again: for every point under a node
the distance to some earlier mean, the centre, is known, or known to be at least `radius`. The
points closer than that form the pool. The nearest points of the pool are the nearest of all if they
are closer to the new mean than `radius` minus the distance of that mean from the centre; else all
points are measured again and the new mean becomes the centre.
"""

from __future__ import annotations

import numpy as np
from numba import types

from models.running.loops import njit

_SUMS = {"reassoc", "contract", "nsz", "nnan"}
"""Sums in any order, so that they become vectors; values are finite."""
_SLACK = 1e-9
"""Distances count as equal up to this relative difference."""


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _squared(row, mean):
    total = 0.0
    for j in range(mean.size):
        off = row[j] - mean[j]
        total += off * off
    return total


@njit(cache=True, inline="always")
def _offer(point, squared, points, distances, n_best):
    """Insert a point among the best by distance, then number; returns their number."""
    at = n_best
    if n_best == points.size:
        last = n_best - 1
        if squared > distances[last] or (squared == distances[last] and point > points[last]):
            return n_best
        at = last
    else:
        n_best += 1
    while at > 0 and (
        squared < distances[at - 1] or (squared == distances[at - 1] and point < points[at - 1])
    ):
        points[at], distances[at] = points[at - 1], distances[at - 1]
        at -= 1
    points[at], distances[at] = point, squared
    return n_best


@njit(cache=True, nogil=True)
def nearest(parent, heavy, start, end, order, features, few, most_visits, chosen):
    """Fill `chosen` with the points nearest to each node's mean, nearest first, -1 past the last.

    heavy, start, end : (n_nodes,) as in `nodes`; items are points.
    order : (n_points,) the points from left to right. features : (n_points, d).
    few : size of the pool, larger than the number of points chosen for a node.
    most_visits : all points of a node are measured again only up to this total number of visits; if
        a node is twice as large as its child they always are.
    chosen : (n_nodes, n), filled.

    Returns the number of nodes with the nearest of the pool only, because the visits were used up.
    Distances that differ by a billionth count as equal.
    """
    n_features = features.shape[1]
    total = np.empty(n_features, dtype=np.float64)
    mean = np.empty(n_features, dtype=np.float64)
    centre = np.empty(n_features, dtype=np.float64)
    pool = np.empty(4 * few, dtype=np.int64)
    off = np.empty(4 * few, dtype=np.float64)
    n_chosen = chosen.shape[1]
    best = np.empty(n_chosen, dtype=np.int64)
    best_squared = np.empty(n_chosen, dtype=np.float64)
    visits, n_unsure = 0, 0
    for leaf in range(parent.size):
        if heavy[leaf] >= 0:
            continue
        node = leaf
        left = right = start[node]
        total[:] = 0.0
        n_pool, radius, known = 0, np.inf, False
        while True:
            n_before = right - left
            size = end[node] - start[node]
            n_best = 0
            if size == 1:
                best[0] = order[start[node]]
                n_best = 1
            for side in range(2):
                first = start[node] if side == 0 else right
                last = left if side == 0 else end[node]
                for item in range(first, last):
                    row = features[order[item]]
                    for j in range(n_features):
                        total[j] += row[j]
            if size > 1:
                for j in range(n_features):
                    mean[j] = total[j] / size
            if 1 < size <= few:
                for item in range(start[node], end[node]):
                    squared = _squared(features[order[item]], mean)
                    n_best = _offer(order[item], squared, best, best_squared, n_best)
            elif size > few:
                sure = False
                if known and size <= 2 * n_before:
                    for side in range(2):
                        first = start[node] if side == 0 else right
                        last = left if side == 0 else end[node]
                        for item in range(first, last):
                            apart = np.sqrt(_squared(features[order[item]], centre))
                            if apart >= radius:
                                continue
                            if n_pool == pool.size:
                                by_off = np.argsort(off)
                                radius = off[by_off[few]]
                                pool[:few] = pool[by_off[:few]]
                                off[:few] = off[by_off[:few]]
                                n_pool = few
                            if apart < radius:
                                pool[n_pool], off[n_pool] = order[item], apart
                                n_pool += 1
                    for at in range(n_pool):
                        squared = _squared(features[pool[at]], mean)
                        n_best = _offer(pool[at], squared, best, best_squared, n_best)
                    gone = np.sqrt(_squared(mean, centre))
                    farthest = np.sqrt(best_squared[n_best - 1])
                    sure = farthest <= radius - gone + _SLACK * radius
                    if not sure and visits + size > most_visits:
                        n_unsure += 1
                        sure = True
                if not sure:
                    if known and size <= 2 * n_before:
                        visits += size
                    known, n_pool, n_best, radius, worst = True, 0, 0, np.inf, -1
                    centre[:] = mean
                    for item in range(start[node], end[node]):
                        squared = _squared(features[order[item]], mean)
                        if n_pool < few:
                            pool[n_pool], off[n_pool] = order[item], squared
                            if worst < 0 or squared > off[worst]:
                                worst = n_pool
                            n_pool += 1
                            continue
                        radius = min(radius, max(squared, off[worst]))
                        if squared < off[worst]:
                            pool[worst], off[worst] = order[item], squared
                            for at in range(few):
                                if off[at] > off[worst]:
                                    worst = at
                    for at in range(few):
                        n_best = _offer(pool[at], off[at], best, best_squared, n_best)
                        off[at] = np.sqrt(off[at])
                    radius = np.sqrt(radius)
            for number in range(n_chosen):
                chosen[node, number] = best[number] if number < n_best else -1
            left, right = start[node], end[node]
            over = parent[node]
            if over < 0 or heavy[over] != node:
                break
            node = over
    return n_unsure


_INTS = types.Array(types.int64, 1, "C", readonly=True)
_INT32S = types.Array(types.int32, 1, "C", readonly=True)
_MADE = types.int64[::1]


@njit([_MADE(_INT32S, _INTS, _INTS)], cache=True, nogil=True)
def heavy_children(parent, start, end):
    """(n_nodes,) the child with most items of each node, -1 for a leaf. O(n_nodes)."""
    heavy = np.full(parent.size, -1, dtype=np.int64)
    for node in range(parent.size - 1, 0, -1):
        over = parent[node]
        best = heavy[over]
        if best < 0 or end[node] - start[node] >= end[best] - start[best]:
            heavy[over] = node
    return heavy


@njit(
    [types.void(_INT32S, _INTS, _INTS, _INTS, _INTS, _INTS, *(_MADE,) * 3, types.float64[::1])],
    cache=True,
    nogil=True,
)
def class_counts(parent, heavy, start, end, class_, count, most, majority, n_classes, entropy):
    """Fill, for the points under each node, the size of the largest class, its number (the first of
    equal ones), the number of classes, and their entropy in nats.

    start, end : (n_nodes,) as above; items are cells: points of one class in one leaf.
    class_, count : (n_items,).
    most, majority, n_classes, entropy : (n_nodes,), filled; 0, -1, 0 and NaN without points.

    O(n_nodes + n_items log n_items); memory O(classes).
    """
    held = np.zeros((class_.max() if class_.size else 0) + 1, dtype=np.int64)
    for leaf in range(parent.size):
        if heavy[leaf] >= 0:
            continue
        node = leaf
        n_points, n_held, largest, which = 0, 0, 0, -1
        # Sum of n log n over the classes.
        disorder = 0.0
        left = right = start[node]
        while True:
            # The statistics cover items left to right - 1.
            for side in range(2):
                first = start[node] if side == 0 else right
                last = left if side == 0 else end[node]
                for item in range(first, last):
                    number, more = class_[item], count[item]
                    before = held[number]
                    after = before + more
                    held[number] = after
                    n_points += more
                    if before == 0:
                        n_held += 1
                    else:
                        disorder -= before * np.log(before)
                    disorder += after * np.log(after)
                    if after > largest or (after == largest and number < which):
                        largest, which = after, number
            left, right = start[node], end[node]
            most[node], majority[node], n_classes[node] = largest, which, n_held
            if n_points == 0:
                entropy[node] = np.nan
            elif n_held == 1:
                entropy[node] = 0.0
            else:
                entropy[node] = max(0.0, np.log(n_points) - disorder / n_points)
            over = parent[node]
            if over < 0 or heavy[over] != node:
                break
            node = over
        for item in range(left, right):
            held[class_[item]] = 0

"""The loops up the tree that a report on every node needs, compiled by numba; serial.

They are compiled like those of `trees`.

The heavy child of a node is the one with most items, and a heavy path goes up from a leaf as long
as each node is the heavy child of its parent. Along a path, the statistics of the items under a
node are extended by the items of the other children, so each item is added once for each path above
it: O(log) times, whatever the depth. Items are ordered from left to right in the tree: those under
node v have numbers `start[v]` to `end[v]` - 1.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

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

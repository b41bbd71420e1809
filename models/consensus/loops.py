"""Compiled loops of consensus trees; serial.

Clusters are put into a growing tree one after the other, if they fit; and the least number of items
that have to move for a split of one tree to be one of another.
"""

from __future__ import annotations

import numpy as np
from numba import types

from models.running.loops import njit

_INTS = types.Array(types.int64, 1, "C", readonly=True)
_MADE = types.int64[::1]


@njit([types.boolean(_INTS, _MADE, _MADE, _MADE, _MADE, types.int64)], cache=True, nogil=True)
def insert(items, parent, size, filled, touched, node):
    """Put the cluster of these items into the tree as `node`; False if it does not fit.

    items : (m,) the items of the cluster, 1 < m < n_items.
    parent, size : (n_nodes,) of the tree, changed in place.
    filled : (n_nodes,) zeros, and zeros again at the end. touched : (n_nodes,) scratch.
    O(m), since every full node has its own item or two full children.
    """
    n_touched = 0
    top = -1
    for item in items:
        at = item
        filled[at] = 1
        touched[n_touched] = at
        n_touched += 1
        # Full nodes fill their parents.
        while filled[at] == size[at] and parent[at] >= 0:
            above = parent[at]
            if filled[above] == 0:
                touched[n_touched] = above
                n_touched += 1
            filled[above] += size[at]
            at = above
    fits = True
    for k in range(n_touched):
        at = touched[k]
        if filled[at] < size[at]:
            if filled[at] != items.size or top >= 0:
                fits = False
                break
            top = at
    if fits and top >= 0:
        size[node] = items.size
        parent[node] = top
        for k in range(n_touched):
            at = touched[k]
            if filled[at] == size[at] and parent[at] == top:
                parent[at] = node
    for k in range(n_touched):
        filled[touched[k]] = 0
    return fits and top >= 0


_INT32S = types.Array(types.int32, 1, "C", readonly=True)


@njit([_MADE(_INTS, _INTS, _INTS, _INT32S, _INT32S, _INTS)], cache=True, nogil=True)
def least_moves(order, start, size, parent, leaf, other_size):
    """(n_splits,) the least, over the nodes B of the other tree, of min(|A ^ B|, n - |A ^ B|).

    A are the items `order[start[i] : start[i] + size[i]]`. Single items are splits of every tree,
    so that it is at most min(|A|, n - |A|) - 1.

    order : (n_items,) items. parent, other_size : (n_nodes,) of the other tree. leaf : (n_items,)
    the other tree's node of each item. O(n_splits n_nodes).
    """
    n_items, n_nodes = leaf.size, parent.size
    least = np.empty(start.size, dtype=np.int64)
    inside = np.empty(n_nodes, dtype=np.int64)
    for split in range(start.size):
        inside[:] = 0
        for place in range(start[split], start[split] + size[split]):
            inside[leaf[order[place]]] += 1
        best = min(size[split], n_items - size[split]) - 1
        for node in range(n_nodes - 1, 0, -1):
            moved = size[split] + other_size[node] - 2 * inside[node]
            best = min(best, moved, n_items - moved)
            inside[parent[node]] += inside[node]
        least[split] = best
    return least

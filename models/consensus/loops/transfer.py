"""The least number of items that have to move for a split of one tree to be one of another;
compiled by numba, serial."""

from __future__ import annotations

import numpy as np
from numba import njit, types

_INTS = types.Array(types.int64, 1, "C", readonly=True)
_INT32S = types.Array(types.int32, 1, "C", readonly=True)
_MADE = types.int64[::1]


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

"""Clusters put into a growing tree one after the other, if they fit; compiled by numba, serial.

Nodes 0 to n_items - 1 are the items, the next is the root, further ones are made. A cluster fits
if it is a union of children of one node. Its items fill nodes from below: a node is full when all
its items are in the cluster; the nodes that are full and whose parent is not are those children.
"""

from __future__ import annotations

from numba import njit, types

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

"""Merges at one height, put into the order in which they have no effect on each other; compiled."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def chain_ties(linkage, out):
    """Fill `out` with the merges of `linkage`, both (n_points - 1, 4) as SciPy's, heights
    ascending: groups that become one at the same height are merged from the largest to the
    smallest, one after the other. O(N log N).
    """
    n_merges = len(linkage)
    n_points = n_merges + 1
    name = np.arange(2 * n_points - 1)
    inner = np.zeros(n_merges, dtype=np.bool_)
    base, stack = np.empty(n_points, dtype=np.int64), np.empty(n_points, dtype=np.int64)
    first = 0
    while first < n_merges:
        last = first + 1
        while last < n_merges and linkage[last, 2] == linkage[first, 2]:
            last += 1
        for row in range(first, last):
            for side in range(2):
                child = np.int64(linkage[row, side]) - n_points
                if child >= first:
                    inner[child] = True
        at = first
        for row in range(first, last):
            if inner[row]:
                continue
            n_base, height = 0, 1
            stack[0] = row
            while height:
                height -= 1
                merge = stack[height]
                for side in range(2):
                    child = np.int64(linkage[merge, side])
                    if child - n_points >= first:
                        stack[height] = child - n_points
                        height += 1
                    else:
                        base[n_base] = child
                        n_base += 1
            size = np.ones(n_base, dtype=np.int64)
            for number in range(n_base):
                if base[number] >= n_points:
                    size[number] = np.int64(linkage[base[number] - n_points, 3])
            order = np.argsort(-size, kind="mergesort")
            current, total = name[base[order[0]]], size[order[0]]
            for number in order[1:]:
                other = name[base[number]]
                total += size[number]
                out[at, 0], out[at, 1] = min(current, other), max(current, other)
                out[at, 2], out[at, 3] = linkage[first, 2], total
                current = n_points + at
                at += 1
            name[n_points + row] = current
        first = last

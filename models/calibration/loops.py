"""The compiled loop of `climbing`: sets of classes that grow, named by so many nodes at most."""

from __future__ import annotations

import numpy as np

from models.running.loops import njit


@njit(cache=True, nogil=True)
def _first(at, n_at, start, place):
    """How many of the nodes, from left to right, begin before a place."""
    low, high = 0, n_at
    while low < high:
        middle = (low + high) // 2
        if start[at[middle]] < place:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _over(one, other, parent, depth):
    """The lowest node over both."""
    while one != other:
        if depth[one] >= depth[other]:
            one = parent[one]
        else:
            other = parent[other]
    return one


@njit(cache=True, nogil=True)
def entered(scores, order, node, place, parent, depth, start, end, most_nodes, entry):
    """Write into `entry` the score at which each class enters its row's set.

    scores, entry : (n, n_classes). order : (n, n_classes) classes by rising score. node : of each
    class. place : (n_classes,) of each class from left to right. parent, depth, start, end :
    (n_nodes,). O(n n_classes (most_nodes log most_nodes + depth)) at worst; a set that has reached
    the root ends.
    """
    n_rows, n_classes = scores.shape
    most_nodes = min(most_nodes, n_classes)
    at = np.empty(most_nodes + 1, dtype=np.int64)
    # over[k] is the lowest node over at[k] and at[k + 1], before[k] how many classes at[:k] have.
    over = np.empty(most_nodes + 1, dtype=np.int64)
    before = np.zeros(most_nodes + 2, dtype=np.int64)
    is_in = np.empty(n_classes, dtype=np.bool_)
    score_at = np.empty(n_classes)
    for row in range(n_rows):
        is_in[:] = False
        n_at, n_in = 0, 0
        for rank in range(n_classes):
            each = order[row, rank]
            if is_in[place[each]]:
                continue
            score = scores[row, each]
            new = node[each]
            merge = True
            while merge:
                # Nodes within the new one give way to it; the others stay, from left to right.
                where = _first(at, n_at, start, start[new])
                after = _first(at, n_at, start, end[new])
                moved = where + 1 - after
                if moved > 0:
                    for k in range(n_at - 1, after - 1, -1):
                        at[k + moved], over[k + moved] = at[k], over[k]
                elif moved < 0:
                    for k in range(after, n_at):
                        at[k + moved], over[k + moved] = at[k], over[k]
                n_at += moved
                at[where] = new
                if where > 0:
                    over[where - 1] = _over(at[where - 1], new, parent, depth)
                if where < n_at - 1:
                    over[where] = _over(new, at[where + 1], parent, depth)
                for own in range(start[new], end[new]):
                    if not is_in[own]:
                        is_in[own] = True
                        score_at[own] = score
                        n_in += 1
                merge = n_at > most_nodes
                if merge:
                    for k in range(n_at):
                        before[k + 1] = before[k] + end[at[k]] - start[at[k]]
                    least, best = n_classes + 1, 0
                    for k in range(n_at - 1):
                        one = over[k]
                        low = _first(at, n_at, start, start[one])
                        high = _first(at, n_at, start, end[one])
                        added = end[one] - start[one] - (before[high] - before[low])
                        if added < least:
                            least, best = added, one
                    new = best
            if n_in == n_classes:
                break
        for each in range(n_classes):
            entry[row, each] = score_at[place[each]]

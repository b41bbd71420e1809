"""The compiled loop of `climbing`: sets of classes that grow, named by so many nodes at most."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def entered(scores, order, node, place, parent, depth, start, end, most_nodes, entry):
    """Write into `entry` the score at which each class enters its row's set.

    scores, entry : (n, n_classes). order : (n, n_classes) classes by rising score. node : of each
    class. place : (n_classes,) of each class from left to right. parent, depth, start, end :
    (n_nodes,). O(n n_classes most_nodes depth) at worst; a set that has reached the root ends.
    """
    n_rows, n_classes = scores.shape
    at = np.empty(most_nodes + 1, dtype=np.int64)
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
                kept, where = 0, -1
                for other in at[:n_at]:
                    if start[other] >= start[new] and end[other] <= end[new]:
                        continue
                    if where < 0 and start[other] >= end[new]:
                        where = kept
                    at[kept] = other
                    kept += 1
                if where < 0:
                    where = kept
                for k in range(kept, where, -1):
                    at[k] = at[k - 1]
                at[where] = new
                n_at = kept + 1
                for own in range(start[new], end[new]):
                    if not is_in[own]:
                        is_in[own] = True
                        score_at[own] = score
                        n_in += 1
                merge = n_at > most_nodes
                if merge:
                    least, best = n_classes + 1, 0
                    for k in range(n_at - 1):
                        one, other = at[k], at[k + 1]
                        while one != other:
                            if depth[one] >= depth[other]:
                                one = parent[one]
                            else:
                                other = parent[other]
                        added = end[one] - start[one]
                        for within in at[:n_at]:
                            if start[within] >= start[one] and end[within] <= end[one]:
                                added -= end[within] - start[within]
                        if added < least:
                            least, best = added, one
                    new = best
            if n_in == n_classes:
                break
        for each in range(n_classes):
            entry[row, each] = score_at[place[each]]

"""The compiled loops of `dual`: the variables of one row at a time.

A row's candidates are nodes c with a loss, a scale m and a direction, which is 1 and -1 at some
nodes: the row's own class wins against c by the product of the direction with the row's scores of
nodes. Of `PATHS` the candidates are the leaves, and the direction is 1 on the path of the row's
leaf alone, -1 on that of c alone. Of `SIBLINGS` they are the siblings of nodes on the row's path,
and the direction is 1 at such a node, -1 at c. Node 0, the root, stands for no candidate at all.
"""

from __future__ import annotations

import numpy as np
from numba import njit

PATHS, SIBLINGS = 0, 1

MOST_STEPS = 100
"""Steps within a row's variables before the next row takes its turn."""


@njit(cache=True, nogil=True)
def _mark(parent, leaf, marked, on):
    """Set whether each node on the path from a leaf to below the root is marked."""
    node = leaf
    while node > 0:
        marked[node] = on
        node = parent[node]


@njit(cache=True, nogil=True)
def _score(data, indices, start, stop, weights, scores):
    """The row's scores of all nodes, in place; weights : (D, n_nodes)."""
    scores[:] = 0.0
    for at in range(start, stop):
        scores += data[at] * weights[indices[at]]


@njit(cache=True, nogil=True)
def _candidates(kind, slack, parent, is_leaf, own, marked, candidate, loss, scale):
    """The row's candidates with their losses and scales, in place; returns their number.

    Between leaves the loss is half the number of edges. Its scale is the loss where slack is
    rescaled, else 1.
    """
    n_nodes = parent.shape[0]
    count = 0
    if kind == PATHS:
        # The loss of a node, kept in `scale` by node until it is read out below.
        depth = 0
        node = own
        while node > 0:
            depth += 1
            node = parent[node]
        scale[0] = 0.5 * depth
        for node in range(1, n_nodes):
            scale[node] = scale[parent[node]] + (-0.5 if marked[node] else 0.5)
        for node in range(1, n_nodes):
            if is_leaf[node] and node != own:
                candidate[count] = node
                loss[count] = scale[node]
                count += 1
        for place in range(count):
            scale[place] = loss[place] if slack else 1.0
    else:
        for node in range(1, n_nodes):
            over = parent[node]
            if not marked[node] and (over == 0 or marked[over]):
                candidate[count] = node
                loss[count] = 1.0
                scale[count] = 1.0
                count += 1
    return count


@njit(cache=True, nogil=True)
def _gradients(kind, parent, own, marked, rival, scores, total, count, candidate, loss, scale,
               gradient):  # fmt: skip
    """The gradient of each candidate's variable, in place.

    total : scratch of (n_nodes,). rival : the marked child of each marked node and of the root.
    """
    if kind == PATHS:
        total[0] = 0.0
        for node in range(1, parent.shape[0]):
            total[node] = total[parent[node]] + scores[node]
        for place in range(count):
            ahead = total[own] - total[candidate[place]]
            gradient[place] = loss[place] - scale[place] * ahead
    else:
        for place in range(count):
            node = candidate[place]
            gradient[place] = loss[place] - (scores[rival[parent[node]]] - scores[node])


@njit(cache=True, nogil=True)
def _add(kind, parent, own, marked, rival, node, factor, direction):
    """Add a candidate's direction times the factor, in place."""
    if node == 0:
        return
    if kind == SIBLINGS:
        direction[rival[parent[node]]] += factor
        direction[node] -= factor
        return
    while node > 0 and not marked[node]:
        direction[node] -= factor
        node = parent[node]
    common = node
    node = own
    while node != common:
        direction[node] += factor
        node = parent[node]


@njit(cache=True, nogil=True)
def _rivals(parent, own, rival):
    node = own
    while node > 0:
        rival[parent[node]] = node
        node = parent[node]


@njit(cache=True, nogil=True)
def _climb(coupled, coupling, direction, image):
    """The direction's image under the inverse of the penalty's matrix, in place; their product."""
    if not coupled:
        image[:] = direction
        return (direction * direction).sum()
    image[:] = 0.0
    for node in range(direction.shape[0]):
        if direction[node] != 0.0:
            image += direction[node] * coupling[node]
    return (direction * image).sum()


@njit(cache=True, nogil=True)
def sweep(kind, slack, parent, is_leaf, leaf, data, indices, indptr, squares, coupled, coupling,
          upper, weights, node_of, value, order, first, tol, violation):  # fmt: skip
    """Improve the variables of the rows `order[first:]`, in place.

    leaf : (N,) of each row's class. squares : (N,) of the rows' lengths. coupling : (n_nodes,
    n_nodes) the inverse of the penalty's matrix, read where `coupled`. weights : (D, n_nodes).
    node_of, value : (N, width) candidates with a variable that is not 0, and it; a free place has
    the value 0. violation : (N,) of each visited row before its turn: how much the gradients of a
    variable that may grow and one that may shrink differ.

    A row's turn ends when they differ by less than `tol`. Returns the place in `order` of a row
    that needs more places than `value` has, or its length.
    """
    n_nodes, width = parent.shape[0], value.shape[1]
    marked = np.zeros(n_nodes, dtype=np.bool_)
    rival = np.zeros(n_nodes, dtype=np.int64)
    candidate = np.zeros(n_nodes, dtype=np.int64)
    loss, scale, gradient = np.zeros(n_nodes), np.zeros(n_nodes), np.zeros(n_nodes)
    scores, total = np.zeros(n_nodes), np.zeros(n_nodes)
    direction, image, moved = np.zeros(n_nodes), np.zeros(n_nodes), np.zeros(n_nodes)
    place_of = np.full(n_nodes, -1, dtype=np.int64)
    for at in range(first, order.shape[0]):
        row = order[at]
        own = leaf[row]
        start, stop = indptr[row], indptr[row + 1]
        _score(data, indices, start, stop, weights, scores)
        _mark(parent, own, marked, True)
        _rivals(parent, own, rival)
        count = _candidates(kind, slack, parent, is_leaf, own, marked, candidate, loss, scale)
        for place in range(count):
            place_of[candidate[place]] = place
        moved[:] = 0.0
        changed = full = False
        for step in range(MOST_STEPS):
            _gradients(kind, parent, own, marked, rival, scores, total, count, candidate, loss,
                       scale, gradient)  # fmt: skip
            # The variable that should grow most; -1 is that of no candidate, of gradient 0.
            best, most = -1, 0.0
            for place in range(count):
                if gradient[place] > most:
                    best, most = place, gradient[place]
            worst, least, room = -1, np.inf, upper
            slot_of_worst = -1
            for slot in range(width):
                if value[row, slot] > 0.0:
                    room -= value[row, slot]
                    place = place_of[node_of[row, slot]]
                    if gradient[place] < least:
                        worst, least, slot_of_worst = place, gradient[place], slot
            room = max(room, 0.0)
            if room > 1e-12 * upper and least > 0.0:
                worst, least, slot_of_worst = -1, 0.0, -1
            if step == 0:
                violation[row] = most - least
            if most - least <= tol:
                break
            slot_of_best = -1
            if best >= 0:
                for slot in range(width):
                    if value[row, slot] > 0.0 and node_of[row, slot] == candidate[best]:
                        slot_of_best = slot
                if slot_of_best < 0:
                    for slot in range(width):
                        if value[row, slot] <= 0.0:
                            slot_of_best = slot
                            break
                    if slot_of_best < 0:
                        full = True
                        break
            direction[:] = 0.0
            if best >= 0:
                _add(kind, parent, own, marked, rival, candidate[best], scale[best], direction)
            if worst >= 0:
                _add(kind, parent, own, marked, rival, candidate[worst], -scale[worst], direction)
            length = squares[row] * _climb(coupled, coupling, direction, image)
            most_change = value[row, slot_of_worst] if worst >= 0 else room
            change = min((most - least) / length, most_change) if length > 0.0 else most_change
            if worst >= 0:
                value[row, slot_of_worst] -= change
                if change == most_change:
                    value[row, slot_of_worst] = 0.0
            if best >= 0:
                if value[row, slot_of_best] <= 0.0:
                    node_of[row, slot_of_best] = candidate[best]
                    value[row, slot_of_best] = 0.0
                value[row, slot_of_best] += change
            moved += change * image
            scores += (change * squares[row]) * image
            changed = True
        if changed:
            for entry in range(start, stop):
                weights[indices[entry]] += data[entry] * moved
        for place in range(count):
            place_of[candidate[place]] = -1
        _mark(parent, own, marked, False)
        if full:
            return at
    return order.shape[0]


@njit(cache=True, nogil=True)
def sums(kind, slack, parent, is_leaf, leaf, data, indices, indptr, node_of, value, total):
    """Add each row times its variables' directions to (D, n_nodes), in place.

    Returns the sum of the variables times their losses.
    """
    n_nodes, width = parent.shape[0], value.shape[1]
    marked = np.zeros(n_nodes, dtype=np.bool_)
    rival = np.zeros(n_nodes, dtype=np.int64)
    candidate = np.zeros(n_nodes, dtype=np.int64)
    loss, scale, direction = np.zeros(n_nodes), np.zeros(n_nodes), np.zeros(n_nodes)
    linear = 0.0
    for row in range(leaf.shape[0]):
        if not (value[row] > 0.0).any():
            continue
        own = leaf[row]
        _mark(parent, own, marked, True)
        _rivals(parent, own, rival)
        count = _candidates(kind, slack, parent, is_leaf, own, marked, candidate, loss, scale)
        direction[:] = 0.0
        for slot in range(width):
            if value[row, slot] > 0.0:
                node = node_of[row, slot]
                place = np.searchsorted(candidate[:count], node)
                linear += value[row, slot] * loss[place]
                factor = value[row, slot] * scale[place]
                _add(kind, parent, own, marked, rival, node, factor, direction)
        for entry in range(indptr[row], indptr[row + 1]):
            total[indices[entry]] += data[entry] * direction
        _mark(parent, own, marked, False)
    return linear


@njit(cache=True, nogil=True)
def losses(kind, slack, parent, is_leaf, leaf, data, indices, indptr, weights):
    """The sum over rows of the largest gradient of a candidate, or 0 if none is positive."""
    n_nodes = parent.shape[0]
    marked = np.zeros(n_nodes, dtype=np.bool_)
    rival = np.zeros(n_nodes, dtype=np.int64)
    candidate = np.zeros(n_nodes, dtype=np.int64)
    loss, scale, gradient = np.zeros(n_nodes), np.zeros(n_nodes), np.zeros(n_nodes)
    scores, total = np.zeros(n_nodes), np.zeros(n_nodes)
    result = 0.0
    for row in range(leaf.shape[0]):
        own = leaf[row]
        _score(data, indices, indptr[row], indptr[row + 1], weights, scores)
        _mark(parent, own, marked, True)
        _rivals(parent, own, rival)
        count = _candidates(kind, slack, parent, is_leaf, own, marked, candidate, loss, scale)
        _gradients(kind, parent, own, marked, rival, scores, total, count, candidate, loss, scale,
                   gradient)  # fmt: skip
        most = 0.0
        for place in range(count):
            most = max(most, gradient[place])
        result += most
        _mark(parent, own, marked, False)
    return result

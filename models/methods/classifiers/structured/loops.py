"""The compiled loops of `dual`: the variables of one row at a time.

A row's candidates are nodes c with a loss, a scale m and a direction, which is 1 and -1 at some
nodes: the row's own class is ahead of c by the product of the direction with the row's scores of
nodes. For `PATHS` the candidates are the leaves but the row's own, the direction is 1 at the nodes
on the path of the row's leaf alone and -1 at those on the path of c alone, and the loss is half the
number of these nodes. For `SIBLINGS` they are the siblings of the nodes on the row's path; the
direction is 1 at such a node and -1 at c, the loss 1. The scale is the loss where slack is
rescaled, else 1. Node 0, the root, stands for no candidate.
"""

from __future__ import annotations

import numpy as np

from models.running.loops import njit

PATHS, SIBLINGS = 0, 1

MOST_STEPS = 100
"""Steps within a row's variables before the next row takes its turn."""


@njit(cache=True, nogil=True, fastmath=True)
def _score(data, indices, start, stop, weights):
    total = 0.0
    for at in range(start, stop):
        total += data[at] * weights[indices[at]]
    return total


@njit(cache=True, nogil=True)
def _enter(parent, own, step):
    """Write on the nodes of the row's path which child of each is on it too; the root's as well.

    step : (n_nodes,) the child, the node itself at the leaf, -1 off the path.
    """
    step[own] = own
    node = own
    while node > 0:
        step[parent[node]] = node
        node = parent[node]


@njit(cache=True, nogil=True)
def _leave(parent, own, step):
    node = own
    while node > 0:
        step[node] = -1
        node = parent[node]
    step[0] = -1


@njit(cache=True, nogil=True)
def _all_candidates(kind, parent, is_leaf, own, step, candidate):
    """All candidates of the row, in place; returns their number."""
    count = 0
    for node in range(1, parent.shape[0]):
        of_paths = kind == PATHS and is_leaf[node] and node != own
        of_siblings = kind == SIBLINGS and step[node] < 0 and step[parent[node]] >= 0
        if of_paths or of_siblings:
            candidate[count] = node
            count += 1
    return count


@njit(cache=True, nogil=True)
def _direction(kind, parent, own, step, node, factor, direction):
    """Add a candidate's direction times the factor, in place; returns how many nodes it has."""
    if kind == SIBLINGS:
        direction[step[parent[node]]] += factor
        direction[node] -= factor
        return 2
    count = 0
    while step[node] < 0:
        direction[node] -= factor
        node = parent[node]
        count += 1
    common = node
    node = own
    while node != common:
        direction[node] += factor
        node = parent[node]
        count += 1
    return count


@njit(cache=True, nogil=True)
def _ahead(kind, parent, own, step, node, scores):
    """How far the row's own class is ahead of a candidate."""
    if kind == SIBLINGS:
        return scores[step[parent[node]]] - scores[node]
    total = 0.0
    while step[node] < 0:
        total -= scores[node]
        node = parent[node]
    common = node
    node = own
    while node != common:
        total += scores[node]
        node = parent[node]
    return total


@njit(cache=True, nogil=True)
def _loss(kind, slack, parent, own, step, node, scratch):
    """The loss and the scale of a candidate."""
    if kind == SIBLINGS:
        return 1.0, 1.0
    loss = 0.5 * _direction(kind, parent, own, step, node, 0.0, scratch)
    return loss, loss if slack else 1.0


@njit(cache=True, nogil=True)
def _image(coupled, coupling, direction, image):
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
          upper, weights, node_of, value, order, first, narrow, tol, violation):  # fmt: skip
    """Improve the variables of the rows `order[first:]`, in place.

    leaf : (N,) of each row's class. squares : (N,) of the rows' lengths. coupling : (n_nodes,
    n_nodes) the inverse of the penalty's matrix, read where `coupled`. weights : (n_nodes, D).
    node_of, value : (N, width) candidates with their variables; a free place has node 0.
    narrow : whether only the candidates in `node_of` take part. violation : (N,) of each visited
    row before its turn: how much the gradients of a variable that may grow and one that may shrink
    differ.

    A row's turn ends when they differ by less than `tol`. Returns the place in `order` of a row
    that needs more places than `value` has, or the length of `order`.
    """
    n_nodes, width = parent.shape[0], value.shape[1]
    step_to = np.full(n_nodes, -1, dtype=np.int64)
    candidate = np.zeros(n_nodes, dtype=np.int64)
    loss, scale, gradient = np.zeros(n_nodes), np.zeros(n_nodes), np.zeros(n_nodes)
    scores, variable = np.zeros(n_nodes), np.zeros(n_nodes)
    known = np.zeros(n_nodes, dtype=np.bool_)
    direction, image, moved = np.zeros(n_nodes), np.zeros(n_nodes), np.zeros(n_nodes)
    for at in range(first, order.shape[0]):
        row = order[at]
        own = leaf[row]
        start, stop = indptr[row], indptr[row + 1]
        _enter(parent, own, step_to)
        if narrow:
            count = 0
            for slot in range(width):
                if node_of[row, slot] > 0:
                    candidate[count] = node_of[row, slot]
                    count += 1
        else:
            count = _all_candidates(kind, parent, is_leaf, own, step_to, candidate)
        room = upper
        for slot in range(width):
            if node_of[row, slot] > 0:
                variable[node_of[row, slot]] = value[row, slot]
                room -= value[row, slot]
        if room < 1e-12 * upper:
            room = 0.0
        direction[:] = 0.0
        known[:] = False
        for place in range(count):
            node = candidate[place]
            loss[place], scale[place] = _loss(kind, slack, parent, own, step_to, node, direction)
            # The nodes of the direction are those whose scores matter.
            if kind == SIBLINGS:
                known[node] = known[step_to[parent[node]]] = True
            while kind == PATHS and step_to[node] < 0:
                known[node] = True
                node = parent[node]
        node = own
        while kind == PATHS and node > 0:
            known[node] = True
            node = parent[node]
        for node in range(1, n_nodes):
            if known[node]:
                scores[node] = _score(data, indices, start, stop, weights[node])
        moved[:] = 0.0
        changed = full = False
        for step in range(MOST_STEPS):
            # -1 is the variable of no candidate, whose gradient is 0.
            best, most = -1, 0.0
            worst, least = -1, np.inf
            if room > 0.0:
                least = 0.0
            for place in range(count):
                node = candidate[place]
                ahead = _ahead(kind, parent, own, step_to, node, scores)
                gradient[place] = loss[place] - scale[place] * ahead
                if gradient[place] > most:
                    best, most = place, gradient[place]
                if variable[node] > 0.0 and gradient[place] < least:
                    worst, least = place, gradient[place]
            if step == 0:
                violation[row] = most - least
            if most - least <= tol:
                break
            if best >= 0 and not narrow:
                free = -1
                for slot in range(width):
                    if node_of[row, slot] == candidate[best]:
                        free = slot
                        break
                    if free < 0 and variable[node_of[row, slot]] <= 0.0:
                        free = slot
                if free < 0:
                    full = True
                    break
                node_of[row, free] = candidate[best]
            direction[:] = 0.0
            if best >= 0:
                _direction(kind, parent, own, step_to, candidate[best], scale[best], direction)
            if worst >= 0:
                _direction(kind, parent, own, step_to, candidate[worst], -scale[worst], direction)
            length = squares[row] * _image(coupled, coupling, direction, image)
            most_change = variable[candidate[worst]] if worst >= 0 else room
            change = min((most - least) / length, most_change) if length > 0.0 else most_change
            if worst >= 0:
                variable[candidate[worst]] -= change
            else:
                room -= change
            if best >= 0:
                variable[candidate[best]] += change
            else:
                room += change
            moved += change * image
            scores += (change * squares[row]) * image
            changed = True
        for slot in range(width):
            node = node_of[row, slot]
            value[row, slot] = variable[node]
        for slot in range(width):
            variable[node_of[row, slot]] = 0.0
        if changed:
            for node in range(1, n_nodes):
                if moved[node] != 0.0:
                    for entry in range(start, stop):
                        weights[node, indices[entry]] += moved[node] * data[entry]
        _leave(parent, own, step_to)
        if full:
            return at
    return order.shape[0]


@njit(cache=True, nogil=True)
def sums(kind, slack, parent, is_leaf, leaf, data, indices, indptr, node_of, value, total):
    """Add each row times its variables' directions to (n_nodes, D), in place.

    Returns the sum of the variables times their losses.
    """
    step = np.full(parent.shape[0], -1, dtype=np.int64)
    direction = np.zeros(parent.shape[0])
    linear = 0.0
    for row in range(leaf.shape[0]):
        if not (value[row] > 0.0).any():
            continue
        own = leaf[row]
        _enter(parent, own, step)
        direction[:] = 0.0
        for slot in range(value.shape[1]):
            if value[row, slot] > 0.0:
                node = node_of[row, slot]
                loss, scale = _loss(kind, slack, parent, own, step, node, direction)
                linear += value[row, slot] * loss
                factor = value[row, slot] * scale
                _direction(kind, parent, own, step, node, factor, direction)
        for node in range(1, parent.shape[0]):
            if direction[node] != 0.0:
                for entry in range(indptr[row], indptr[row + 1]):
                    total[node, indices[entry]] += direction[node] * data[entry]
        _leave(parent, own, step)
    return linear


@njit(cache=True, nogil=True)
def losses(kind, slack, parent, is_leaf, leaf, data, indices, indptr, weights):
    """The sum over rows of the largest gradient of a candidate, or 0 if none is positive."""
    n_nodes = parent.shape[0]
    step = np.full(n_nodes, -1, dtype=np.int64)
    candidate = np.zeros(n_nodes, dtype=np.int64)
    scores, scratch = np.zeros(n_nodes), np.zeros(n_nodes)
    result = 0.0
    for row in range(leaf.shape[0]):
        own = leaf[row]
        _enter(parent, own, step)
        for node in range(1, n_nodes):
            scores[node] = _score(data, indices, indptr[row], indptr[row + 1], weights[node])
        most = 0.0
        for place in range(_all_candidates(kind, parent, is_leaf, own, step, candidate)):
            node = candidate[place]
            loss, scale = _loss(kind, slack, parent, own, step, node, scratch)
            ahead = _ahead(kind, parent, own, step, node, scores)
            most = max(most, loss - scale * ahead)
        result += most
        _leave(parent, own, step)
    return result

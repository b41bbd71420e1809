"""The compiled loops of `NodeColumnPairs`: over values of nodes at columns, a parent's first."""

from __future__ import annotations

from models.running.loops import njit


@njit(cache=True, nogil=True)
def find_above(start, index, parent, above):
    """For each pair, find the parent's pair in the same column; -1 at a root."""
    for node in range(parent.size):
        if parent[node] < 0:
            above[start[node] : start[node + 1]] = -1
            continue
        at = start[parent[node]]
        for pair in range(start[node], start[node + 1]):
            while index[at] < index[pair]:
                at += 1
            above[pair] = at


@njit(cache=True, nogil=True)
def spread(start, index, own_start, own_index, own_value, values):
    """The values of a matrix, which has some of the pairs."""
    for node in range(start.size - 1):
        at = start[node]
        for own in range(own_start[node], own_start[node + 1]):
            while index[at] < own_index[own]:
                at += 1
            values[at] = own_value[own]


@njit(cache=True, nogil=True)
def add_down(above, values):
    """To each value those above it."""
    for pair in range(above.size):
        if above[pair] >= 0:
            values[pair] += values[above[pair]]


@njit(cache=True, nogil=True)
def take_from_above(above, values):
    """From each value the one above it."""
    for pair in range(above.size - 1, -1, -1):
        if above[pair] >= 0:
            values[pair] -= values[above[pair]]


@njit(cache=True, nogil=True)
def subtract_below(above, values, result):
    """From each of `result` the values just below it."""
    for pair in range(above.size):
        if above[pair] >= 0:
            result[above[pair]] -= values[pair]


@njit(cache=True, nogil=True)
def eliminate(above, pivot, values):
    """Solve the system of a tree in each column, the pivots being its diagonal without what
    children add to it. Both are overwritten, the values by the solution."""
    for pair in range(above.size - 1, -1, -1):
        if above[pair] >= 0:
            pivot[above[pair]] += 1.0 - 1.0 / pivot[pair]
            values[above[pair]] += values[pair] / pivot[pair]
    for pair in range(above.size):
        if above[pair] >= 0:
            values[pair] += values[above[pair]]
        values[pair] /= pivot[pair]


@njit(cache=True, nogil=True)
def product(left, right):
    total = 0.0
    for pair in range(left.size):
        total += float(left[pair]) * float(right[pair])
    return total

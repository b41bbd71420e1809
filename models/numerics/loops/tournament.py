"""The least of numbers that change one at a time, by a tournament; compiled by numba.

`winner` has twice as many places as there are numbers, rounded up to a power of two: the entry at 1
is where the least number is, the entries at 2 k and 2 k + 1 are those that the entry at k has
beaten. Of equal numbers the first wins. A number that is out loses to all.

Cost: O(N) to start, O(log N) for each change.
"""

from __future__ import annotations

import numpy as np
from numba import njit

OUT = -1


@njit(cache=True, inline="always")
def _better(one, other, values):
    if one == OUT or (other != OUT and values[other] < values[one]):
        return other
    return one


@njit(cache=True, nogil=True)
def start(values, n_in):
    """A tournament of the first `n_in` values, the others are out."""
    width = 1
    while width < values.size:
        width *= 2
    winner = np.full(2 * width, OUT)
    for at in range(n_in):
        winner[width + at] = at
    for node in range(width - 1, 0, -1):
        winner[node] = _better(winner[2 * node], winner[2 * node + 1], values)
    return winner


@njit(cache=True, nogil=True)
def replay(winner, values, at):
    """After the value at `at` has changed."""
    node = (winner.size // 2 + at) >> 1
    while node:
        before = winner[node]
        winner[node] = _better(winner[2 * node], winner[2 * node + 1], values)
        if winner[node] == before and before != at:
            break
        node >>= 1


@njit(cache=True, nogil=True)
def drop(winner, values, at):
    """Put the value at `at` out."""
    winner[winner.size // 2 + at] = OUT
    replay(winner, values, at)

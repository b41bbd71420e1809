"""The open nodes of a known tree, compiled by numba; see `linkage.clades`."""

from __future__ import annotations

from models.running.loops import njit

EDGE, ACROSS, APART = 1, 2, 4
"""As in `linkage.constraints`, and the levels too."""
FREE, BARRED = -1, 4
"""No open node; the level of two clusters that may not merge."""


@njit(cache=True, inline="always")
def level_of(kind, one, other):
    """The level of two clusters by their pairs' kinds and their open nodes."""
    if one != other and one != FREE and other != FREE:
        return BARRED
    if kind & (EDGE | ACROSS) == 0:
        return 3
    if kind & APART:
        return 2
    return 0 if kind & EDGE else 1


@njit(cache=True, inline="always")
def join(one, other, node, n_held, above, n_rows):
    """Make `other` the union of two clusters that may merge."""
    if node[one] != FREE:
        if node[other] == FREE:
            node[other], n_held[other] = node[one], n_held[one]
        else:
            n_held[other] += n_held[one]
            if n_held[other] == n_rows[node[other]]:
                node[other] = above[node[other]]

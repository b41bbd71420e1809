"""Agglomeration by the distances of all pairs where not all may merge, compiled by numba.

As `models.numerics.loops.agglomeration.closest`, on condensed distances that are overwritten, but
that of two pairs the one at the lower level (`nodes.level_of`) comes first, whatever their
distances.

`gather` and `spanning` put rows that are one group from the start together.

Cost: O(N^2) usually, O(N^3) at worst.
"""

from __future__ import annotations

import numpy as np

from models.methods.features.linkage.loops.nodes import EDGE, join, level_of
from models.numerics.loops.agglomeration import (
    COMPLETE,
    SINGLE,
    place_at,
    root,
    row_begin,
    united,
)
from models.running.loops import njit

NONE, NOWHERE = -1, 127
"""In place of a neighbour and its level: nothing comes later."""


@njit(cache=True, nogil=True)
def gather(distance, group, n_groups, rule, out, within):
    """Fill `out`, condensed, with the least, the largest or the sum of the distances between the
    rows of two groups, and `within`, (n_groups,), with the sum of each group's distances."""
    n_rows, at = group.size, 0
    out[:] = np.inf if rule == SINGLE else 0.0
    for one in range(n_rows):
        for other in range(one + 1, n_rows):
            apart = distance[at]
            at += 1
            low, high = min(group[one], group[other]), max(group[one], group[other])
            if low == high:
                within[low] += apart
                continue
            to = place_at(row_begin(low, n_groups), high)
            if rule == SINGLE:
                out[to] = min(out[to], apart)
            elif rule == COMPLETE:
                out[to] = max(out[to], apart)
            else:
                out[to] += apart


@njit(cache=True, nogil=True)
def spanning(merges, height, group, link, ends, kept):
    """Fill `ends` and `kept`, (n_groups - 1, 2) and (n_groups - 1,), with the groups that merge and
    the heights, by the merges of all rows by single linkage, in order."""
    n_rows, n = group.size, 0
    row = np.arange(n_rows + merges.shape[0])
    for number in range(merges.shape[0]):
        one, other = row[merges[number, 0]], row[merges[number, 1]]
        row[n_rows + number] = one
        first, second = root(link, group[one]), root(link, group[other])
        if first != second:
            link[first] = second
            ends[n, 0], ends[n, 1], kept[n] = group[one], group[other], height[number]
            n += 1


@njit(cache=True, inline="always")
def _kind(kind, at):
    return kind[at] if kind.size else np.uint8(EDGE)


@njit(cache=True, inline="always")
def _look(distance, kind, node, active, k, n_active, n_points):
    """The nearest of the active clusters after the k-th: its number, level and distance."""
    row = active[k]
    begin = row_begin(row, n_points)
    nearest, lowest, best = NONE, NOWHERE, np.inf
    for n in range(k + 1, n_active):
        other = active[n]
        at = place_at(begin, other)
        level, apart = level_of(_kind(kind, at), node[row], node[other]), distance[at]
        if level < lowest or (level == lowest and apart < best):
            nearest, lowest, best = other, level, apart
    return nearest, lowest, best


@njit(cache=True, nogil=True)
def nearest_rows(distance, kind, node, active, near, lowest, least, first, last):
    """Fill `near`, `lowest` and `least`, (N,), of rows first .. last - 1, all active."""
    n_points = active.size
    for row in range(first, last):
        near[row], lowest[row], least[row] = _look(
            distance, kind, node, active, row, n_points, n_points
        )


@njit(cache=True, nogil=True)
def advance(
    distance, kind, rule, size, node, n_held, above, n_rows, active, near, lowest, least, ends,
    height, level, first, last,
):  # fmt: skip
    """Merges first .. last - 1, in their order.

    kind : condensed uint8, what joins the rows of two clusters and what keeps them apart; empty
        where edges join all. near, lowest, least : (N,) from `nearest_rows`; lower bounds of the
        nearest of the later clusters. ends, height, level : of each merge, filled.
    """
    n_points = size.size
    n_active = n_points - first
    for number in range(first, last):
        while True:
            k = 0
            for n in range(1, n_active - 1):
                row, best = active[n], active[k]
                if lowest[row] < lowest[best] or (
                    lowest[row] == lowest[best] and least[row] < least[best]
                ):
                    k = n
            gone = active[k]
            kept = near[gone]
            at = place_at(row_begin(gone, n_points), kept)
            if (
                level_of(_kind(kind, at), node[gone], node[kept]) == lowest[gone]
                and distance[at] == least[gone]
            ):
                break
            near[gone], lowest[gone], least[gone] = _look(
                distance, kind, node, active, k, n_active, n_points
            )
        ends[number, 0], ends[number, 1] = gone, kept
        height[number], level[number] = least[gone], lowest[gone]
        _unite(distance, kind, rule, gone, kept, least[gone], size, active, n_active)
        join(gone, kept, node, n_held, above, n_rows)
        active[k : n_active - 1] = active[k + 1 : n_active]
        n_active -= 1
        for k in range(n_active):
            row = active[k]
            if row == kept:
                near[row], lowest[row], least[row] = _look(
                    distance, kind, node, active, k, n_active, n_points
                )
                break
            at = place_at(row_begin(row, n_points), kept)
            there = level_of(_kind(kind, at), node[row], node[kept])
            if there < lowest[row] or (there == lowest[row] and distance[at] < least[row]):
                near[row], lowest[row], least[row] = kept, there, distance[at]
            elif near[row] == gone:
                near[row] = kept


@njit(cache=True, inline="always")
def _unite(distance, kind, rule, gone, kept, between, size, active, n_active):
    """Fill the distances to the union `kept` of two active clusters, and the kinds."""
    n_points = size.size
    n_gone, n_kept = size[gone], size[kept]
    parts = between, n_gone, n_kept, n_gone / (n_gone + n_kept), n_kept / (n_gone + n_kept)
    for k in range(n_active):
        third = active[k]
        if third in (gone, kept):
            continue
        source = place_at(row_begin(min(third, gone), n_points), max(third, gone))
        at = place_at(row_begin(min(third, kept), n_points), max(third, kept))
        apart = united(rule, distance[source], distance[at], size[third], parts)
        # What overflows is not a number where infinities cancel.
        distance[at] = apart if apart == apart else np.inf
        if kind.size:
            kind[at] |= kind[source]
    size[kept] = n_gone + n_kept

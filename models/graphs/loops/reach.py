"""Rounds in which groups of nodes join along the edges of a graph (Boruvka), compiled.

Edges are ordered by their length, then by the distance of their ends, then by the numbers of these:
no two of a graph are equal in all, so that the spanning tree is the only one of its kind, however
the edges are divided.
"""

from __future__ import annotations

from models.numerics.loops.agglomeration import root
from models.running.loops import njit


@njit(cache=True, inline="always")
def _before(one, other, ends, length, apart):
    """Whether an edge comes before another one."""
    if length[one] != length[other]:
        return length[one] < length[other]
    if apart[one] != apart[other]:
        return apart[one] < apart[other]
    if ends[one, 0] != ends[other, 0]:
        return ends[one, 0] < ends[other, 0]
    return ends[one, 1] < ends[other, 1]


@njit(cache=True, nogil=True)
def cores(index, distance, size, rank, core):
    """Fill `core` with the distance of each node to its `rank`-th neighbour among all points.

    index, distance : (N, k) the neighbours of each, nearest first. size : (N,) points at a node,
        which are neighbours of each other at no distance.
    """
    for node in range(len(index)):
        n_near, core_here = size[node] - 1, 0.0
        for place in range(index.shape[1]):
            if n_near >= rank:
                break
            n_near += size[index[node, place]]
            core_here = distance[node, place]
        core[node] = core_here


@njit(cache=True, nogil=True)
def leaving(ends, length, apart, group, first, last, best):
    """The first edge that leaves each group, among the edges first .. last - 1.

    Edges within a group are dropped, and the others moved together. best : (N,) filled with the
    number of an edge by group, -1 for none. Returns where the edges that are left end.
    """
    best[:] = -1
    left = first
    for edge in range(first, last):
        one, other = group[ends[edge, 0]], group[ends[edge, 1]]
        if one == other:
            continue
        if left < edge:
            ends[left] = ends[edge]
            length[left], apart[left] = length[edge], apart[edge]
        if best[one] < 0 or _before(left, best[one], ends, length, apart):
            best[one] = left
        if best[other] < 0 or _before(left, best[other], ends, length, apart):
            best[other] = left
        left += 1
    return left


@njit(cache=True, nogil=True)
def first_of(best, found, ends, length, apart):
    """Put the edges of `found` into `best` where they come before."""
    for group in range(best.size):
        edge = found[group]
        if edge >= 0 and (
            best[group] < 0 or _before(edge, best[group], ends, length, apart)
        ):  # fmt: skip
            best[group] = edge


@njit(cache=True, nogil=True)
def join(best, ends, length, group, chosen, chosen_length, n_chosen):
    """Join groups along their first edges, which are added to `chosen` (M, 2) and `chosen_length`;
    returns how many these are then."""
    for own in range(best.size):
        edge = best[own]
        if edge < 0:
            continue
        one, other = root(group, ends[edge, 0]), root(group, ends[edge, 1])
        if one != other:
            group[max(one, other)] = min(one, other)
            chosen[n_chosen] = ends[edge]
            chosen_length[n_chosen] = length[edge]
            n_chosen += 1
    for node in range(group.size):
        group[node] = root(group, node)
    return n_chosen


@njit(cache=True, nogil=True)
def regroup(chosen, group):
    """Fill `group`, 0 .. N - 1 when called, with the groups that edges join."""
    for edge in range(len(chosen)):
        one, other = root(group, chosen[edge, 0]), root(group, chosen[edge, 1])
        if one != other:
            group[max(one, other)] = min(one, other)
    for node in range(group.size):
        group[node] = root(group, node)

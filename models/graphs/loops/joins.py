"""Steps of minimum spanning trees, compiled by numba: groups of points joined, points reached.

Groups are joined to one by their shortest edges (Boruvka), from point to point by `reach` (Prim).
The length of an edge is the larger of the distance of its ends and of their core distances; of
edges of one length the one whose ends are nearer comes first. All are squared. Points are numbered
by their places in a search tree.

In each round groups other than the largest find the first edge that leaves them. An edge is added
unless its ends are in one group by then: it comes no later than any other that leaves the group
which found it, so the result is a minimum spanning tree.

The shortest edge between two groups of points that lie apart (`shortest`): along the line through
their centres the points of each group reach some way towards the other: two points are at least as
far apart as the centres are, less the reach of both. Both groups come in the order of reach, so the
search ends where no pair can be nearer.
"""

from __future__ import annotations

import numpy as np

from models.graphs.loops.boxes import DEEPEST, SQUARES, distances, point_gap, push_children, slack
from models.numerics.loops.agglomeration import root
from models.numerics.loops.tiles import LANES
from models.running.loops import njit

MIXED = -1
"""The group of a node with points of several."""


@njit(cache=True, inline="always")
def _before(length, apart, other_length, other_apart):
    return length < other_length or (length == other_length and apart < other_apart)


@njit(cache=True, nogil=True)
def regroup(link, size, group, span, node_group):
    """Fill the groups of points, which are places, and of nodes.

    Returns the largest group and the number of groups.
    """
    size[:] = 0
    n_groups, largest = 0, 0
    for at in range(len(link)):
        group[at] = root(link, at)
        size[group[at]] += 1
    for at in range(len(link)):
        n_groups += size[at] > 0
        if size[at] > size[largest]:
            largest = at
    for node in range(len(span) - 1, -1, -1):
        left = 2 * node + 1
        if left < len(span):
            same = node_group[left] == node_group[left + 1]
            node_group[node] = node_group[left] if same else MIXED
        else:
            own = group[span[node, 0]]
            for at in range(span[node, 0], span[node, 1]):
                if group[at] != own:
                    own = MIXED
                    break
            node_group[node] = own
    return largest, n_groups


@njit(cache=True, nogil=True)
def least_cores(core, span, node_core):
    """Fill the smallest core distance under each node."""
    for node in range(len(span) - 1, -1, -1):
        left = 2 * node + 1
        if left < len(span):
            node_core[node] = min(node_core[left], node_core[left + 1])
        else:
            node_core[node] = core[span[node, 0] : span[node, 1]].min()


@njit(cache=True, nogil=True)
def known(group, largest, core, squared, number, seen, floor, best, ends):
    """Each group's first edge among those to known neighbours.

    squared, number : (N, n) of the nearest neighbours. seen : (N,) a point outside the group found
        before, else -1, at (length, distance) `floor`, (N, 2). best : (N, 2) filled with length and
        distance by group, infinite where none is known; ends : (N, 2) with the places.

    Returns how many groups have one.
    """
    best[:] = np.inf
    for at in range(len(group)):
        own = group[at]
        if own == largest:
            continue
        for n in range(number.shape[1]):
            apart, other = squared[at, n], number[at, n]
            length = max(core[at], apart)
            if not _before(length, apart, best[own, 0], best[own, 1]):
                break
            if group[other] == own:
                continue
            length = max(length, core[other])
            if _before(length, apart, best[own, 0], best[own, 1]):
                best[own, 0], best[own, 1] = length, apart
                ends[own, 0], ends[own, 1] = at, other
        other = seen[at]
        if (
            other >= 0
            and group[other] != own
            and _before(floor[at, 0], floor[at, 1], best[own, 0], best[own, 1])
        ):
            best[own] = floor[at]
            ends[own, 0], ends[own, 1] = at, other
    n_known = 0
    for own in range(len(group)):
        n_known += best[own, 0] < np.inf
    return n_known


@njit(cache=True, nogil=True)
def drop_unsure(group, largest, floor, best):
    """Forget the edges of groups that may have earlier ones; returns how many remain."""
    n_sure = 0
    for at in range(len(group)):
        own = group[at]
        if own != largest and _before(floor[at, 0], floor[at, 1], best[own, 0], best[own, 1]):
            best[own] = -np.inf
    for own in range(len(group)):
        if best[own, 0] == -np.inf:
            best[own] = np.inf
        n_sure += best[own, 0] < np.inf
    return n_sure


@njit(cache=True, nogil=True)
def search(points, order, span, box, tiles, metric, first, last, core, node_core, group, node_group,
           largest, seen, floor, best, ends, below):  # fmt: skip
    """Search from leaves first .. last - 1 for earlier edges than `best`, where there may be any.

    below : groups whose known edge is longer than this are not searched from.
    floor : (N, 2) each point has no edge to a point outside its group before this one, other than
        those that `known` looks at; raised.
    """
    n_leaves, n_columns = tiles.shape[:2]
    bottom, fewer = n_leaves - 1, slack(n_columns)
    total, found = np.empty(LANES), np.empty((LANES, 2))
    rows, active = np.empty((LANES, n_columns)), np.empty(LANES, dtype=np.int64)
    node_at, gap_at = np.empty(DEEPEST, dtype=np.int64), np.empty(DEEPEST)
    for leaf in range(bottom + first, bottom + last):
        n_active, shared, least = 0, MIXED, np.inf
        for at in range(span[leaf, 0], span[leaf, 1]):
            own = group[at]
            if own == largest or best[own, 0] > below:
                continue
            if not _before(floor[at, 0], floor[at, 1], best[own, 0], best[own, 1]):
                continue
            shared = own if n_active == 0 or shared == own else MIXED
            active[n_active] = at
            rows[n_active] = points[order[at]]
            found[n_active] = np.inf
            least = min(least, core[at])
            n_active += 1
        if n_active == 0:
            continue
        height = 1
        node_at[0], gap_at[0] = 0, 0.0
        while height:
            height -= 1
            node, gap = node_at[height], gap_at[height]
            if node_group[node] != MIXED and node_group[node] == shared:
                continue
            length = max(gap, least, node_core[node])
            needed = False
            for r in range(n_active):
                own = group[active[r]]
                if _before(length, gap, best[own, 0], best[own, 1]):
                    needed = True
                    break
            if not needed:
                continue
            if node >= bottom:
                for r in range(n_active):
                    at = active[r]
                    own = group[at]
                    if node_group[node] == own:
                        continue
                    gap = fewer * point_gap(rows[r], box[node], metric)
                    length = max(gap, core[at], node_core[node])
                    if not _before(length, gap, best[own, 0], best[own, 1]):
                        continue
                    start, n_there = span[node, 0], span[node, 1] - span[node, 0]
                    enough = np.nextafter(best[own, 0], np.inf)
                    if not distances(rows[r], tiles[node - bottom], n_there, enough, metric, total):
                        continue
                    for lane in range(n_there):
                        other = start + lane
                        if group[other] == own:
                            continue
                        apart = total[lane]
                        length = max(apart, core[at], core[other])
                        if _before(length, apart, found[r, 0], found[r, 1]):
                            found[r, 0], found[r, 1], seen[at] = length, apart, other
                            if _before(length, apart, best[own, 0], best[own, 1]):
                                best[own] = found[r]
                                ends[own, 0], ends[own, 1] = at, other
                continue
            height = push_children(node, leaf, box, fewer, metric, node_at, gap_at, height)
        for r in range(n_active):
            at = active[r]
            own = group[at]
            if _before(best[own, 0], best[own, 1], found[r, 0], found[r, 1]):
                floor[at], seen[at] = best[own], -1
            else:
                floor[at] = found[r]


@njit(cache=True, nogil=True)
def join(group, largest, best, ends, link, edges, lengths, n_edges):
    """Add the edge of each group to `edges` and `lengths`; returns their number."""
    for own in range(len(group)):
        if group[own] != own or own == largest or best[own, 0] == np.inf:
            continue
        one, other = root(link, ends[own, 0]), root(link, ends[own, 1])
        if one != other:
            link[max(one, other)] = min(one, other)
            edges[n_edges] = ends[own]
            lengths[n_edges] = best[own]
            n_edges += 1
    return n_edges


@njit(cache=True, nogil=True)
def shortest(rows, row_reach, row_core, tiles, reach, core, apart, enough):
    """(squared length, squared distance, row, point) of the first edge no longer than `enough`.

    rows : (n, D), and tiles : (m, D, LANES), float64, those with the farthest reach first, as
        `row_reach` and `reach` tell. row_core, core : squared core distances. apart : distance of
        the centres, less a bound for rounding.
    """
    total, n_points = np.empty(LANES), len(reach)
    length, squared, best_row, best_point = np.nextafter(enough, np.inf), np.inf, -1, -1
    for r in range(len(rows)):
        left = apart - row_reach[r]
        gap = max(left - reach[0], 0.0)
        if gap * gap >= length:
            break
        for t in range(len(tiles)):
            start = t * LANES
            gap = max(left - reach[start], 0.0)
            if gap * gap >= length or row_core[r] > length:
                break
            n_there = min(LANES, n_points - start)
            if not distances(
                rows[r], tiles[t], n_there, np.nextafter(length, np.inf), SQUARES, total
            ):
                continue
            for lane in range(n_there):
                here = max(total[lane], row_core[r], core[start + lane])
                if here < length or (here == length and total[lane] < squared):
                    length, squared = here, total[lane]
                    best_row, best_point = r, start + lane
    return length, squared, best_row, best_point


@njit(cache=True, nogil=True)
def measure(tiles, metric, point, row):
    """Fill `row`, (n, LANES), with the distances of a point to all in `tiles`, (n, D, LANES)."""
    values = tiles[point // LANES, :, point % LANES].copy()
    for t in range(len(tiles)):
        distances(values, tiles[t], LANES, np.inf, metric, row[t])


@njit(cache=True, nogil=True)
def reach(apart, core, point, left, n_left, best, source):
    """The point that is reached next, once `point` has been.

    apart : (N,) distances of `point`. left : (N,) the points not reached before it, `n_left` of
        them, ascending; `point` is taken out. best, source : (N, 2) length and distance of the
        first edge to each point from those reached, and (N,) from which; lowered.
    """
    n_kept, nearest = 0, -1
    for k in range(n_left):
        other = left[k]
        if other == point:
            continue
        left[n_kept] = other
        n_kept += 1
        length = max(apart[other], core[other], core[point])
        if length < best[other, 0] or (length == best[other, 0] and apart[other] < best[other, 1]):
            best[other, 0], best[other, 1], source[other] = length, apart[other], point
        if (
            nearest < 0
            or best[other, 0] < best[nearest, 0]
            or (best[other, 0] == best[nearest, 0] and best[other, 1] < best[nearest, 1])
        ):
            nearest = other
    return nearest

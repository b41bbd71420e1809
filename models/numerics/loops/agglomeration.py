"""Agglomeration of clusters by their distances to all others, compiled by numba.

`chain` and `closest` work on condensed distances, which they overwrite with the distances of merged
clusters. When two clusters merge, the one with the larger number stays as their union. Among equal
distances, that to the smallest number comes first.

`start`, `replay` and `drop` keep the least of numbers that change one at a time, by a tournament.
`winner` has twice as many places as there are numbers, rounded up to a power of two: the entry at 1
is where the least number is, the entries at 2 k and 2 k + 1 are those that the entry at k has
beaten. Among equal numbers the first wins. A number that is out loses to all.

`merge` gives merges of clusters in SciPy's numbering.

Source: Müllner, "Modern hierarchical, agglomerative clustering algorithms" (2011): `chain` is
figure 3 (the nearest-neighbour chain, Murtagh 1983), `closest` and `closest_points` are figure 4
(the generic algorithm), but that a tournament finds the least of the stored distances.

Cost: O(N^2) time by a chain; so the generic algorithm usually, O(N^3) at worst. A tournament takes
O(N) to start, O(log N) for each change.
"""

from __future__ import annotations

import numpy as np

from models.numerics.loops.tiles import LANES, add_squares
from models.running.loops import njit


@njit(cache=True, nogil=True)
def root(link, at):
    """The end of the links from `at`, which are shortened on the way."""
    while link[at] != at:
        link[at] = link[link[at]]
        at = link[at]
    return at


@njit(cache=True, nogil=True)
def merge(edges, link, node, size, merges):
    """Fill `merges`, (N - 1, 2), in SciPy's numbering, for the edges of a tree in their order, and
    `size`, (N - 1,), with the points under each; `link` and `node`, (N,), start as 0 .. N - 1."""
    n_points = len(link)
    for number in range(n_points - 1):
        one, other = root(link, edges[number, 0]), root(link, edges[number, 1])
        merges[number, 0] = min(node[one], node[other])
        merges[number, 1] = max(node[one], node[other])
        total = 0
        for part in (node[one], node[other]):
            total += 1 if part < n_points else size[part - n_points]
        size[number] = total
        link[one] = other
        node[other] = n_points + number


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


COMPLETE, AVERAGE, WEIGHTED, WARD, CENTROID, MEDIAN, SINGLE = range(7)
"""How the distance to a union follows from those to its two parts; squared for Ward, centroid and
median."""


NONE, GONE = -1, -2
"""In place of a neighbour: nothing comes later; it is to be looked for again."""


@njit(cache=True, inline="always")
def row_begin(one, n_points):
    """Where a cluster's distances to later ones are: `row_begin(i) + j` is the place of i < j."""
    return (one * (2 * n_points - 3 - one) >> 1) - 1


@njit(cache=True, inline="always")
def place_at(row, other):
    """A place, which numba need not count from the end if it has no sign."""
    return np.uint64(row + other)


@njit(cache=True, inline="always")
def _between(distance, one, other, n_points):
    return distance[place_at(row_begin(min(one, other), n_points), max(one, other))]


@njit(cache=True, inline="always")
def united(rule, gone, kept, n_third, parts):
    """The distance of a third cluster to a union: `gone` and `kept` are those to its parts."""
    between, n_gone, n_kept, share_gone, share_kept = parts
    if rule == COMPLETE:
        return max(gone, kept)
    if rule == SINGLE:
        return min(gone, kept)
    if rule == AVERAGE:
        return share_gone * gone + share_kept * kept
    if rule == WEIGHTED:
        return (gone + kept) * 0.5
    if rule == WARD:
        n_all = n_gone + n_kept + n_third
        weighted = (n_third + n_gone) * gone - n_third * between + (n_third + n_kept) * kept
        return weighted / n_all
    if rule == CENTROID:
        return share_gone * gone - share_gone * share_kept * between + share_kept * kept
    return (gone + kept) * 0.5 - between * 0.25


@njit(cache=True, inline="always")
def _unite(distance, rule, gone, kept, between, size, active, n_active):
    """Fill the distances to the union `kept` of two active clusters, gone < kept, and take `gone`
    out of them."""
    n_points = size.size
    n_gone, n_kept = size[gone], size[kept]
    parts = between, n_gone, n_kept, n_gone / (n_gone + n_kept), n_kept / (n_gone + n_kept)
    row_gone, row_kept, k = row_begin(gone, n_points), row_begin(kept, n_points), 0
    for k in range(n_active):
        third = active[k]
        if third == gone:
            break
        row = row_begin(third, n_points)
        at = place_at(row, kept)
        distance[at] = united(rule, distance[place_at(row, gone)], distance[at], size[third], parts)
    left = k
    for k in range(left + 1, n_active):
        third = active[k]
        if third == kept:
            break
        at = place_at(row_begin(third, n_points), kept)
        distance[at] = united(
            rule, distance[place_at(row_gone, third)], distance[at], size[third], parts
        )
    for n in range(k + 1, n_active):
        third = active[n]
        at = place_at(row_kept, third)
        distance[at] = united(
            rule, distance[place_at(row_gone, third)], distance[at], size[third], parts
        )
    active[left : n_active - 1] = active[left + 1 : n_active]
    size[kept] = n_gone + n_kept


@njit(cache=True, nogil=True)
def chain(distance, rule, size, active, path, length, ends, height, first, last):
    """Merges first .. last - 1 of the clusters that are each other's nearest, in no order.

    distance : condensed. size : (N,) points of each cluster, floats. active : (N,) the numbers of
        the clusters left, ascending. path : (N,) each cluster the nearest of the one before it, and
        `length` of them; returns the length after.
    ends, height : (N - 1, 2) and (N - 1,), filled.
    """
    n_points = size.size
    n_active = n_points - first
    for number in range(first, last):
        if length < 2:
            path[0] = active[0]
            tip, nearest = path[0], active[1]
            length = 1
        else:
            tip, nearest = path[length - 1], path[length - 2]
        least = _between(distance, tip, nearest, n_points)
        while True:
            k = 0
            for k in range(n_active):
                other = active[k]
                if other == tip:
                    break
                apart = distance[place_at(row_begin(other, n_points), tip)]
                if apart < least:
                    least, nearest = apart, other
            row = row_begin(tip, n_points)
            for n in range(k + 1, n_active):
                other = active[n]
                apart = distance[place_at(row, other)]
                if apart < least:
                    least, nearest = apart, other
            if length > 1 and nearest == path[length - 2]:
                break
            path[length] = nearest
            length += 1
            tip, nearest = nearest, tip
        length -= 2
        gone, kept = min(tip, nearest), max(tip, nearest)
        ends[number, 0], ends[number, 1], height[number] = gone, kept, least
        _unite(distance, rule, gone, kept, least, size, active, n_active)
        n_active -= 1
    return length


@njit(cache=True, inline="always")
def _nearest_in_row(distance, row, active, k, n_active, n_points):
    """The nearest of the active clusters after the k-th, which is `row`, and its distance."""
    nearest = active[k + 1]
    start = row_begin(row, n_points)
    best = distance[place_at(start, nearest)]
    for n in range(k + 2, n_active):
        if distance[place_at(start, active[n])] < best:
            nearest = active[n]
            best = distance[place_at(start, nearest)]
    return nearest, best


@njit(cache=True, nogil=True)
def nearest_rows(distance, active, near, least):
    """Fill `near` and `least`, (N,), with the nearest of the later clusters and its distance."""
    n_points = active.size
    for row in range(n_points - 1):
        near[row], least[row] = _nearest_in_row(distance, row, active, row, n_points, n_points)


@njit(cache=True, nogil=True)
def closest(distance, rule, size, active, near, least, winner, ends, height, first, last):
    """Merges first .. last - 1 of the two clusters at the least distance, in their order.

    As `chain`, for distances that may fall. near, least : (N,) from `nearest_rows`; `least` is at
    most the distance to the nearest of the later clusters, and it is that of `near` if it is exact.
    winner : the tournament of all `least` but the last cluster's.
    """
    n_points = size.size
    n_active = n_points - first
    for number in range(first, last):
        gone = winner[1]
        while least[gone] < distance[place_at(row_begin(gone, n_points), near[gone])]:
            k = np.searchsorted(active[:n_active], gone)
            near[gone], least[gone] = _nearest_in_row(distance, gone, active, k, n_active, n_points)
            replay(winner, least, gone)
            gone = winner[1]
        kept, between = near[gone], least[gone]
        ends[number, 0], ends[number, 1], height[number] = gone, kept, between
        drop(winner, least, gone)
        _unite(distance, rule, gone, kept, between, size, active, n_active)
        n_active -= 1
        for k in range(n_active):
            row = active[k]
            if row == kept:
                if k + 1 < n_active:
                    near[row], least[row] = _nearest_in_row(
                        distance, row, active, k, n_active, n_points
                    )
                    replay(winner, least, row)
                break
            apart = distance[place_at(row_begin(row, n_points), kept)]
            if apart < least[row]:
                near[row], least[row] = kept, apart
                replay(winner, least, row)
            elif near[row] == gone:
                near[row] = kept


@njit(cache=True, inline="always")
def _apart(rule, squared, one, other):
    """The distance of clusters whose centres have this squared distance: for Ward half the increase
    of the sum of squares times two, as that of two points."""
    return squared * one * other / (one + other) if rule == WARD else squared


@njit(cache=True)
def _nearest_after(tiles, rule, size, alive, at, row, total):
    """The nearest cluster at a later place, and its distance; `NONE` if nothing comes later."""
    nearest, best = NONE, np.inf
    n_places, n_columns = alive.size, row.size
    for d in range(n_columns):
        row[d] = tiles[at // LANES, d, at % LANES]
    for t in range((at + 1) // LANES, len(tiles)):
        total[:] = 0.0
        add_squares(row, tiles[t], 0, n_columns, total)
        start = t * LANES
        for lane in range(max(0, at + 1 - start), min(LANES, n_places - start)):
            apart = _apart(rule, total[lane], size[at], size[start + lane])
            if (apart < best or nearest == NONE) and alive[start + lane]:
                nearest, best = start + lane, apart
    return nearest, best


@njit(cache=True, nogil=True)
def nearest_points(tiles, rule, size, alive, near, least, first, last):
    """Fill `near` and `least` of places first .. last - 1, all alive: the nearest cluster at a
    later place and its distance."""
    row, total = np.empty(tiles.shape[1]), np.empty(LANES)
    for at in range(first, last):
        near[at], least[at] = _nearest_after(tiles, rule, size, alive, at, row, total)


@njit(cache=True, nogil=True)
def closest_points(tiles, rule, size, alive, near, least, winner, ends, height, first, last):
    """Merges first .. last - 1 of the two clusters at the least distance, by their centres.

    tiles : (n, D, LANES) the centres by their places, merged in place. size, alive, near, least :
        (n_places,), as in `closest`, by places.
    ends, height : (N - 1, 2) and (N - 1,), filled with places and distances.
    """
    n_columns = tiles.shape[1]
    row, total = np.empty(n_columns), np.empty(LANES)
    for number in range(first, last):
        gone = winner[1]
        while near[gone] == GONE or not alive[near[gone]]:
            near[gone], least[gone] = _nearest_after(tiles, rule, size, alive, gone, row, total)
            replay(winner, least, gone)
            gone = winner[1]
        kept = near[gone]
        ends[number, 0], ends[number, 1], height[number] = gone, kept, least[gone]
        drop(winner, least, gone)
        # Nothing comes nearer.
        alive[gone], least[gone] = False, -np.inf
        _centre(tiles, rule, size, gone, kept)
        for d in range(n_columns):
            row[d] = tiles[kept // LANES, d, kept % LANES]
        # By Ward's rule a union is no nearer than its parts, which the earlier ones have seen.
        start = gone + 1 if rule == WARD else 0
        for at in range(start):
            if near[at] == kept:
                near[at] = GONE
        for t in range(start // LANES, kept // LANES + 1):
            total[:] = 0.0
            add_squares(row, tiles[t], 0, n_columns, total)
            for at in range(max(start, t * LANES), min(kept, (t + 1) * LANES)):
                apart = _apart(rule, total[at - t * LANES], size[at], size[kept])
                if apart < least[at]:
                    near[at], least[at] = kept, apart
                    replay(winner, least, at)
                elif near[at] == kept:
                    near[at] = GONE
        near[kept], least[kept] = _nearest_after(tiles, rule, size, alive, kept, row, total)
        if near[kept] != NONE:
            replay(winner, least, kept)


@njit(cache=True, inline="always")
def _centre(tiles, rule, size, gone, kept):
    """Move the centre of `kept` to that of the union."""
    n_gone, n_kept = size[gone], size[kept]
    for d in range(tiles.shape[1]):
        one = tiles[gone // LANES, d, gone % LANES]
        other = tiles[kept // LANES, d, kept % LANES]
        if rule == MEDIAN:
            middle = (one + other) * 0.5
        else:
            middle = (one * n_gone + other * n_kept) / (n_gone + n_kept)
        tiles[kept // LANES, d, kept % LANES] = middle
    size[kept] = n_gone + n_kept

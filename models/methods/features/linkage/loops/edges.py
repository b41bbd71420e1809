"""The loop of agglomerative clustering along the edges of a graph, compiled by numba.

Only clusters that an edge joins may merge, the pair with the shortest edge first. An edge stands
for all the edges that have fallen together between its two clusters. When two clusters merge, the
edges of the one with fewer are moved to the other, which keeps its number: each edge moves O(log N)
times. Edges lie in a heap by length, in lists by cluster, and in an open hash table by the pair of
clusters.

The edge at the lower level comes first, whatever its length; `kind`, `node`, `n_held`,
`above` and `n_rows` give an edge's level (`nodes.level_of`). Where edges of different kinds fall
together, those that the graph has count alone, else those between its parts.

Cost: O(E log^2 E) for `AVERAGE` and the linkages by comparison; where all edges of a cluster change
with each merge (`WARD` and those after it), their number times D besides. Memory about 60 bytes
an edge.
"""

from __future__ import annotations

import numpy as np

from models.methods.features.linkage.loops.nodes import ACROSS, EDGE, join, level_of
from models.running.loops import njit

SINGLE, COMPLETE, AVERAGE, WEIGHTED, WARD, CENTROID, MEDIAN, SPREAD = range(8)
"""How a cluster's distances follow from its two parts' distances. `AVERAGE`: mean over the edges
there are. `SPREAD`: root of the mean squared distance between all pairs, by centres and variances.
"""


@njit(cache=True, inline="always")
def _home(a, b, mask):
    """Where the pair's search begins in the table, whichever comes first."""
    low, high = np.uint64(min(a, b)), np.uint64(max(a, b))
    mixed = (low * np.uint64(0x9E3779B97F4A7C15)) ^ (high * np.uint64(0xC2B2AE3D27D4EB4F))
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return np.int64((mixed >> np.uint64(20)) & mask)


@njit(cache=True, inline="always")
def _find(a, b, table, ends):
    """The edge between two clusters, -1 if there is none."""
    mask = np.uint64(table.size - 1)
    at = _home(a, b, mask)
    while table[at] >= 0:
        edge = table[at]
        x, y = ends[edge, 0], ends[edge, 1]
        if (x == a and y == b) or (x == b and y == a):
            return edge
        at = np.int64(np.uint64(at + 1) & mask)
    return -1


@njit(cache=True, inline="always")
def _insert(edge, table, ends):
    mask = np.uint64(table.size - 1)
    at = _home(ends[edge, 0], ends[edge, 1], mask)
    while table[at] >= 0:
        at = np.int64(np.uint64(at + 1) & mask)
    table[at] = edge


@njit(cache=True)
def _remove(edge, table, ends):
    """Take an edge out of the table; those behind it that now start too late move up."""
    mask = np.uint64(table.size - 1)
    at = _home(ends[edge, 0], ends[edge, 1], mask)
    while table[at] != edge:
        at = np.int64(np.uint64(at + 1) & mask)
    hole, look = at, at
    while True:
        look = np.int64(np.uint64(look + 1) & mask)
        other = table[look]
        if other < 0:
            break
        home = _home(ends[other, 0], ends[other, 1], mask)
        if np.uint64(look - home) & mask >= np.uint64(look - hole) & mask:
            table[hole] = other
            hole = look
    table[hole] = -1


@njit(cache=True, inline="always")
def _before(a, b, level, length):
    if level[a] != level[b]:
        return level[a] < level[b]
    return length[a] < length[b] or (length[a] == length[b] and a < b)


@njit(cache=True)
def rise(at, heap, place, level, length):
    edge = heap[at]
    while at > 0:
        above = (at - 1) >> 1
        if not _before(edge, heap[above], level, length):
            break
        heap[at] = heap[above]
        place[heap[at]] = at
        at = above
    heap[at] = edge
    place[edge] = at


@njit(cache=True)
def sink(at, n, heap, place, level, length):
    edge = heap[at]
    while True:
        below = 2 * at + 1
        if below >= n:
            break
        if below + 1 < n and _before(heap[below + 1], heap[below], level, length):
            below += 1
        if not _before(heap[below], edge, level, length):
            break
        heap[at] = heap[below]
        place[heap[at]] = at
        at = below
    heap[at] = edge
    place[edge] = at


@njit(cache=True)
def drop(edge, n, heap, place, level, length):
    """Take an edge out of a heap of n; returns n - 1."""
    at = place[edge]
    place[edge] = -1
    n -= 1
    if at < n:
        heap[at] = heap[n]
        place[heap[at]] = at
        rise(at, heap, place, level, length)
        sink(place[heap[at]], n, heap, place, level, length)
    return n


@njit(cache=True, inline="always")
def _counts(kind):
    """Which edges count: the least that occurs."""
    return 0 if kind & EDGE else 1 if kind & ACROSS else 2


@njit(cache=True, inline="always")
def _combine(linkage, known, edge, kind, length, count):
    """Two edges of the new cluster lead to one other: what `known` becomes."""
    own, other = _counts(kind[known]), _counts(kind[edge])
    if own != other:
        if other < own:
            length[known] = length[edge]
            if linkage == AVERAGE:
                count[known] = count[edge]
    elif linkage == SINGLE:
        length[known] = min(length[known], length[edge])
    elif linkage == COMPLETE:
        length[known] = max(length[known], length[edge])
    elif linkage == WEIGHTED:
        length[known] = (length[known] + length[edge]) / 2
    else:
        count[known] += count[edge]
        length[known] += (length[edge] - length[known]) * (count[edge] / count[known])


@njit(cache=True, inline="always")
def _unite(linkage, a, b, size, centre, spread):
    """Centre and mean squared distance to it of b with a in it; sizes are those before."""
    share = 0.5 if linkage == MEDIAN else size[a] / (size[a] + size[b])
    total = 0.0
    for d in range(centre.shape[1]):
        apart = centre[a, d] - centre[b, d]
        total += apart * apart
        centre[b, d] += share * apart
    spread[b] += share * (spread[a] - spread[b]) + share * (1.0 - share) * total


@njit(cache=True, inline="always")
def _renew(
    linkage, b, n_edges, ends, kind, level, length, heap, place, head, follow, node, size, centre,
    spread,
):  # fmt: skip
    """Find the levels of all edges of b anew, and their lengths where these follow from centres;
    take those that are gone from its list."""
    before = -1
    half = head[b]
    while half >= 0:
        edge = half >> 1
        if place[edge] < 0:
            if before < 0:
                head[b] = follow[half]
            else:
                follow[before] = follow[half]
        else:
            x = ends[edge, 1 - (half & 1)]
            if linkage >= WARD:
                total = 0.0
                for d in range(centre.shape[1]):
                    apart = centre[b, d] - centre[x, d]
                    total += apart * apart
                if linkage == WARD:
                    total *= 2.0 * size[b] * size[x] / (size[b] + size[x])
                elif linkage == SPREAD:
                    total += spread[b] + spread[x]
                length[edge] = np.sqrt(total)
            level[edge] = level_of(kind[edge], node[b], node[x])
            rise(place[edge], heap, place, level, length)
            sink(place[edge], n_edges, heap, place, level, length)
            before = half
        half = follow[half]


@njit(cache=True)
def prepare(ends, kind, level, length, node, table, heap, place, head, follow, degree):
    """Fill levels, table, heap and lists: edge e is half-edge 2 e in the list of its first end and
    2 e + 1 in that of its second."""
    n = length.size
    table[:] = -1
    head[:] = -1
    for edge in range(n):
        heap[edge] = edge
        place[edge] = edge
        level[edge] = level_of(kind[edge], node[ends[edge, 0]], node[ends[edge, 1]])
        _insert(edge, table, ends)
        for side in range(2):
            cluster = ends[edge, side]
            follow[2 * edge + side] = head[cluster]
            head[cluster] = 2 * edge + side
            degree[cluster] += 1
    for at in range(n // 2 - 1, -1, -1):
        sink(at, n, heap, place, level, length)


@njit(cache=True, nogil=True)
def advance(
    linkage, first, last, n_edges, ends, kind, level, length, count, table, heap, place, head,
    follow, degree, size, number, node, n_held, above, n_rows, centre, spread, merges, height,
    merge_level,
):  # fmt: skip
    """Merges number `first` to `last` - 1; returns the number of edges left in the heap.

    ends (E, 2), kind, level, length, count (E,): the edges as they are now. size, number, node,
    n_held, centre, spread: of each cluster; its number is that in the merges. merges (N - 1, 2),
    height, merge_level (N - 1,): filled in.
    """
    by_centre = linkage >= WARD
    n_points = size.size
    for merge in range(first, last):
        shortest = heap[0]
        height[merge], merge_level[merge] = length[shortest], level[shortest]
        a, b = ends[shortest, 0], ends[shortest, 1]
        merges[merge, 0], merges[merge, 1] = number[a], number[b]
        if degree[a] > degree[b]:
            a, b = b, a
        n_edges = drop(shortest, n_edges, heap, place, level, length)
        _remove(shortest, table, ends)
        degree[b] -= 1
        earlier = node[b]
        join(a, b, node, n_held, above, n_rows)
        another = by_centre or node[b] != earlier
        half = head[a]
        while half >= 0:
            behind = follow[half]
            edge = half >> 1
            if place[edge] >= 0:
                side = half & 1
                x = ends[edge, 1 - side]
                _remove(edge, table, ends)
                known = _find(b, x, table, ends)
                if known < 0:
                    known = edge
                    ends[edge, side] = b
                    _insert(edge, table, ends)
                    follow[half] = head[b]
                    head[b] = half
                    degree[b] += 1
                else:
                    n_edges = drop(edge, n_edges, heap, place, level, length)
                    degree[x] -= 1
                    if not by_centre:
                        _combine(linkage, known, edge, kind, length, count)
                    kind[known] |= kind[edge]
                if not by_centre:
                    if not another:
                        level[known] = level_of(kind[known], node[b], node[x])
                    rise(place[known], heap, place, level, length)
                    sink(place[known], n_edges, heap, place, level, length)
            half = behind
        head[a] = -1
        number[b] = n_points + merge
        if by_centre:
            _unite(linkage, a, b, size, centre, spread)
        size[b] += size[a]
        if another:
            _renew(
                linkage, b, n_edges, ends, kind, level, length, heap, place, head, follow, node,
                size, centre, spread,
            )  # fmt: skip
    return n_edges

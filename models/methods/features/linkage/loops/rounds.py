"""Rounds of merges along the edges of a graph, each nearly the best at its time, compiled by numba.

Clusters have a centre, a mean squared distance to it and a size, from which every length follows
(`edges.WARD` and the linkages after it). Each has a list of half-edges: a half leads to the cluster
`other`, or to what that has become, is `length` long as measured from here, and `follow` is the
next one, -1 after the last. The halves of a node lie side by side at first. Lists are joined as
they are when clusters merge; a half that leads inside, or a second one to the same cluster, is
dropped when the list is next gone through.

Every edge is at least as long as the least that is known of one of its two ends, `least`. So the
smallest of these in a heap bounds all edges from below. A round takes the clusters out whose least
is within (1 + epsilon) of it, measures their edges (`scan`, any number of clusters at a time), and
merges along the short ones, the shortest first (`merge_round`). A merge is made only where its
length, measured anew if one of its ends has changed, is within (1 + epsilon) of the bound on all
edges at that moment.

A merge moves the centre of a part by little where the other is far smaller. No edge of the part
then gets shorter than by that move (`_drift`); these moves are added up, and the part's edges are
measured again only where they reach an eighth of epsilon: `SHARE`. A cluster that takes up others
one by one so measures its own edges a few times a round, not once for each.

A length that was measured holds until one of its ends changes: merges are the clock, `changed` and
`measured` are times.

Cost: O(k D) for a merge and for each time that a cluster is taken out, k the edges in its list.
"""

from __future__ import annotations

import numpy as np

from models.methods.features.linkage.loops.edges import MEDIAN, SPREAD, WARD, drop, rise, sink
from models.running.loops import njit

HALF = np.dtype([("length", np.float64), ("other", np.int32), ("follow", np.int32)])
WIDE_HALF = np.dtype([("length", np.float64), ("other", np.int64), ("follow", np.int64)])
"""A half, within one line of a cache; wide where `follow` would not reach all of them otherwise."""

SHARE = 0.125
"""How far a cluster's edges may have moved in a round without being measured, as a part of epsilon
times the least length."""


@njit(cache=True, inline="always")
def _root(link, at):
    while link[at] != at:
        at = link[at]
    return at


@njit(cache=True, inline="always")
def _squared(a, b, centre):
    """Squared distance of two centres, in four sums that are added in a fixed order."""
    n = centre.shape[1]
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = n - n % 4
    for d in range(0, whole, 4):
        x0, x1 = centre[a, d] - centre[b, d], centre[a, d + 1] - centre[b, d + 1]
        x2, x3 = centre[a, d + 2] - centre[b, d + 2], centre[a, d + 3] - centre[b, d + 3]
        s0 += x0 * x0
        s1 += x1 * x1
        s2 += x2 * x2
        s3 += x3 * x3
    for d in range(whole, n):
        x0 = centre[a, d] - centre[b, d]
        s0 += x0 * x0
    return (s0 + s1) + (s2 + s3)


@njit(cache=True, inline="always")
def _apart(linkage, a, b, size, centre, spread):
    """The length of the edge between two clusters, the same bits from either end."""
    total = _squared(a, b, centre)
    if linkage == WARD:
        total *= 2.0 * (size[a] * size[b]) / (size[a] + size[b])
    elif linkage == SPREAD:
        total += spread[a] + spread[b]
    return np.sqrt(total)


@njit(cache=True, inline="always")
def _drift(linkage, moved, size, before, after):
    """The most by which an edge of a part gets shorter as it becomes part of a union.

    moved : from its centre to the union's. before, after : mean squared distances to them.
    """
    if linkage == WARD:
        # The factor of a cluster of m points is sqrt(2 n m / (n + m)), which grows with n.
        return np.sqrt(2.0 * size) * moved
    if linkage == SPREAD:
        return moved + max(0.0, np.sqrt(before) - np.sqrt(max(0.0, after)))
    return moved


@njit(cache=True, inline="always")
def _smaller(one, other, size):
    """The two, the one that the other takes up first."""
    if size[one] > size[other] or (size[one] == size[other] and one < other):
        return other, one
    return one, other


@njit(cache=True, inline="always")
def _unite(linkage, a, b, size, centre, spread):
    """Make b the union of both; returns the share of a in it and the distance of the centres."""
    share = 0.5 if linkage == MEDIAN else size[a] / (size[a] + size[b])
    total = _squared(a, b, centre)
    for d in range(centre.shape[1]):
        centre[b, d] += share * (centre[a, d] - centre[b, d])
    spread[b] += share * (spread[a] - spread[b]) + share * (1.0 - share) * total
    size[b] += size[a]
    return share, np.sqrt(total)


@njit(cache=True, nogil=True)
def near_order(ends, length, n_rounds, order):
    """Fill `order` with all nodes, those that merge early side by side: components that join along
    their shortest edges, in rounds as of Boruvka's, one behind the other. O(E) for each round."""
    n = order.size
    link, last = np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32)
    behind, best = np.full(n, -1, dtype=np.int32), np.empty(n, dtype=np.int64)
    for _ in range(n_rounds):
        best[:] = -1
        for edge in range(length.size):
            a, b = link[ends[edge, 0]], link[ends[edge, 1]]
            if a != b:
                if best[a] < 0 or length[edge] < length[best[a]]:
                    best[a] = edge
                if best[b] < 0 or length[edge] < length[best[b]]:
                    best[b] = edge
        for node in range(n):
            if best[node] < 0:
                continue
            a, b = _root(link, ends[best[node], 0]), _root(link, ends[best[node], 1])
            if a != b:
                a, b = min(a, b), max(a, b)
                behind[last[a]] = b
                last[a] = last[b]
                link[b] = a
        for node in range(n):
            link[node] = _root(link, node)
    n_filled = 0
    for node in range(n):
        at = node if link[node] == node else -1
        while at >= 0:
            order[n_filled] = at
            n_filled += 1
            at = behind[at]


@njit(cache=True, nogil=True)
def prepare(ends, length, rank, halves, head, tail, least):
    """Fill the lists, and `least` with the shortest edge of each cluster.

    rank : (n,) the number here of each node of the edges.
    """
    tail[:] = 0
    for edge in range(length.size):
        tail[rank[ends[edge, 0]]] += 1
        tail[rank[ends[edge, 1]]] += 1
    at = 0
    for cluster in range(head.size):
        head[cluster] = at
        at += tail[cluster]
        tail[cluster] = head[cluster]
    least[:] = np.inf
    for edge in range(length.size):
        for side in range(2):
            cluster = rank[ends[edge, side]]
            half = tail[cluster]
            halves[half].other = rank[ends[edge, 1 - side]]
            halves[half].length = length[edge]
            halves[half].follow = half + 1
            tail[cluster] = half + 1
            least[cluster] = min(least[cluster], length[edge])
    for cluster in range(head.size):
        if tail[cluster] == head[cluster]:
            head[cluster], tail[cluster] = -1, -1
        else:
            tail[cluster] -= 1
            halves[tail[cluster]].follow = -1


@njit(cache=True, nogil=True)
def replay(
    linkage, merges, link, number, halves, head, tail, changed, measured, size, centre, spread
):  # fmt: skip
    """Make merges of an earlier attempt again, on what `prepare` filled."""
    n_points = link.size
    slot = np.empty(n_points + len(merges), dtype=np.int64)
    slot[:n_points] = np.arange(n_points)
    for merge in range(len(merges)):
        a, b = _smaller(slot[merges[merge, 0]], slot[merges[merge, 1]], size)
        _unite(linkage, a, b, size, centre, spread)
        _append(a, b, halves, head, tail)
        link[a] = b
        number[b] = n_points + merge
        changed[b] = merge + 1
        measured[b] = -1
        slot[n_points + merge] = b


@njit(cache=True, inline="always")
def _append(a, b, halves, head, tail):
    """Put the list of a behind that of b."""
    if head[b] < 0:
        head[b], tail[b] = head[a], tail[a]
    elif head[a] >= 0:
        halves[tail[b]].follow = head[a]
        tail[b] = tail[a]


@njit(cache=True, nogil=True)
def fill(link, least, heap, place, level):
    """The heap of all clusters that there are; returns their number."""
    n = 0
    for cluster in range(link.size):
        place[cluster] = -1
        if link[cluster] == cluster:
            heap[n] = cluster
            place[cluster] = n
            n += 1
    for at in range(n // 2 - 1, -1, -1):
        sink(at, n, heap, place, level, least)
    return n


@njit(cache=True, nogil=True)
def take(epsilon, n_heap, least, heap, place, level, taken):
    """Take out the clusters within (1 + epsilon) of the least into `taken`; returns how many there
    are and how many are left."""
    most = (1.0 + epsilon) * least[heap[0]]
    n = 0
    while n_heap and least[heap[0]] <= most:
        cluster = heap[0]
        taken[n] = cluster
        n += 1
        n_heap = drop(cluster, n_heap, heap, place, level, least)
    return n, n_heap


@njit(cache=True, nogil=True)
def scan(
    linkage, clock, clusters, halves, head, tail, link, changed, measured, seen, size, centre,
    spread, least,
):  # fmt: skip
    """Measure the edges of clusters where they may have changed, and find the least of each.

    Writes only what belongs to these clusters, and `seen`, (n + 1,), whose last entry counts.
    """
    n = link.size
    for cluster in clusters:
        seen[n] += 1
        mark, shortest, before, half = seen[n], np.inf, -1, head[cluster]
        since = measured[cluster]
        while half >= 0:
            behind = halves[half].follow
            other = _root(link, halves[half].other)
            halves[half].other = other
            if other == cluster or seen[other] == mark:
                if before < 0:
                    head[cluster] = behind
                else:
                    halves[before].follow = behind
            else:
                seen[other] = mark
                if changed[other] > since or changed[cluster] > since:
                    halves[half].length = _apart(linkage, cluster, other, size, centre, spread)
                shortest = min(shortest, halves[half].length)
                before = half
            half = behind
        tail[cluster] = before
        least[cluster] = shortest
        measured[cluster] = clock


@njit(cache=True, nogil=True)
def candidates(epsilon, taken, n_heap, halves, head, least, heap, place):
    """The bound on all edges, and the edges within (1 + epsilon) of it: (bound, lower cluster,
    higher one, length)."""
    bound = least[heap[0]] if n_heap else np.inf
    for cluster in taken:
        bound = min(bound, least[cluster])
    most = (1.0 + epsilon) * bound
    n = 0
    one, other, apart = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    for filling in range(2):
        if filling:
            one, other, apart = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
        n = 0
        for cluster in taken:
            if least[cluster] > most:
                continue
            half = head[cluster]
            while half >= 0:
                there, long = halves[half].other, halves[half].length
                # An edge between two that were taken out is in both lists.
                if long <= most and (place[there] >= 0 or cluster < there):
                    if filling:
                        one[n], other[n] = min(cluster, there), max(cluster, there)
                        apart[n] = long
                    n += 1
                half = halves[half].follow
    return bound, one, other, apart


@njit(cache=True)
def _measure(
    linkage, part, union, other_part, bound, round_, mark, halves, head, tail, link, seen, noted,
    note, size, centre, spread,
):  # fmt: skip
    """The shortest edge of a part of the union and where it leads. The part's list loses what leads
    inside or twice to the same cluster; edges below the bound are noted at their other ends."""
    shortest, nearest, before, half = np.inf, -1, -1, head[part]
    while half >= 0:
        behind = halves[half].follow
        other = _root(link, halves[half].other)
        halves[half].other = other
        if other in (part, other_part) or seen[other] == mark:
            if before < 0:
                head[part] = behind
            else:
                halves[before].follow = behind
        else:
            seen[other] = mark
            apart = _apart(linkage, union, other, size, centre, spread)
            halves[half].length = apart
            if apart < shortest or (apart == shortest and other < nearest):
                shortest, nearest = apart, other
            if apart < bound and (noted[other] != round_ or apart < note[other]):
                noted[other], note[other] = round_, apart
            before = half
        half = behind
    tail[part] = before
    return shortest, nearest


@njit(cache=True, nogil=True)
def merge_round(
    linkage, epsilon, bound, n_done, n_heap, one, other, apart, order, taken, halves, head, tail,
    link, number, changed, measured, seen, moved, noted, note, size, centre, spread, least, heap,
    place, level, merges, height,
):  # fmt: skip
    """Merge along candidates in their order, and along an edge that a merge made shorter at once;
    returns the number of merges and of the heap.

    moved (n,): how far the edges of a cluster may have moved since they were measured in this
    round. noted, note (n,): the round in which an edge of a cluster got shorter than the bound,
    and its length. merges (n - 1, 2), height (n - 1,): filled in from `n_done` on.
    """
    n_points = link.size
    begun, farthest, room = n_done, 0.0, SHARE * epsilon * bound
    round_ = begun + 1
    for at in order:
        u, v, apart_now = _root(link, one[at]), _root(link, other[at]), apart[at]
        if u != v and (changed[u] > begun or changed[v] > begun):
            apart_now = _apart(linkage, u, v, size, centre, spread)
        while u != v:
            least_edge = min(bound, least[heap[0]]) if n_heap else bound
            if apart_now > (1.0 + epsilon) * least_edge:
                break
            a, b = _smaller(u, v, size)
            merges[n_done, 0], merges[n_done, 1] = number[b], number[a]
            height[n_done] = apart_now
            size_a, size_b, spread_a, spread_b = size[a], size[b], spread[a], spread[b]
            share, way = _unite(linkage, a, b, size, centre, spread)
            n_done += 1
            # What is known of all edges of both, but for how far others have moved.
            own = min(
                note[a] if noted[a] == round_ else bound, note[b] if noted[b] == round_ else bound
            )
            drift_a = _drift(linkage, (1.0 - share) * way, size_a, spread_a, spread[b])
            drift_b = _drift(linkage, share * way, size_b, spread_b, spread[b])
            drift_a += moved[a] if changed[a] > begun else 0.0
            drift_b += moved[b] if changed[b] > begun else 0.0
            stays_a = drift_a <= room and own >= (1.0 - SHARE * epsilon) * bound
            stays_b = drift_b <= room and own >= (1.0 - SHARE * epsilon) * bound
            seen[n_points] += 1
            mark, shortest, nearest, drifted = seen[n_points], np.inf, -1, 0.0
            if stays_a:
                drifted = drift_a
            else:
                shortest, nearest = _measure(
                    linkage, a, b, b, bound, round_, mark, halves, head, tail, link, seen, noted,
                    note, size, centre, spread,
                )  # fmt: skip
            if stays_b:
                drifted = max(drifted, drift_b)
            else:
                found, there = _measure(
                    linkage, b, b, a, bound, round_, mark, halves, head, tail, link, seen, noted,
                    note, size, centre, spread,
                )  # fmt: skip
                if found < shortest or (found == shortest and there < nearest):
                    shortest, nearest = found, there
            is_exact = not stays_a and not stays_b
            _append(a, b, halves, head, tail)
            link[a] = b
            number[b] = n_points + n_done - 1
            changed[b] = n_done
            measured[b] = n_done if is_exact else -1
            moved[b], farthest = drifted, max(farthest, drifted)
            noted[b], note[b] = round_, min(own if not is_exact else bound, shortest)
            # Before the least of the union changes, for which the heap would be out of order.
            if place[a] >= 0:
                n_heap = drop(a, n_heap, heap, place, level, least)
            least[b] = shortest if is_exact else max(0.0, note[b] - 2.0 * farthest)
            if place[b] < 0:
                heap[n_heap] = b
                place[b] = n_heap
                n_heap += 1
            rise(place[b], heap, place, level, least)
            sink(place[b], n_heap, heap, place, level, least)
            if not is_exact or shortest > apart_now or nearest < 0:
                break
            u, v, apart_now = b, nearest, shortest
    for cluster in taken:
        if link[cluster] == cluster and place[cluster] < 0:
            heap[n_heap] = cluster
            place[cluster] = n_heap
            n_heap += 1
            rise(n_heap - 1, heap, place, level, least)
    return n_done, n_heap

"""The compiled loop of `models.numerics.transport` for more than two clusters.

For each pair of clusters (a, b) a heap holds the points of a by the cost of moving to b. Points
that have left a stay in its heaps until they reach the top. Heaps are stored in one pool and move
to its end when they outgrow their place.
"""

from __future__ import annotations

import numpy as np

from models.running.loops import njit

_NONE = -1


@njit(cache=True, nogil=True)
def exchange(cost, low, high, price):
    """The optimal cluster of each point and prices, see `models.numerics.transport.transport_plan`.

    cost : (K, N) float64, bounds that can be met. price : (K,) to start from.
    """
    n_clusters, n_points = cost.shape
    cluster = np.empty(n_points, np.int64)
    size = np.zeros(n_clusters, np.int64)
    scale = 0.0
    for i in range(n_points):
        best = 0
        for k in range(n_clusters):
            if cost[k, i] + price[k] < cost[best, i] + price[best]:
                best = k
            if abs(cost[k, i]) > scale:
                scale = abs(cost[k, i])
        cluster[i] = best
        size[best] += 1
    least = 1e-13 * (scale + np.abs(price).max())
    key, point, start, count, room, used = _heaps(cost, cluster, size)
    step = np.full((n_clusters, n_clusters), np.inf)
    for a in range(n_clusters):
        for b in range(n_clusters):
            if a != b:
                step[a, b] = _cheapest(a * n_clusters + b, a, key, point, start, count, cluster)
    path = np.empty(n_clusters + 1, np.int64)
    moved = np.empty(n_clusters, np.int64)
    while True:
        n_path = _best_path(step, size, low, high, least, path)
        if n_path == 0:
            break
        for edge in range(n_path - 1):
            moved[edge] = point[start[path[edge] * n_clusters + path[edge + 1]]]
        for edge in range(n_path - 1):
            i, b = moved[edge], path[edge + 1]
            cluster[i] = b
            for c in range(n_clusters):
                if c == b:
                    continue
                key, point, used = _push(
                    b * n_clusters + c, cost[c, i] - cost[b, i], i,
                    key, point, start, count, room, used,
                )  # fmt: skip
        size[path[0]] -= 1
        size[path[n_path - 1]] += 1
        for edge in range(n_path):
            a = path[edge]
            for b in range(n_clusters):
                if a != b:
                    step[a, b] = _cheapest(a * n_clusters + b, a, key, point, start, count, cluster)
    return cluster, _prices(step, size, low, high)


@njit(cache=True, nogil=True)
def _heaps(cost, cluster, size):
    """A heap for each pair of clusters, with room for twice as many points."""
    n_clusters, n_points = cost.shape
    n_heaps = n_clusters * n_clusters
    start = np.zeros(n_heaps, np.int64)
    count = np.zeros(n_heaps, np.int64)
    room = np.zeros(n_heaps, np.int64)
    used = 0
    for heap in range(n_heaps):
        a, b = heap // n_clusters, heap % n_clusters
        if a != b:
            start[heap] = used
            room[heap] = size[a] + 8
            used += room[heap]
    key = np.empty(used + used // 4, np.float64)
    point = np.empty(used + used // 4, np.int64)
    for i in range(n_points):
        a = cluster[i]
        for b in range(n_clusters):
            if a != b:
                heap = a * n_clusters + b
                at = start[heap] + count[heap]
                key[at], point[at] = cost[b, i] - cost[a, i], i
                count[heap] += 1
    for heap in range(n_heaps):
        for at in range(count[heap] // 2 - 1, -1, -1):
            _sink(at, start[heap], count[heap], key, point)
    return key, point, start, count, room, used


@njit(cache=True, nogil=True)
def _sink(at, first, n, key, point):
    own, which = key[first + at], point[first + at]
    while True:
        below = 2 * at + 1
        if below >= n:
            break
        if below + 1 < n and _before(first + below + 1, first + below, key, point):
            below += 1
        if not (
            key[first + below] < own or (key[first + below] == own and point[first + below] < which)
        ):
            break
        key[first + at], point[first + at] = key[first + below], point[first + below]
        at = below
    key[first + at], point[first + at] = own, which


@njit(cache=True, nogil=True, inline="always")
def _before(a, b, key, point):
    return key[a] < key[b] or (key[a] == key[b] and point[a] < point[b])


@njit(cache=True, nogil=True)
def _push(heap, own, which, key, point, start, count, room, used):
    """Add a point to a heap; returns the pool, which may have grown, and its used length."""
    if count[heap] == room[heap]:
        wanted = 2 * room[heap]
        if used + wanted > key.size:
            larger = np.empty(2 * (used + wanted), np.float64)
            larger[:used] = key[:used]
            key = larger
            others = np.empty(larger.size, np.int64)
            others[:used] = point[:used]
            point = others
        old, n = start[heap], count[heap]
        key[used : used + n] = key[old : old + n]
        point[used : used + n] = point[old : old + n]
        start[heap], room[heap] = used, wanted
        used += wanted
    first, at = start[heap], count[heap]
    count[heap] += 1
    while at > 0:
        above = (at - 1) >> 1
        if key[first + above] < own or (key[first + above] == own and point[first + above] < which):
            break
        key[first + at], point[first + at] = key[first + above], point[first + above]
        at = above
    key[first + at], point[first + at] = own, which
    return key, point, used


@njit(cache=True, nogil=True)
def _cheapest(heap, a, key, point, start, count, cluster):
    """The cost of the cheapest move in a heap, after removing points at its top that left the
    cluster."""
    first = start[heap]
    while count[heap] > 0 and cluster[point[first]] != a:
        count[heap] -= 1
        last = first + count[heap]
        key[first], point[first] = key[last], point[last]
        _sink(0, first, count[heap], key, point)
    return key[first] if count[heap] > 0 else np.inf


@njit(cache=True, nogil=True)
def _best_path(step, size, low, high, least, path):
    """Write the clusters along the step that lowers the cost most to `path`; returns their number.

    It is 0 if there is no such step.
    step : (K, K) the cost of the cheapest move from one cluster to another. A path that ends where
        it begins changes no size. Meeting the bounds takes precedence over costs.
    """
    n_clusters = size.size
    over = under = False
    for k in range(n_clusters):
        over |= size[k] > high
        under |= size[k] < low
    far = np.full(n_clusters, np.inf)
    before = np.full(n_clusters, _NONE, np.int64)
    for k in range(n_clusters):
        if size[k] > (high if over else low):
            far[k] = 0.0
    for _ in range(n_clusters):
        moved = False
        for a in range(n_clusters):
            if far[a] == np.inf:
                continue
            for b in range(n_clusters):
                if far[a] + step[a, b] < far[b] - least:
                    far[b] = far[a] + step[a, b]
                    before[b] = a
                    moved = True
        if not moved:
            break
    end = _NONE
    for k in range(n_clusters):
        fits = size[k] < (low if under else high)
        if fits and before[k] != _NONE and (end == _NONE or far[k] < far[end]):
            end = k
    if end == _NONE or (not over and not under and far[end] >= -least):
        return 0
    n_path = 0
    at = end
    seen = np.full(n_clusters, _NONE, np.int64)
    while at != _NONE and seen[at] == _NONE:
        seen[at] = n_path
        path[n_path] = at
        n_path += 1
        at = before[at]
    if at != _NONE:
        # Rounding over many steps has left a cycle that lowers the cost: take that first.
        first = seen[at]
        path[n_path] = at
        n_path += 1 - first
        path[:n_path] = path[first : first + n_path].copy()
    path[:n_path] = path[:n_path][::-1].copy()
    return n_path


@njit(cache=True, nogil=True)
def _prices(step, size, low, high):
    """Prices under which each point's cluster is its cheapest by the largest possible gap.

    They satisfy price[a] - price[b] <= step[a, b] - gap, price[a] <= 0 for clusters below their
    upper bound and price[a] >= 0 for clusters above their lower one. They exist while no cycle of
    these differences is negative: the largest gap is found by bisection. The largest and the
    smallest prices are shortest paths to and from a ground node; the result is their mean.
    """
    n_clusters = size.size
    ground = n_clusters
    edge = np.full((n_clusters + 1, n_clusters + 1), np.inf)
    top = 0.0
    for a in range(n_clusters):
        for b in range(n_clusters):
            if a != b and step[a, b] < np.inf:
                edge[a, b] = step[a, b]
                top = max(top, abs(step[a, b]))
        if size[a] < high:
            edge[a, ground] = 0.0
        if size[a] > low:
            edge[ground, a] = 0.0
    if low == high:
        edge[0, ground] = edge[ground, 0] = 0.0
    narrow, wide = 0.0, top
    for _ in range(30):
        gap = 0.5 * (narrow + wide)
        closer = _closer(edge, gap)
        # In one direction no cluster may be reachable: all are full, or all at their lower bound.
        if _paths(closer, ground, True)[1] and _paths(closer, ground, False)[1]:
            narrow = gap
        else:
            wide = gap
    edge = _closer(edge, 0.9 * narrow)
    up, _ = _paths(edge, ground, True)
    down, _ = _paths(edge, ground, False)
    price = np.empty(n_clusters)
    for k in range(n_clusters):
        if np.isfinite(up[k]) and np.isfinite(down[k]):
            price[k] = 0.5 * (up[k] - down[k])
        elif np.isfinite(up[k]):
            price[k] = up[k]
        else:
            price[k] = -down[k] if np.isfinite(down[k]) else 0.0
    return price


@njit(cache=True, nogil=True)
def _closer(edge, gap):
    """The edges between clusters, shortened; the last row and column belong to the ground node."""
    made = edge.copy()
    made[:-1, :-1] -= gap
    return made


@njit(cache=True, nogil=True)
def _paths(edge, ground, to):
    """Shortest paths to or from the ground node, and whether no cycle is negative."""
    n = edge.shape[0]
    far = np.full(n, np.inf)
    far[ground] = 0.0
    for _ in range(n):
        moved = False
        for a in range(n):
            for b in range(n):
                if a == b:
                    continue
                end, begin = (a, b) if to else (b, a)
                new = edge[a, b] + far[begin]
                if new < far[end] and (far[end] == np.inf or far[end] - new > 1e-15 * abs(new)):
                    far[end] = new
                    moved = True
        if not moved:
            return far, True
    return far, False

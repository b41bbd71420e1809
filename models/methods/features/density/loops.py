"""Merges at one height, put into the order in which they have no effect on each other, the
condensed tree along them, and walks in it; compiled.

Clusters of the condensed tree are numbered with those above them first.
"""

from __future__ import annotations

import numpy as np

from models.running.loops import njit


@njit(cache=True, nogil=True)
def chain_ties(linkage, out):
    """Fill `out` with the merges of `linkage`, both (n_points - 1, 4) as SciPy's, heights
    ascending: groups that become one at the same height are merged from the largest to the
    smallest, one after the other. O(N log N).
    """
    n_merges = len(linkage)
    n_points = n_merges + 1
    name = np.arange(2 * n_points - 1)
    inner = np.zeros(n_merges, dtype=np.bool_)
    base, stack = np.empty(n_points, dtype=np.int64), np.empty(n_points, dtype=np.int64)
    first = 0
    while first < n_merges:
        last = first + 1
        while last < n_merges and linkage[last, 2] == linkage[first, 2]:
            last += 1
        for row in range(first, last):
            for side in range(2):
                child = np.int64(linkage[row, side]) - n_points
                if child >= first:
                    inner[child] = True
        at = first
        for row in range(first, last):
            if inner[row]:
                continue
            n_base, height = 0, 1
            stack[0] = row
            while height:
                height -= 1
                merge = stack[height]
                for side in range(2):
                    child = np.int64(linkage[merge, side])
                    if child - n_points >= first:
                        stack[height] = child - n_points
                        height += 1
                    else:
                        base[n_base] = child
                        n_base += 1
            size = np.ones(n_base, dtype=np.int64)
            for number in range(n_base):
                if base[number] >= n_points:
                    size[number] = np.int64(linkage[base[number] - n_points, 3])
            order = np.argsort(-size, kind="mergesort")
            current, total = name[base[order[0]]], size[order[0]]
            for number in order[1:]:
                other = name[base[number]]
                total += size[number]
                out[at, 0], out[at, 1] = min(current, other), max(current, other)
                out[at, 2], out[at, 3] = linkage[first, 2], total
                current = n_points + at
                at += 1
            name[n_points + row] = current
        first = last


@njit(cache=True, nogil=True)
def condense(merges, least):
    """The condensed tree of `merges`: a part with fewer than `least` points falls out of its
    cluster, which splits where both parts have as many.

    Returns for each point its last cluster and the density at which it falls out, and for each
    cluster the one above it, -1 for the root, the density at which it begins, its points then, and
    the sum over them of the density to which they stay less that. Clusters are numbered level by
    level of the merges. O(N).
    """
    n_points = len(merges) + 1
    cluster, fall = np.zeros(n_points, dtype=np.int64), np.zeros(n_points)
    above, birth = np.full(n_points, -1), np.zeros(n_points)
    size, mass = np.zeros(n_points, dtype=np.int64), np.zeros(n_points)
    size[0] = n_points
    n_clusters = 1
    queue, stack = np.empty(n_points, dtype=np.int64), np.empty(n_points, dtype=np.int64)
    owner = np.zeros(n_points, dtype=np.int64)
    queue[0] = n_points - 2
    first, last = 0, 1
    while first < last:
        merge = queue[first]
        own = owner[merge]
        first += 1
        density = 1.0 / merges[merge, 2] if merges[merge, 2] > 0.0 else np.inf
        gain, n_large = density - birth[own], 0
        for side in range(2):
            n_large += _size(merges, merges[merge, side]) >= least
        for side in range(2):
            part = np.int64(merges[merge, side])
            n_part = _size(merges, part)
            if n_part < least:
                height, stack[0] = 1, part
                while height:
                    height -= 1
                    part = stack[height]
                    if part < n_points:
                        cluster[part], fall[part] = own, density
                        mass[own] += gain
                        continue
                    for below in range(2):
                        stack[height] = np.int64(merges[part - n_points, below])
                        height += 1
                continue
            name = own
            if n_large == 2:
                name = n_clusters
                n_clusters += 1
                above[name], birth[name], size[name] = own, density, n_part
                mass[own] += gain * n_part
            owner[part - n_points] = name
            queue[last] = part - n_points
            last += 1
    return (
        cluster, fall, above[:n_clusters].copy(), birth[:n_clusters].copy(),
        size[:n_clusters].copy(), mass[:n_clusters].copy(),
    )  # fmt: skip


@njit(cache=True, inline="always")
def _size(merges, part):
    """Points of a part of a merge."""
    n_points = len(merges) + 1
    return np.int64(merges[np.int64(part) - n_points, 3]) if part >= n_points else 1


@njit(cache=True, nogil=True)
def most_stable(above, size, mass, most, with_root):
    """(n_clusters,) the clusters, none in another, with the largest sum of `mass`, at most `most`
    points each; the upper ones of equal sums. The root only if `with_root`."""
    n_clusters = above.size
    picked, below = np.zeros(n_clusters, dtype=np.bool_), np.zeros(n_clusters)
    for cluster in range(n_clusters - 1, -1, -1):
        if cluster == 0 and not with_root:
            break
        picked[cluster] = not (below[cluster] > mass[cluster] or size[cluster] > most)
        if cluster:
            below[above[cluster]] += mass[cluster] if picked[cluster] else below[cluster]
    covered = np.zeros(n_clusters, dtype=np.bool_)
    for cluster in range(1, n_clusters):
        covered[cluster] = covered[above[cluster]] or picked[above[cluster]]
        picked[cluster] = picked[cluster] and not covered[cluster]
    return picked


@njit(cache=True, nogil=True)
def over(above, began, epsilon, with_root):
    """(n_clusters,) the lowest cluster above each that began farther apart than `epsilon`; else the
    root if `with_root`, or the one below the root."""
    found = np.zeros(above.size, dtype=np.int64)
    for cluster in range(1, above.size):
        parent = above[cluster]
        if parent == 0:
            found[cluster] = 0 if with_root else cluster
        elif began[parent] > epsilon:
            found[cluster] = parent
        else:
            found[cluster] = found[parent]
    return found


@njit(cache=True, nogil=True)
def lowest(above, picked):
    """(n_clusters,) each cluster itself if it is picked, else the lowest one above it that is, or
    the root."""
    found = np.zeros(above.size, dtype=np.int64)
    for cluster in range(1, above.size):
        found[cluster] = cluster if picked[cluster] else found[above[cluster]]
    return found


@njit(cache=True, nogil=True)
def raise_above(above, values):
    """Raise the value of each cluster to the largest below it."""
    for cluster in range(above.size - 1, 0, -1):
        values[above[cluster]] = max(values[above[cluster]], values[cluster])

"""k-means over dense points, compiled by numba: seeds, Lloyd's iterations, and distinct points.

Points are float32 or float64, in C order. Distances are sums of squared differences, in which
nothing cancels.

`seeds` is greedy k-means++: of a few points drawn with chances proportional to their squared
distance from the seeds so far, the one that leaves the least sum of squared distances is the next
seed. Its distances are in double precision. Random numbers are handed in: the same ones give the
same bits. scikit-learn's own seeds take 70% of a run on 10,000 x 64 in 20 clusters.

Each of Lloyd's iterations (`settle`) reads the points once, for their nearest centres and for the
sums that move these. A cluster that loses all its points gets the one farthest from its centre. In
the last pass distances, and the sums of points, are in double precision, so a split has the sums of
exactly its centres, and new points go by the same numbers.

`places` numbers the distinct points, if they are few.

scikit-learn's KMeans (`clusters.kmeans`) does the same for one matrix. Its checks, its copy of the
points and its products of matrices take up to 5 times as long as these loops for two centres, 20
times for a hundred points. For many centres among tens of thousands of points in single precision
the products are faster, by up to 1.5 times.

Source: Arthur and Vassilvitskii, "k-means++: The Advantages of Careful Seeding" (2007), section 5;
the number of trials is scikit-learn's. Cost: seeds O(N K D log K) time and 8 N log K bytes; O(N K
D) for each iteration.
"""

from __future__ import annotations

import numpy as np

from models.running.loops import njit

LOOSE = {"reassoc", "contract", "nsz"}
"""Fast-math flags that let sums be vectorized; NaN never occurs here."""

FAINT = 1e-25
"""Least variance for distances in single precision, whose squares must not vanish."""

NARROW, MANY = 32, 32
"""Points of fewer columns are compared with many centres column by column, others one centre after
the other."""

TILE = 64
"""Points whose distances are computed before they are added up: while sums are written, the next
point's distances would wait."""


@njit(cache=True, inline="always")
def _drawn(reached, weight, draw):
    """A point drawn with chances in proportion to its weight, whose running sums are `reached`."""
    at = np.searchsorted(reached, draw * reached[-1], side="right")
    at = min(at, len(reached) - 1)
    while at > 0 and weight[at] == 0.0:
        at -= 1
    return at


@njit(cache=True, nogil=True, fastmath=LOOSE)
def seeds(points, draws, n_centres):
    """(K, D) seeds of k-means by `draws` from [0, 1): one for the first, then some per seed."""
    n_points, n_columns = points.shape
    n_trials = (len(draws) - 1) // max(n_centres - 1, 1)
    centre = np.empty((n_centres, n_columns))
    centre[0] = points[min(np.int64(draws[0] * n_points), n_points - 1)]
    weight, reached = np.empty(n_points), np.empty(n_points)
    for i in range(n_points):
        weight[i] = 0.0
        for d in range(n_columns):
            away = points[i, d] - centre[0, d]
            weight[i] += away * away
    trial, potential = np.empty((n_points, n_trials)), np.empty(n_trials)
    candidate = np.empty((n_trials, n_columns))
    for c in range(1, n_centres):
        running = 0.0
        for i in range(n_points):
            running += weight[i]
            reached[i] = running
        for t in range(n_trials):
            draw = draws[1 + (c - 1) * n_trials + t]
            candidate[t] = points[_drawn(reached, weight, draw)]
            potential[t] = 0.0
        for i in range(n_points):
            for t in range(n_trials):
                apart = 0.0
                for d in range(n_columns):
                    away = points[i, d] - candidate[t, d]
                    apart += away * away
                trial[i, t] = min(apart, weight[i])
                potential[t] += trial[i, t]
        best = np.argmin(potential)
        centre[c] = candidate[best]
        for i in range(n_points):
            weight[i] = trial[i, best]
    return centre


@njit(cache=True)
def places(points, most, cluster, first):
    """The number of distinct points, or `most` + 1 if there are more than `most`.

    cluster (N,), first (most,): filled in: the place of each point, numbered in order of their
    first point, and that point. O(N `most` D) at worst; it stops at the first place too many.
    """
    n_points, n_columns = points.shape
    n_places = 0
    for i in range(n_points):
        at = 0
        while at < n_places:
            d, j = 0, first[at]
            while d < n_columns and points[i, d] == points[j, d]:
                d += 1
            if d == n_columns:
                break
            at += 1
        if at == n_places:
            if n_places == most:
                return most + 1
            first[at] = i
            n_places += 1
        cluster[i] = at
    return n_places


@njit(cache=True, fastmath=LOOSE)
def variance(points):
    """The mean variance of the columns, by moments about the first point: at most a factor of N
    cancels, whichever point that is."""
    n_points, n_columns = points.shape
    moved, squared = np.zeros(n_columns), np.zeros(n_columns)
    for i in range(n_points):
        for d in range(n_columns):
            away = np.float64(points[i, d]) - np.float64(points[0, d])
            moved[d] += away
            squared[d] += away * away
    total = 0.0
    for d in range(n_columns):
        total += max(squared[d] - moved[d] * moved[d] / n_points, 0.0)
    return total / n_points / n_columns


@njit(cache=True, nogil=True, fastmath=LOOSE)
def assign(points, centre, cluster, squares, total, size, distance, inertia):
    """Each point to its nearest centre, the first of several; returns how many change.

    centre (K, D): its precision is that of the distances. cluster (N,): as it was before; filled
    in. size (K,): gets the numbers of points.
    The others may be empty. squares (N, K): filled in with the squared distances. total
    (K, D): gets the sums of the points. distance, inertia (K,): get the sums of the distances and
    of their squares.
    """
    (n_points, n_columns), n_centres = points.shape, len(centre)
    wants_squares, wants_total, wants_sums = squares.size > 0, total.size > 0, inertia.size > 0
    across = n_columns < NARROW and n_centres >= MANY
    turned = centre.T.copy()
    apart, least = np.empty(n_centres, centre.dtype), np.empty(TILE)
    n_changed = 0
    for start in range(0, n_points, TILE):
        stop = min(start + TILE, n_points)
        for i in range(start, stop):
            if across:
                apart[:] = 0
                for d in range(n_columns):
                    for c in range(n_centres):
                        away = points[i, d] - turned[d, c]
                        apart[c] += away * away
            else:
                for c in range(0, n_centres, 2):
                    other = min(c + 1, n_centres - 1)
                    first, second = centre.dtype.type(0), centre.dtype.type(0)
                    for d in range(n_columns):
                        away, beside = points[i, d] - centre[c, d], points[i, d] - centre[other, d]
                        first += away * away
                        second += beside * beside
                    apart[c], apart[other] = first, second
            best, near = np.inf, 0
            for c in range(n_centres):
                if apart[c] < best:
                    best, near = apart[c], c
            if wants_squares:
                squares[i] = apart
            n_changed += near != cluster[i]
            cluster[i] = near
            least[i - start] = best
        for i in range(start, stop):
            size[cluster[i]] += 1
        if wants_sums:
            for i in range(start, stop):
                distance[cluster[i]] += np.sqrt(least[i - start])
                inertia[cluster[i]] += least[i - start]
        if wants_total:
            for i in range(start, stop):
                near = cluster[i]
                for d in range(n_columns):
                    total[near, d] += points[i, d]
    return n_changed


@njit(cache=True)
def _fill_empty(points, centre, cluster, total, size):
    """Give each empty cluster the point farthest from its centre, which leaves its cluster."""
    apart = np.zeros(len(points))
    for i in range(len(points)):
        for d in range(centre.shape[1]):
            away = points[i, d] - centre[cluster[i], d]
            apart[i] += away * away
    for c in range(len(centre)):
        if size[c]:
            continue
        far = np.argmax(apart)
        if apart[far] == 0.0:
            break
        apart[far] = 0.0
        size[cluster[far]] -= 1
        size[c] = 1
        cluster[far] = c
    # Added up again: without a point that is very far, a sum would be left with its rounding.
    total[:] = 0.0
    for i in range(len(points)):
        for d in range(centre.shape[1]):
            total[cluster[i], d] += points[i, d]


@njit(cache=True, inline="always")
def _move(centre, total, size):
    """Move the centres to the means of their clusters; returns the sum of the squared moves."""
    step = 0.0
    for c in range(len(centre)):
        if size[c]:
            for d in range(centre.shape[1]):
                mean = total[c, d] / size[c]
                move = mean - centre[c, d]
                step += move * move
                centre[c, d] = mean
    return step


@njit(cache=True, nogil=True)
def settle(points, centre, max_iter, tol, variance):
    """Lloyd's iterations from centres, which are moved.

    They end when no point changes its cluster, when the sum of the centres' squared moves is at
    most `tol` times the variance, or after `max_iter`. Distances are in the points' precision until
    no point changes, then in double precision.

    Returns (N,) cluster, (K,) sizes, sums of distances and sums of squared distances, and whether
    it converged; all for the centres at the end.
    """
    n_centres = len(centre)
    cluster = np.full(len(points), -1)
    total, size = np.empty(centre.shape), np.empty(n_centres, np.int64)
    distance, inertia = np.empty(n_centres), np.empty(n_centres)
    no_squares, none = np.empty((0, 0)), np.empty(0)
    rough, ended = points.itemsize < centre.itemsize and variance > FAINT, False
    for _ in range(max_iter):
        total[:], size[:] = 0.0, 0
        if rough:
            near = centre.astype(points.dtype)
            n_changed = assign(points, near, cluster, no_squares, total, size, none, none)
        else:
            distance[:], inertia[:] = 0.0, 0.0
            n_changed = assign(points, centre, cluster, no_squares, total, size, distance, inertia)
        if not n_changed:
            if not rough:
                return cluster, size, distance, inertia, True
            rough = False
            continue
        if size.min() == 0:
            _fill_empty(points, centre, cluster, total, size)
        if _move(centre, total, size) <= tol * variance:
            ended = True
            break
    size[:], distance[:], inertia[:] = 0, 0.0, 0.0
    assign(points, centre, cluster, no_squares, no_squares, size, distance, inertia)
    return cluster, size, distance, inertia, ended

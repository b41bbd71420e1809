"""The compiled half of a split: the squared hinge with its gradient, steps on weights, screening.

Weights are (K, P), class by class; points (N, P) in rows; scores (K, N). A point x of cluster y
adds sum over k != y of [1 - w_y.x + w_k.x]_+^2 / (N K) (Zhou et al., "Hierarchical Maximum-Margin
Clustering", 2015, eq. 5).

The steps on the weights, which lower the squared hinge plus the penalty of
`models.numerics.descent`, are a proximal Newton method. A step minimises a model with the curvature
of the hinge: its Hessian, where it exists, is a Laplacian whose weights are matrices, one for each
pair of clusters, from the points of one that lack a margin to the other. The model is minimised by
coordinate descent over the features: the part of the Hessian for a feature's K weights is bounded
by a multiple of the identity, so their update is a thresholding. The curvature may be that of a
sample of the points or of some steps ago, one matrix for all pairs or a multiple of the identity:
it is scaled by t, the Barzilai-Borwein value in its metric, and t is doubled until the objective
falls enough. (Lee, Sun and Saunders, "Proximal Newton-type Methods for Convex Optimization", 2012;
eq. 7 of Zhou et al., 2015, has an L-BFGS matrix in place of the curvature.)

Screening searches features or directions along which points split with a small objective. Along one
of them, x, the K clusters are intervals with cuts t_1 <= ... <= t_{K-1}, each cut in the
widest gap that the bounds on sizes allow, from the left. The weights u (k - (K - 1) / 2) for
cluster k make neighbouring clusters' scores differ by u (x - t_k); as a function of u the objective
of `splitting.objective` is convex, and a golden-section search finds its minimum.
"""

from __future__ import annotations

import numpy as np

from models.running.loops import njit

BLOCK = 1 << 15
"""The number of values in a block of points, which stays in the cache of a core."""


@njit(cache=True, nogil=True)
def hinge(points, cluster, weights, scores, gradient):
    """The mean squared hinge; `scores` (K, N) and `gradient` (K, P) are filled. O(N K P)."""
    n_points, n_features = points.shape
    n_clusters = weights.shape[0]
    gradient[:] = 0.0
    total = 0.0
    step = max(16, BLOCK // n_features)
    pull = np.empty((n_clusters, step))
    for first in range(0, n_points, step):
        last = min(first + step, n_points)
        rows = points[first:last]
        score = np.dot(weights, rows.T)
        scores[:, first:last] = score
        for i in range(last - first):
            own = cluster[first + i]
            margin = 1.0 - score[own, i]
            back = 0.0
            for k in range(n_clusters):
                lack = margin + score[k, i]
                if k != own and lack > 0.0:
                    total += lack * lack
                    pull[k, i] = lack
                    back -= lack
                else:
                    pull[k, i] = 0.0
            pull[own, i] = back
        if last - first == step:
            gradient += np.dot(pull, rows)
        else:
            gradient += np.dot(pull[:, : last - first].copy(), rows)
    gradient *= 2.0 / (n_points * n_clusters)
    return total / (n_points * n_clusters)


@njit(cache=True, nogil=True)
def costs(scores, cost):
    """Fill `cost` (K, N) with the cost of each point in each cluster, eq. 6 without the division
    by N K.

    The paper prints the same cluster in both terms; correct is 1 - w_y.x +
    w_k.x. O(N K^2).
    """
    n_clusters, n_points = scores.shape
    for y in range(n_clusters):
        for i in range(n_points):
            cost[y, i] = 0.0
        for k in range(n_clusters):
            if k == y:
                continue
            for i in range(n_points):
                lack = max(1.0 - scores[y, i] + scores[k, i], 0.0)
                cost[y, i] += lack * lack


ENOUGH = 1e-4
"""A step must lower the objective by this share of the model's quadratic term."""

FLOOR = 1e-3
"""The weight of points with a sufficient margin in the curvature: they may lose it."""

FRESH = 8
"""The largest number of steps with one curvature."""

SLOW = 0.5
"""A step that leaves more of the residual triggers a new curvature."""

SWEEPS = 50
"""The largest number of sweeps over the features in a step."""

EXACT = 0.2
"""The sweeps of a step end when the largest move falls to this share of the one in the first
sweep."""


@njit(cache=True, nogil=True)
def penalty(weights, l1, l2, ridge):
    """R(W)."""
    total = 0.0
    for p in range(weights.shape[1]):
        absolute, squared = 0.0, 0.0
        for k in range(weights.shape[0]):
            absolute += abs(weights[k, p])
            squared += weights[k, p] * weights[k, p]
        total += l1[p] * absolute + l2[p] * np.sqrt(squared) + ridge[p] * squared
    return total


@njit(cache=True, nogil=True)
def residual(weights, gradient, l1, l2, ridge):
    """The length of the shortest subgradient: 0 at the minimum."""
    n_clusters, n_features = weights.shape
    total = 0.0
    for p in range(n_features):
        squared = 0.0
        for k in range(n_clusters):
            squared += weights[k, p] * weights[k, p]
        length = np.sqrt(squared)
        size = 0.0
        for k in range(n_clusters):
            w = weights[k, p]
            g = gradient[k, p] + 2.0 * ridge[p] * w
            if length > 0.0:
                g += l2[p] * w / length
            if w != 0.0:
                g += l1[p] * np.sign(w)
            else:
                g = max(abs(g) - l1[p], 0.0)
            size += g * g
        if length > 0.0:
            total += size
        else:
            total += max(np.sqrt(size) - l2[p], 0.0) ** 2
    return np.sqrt(total)


@njit(cache=True, nogil=True)
def propose(weights, gradient, metric, bound, t, l1, l2, ridge):
    """The minimum of the model about `weights`, and the model's quadratic term there.

    metric : as `curvature` fills it; empty for `bound` times the identity.
    """
    n_clusters, n_features = weights.shape
    n_matrices = metric.shape[0]
    made = weights.copy()
    slope = gradient.copy()
    move = np.empty(n_clusters)
    degree = np.empty(n_clusters)
    first = 0.0
    for sweep in range(SWEEPS if n_matrices > 0 else 1):
        largest = 0.0
        for p in range(n_features):
            if n_matrices == 0:
                curve = bound
            elif n_matrices == 1:
                curve = n_clusters * metric[0, p, p]
            else:
                degree[:] = 0.0
                pair = 0
                for k in range(n_clusters):
                    for m in range(k):
                        degree[k] += metric[pair, p, p]
                        degree[m] += metric[pair, p, p]
                        pair += 1
                curve = 2.0 * degree.max()
            curve = max(t * curve, 1e-300)
            whole = curve + 2.0 * ridge[p]
            squared = 0.0
            for k in range(n_clusters):
                u = (curve * made[k, p] - slope[k, p]) / whole
                u = np.sign(u) * max(abs(u) - l1[p] / whole, 0.0)
                move[k] = u
                squared += u * u
            if l2[p] > 0.0 and squared > 0.0:
                size = np.sqrt(squared)
                factor = max(size - l2[p] / whole, 0.0) / size
                for k in range(n_clusters):
                    move[k] *= factor
            moved, mean = 0.0, 0.0
            for k in range(n_clusters):
                u = move[k]
                move[k] = u - made[k, p]
                made[k, p] = u
                moved += move[k] * move[k]
                mean += move[k]
            if moved == 0.0:
                continue
            largest = max(largest, curve * moved)
            if n_matrices == 0:
                for k in range(n_clusters):
                    slope[k, p] += curve * move[k]
            elif n_matrices == 1:
                for k in range(n_clusters):
                    by = t * (n_clusters * move[k] - mean)
                    for q in range(n_features):
                        slope[k, q] += by * metric[0, p, q]
            else:
                pair = 0
                for k in range(n_clusters):
                    for m in range(k):
                        by = t * (move[k] - move[m])
                        for q in range(n_features):
                            change = by * metric[pair, p, q]
                            slope[k, q] += change
                            slope[m, q] -= change
                        pair += 1
        if sweep == 0:
            first = largest
        if largest <= EXACT * EXACT * first:
            break
    bend = 0.0
    for k in range(n_clusters):
        for p in range(n_features):
            bend += (made[k, p] - weights[k, p]) * (slope[k, p] - gradient[k, p])
    return made, bend


@njit(cache=True, nogil=True)
def curvature(points, cluster, scores, most, metric):
    """The Hessian of the hinge where it exists, from about `most` of the points.

    It is a Laplacian whose weights are matrices: for the clusters k and m the sum of 2 x x' / (N K)
    over the points of one that lack a margin to the other. `metric` holds the weights of the pairs
    (1, 0), (2, 0), (2, 1), ..., or their mean if it has room for one.
    """
    n_clusters, n_points = scores.shape
    n_features = points.shape[1]
    n_pairs = n_clusters * (n_clusters - 1) // 2
    stride = max(1, n_points // most)
    n_rows = (n_points + stride - 1) // stride
    scale = np.sqrt(2.0 / (n_rows * n_clusters))
    if metric.shape[0] == 1 and n_pairs > 1:
        scale /= np.sqrt(n_pairs)
        rows = np.empty((n_rows, n_features))
        for j in range(n_rows):
            i = j * stride
            own = cluster[i]
            n_lacking = -1
            for k in range(n_clusters):
                n_lacking += 1.0 - scores[own, i] + scores[k, i] > 0.0
            by = scale * np.sqrt(max(n_lacking, FLOOR))
            for p in range(n_features):
                rows[j, p] = by * points[i, p]
        metric[0] = np.dot(rows.T, rows)
        return
    pair = 0
    for k in range(n_clusters):
        for m in range(k):
            n = 0
            rows = np.empty((n_rows, n_features))
            for j in range(n_rows):
                i = j * stride
                own = cluster[i]
                if own != k and own != m:
                    continue
                other = k + m - own
                lacks = 1.0 - scores[own, i] + scores[other, i] > 0.0
                by = scale if lacks else scale * np.sqrt(FLOOR)
                for p in range(n_features):
                    rows[n, p] = by * points[i, p]
                n += 1
            metric[pair] = np.dot(rows[:n].T, rows[:n])
            pair += 1


@njit(cache=True, nogil=True)
def descend(
    points, cluster, weights, scores, gradient, loss, metric, bound, most_rows, t, fresh,
    l1, l2, ridge, goal, most,
):  # fmt: skip
    """Steps on `weights`, in place, until the residual is at most `goal`, or `most` steps.

    scores, gradient, loss : of `weights` by `hinge`, updated.
    metric, bound, t : of the model. fresh : steps for which the curvature in `metric` is still
        used, 0 for a new one from about `most_rows` points.

    Returns the hinge, the penalty, the residual, t and fresh. O(N K P) a step, and for a curvature
    O(most_rows P^2 K).
    """
    n_clusters, n_features = weights.shape
    reg = penalty(weights, l1, l2, ridge)
    left = residual(weights, gradient, l1, l2, ridge)
    n_steps = 0
    other_scores = np.empty_like(scores)
    other_gradient = np.empty_like(gradient)
    while left > goal and n_steps < most:
        if fresh == 0 and metric.shape[0] > 0:
            curvature(points, cluster, scores, most_rows, metric)
            fresh, t = FRESH, 1.0
        n_steps += 1
        accepted, stale = False, metric.shape[0] > 0 and fresh < FRESH
        for _ in range(3 if stale else 60):
            made, length = propose(weights, gradient, metric, bound, t, l1, l2, ridge)
            if not length > 0.0:
                break
            new_loss = hinge(points, cluster, made, other_scores, other_gradient)
            new_reg = penalty(made, l1, l2, ridge)
            if new_loss + new_reg <= loss + reg - ENOUGH * length:
                accepted = True
                break
            t *= 2.0
        if not accepted:
            if stale:
                fresh = 0
                continue
            break
        bend = 0.0
        for k in range(n_clusters):
            for p in range(n_features):
                bend += (other_gradient[k, p] - gradient[k, p]) * (made[k, p] - weights[k, p])
        weights[:] = made
        scores[:] = other_scores
        gradient[:] = other_gradient
        loss, reg = new_loss, new_reg
        t *= min(max(bend / length, 1e-2), 4.0)
        last, left = left, residual(weights, gradient, l1, l2, ridge)
        fresh = fresh - 1 if left < SLOW * last else 0
    return loss, reg, left, t, fresh


GOLDEN = 0.6180339887498949

NARROWEST = 0.1
"""Lower end of the search for u, in units of 1 / the standard deviation of the feature."""

DECADES = 4.0
"""Width of the search for u, in powers of ten."""

EVALUATIONS = 16
"""Shrinkings of the search interval."""


@njit(cache=True, nogil=True)
def cuts(values, low, high, n_clusters, cut):
    """Fill `cut` (K + 1,) with the first position of each cluster among ascending `values`.

    The cut between two clusters has `low` to `high` points between it and the next. O(N).
    """
    n_points = values.size
    cut[0], cut[n_clusters] = 0, n_points
    for k in range(1, n_clusters):
        left = n_clusters - k
        first = max(cut[k - 1] + low, n_points - left * high)
        last = min(cut[k - 1] + high, n_points - left * low)
        cut[k] = first
        widest = values[first] - values[first - 1]
        for at in range(first + 1, last + 1):
            gap = values[at] - values[at - 1]
            if gap > widest:
                widest, cut[k] = gap, at


@njit(cache=True, nogil=True)
def interval_hinge(values, cut, u):
    """The mean squared hinge of intervals at slope u. O(N K)."""
    n_points, n_clusters = values.size, cut.size - 1
    offset = np.zeros(n_clusters)
    for k in range(1, n_clusters):
        offset[k] = offset[k - 1] + 0.5 * (values[cut[k] - 1] + values[cut[k]])
    total = 0.0
    for own in range(n_clusters):
        for i in range(cut[own], cut[own + 1]):
            score = own * values[i] - offset[own]
            for k in range(n_clusters):
                lack = 1.0 - u * (score - k * values[i] + offset[k])
                if k != own and lack > 0.0:
                    total += lack * lack
    return total / (n_points * n_clusters)


@njit(cache=True, nogil=True)
def screened(points, low, high, n_clusters, l1, l2, ridge):
    """(n_axes,) the smallest objective of intervals along each column of `points` (N, n_axes).

    l1, l2, ridge : weights of the penalty for a weight of 1 along each column.

    Infinite for a column of equal values. O(N log N + N K) each.
    """
    n_axes = points.shape[1]
    value = np.full(n_axes, np.inf)
    place = np.arange(n_clusters) - 0.5 * (n_clusters - 1)
    absolute, squared = np.abs(place).sum(), (place * place).sum()
    cut = np.empty(n_clusters + 1, dtype=np.int64)
    for p in range(n_axes):
        column = np.sort(points[:, p])
        spread = column.std()
        if not spread > 0.0:
            continue
        cuts(column, low, high, n_clusters, cut)
        linear, bend = l1[p] * absolute + l2[p] * np.sqrt(squared), ridge[p] * squared
        a, b = 0.0, DECADES
        inner = np.array([b - GOLDEN * (b - a), a + GOLDEN * (b - a)])
        at = np.empty(2)
        for j in range(2):
            u = NARROWEST * 10.0 ** inner[j] / spread
            at[j] = interval_hinge(column, cut, u) + linear * u + bend * u * u
        for _ in range(EVALUATIONS):
            if at[0] <= at[1]:
                b, inner[1], at[1] = inner[1], inner[0], at[0]
                j = 0
                inner[0] = b - GOLDEN * (b - a)
            else:
                a, inner[0], at[0] = inner[0], inner[1], at[1]
                j = 1
                inner[1] = a + GOLDEN * (b - a)
            u = NARROWEST * 10.0 ** inner[j] / spread
            at[j] = interval_hinge(column, cut, u) + linear * u + bend * u * u
        value[p] = at.min()
    return value

"""Metrics of a flat clustering against the points themselves, without labels.

Definitions as in scikit-learn, whose own functions take O(N K) time, copy the features and refuse
sparse ones. Clusters without points do not count. All are undefined unless there are 2 to N - 1
clusters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from models.arrays import Float, Int, Matrix
from models.metrics.estimate import Estimate, mean_of
from models.metrics.pairs import BLOCK_VALUES, Pairs
from models.tree.cut import Cut

EXACT_VALUES = 4_000_000_000
"""The most values read for a metric, a few seconds; if all pairs take more, some are drawn."""
AT_LEAST = 100
"""Fewest draws."""


@dataclass(frozen=True)
class Groups:
    """The clusters that have points.

    order : (n_points,) points by cluster. start : (n_groups + 1,) first of each cluster in it.
    group_of_point : (n_points,).
    """

    order: Int
    start: Int
    group_of_point: Int

    @classmethod
    def of(cls, clusters: Cut) -> Groups:
        """O(n_points log n_points)."""
        held = clusters.sizes > 0
        number = np.cumsum(held) - 1
        group = number[clusters.cluster_of_point]
        start = np.concatenate([[0], np.cumsum(clusters.sizes[held])])
        return cls(np.argsort(group, kind="stable"), start, group)

    @property
    def n_groups(self) -> int:
        return int(self.start.shape[0]) - 1

    @property
    def size(self) -> Int:
        """(n_groups,) points in each."""
        return np.diff(self.start)

    def refused(self, metric: str) -> Estimate | None:
        """The result for too few or too many clusters."""
        n_points = self.order.shape[0]
        if 2 <= self.n_groups < n_points:
            return None
        why = f"{metric} is undefined for {self.n_groups} cluster(s) with points of {n_points}"
        return Estimate(
            None, warnings=(f"{why} points; it needs at least 2 and fewer than points.",)
        )


def silhouette(
    distances: Pairs, clusters: Cut, *, rng: np.random.Generator | None = None
) -> Estimate:
    """Mean over points of (b - a) / max(a, b), in [-1, 1]; higher is better.

    a is the mean distance to the other points of the cluster, b that to the points of the nearest
    other cluster; 0 for a point alone in its cluster and for a = b = 0. Source: Rousseeuw 1987.

    O(N^2 D) for all points. If that reads more than `EXACT_VALUES` values, points are drawn without
    replacement, each measured against all N, with the standard error.
    """
    groups = Groups.of(clusters)
    refused = groups.refused("silhouette")
    if refused is not None:
        return refused
    n_points = groups.order.shape[0]
    n_drawn = max(AT_LEAST, EXACT_VALUES // (n_points * (distances.width + 8)))
    if n_drawn >= n_points:
        values = _silhouettes(distances, groups, groups.order)
        return Estimate(float(values.mean()), warnings=distances.warnings)
    rng = rng or np.random.default_rng(0)
    values = _silhouettes(distances, groups, rng.choice(n_points, n_drawn, replace=False))
    value, error = mean_of(values)
    error *= math.sqrt(1.0 - n_drawn / n_points)
    note = f"silhouette is estimated from {n_drawn} sampled points of {n_points}."
    return Estimate(value, error, (note, *distances.warnings))


def davies_bouldin(
    features: Matrix, clusters: Cut, *, rng: np.random.Generator | None = None
) -> Estimate:
    """Mean over clusters of the greatest (s_i + s_j) / d_ij, 0 or more; lower is better.

    s is a cluster's mean distance from its centre, d_ij the distance of two centres; pairs of
    clusters with the same centre are left out. Source: Davies and Bouldin 1979.

    O(N D + K^2 D) for K clusters, memory O(K D). If all pairs of clusters read more than
    `EXACT_VALUES` values, some clusters are drawn, with the standard error.
    """
    groups = Groups.of(clusters)
    refused = groups.refused("davies_bouldin")
    if refused is not None:
        return refused
    centre = _centres(features, groups)
    spread = np.zeros(groups.n_groups, dtype=np.float64)
    for group, squared in _from_centres(features, groups, centre):
        spread += np.bincount(group, np.sqrt(squared), groups.n_groups)
    spread /= groups.size
    n_groups = groups.n_groups
    n_drawn = max(AT_LEAST, EXACT_VALUES // (n_groups * (centre.shape[1] + 8)))
    if n_drawn >= n_groups:
        return Estimate(float(_overlaps(centre, spread, np.arange(n_groups)).mean()))
    rng = rng or np.random.default_rng(0)
    value, error = mean_of(_overlaps(centre, spread, rng.choice(n_groups, n_drawn, replace=False)))
    error *= math.sqrt(1.0 - n_drawn / n_groups)
    note = f"davies_bouldin is estimated from {n_drawn} sampled clusters of {n_groups}."
    return Estimate(value, error, (note,))


def calinski_harabasz(features: Matrix, clusters: Cut) -> Estimate:
    """Variance between clusters over that within, per degree of freedom; higher is better.

    It is (B / (K - 1)) / (W / (N - K)), with B the sum over points of the squared distance of their
    centre from the mean, W that of the points from their centres. None if W is 0. Source: Calinski
    and Harabasz 1974. O(N D), memory O(K D).
    """
    groups = Groups.of(clusters)
    refused = groups.refused("calinski_harabasz")
    if refused is not None:
        return refused
    n_points, n_groups = groups.order.shape[0], groups.n_groups
    centre = _centres(features, groups)
    within = sum(float(squared.sum()) for _, squared in _from_centres(features, groups, centre))
    mean = groups.size @ centre / n_points
    off = centre - mean
    between = float(groups.size @ np.einsum("ij,ij->i", off, off))
    if within == 0.0:
        note = "calinski_harabasz is undefined: every point lies at its cluster's centre."
        return Estimate(None, warnings=(note,))
    return Estimate((between / (n_groups - 1)) / (within / (n_points - n_groups)))


def _silhouettes(distances: Pairs, groups: Groups, chosen: Int) -> Float:
    """(n,) silhouettes of the points `chosen`."""
    n_points = groups.order.shape[0]
    size = groups.size.astype(np.float64)
    values = np.empty(chosen.shape[0], dtype=np.float64)
    step = max(1, min(256, BLOCK_VALUES // groups.n_groups))
    width = max(1, BLOCK_VALUES // max(step, distances.width))
    for top in range(0, chosen.shape[0], step):
        point = chosen[top : top + step]
        total = np.zeros((point.shape[0], groups.n_groups), dtype=np.float64)
        for left in range(0, n_points, width):
            others = groups.order[left : left + width]
            first = int(np.searchsorted(groups.start, left, side="right")) - 1
            starts = groups.start[first + 1 : -1]
            starts = np.append(left, starts[starts < left + others.shape[0]]) - left
            sums = np.add.reduceat(distances.block(point, others), starts, axis=1)
            total[:, first : first + starts.shape[0]] += sums
        row = np.arange(point.shape[0])
        own = groups.group_of_point[point]
        inside = total[row, own] - distances.at(point, point)
        a = inside / np.maximum(size[own] - 1.0, 1.0)
        total /= size
        total[row, own] = np.inf
        b = total.min(axis=1)
        most = np.maximum(a, b)
        value = np.divide(b - a, most, out=np.zeros_like(a), where=most > 0.0)
        values[top : top + step] = np.where(size[own] > 1.0, value, 0.0)
    return values


def _centres(features: Matrix, groups: Groups) -> Float:
    """(n_groups, n_features) means of the clusters."""
    total = np.zeros((groups.n_groups, features.shape[1]), dtype=np.float64)
    for part in _parts(features):
        rows: Any = features[groups.order[part]].astype(np.float64)
        group = _group(groups, part)
        first = int(group[0])
        if sp.issparse(rows):
            n = group.shape[0]
            sums = (sp.csr_array((np.ones(n), (group - first, np.arange(n)))) @ rows).toarray()
        else:
            sums = np.add.reduceat(rows, np.flatnonzero(np.diff(group, prepend=-1)), axis=0)
        total[first : first + sums.shape[0]] += sums
    total /= groups.size[:, None]
    return total


def _from_centres(features: Matrix, groups: Groups, centre: Float) -> Iterator[tuple[Int, Float]]:
    """Some points at a time: their clusters, and their squared distances from the centres."""
    for part in _parts(features):
        rows: Any = features[groups.order[part]].astype(np.float64)
        group = _group(groups, part)
        if sp.issparse(rows):
            squared = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
            squared -= 2.0 * np.asarray(rows.multiply(centre[group]).sum(axis=1)).ravel()
            squared += np.einsum("ij,ij->i", centre[group], centre[group])
            np.maximum(squared, 0.0, out=squared)
        else:
            rows -= centre[group]
            squared = np.einsum("ij,ij->i", rows, rows)
        yield group, squared


def _overlaps(centre: Float, spread: Float, chosen: Int) -> Float:
    """(n,) the greatest (s_i + s_j) / d_ij of each chosen cluster."""
    greatest = np.empty(chosen.shape[0], dtype=np.float64)
    step = max(1, BLOCK_VALUES // centre.shape[0])
    for top in range(0, chosen.shape[0], step):
        some = chosen[top : top + step]
        apart = cdist(centre[some], centre)
        apart[apart == 0.0] = np.inf
        greatest[top : top + step] = ((spread[some][:, None] + spread) / apart).max(axis=1)
    return greatest


def _group(groups: Groups, part: slice) -> Int:
    return groups.group_of_point[groups.order[part]]


def _parts(features: Matrix) -> list[slice]:
    n_points, n_features = features.shape
    step = max(1, BLOCK_VALUES // max(1, n_features))
    return [slice(at, at + step) for at in range(0, n_points, step)]

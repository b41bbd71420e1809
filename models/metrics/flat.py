"""Metrics of a flat clustering against true classes, all from one table of counts.

Source: L2H appendix B.3; Thesis appendix B. Counts and sums of pairs are integers of Python or
int64, so nothing overflows or loses digits at millions of points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

DENSE_CELLS = 4_000_000
"""The assignment problem is solved on a dense table up to this many cells."""


@dataclass(frozen=True)
class Contingency:
    """The number of points of each class in each cluster, as the cells that are not zero.

    cluster, class_, count : (n_cells,) int64, sorted by cluster, then class; `count` >= 1.
    n_clusters, n_classes : clusters and classes in all, empty ones included.
    """

    cluster: npt.NDArray[np.int64]
    class_: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]
    n_clusters: int
    n_classes: int

    @cached_property
    def n_points(self) -> int:
        return int(self.count.sum())

    @cached_property
    def cluster_sizes(self) -> npt.NDArray[np.int64]:
        """(n_clusters,) points in each cluster."""
        return _sums(self.cluster, self.count, self.n_clusters)

    @cached_property
    def class_sizes(self) -> npt.NDArray[np.int64]:
        """(n_classes,) points of each class."""
        return _sums(self.class_, self.count, self.n_classes)


def contingency(
    cluster: npt.NDArray[np.integer],
    class_: npt.NDArray[np.integer],
    n_clusters: int,
    n_classes: int,
) -> Contingency:
    """Count the points of each (cluster, class).

    cluster, class_ : (n_points,) numbers below `n_clusters` and `n_classes`.

    O(N) where the table has at most about 4 N cells, else O(N log N); memory O(N) either way.
    """
    n_cells = n_clusters * n_classes
    key = cluster.astype(np.int64) * n_classes + class_
    if n_cells <= 4 * max(key.shape[0], 1024):
        table = np.bincount(key, minlength=n_cells)
        cell = np.flatnonzero(table)
        count = table[cell]
    else:
        cell, count = np.unique(key, return_counts=True)
    width = max(n_classes, 1)
    return Contingency(cell // width, cell % width, count.astype(np.int64), n_clusters, n_classes)


def purity(table: Contingency) -> float | None:
    """Share of points that are of their cluster's largest class (Thesis B.2). None: no points."""
    if table.n_points == 0:
        return None
    largest = np.zeros(table.n_clusters, dtype=np.int64)
    np.maximum.at(largest, table.cluster, table.count)
    return int(largest.sum()) / table.n_points


def mi(table: Contingency) -> float | None:
    """Mutual information in nats (Thesis B.2); None for no points."""
    n = table.n_points
    if n == 0:
        return None
    together = np.log(table.count) + np.log(n)
    apart = np.log(table.cluster_sizes[table.cluster]) + np.log(table.class_sizes[table.class_])
    return max(0.0, float((table.count * (together - apart)).sum() / n))


def nmi(table: Contingency) -> float | None:
    """2 I / (H + H), in [0, 1]: the arithmetic mean of the entropies normalises.

    1 where both sides are a single group (they agree); None for no points.
    """
    information = mi(table)
    if information is None:
        return None
    entropies = _entropy(table.cluster_sizes) + _entropy(table.class_sizes)
    if entropies == 0.0:
        return 1.0
    return min(1.0, 2.0 * information / entropies)


def ri(table: Contingency) -> float | None:
    """Rand index: share of the pairs of points on which both sides agree.

    1 for a single point, None without any.
    """
    pairs = comb(table.n_points, 2)
    if pairs == 0:
        return 1.0 if table.n_points else None
    both, in_cluster, in_class = _pairs(table)
    return (pairs - in_cluster - in_class + 2 * both) / pairs


def ari(table: Contingency) -> float | None:
    """Rand index corrected for chance, at most 1 (Thesis B.2), from exact integers.

    1 where the formula is 0 / 0 (both sides one group, or both all single points, as for a single
    point); None without points.
    """
    pairs = comb(table.n_points, 2)
    if pairs == 0:
        return 1.0 if table.n_points else None
    both, in_cluster, in_class = _pairs(table)
    above = 2 * (pairs * both - in_cluster * in_class)
    below = pairs * (in_cluster + in_class) - 2 * in_cluster * in_class
    return above / below if below else 1.0


def accuracy(table: Contingency) -> float | None:
    """Share of points in the class that the best one-to-one assignment gives their cluster.

    Clusters without a class count as wrong (L2H B.3, Gadetsky et al. 2024). None for no
    points. Hungarian method on the dense table up to `DENSE_CELLS` cells, else a sparse matching.
    """
    if table.n_points == 0:
        return None
    cluster, n_clusters = _renumber(table.cluster)
    class_, n_classes = _renumber(table.class_)
    if n_clusters * n_classes <= DENSE_CELLS:
        from scipy.optimize import linear_sum_assignment

        dense = np.zeros((n_clusters, n_classes), dtype=np.int64)
        dense[cluster, class_] = table.count
        row, column = linear_sum_assignment(dense, maximize=True)
        matched = int(dense[row, column].sum())
    else:
        matched = _sparse_matching(cluster, n_clusters, class_, n_classes, table.count)
    return matched / table.n_points


def micro_f1(table: Contingency) -> float | None:
    """Micro-averaged F1 with each cluster representing its largest class (Thesis B).

    Every point has a class, so precision and recall are the same number and equal `purity`. None
    for no points.
    """
    if table.n_points == 0:
        return None
    hits, predicted = _as_classifier(table)
    return 2 * int(hits.sum()) / (int(predicted.sum()) + table.n_points)


def macro_f1(table: Contingency) -> float | None:
    """F1 of each true class, averaged over the classes that have points (Thesis B).

    Each cluster represents its largest class, ties going to the first in sorted order; a class
    without a cluster has F1 0. None for no points.
    """
    if table.n_points == 0:
        return None
    hits, predicted = _as_classifier(table)
    true = table.class_sizes
    present = true > 0
    return float(np.mean(2.0 * hits[present] / (predicted[present] + true[present])))


def _as_classifier(table: Contingency) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(n_classes,) true positives and predicted points of each class, by the clusters' majority."""
    by_count = np.lexsort((table.class_, -table.count, table.cluster))
    cluster = table.cluster[by_count]
    first = by_count[np.flatnonzero(np.diff(cluster, prepend=-1))]
    stands_for = table.class_[first]
    hits = _sums(stands_for, table.count[first], table.n_classes)
    predicted = _sums(stands_for, table.cluster_sizes[table.cluster[first]], table.n_classes)
    return hits, predicted


def _pairs(table: Contingency) -> tuple[int, int, int]:
    """Pairs in the same cluster and class, in the same cluster, in the same class."""
    return _choose2(table.count), _choose2(table.cluster_sizes), _choose2(table.class_sizes)


def _choose2(size: npt.NDArray[np.int64]) -> int:
    return int((size * (size - 1) // 2).sum())


def _entropy(sizes: npt.NDArray[np.int64]) -> float:
    """Entropy in nats of a partition with groups of these sizes."""
    size = sizes[sizes > 0]
    n = int(size.sum())
    return float((size * (np.log(n) - np.log(size))).sum() / n)


def _sums(
    index: npt.NDArray[np.int64], value: npt.NDArray[np.int64], n: int
) -> npt.NDArray[np.int64]:
    """(n,) sum of the values at each index, in integers."""
    total = np.zeros(n, dtype=np.int64)
    np.add.at(total, index, value)
    return total


def _renumber(index: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], int]:
    used, number = np.unique(index, return_inverse=True)
    return number, used.shape[0]


def _sparse_matching(
    cluster: npt.NDArray[np.int64],
    n_clusters: int,
    class_: npt.NDArray[np.int64],
    n_classes: int,
    count: npt.NDArray[np.int64],
) -> int:
    """Largest sum of counts over a one-to-one matching of clusters and classes.

    The library requires every row of the smaller side to be matched, so each gets a separate
    partner with count 0; adding 1 to all counts, which adds the same to every matching, keeps these
    edges.
    """
    row, n_rows, column, n_columns = cluster, n_clusters, class_, n_classes
    if n_rows > n_columns:
        row, n_rows, column, n_columns = column, n_columns, row, n_rows
    alone = np.arange(n_rows, dtype=np.int64)
    graph = csr_array(
        (
            np.concatenate([count + 1, np.ones(n_rows, dtype=np.int64)]).astype(np.float64),
            (np.concatenate([row, alone]), np.concatenate([column, n_columns + alone])),
        ),
        shape=(n_rows, n_columns + n_rows),
    )
    matched, partner = min_weight_full_bipartite_matching(graph, maximize=True)
    return int(graph[matched, partner].sum()) - n_rows

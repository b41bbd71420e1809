"""Which columns of a heatmap are shown, and in which order."""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform

from models.arrays import Float, Int

OPTIMAL_COLUMNS = 200
"""Up to this many columns are turned so that neighbours are near each other."""


def most_distinctive(between: Float, n: int) -> Int:
    """The `n` columns with the largest share of variance between groups, ascending; of equals the
    first ones."""
    return np.sort(np.argsort(-between, kind="stable")[:n])


def column_tree(values: Float) -> tuple[Int, Float]:
    """(the columns from left to right, their merges), by average linkage of Euclidean distances.

    values : (n_rows, n_columns). Merges are (n_columns - 1, 3): what is joined, by its place from
    left to right or `n_columns` plus the number of an earlier merge, and at which distance.
    O(n_rows n_columns^2), and O(n_columns^4) at worst for the order (Bar-Joseph, Gifford and
    Jaakkola, "Fast optimal leaf ordering for hierarchical clustering", 2001).
    """
    n_columns = values.shape[1]
    if n_columns == 1:
        return np.zeros(1, dtype=np.int64), np.empty((0, 3))
    centred = values - values.mean(axis=0)
    products = centred.T @ centred
    norms = np.diag(products)
    # Distances of columns with another mean differ by it too.
    shift = np.subtract.outer(values.mean(axis=0), values.mean(axis=0))
    squared = norms[:, None] + norms - 2 * products + values.shape[0] * shift**2
    np.fill_diagonal(squared, 0.0)
    square = np.sqrt(np.maximum(squared, 0.0))
    distances = squareform(square, checks=False)
    merges = linkage(distances, "average")
    if n_columns <= OPTIMAL_COLUMNS:
        # SciPy's order can be farther from the optimum than the one it is given (its issue 11227).
        turned = optimal_leaf_ordering(merges, distances)
        merges = min(turned, merges, key=lambda either: _length(square, leaves_list(either)))
    order = leaves_list(merges).astype(np.int64)
    place = np.argsort(order)
    joined = merges[:, :2].astype(np.int64)
    leaf = joined < n_columns
    joined[leaf] = place[joined[leaf]]
    return order, np.column_stack([joined, merges[:, 2]])


def _length(square: Float, order: Int) -> float:
    """The sum of distances between neighbours."""
    return float(square[order[:-1], order[1:]].sum())

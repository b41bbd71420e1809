"""Whether clusters are one that has most of the rows, and crumbs."""

from __future__ import annotations

import numpy as np

from models.arrays import Int
from models.tree.noise import noise_of
from models.tree.tree import Tree

FEWEST_CLUSTERS = 4
ROWS_EACH = 10
MOST_ROWS = 0.5
CRUMB = 0.1
"""The share of an even share below which a cluster is a crumb."""


def crumbs_of(tree: Tree) -> tuple[str, ...]:
    """The warning for the clusters of a partition, noise apart, if any; none for other trees."""
    if tree.kind != "partition":
        return ()
    clusters = tree.leaves[~noise_of(tree)[tree.leaves]]
    warning = crumbs_warning(tree.size[clusters])
    return () if warning is None else (warning,)


def crumbs_warning(size: Int) -> str | None:
    """A warning with the better way, where one cluster has `MOST_ROWS` of the rows or more and
    half of all clusters or more are crumbs; None otherwise, and for fewer than `FEWEST_CLUSTERS`
    clusters or `ROWS_EACH` rows a cluster.

    size : (n_clusters,) rows of each. O(n_clusters).
    """
    n_rows, n_clusters = int(size.sum()), int(size.size)
    if n_clusters < FEWEST_CLUSTERS or n_rows < ROWS_EACH * n_clusters:
        return None
    largest = float(size.max()) / n_rows
    n_crumbs = int(np.count_nonzero(size < CRUMB * n_rows / n_clusters))
    if largest < MOST_ROWS or 2 * n_crumbs < n_clusters:
        return None
    return (
        f"One of {n_clusters:,} clusters has {100 * largest:.0f}% of the rows, and {n_crumbs:,} "
        "have less than a tenth of an even share: these are outliers split off, not clusters. "
        "`hac` with `linkage` 'ward' and `kmeans` give clusters of like size; the levels of a tree "
        "(`GET /v1/trees/{id}/levels`) say which cuts stand out."
    )

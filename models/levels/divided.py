"""Whether the clusters of a partition are further apart than parts of rows without structure.

Any rows can be divided into k clusters. Two measures of a partition are compared with what they are
of references: points uniform in the box around the rows, along their principal axes, which Ward's
linkage and k-means divide (`silhouette.references`). One is the mean silhouette; the other, which
also sees long and bent clusters, `neighbour_modularity`. The p-value is twice the smaller of both
(Bonferroni), each that of Student's t for one more value beside the references'.

Source: Tibshirani, Walther, Hastie (2001), as `silhouette`; Newman and Girvan, "Finding and
evaluating community structure in networks" (2004), for the modularity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int, Matrix
from models.inputs.rows import Rows
from models.levels.silhouette import (
    REFERENCES,
    mean_silhouette,
    partitions_of,
    reference_points,
    sampled_distances,
)
from models.tree.noise import noise_of
from models.tree.tree import Tree

SAMPLE = 300
"""Number of rows that are measured, and of points of a reference."""

ROWS_EACH = 10
"""With fewer rows of the sample a cluster the measures are the draw's."""

N_NEAR = 10

SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Divided:
    """silhouette, chance : the mean silhouette of a partition, and of the references' partitions.

    n_clusters, n_all : those with rows in the sample, and all. p_value : about the probability that
    rows without structure are divided as well.
    """

    n_clusters: int
    n_all: int
    silhouette: float
    chance: float
    p_value: float

    @property
    def warning(self) -> str | None:
        """None where the clusters are more than parts of a cloud."""
        if self.p_value <= SIGNIFICANT:
            return None
        some = self.n_clusters < self.n_all
        which = f"{self.n_clusters} of {self.n_all}" if some else f"The {self.n_clusters}"
        return (
            f"{which} clusters are no further apart than {self.n_clusters} parts of "
            f"rows without structure (mean silhouette {self.silhouette:.2f}, by chance "
            f"{self.chance:.2f}; p = {self.p_value:.2f}): rows on both sides of a border may be "
            "alike. Another number of clusters, `standardize`, other columns, or rows "
            "far from all others left out, may give more; `hac` has the levels that stand out."
        )


def divided(tree: Tree, features: Matrix | Rows) -> Divided | None:
    """How a partition compares; None for other trees, with noise, for one cluster and too few rows.

    The same features give the same. O(SAMPLE^2 (SAMPLE + n_features)).
    """
    if tree.kind != "partition" or noise_of(tree).any():
        return None
    sample, apart = sampled_distances(tree.n_points, features, SAMPLE)
    names, cluster = np.unique(tree.leaf_of_point[sample], return_inverse=True)
    if len(names) < 2 or len(sample) < ROWS_EACH * len(names) or not apart.any():
        return None
    own = np.array([mean_silhouette(apart, cluster), neighbour_modularity(apart, cluster)])
    values = np.array([_best(points, len(names)) for points in reference_points(apart)])
    p_value = _p_value(own, values)
    chance = float(values[:, 0].mean())
    return Divided(len(names), tree.n_leaves, float(own[0]), chance, p_value)


def neighbour_modularity(apart: Float, cluster: Int) -> float:
    """The share of the m points' `N_NEAR` nearest ones, each point's own apart, that lie in its
    cluster, minus the share if the same clusters were drawn.

    apart : (m, m) distances. cluster : (m,) from 0.
    """
    m = len(apart)
    n_near = min(N_NEAR, m - 1)
    others = apart + np.diag(np.full(m, np.inf))
    near = np.argpartition(others, n_near - 1, axis=1)[:, :n_near]
    share = np.bincount(cluster) / m
    return float((cluster[near] == cluster[:, None]).mean() - (share**2).sum())


def _best(points: Float, k: int) -> tuple[float, float]:
    """The better of each measure of two partitions of a reference."""
    apart, clusters = partitions_of(points, k)
    return (
        max(mean_silhouette(apart, cluster) for cluster in clusters),
        max(neighbour_modularity(apart, cluster) for cluster in clusters),
    )


def _p_value(own: Float, values: Float) -> float:
    from scipy.special import stdtr

    above = own - values.mean(axis=0)
    error = values.std(axis=0, ddof=1) * np.sqrt(1.0 + 1.0 / REFERENCES)
    by_error = np.divide(above, error, out=np.zeros_like(above), where=error > 0)
    return float(min(2.0 * stdtr(REFERENCES - 1, -by_error).min(), 1.0))

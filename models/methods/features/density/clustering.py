"""The clusters that HDBSCAN chooses along merges of single linkage, by the library hdbscan.

Distances that count as a neighbour's are equal by the dozen, and the edges of a spanning tree at
one distance are to be removed at once (Campello et al. 2015, algorithm 1). The library removes them
one after the other, in an order that depends on that of the points; pieces of them can then be
large enough for a cluster that begins and ends at this distance. Here the groups that become one at
a distance are merged from the largest to the smallest, so that the small ones fall out one by one
and only those remain that are large enough by themselves.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Array, Float, Int


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which clusters are chosen; the parameters of the library's HDBSCAN of these names."""

    min_cluster_size: int
    cluster_selection_method: str
    cluster_selection_epsilon: float
    max_cluster_size: int
    allow_single_cluster: bool


@dataclass(frozen=True, slots=True)
class Clustering:
    """label : (n_points,) -1 for noise. probability, outlier : (n_points,) strength and GLOSH.

    rows : the condensed tree, as the library has it: parent, child, lambda_val, child_size.
    """

    label: Int
    probability: Float
    outlier: Float
    rows: npt.NDArray[Any]


def along(linkage: Float, chosen: Chosen) -> Clustering:
    """From merges of single linkage, (n_points - 1, 4) as SciPy's, heights ascending."""
    from hdbscan._hdbscan_tree import outlier_scores
    from hdbscan.hdbscan_ import _tree_to_labels

    from models.methods.features.density.loops import chain_ties

    merges = np.empty((len(linkage), 4))
    chain_ties(np.ascontiguousarray(linkage, dtype=np.float64), merges)
    with warnings.catch_warnings():
        # About infinite densities.
        warnings.simplefilter("ignore")
        label, probability, _, rows, _ = _tree_to_labels(
            None,
            merges,
            chosen.min_cluster_size,
            chosen.cluster_selection_method,
            chosen.allow_single_cluster,
            cluster_selection_epsilon=chosen.cluster_selection_epsilon,
            max_cluster_size=chosen.max_cluster_size,
        )
        outlier = np.nan_to_num(outlier_scores(rows))
    return Clustering(label.astype(np.int64), probability, outlier, rows)


def library_linkage(values: Array, metric: str, algorithm: str, min_samples: int) -> Float:
    """The merges by the library's spanning tree of features, or with the metric 'precomputed' of a
    square matrix of distances."""
    import hdbscan

    with warnings.catch_warnings():
        # About deprecated calls of scikit-learn and about infinite densities.
        warnings.simplefilter("ignore")
        fitted = hdbscan.HDBSCAN(
            min_samples=min_samples,
            metric=metric,
            algorithm=algorithm,
            approx_min_span_tree=False,
            core_dist_n_jobs=1,
        ).fit(values)
        merges: Float = fitted.single_linkage_tree_.to_numpy()
    return merges

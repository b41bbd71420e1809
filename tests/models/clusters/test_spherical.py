"""Centres as a mixture: distances, posterior, order and BIC by their literal definitions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal

from models.clusters.kmeans import bic, nearest, spherical, squared_distances
from models.inputs.rows import ArrayRows
from models.method import Model


def points(seed: int = 0, n_points: int = 40, n_features: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_points, n_features))


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_distances_are_exact_far_from_the_origin(offset: float) -> None:
    features, centers = points() + offset, points(1, 5) + offset
    literal = ((features[:, None] - centers[None]) ** 2).sum(axis=2)
    assert squared_distances(features, centers) == pytest.approx(literal, rel=1e-9, abs=1e-8)


def test_every_form_of_the_points_gives_the_same_partition() -> None:
    features, centers = points(2).astype(np.float32), points(3, 4)
    dense = spherical(features, centers)
    for other in (ArrayRows(features), sp.csr_array(features)):
        partition = spherical(other, centers)
        assert (partition.cluster == dense.cluster).all()
        assert partition.logits == pytest.approx(dense.logits, rel=1e-9, abs=1e-9)
        assert partition.inertia == pytest.approx(dense.inertia)


# Clusters in the order given have 1, 3 and 2 points.
#
#     0 . . . . . . 10 11 12 . . . . . 20 21
#   centre 0       centre 1          centre 2
def test_clusters_are_ordered_by_size_and_keep_what_is_theirs() -> None:
    features = np.array([[0.0], [10.0], [11.0], [12.0], [20.0], [21.0]])
    partition = spherical(features, np.array([[0.0], [11.0], [20.5]]))
    assert partition.centers.ravel().tolist() == [11.0, 20.5, 0.0]
    assert partition.cluster.tolist() == [2, 0, 0, 0, 1, 1]
    assert (partition.logits.argmax(axis=1) == partition.cluster).all()
    cluster, logits = nearest(Model(arrays=partition.arrays), features)
    assert (cluster == partition.cluster).all()
    assert logits == pytest.approx(partition.logits, rel=1e-12)


def test_bic_is_that_of_the_densities_of_the_points_in_their_clusters() -> None:
    features = points(4, 30, 2)
    cluster = np.array([0] * 12 + [1] * 18)
    centers = np.array([features[cluster == k].mean(axis=0) for k in range(2)])
    inertia = ((features - centers[cluster]) ** 2).sum()
    variance = inertia / features.size
    literal = 0.0
    for row, k in zip(features, cluster, strict=True):
        weight = (cluster == k).mean()
        literal += np.log(weight) + multivariate_normal.logpdf(
            row, centers[k], variance * np.eye(2)
        )
    # Two centres of two coordinates, one free weight, one variance.
    expected = -2 * literal + (4 + 1 + 1) * np.log(30)
    assert bic(inertia, np.array([12, 18]), 2) == pytest.approx(expected, rel=1e-12)


def test_bic_of_an_inertia_that_rounding_made_zero_is_finite() -> None:
    assert np.isfinite(bic(0.0, np.array([3, 2]), 4))

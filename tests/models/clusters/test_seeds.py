"""The seeds of k-means: from sparse points beside dense ones, and by cosine."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from models.clusters.kmeans import seed_rows, seeds
from models.numerics import sphere


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("n_clusters", [1, 2, 30])
def test_sparse_points_give_the_seeds_of_dense_ones(n_clusters: int, kind: type) -> None:
    points = sp.random_array((300, 40), density=0.1, rng=np.random.default_rng(0), format="csr")
    points = points.astype(kind)
    for seed in range(20):
        dense = seeds(points.toarray(), n_clusters, np.random.default_rng(seed))
        sparse = seeds(points, n_clusters, np.random.default_rng(seed))
        np.testing.assert_array_equal(dense, sparse)


def test_seeds_are_distinct_where_points_coincide() -> None:
    points = sp.csr_array(np.repeat(np.eye(5) * 0.3, 40, axis=0))
    for seed in range(20):
        found = seeds(points, 5, np.random.default_rng(seed))
        assert len(np.unique(found, axis=0)) == 5


@pytest.mark.parametrize("sparse", [False, True])
def test_seeds_come_from_different_clusters(sparse: bool) -> None:
    rng = np.random.default_rng(4)
    means = np.eye(6)
    which = np.repeat(np.arange(6), 30)
    rows = sphere.draw_vmf(means[which], 500.0, rng)
    features = sp.csr_array(rows) if sparse else rows
    for seed in range(5):
        seeds = seed_rows(features, 6, np.random.default_rng(seed))
        assert sorted(which[seeds].tolist()) == [0, 1, 2, 3, 4, 5]

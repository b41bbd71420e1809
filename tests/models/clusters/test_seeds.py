"""The seeds of k-means from sparse points beside those from dense ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from models.clusters.kmeans import seeds


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

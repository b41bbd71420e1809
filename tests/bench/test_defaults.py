"""What a user of each method takes first as its clusters, on groups that are far apart."""

from __future__ import annotations

import numpy as np
import pytest

from bench.defaults import scored


@pytest.mark.parametrize("method", ["hac", "hdbscan", "birch", "kmeans", "vmf"])
def test_groups_far_apart_are_the_clusters(method: str) -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 30)
    features = 20.0 * np.eye(3, 6)[labels] + rng.normal(size=(90, 6))
    nmi, ari, clusters, noise, purity = scored(features, labels, method, {})
    assert ari > 0.9
    assert nmi > 0.9
    assert (clusters, noise) == (3, 0)
    assert np.isnan(purity) if method in ("kmeans", "vmf") else purity > 0.9

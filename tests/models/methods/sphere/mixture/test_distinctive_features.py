"""The features that distinguish clusters in each period, against their definition."""

from __future__ import annotations

import numpy as np
import pytest

from models.methods.sphere.mixture.result import (
    INDEX,
    MOST_PER_PERIOD,
    WEIGHT,
    feature_names,
    top_features,
    top_features_by_period,
)
from models.numerics.sphere import unit


@pytest.mark.parametrize("n_features", [1, 3, 40])
def test_as_the_features_of_each_period_alone(n_features: int) -> None:
    rng = np.random.default_rng(n_features)
    psi = unit(rng.normal(size=(4, 3, n_features)) * (rng.random((4, 3, n_features)) < 0.7) + 1e-9)
    weights = rng.dirichlet(np.ones(3), size=4)
    names = [f"<{column}>\n" for column in range(n_features)]
    arrays = top_features_by_period(psi, weights, names)
    listed = feature_names(arrays)
    assert len(set(listed)) == len(listed) <= n_features
    assert arrays[INDEX].shape == arrays[WEIGHT].shape == (4, 3, MOST_PER_PERIOD)
    for t in range(4):
        expected = top_features(psi[t], np.log(weights[t]), names)
        for k in range(3):
            best = expected[k][:MOST_PER_PERIOD]
            place = arrays[INDEX][t, k]
            assert [listed[i] for i in place if i >= 0] == [feature["term"] for feature in best]
            assert (place[len(best) :] == -1).all()
            assert (arrays[WEIGHT][t, k, len(best) :] == 0).all()
            assert arrays[WEIGHT][t, k, : len(best)].tolist() == [
                feature["weight"] for feature in best
            ]


def test_clusters_that_are_the_same_have_no_features() -> None:
    psi = np.tile([1.0, 0.0], (2, 3, 1))
    arrays = top_features_by_period(psi, np.full((2, 3), 1 / 3), ["a", "b"])
    assert feature_names(arrays) == []
    assert (arrays[INDEX] == -1).all()

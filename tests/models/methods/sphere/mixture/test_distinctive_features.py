"""The features that tell clusters in each period, against their definition."""

from __future__ import annotations

import numpy as np
import pytest

from models.methods.sphere.mixture.result import (
    INDEX,
    TOLD,
    WEIGHT,
    names_told,
    telling,
    top_features,
)
from models.numerics.sphere import unit


@pytest.mark.parametrize("n_features", [1, 3, 40])
def test_as_the_features_of_each_period_alone(n_features: int) -> None:
    rng = np.random.default_rng(n_features)
    psi = unit(rng.normal(size=(4, 3, n_features)) * (rng.random((4, 3, n_features)) < 0.7) + 1e-9)
    weights = rng.dirichlet(np.ones(3), size=4)
    names = [f"<{column}>\n" for column in range(n_features)]
    arrays = telling(psi, weights, names)
    listed = names_told(arrays)
    assert len(set(listed)) == len(listed) <= n_features
    assert arrays[INDEX].shape == arrays[WEIGHT].shape == (4, 3, TOLD)
    for t in range(4):
        expected = top_features(psi[t], np.log(weights[t]), names)
        for k in range(3):
            best = expected[k][:TOLD]
            place = arrays[INDEX][t, k]
            assert [listed[one] for one in place if one >= 0] == [one["term"] for one in best]
            assert (place[len(best) :] == -1).all()
            assert (arrays[WEIGHT][t, k, len(best) :] == 0).all()
            assert arrays[WEIGHT][t, k, : len(best)].tolist() == [one["weight"] for one in best]


def test_clusters_that_nothing_tells_apart() -> None:
    psi = np.tile([1.0, 0.0], (2, 3, 1))
    arrays = telling(psi, np.full((2, 3), 1 / 3), ["a", "b"])
    assert names_told(arrays) == []
    assert (arrays[INDEX] == -1).all()

"""Means over rows and pairs, by the double loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.arrays import Float
from models.methods.labelled.metric.scatter import pair_scatter
from models.methods.labelled.supervision.known import KnownClusters


def literal(known: KnownClusters, cross_weight: float) -> Float:
    points, code = known.points, known.code
    means = [points[code == k].mean(axis=0) for k in range(known.n_clusters)]
    about_means = [np.outer(x - means[k], x - means[k]) for x, k in zip(points, code, strict=True)]
    same: list[Float] = []
    cross: list[Float] = []
    for i in range(code.size):
        for j in range(i + 1, code.size):
            product = np.outer(points[i] - points[j], points[i] - points[j])
            (same if code[i] == code[j] else cross).append(product)
    mean = [np.mean(products, axis=0) for products in (about_means, same, cross)]
    return np.asarray(mean[0] + mean[1] - cross_weight * mean[2])


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.integers(1, 6), min_size=2, max_size=4).filter(lambda sizes: max(sizes) > 1),
    st.integers(1, 4),
    st.floats(0, 3),
)
def test_the_scatter_is_that_of_all_pairs(
    sizes: list[int], n_columns: int, cross_weight: float
) -> None:
    rng = np.random.default_rng(sum(sizes))
    code = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    points = rng.normal(size=(code.size, n_columns)) + 3.0 * code[:, None]
    known = KnownClusters(points, code, len(sizes))
    before = points.copy()
    scatter = pair_scatter(known, cross_weight)
    assert scatter == pytest.approx(literal(known, cross_weight), rel=1e-9, abs=1e-9)
    np.testing.assert_array_equal(points, before)

"""Distances over shared columns, pair by pair against R's rule, and SciPy's where none is empty."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from models.errors import UsageError
from models.numerics.distances import DistanceMetric, between

METRICS: tuple[DistanceMetric, ...] = get_args(DistanceMetric)
SCALED = {"euclidean": 0.5, "sqeuclidean": 1.0, "cityblock": 1.0, "canberra": 1.0}
"""The power of D / p by which a distance over p columns is scaled up."""


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.sampled_from(METRICS), st.sampled_from([0.0, 0.2, 0.5]))
def test_each_pair_is_its_definition(seed: int, metric: DistanceMetric, share: float) -> None:
    """The distance is SciPy's over the shared columns, times (D / p)^power."""
    rng = np.random.default_rng(seed)
    low = 0 if metric in ("hamming", "jaccard", "canberra", "cityblock") else 1
    rows, points = (
        np.where(rng.random((n, 6)) < share, np.nan, rng.integers(low, 5, (n, 6)) + 0.25 * low)
        for n in (4, 5)
    )
    if metric in ("cosine", "correlation"):
        rows, points = (each + 0.1 * rng.random(each.shape) for each in (rows, points))
    if metric == "jaccard":
        # SciPy compares the values themselves, in which present ones differ too.
        rows, points = (np.where(np.isnan(each), each, each > 1) for each in (rows, points))
    both = ~np.isnan(rows)[:, None] & ~np.isnan(points)
    if both.sum(axis=2).min() < (2 if metric == "correlation" else 1):
        return
    found = between(rows, points, metric)
    for i, row in enumerate(rows):
        for j, point in enumerate(points):
            kept = both[i, j]
            wanted = cdist(row[None, kept], point[None, kept], metric)[0, 0]
            wanted *= (6 / kept.sum()) ** SCALED.get(metric, 0.0)
            assert found[i, j] == pytest.approx(wanted, abs=1e-10)


def test_the_example_of_r() -> None:
    """dist(rbind(c(1, NA, 3), c(2, 5, NA), c(4, 6, 8))) in R."""
    rows = np.array([[1, np.nan, 3], [2, 5, np.nan], [4, 6, 8]])
    euclidean = between(rows, rows, "euclidean")
    np.testing.assert_allclose(euclidean[0, 1:], [np.sqrt(1 * 3), np.sqrt(34 * 3 / 2)])
    np.testing.assert_allclose(euclidean[1, 2], np.sqrt(5 * 3 / 2))
    np.testing.assert_allclose(between(rows, rows, "cityblock")[0, 1:], [3, 8 * 3 / 2])
    np.testing.assert_allclose(between(rows, rows, "chebyshev")[0, 1:], [1, 5])


def test_what_has_no_distance_names_both_rows() -> None:
    rows = np.array([[1.0, np.nan], [2.0, 3.0], [np.nan, 1.0]])
    with pytest.raises(UsageError, match="Rows 0 and 2 of input 'features'") as caught:
        between(rows, rows, "euclidean")
    assert (caught.value.code, caught.value.where["row"]) == ("no-distance", 0)
    flat = np.array([[2.0, 2.0, np.nan], [1.0, 3.0, 5.0]])
    with pytest.raises(UsageError, match="correlation distance between rows number 0 and 0"):
        between(flat, flat, "correlation")

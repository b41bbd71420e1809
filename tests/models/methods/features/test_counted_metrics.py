"""'hamming' and 'jaccard', which count the columns in which rows differ, against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import cdist, pdist, squareform

from models import registry
from models.graphs.nearest_points import PointSearch
from models.graphs.neighbours import nearest
from models.inputs.data import Data
from models.numerics.distances import COUNTED, DistanceMetric, pairwise
from models.running.progress import silent

KINDS = [bool, np.uint8, np.int64, np.float32, np.float64]


def table(n_points: int, n_columns: int, kind: Any, seed: int = 0, levels: int = 3) -> np.ndarray:
    """Rows of few values, rows of zeros and equal rows among them."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2 if kind is bool else levels, size=(n_points, n_columns))
    values[: n_points // 10] = 0
    return values.astype(kind)


def literal(a: np.ndarray, b: np.ndarray, metric: str) -> float:
    """The distance of two rows, column by column."""
    if metric == "hamming":
        return sum(bool(x != y) for x, y in zip(a, b, strict=True)) / len(a)
    different = sum(bool(x) != bool(y) for x, y in zip(a, b, strict=True))
    present = sum(bool(x) or bool(y) for x, y in zip(a, b, strict=True))
    return different / present if present else 0.0


def fit(method: str, role: str, values: np.ndarray, **params: Any) -> Any:
    used = registry.method(method)
    return used.fit(Data({role: values}), used.Params(**params))


@settings(deadline=None)
@given(
    arrays.arrays(
        np.int8, st.tuples(st.integers(2, 6), st.integers(1, 5)), elements=st.integers(-1, 2)
    ),
    st.sampled_from(COUNTED),
)
def test_distances_are_their_definition(points: np.ndarray, metric: DistanceMetric) -> None:
    expected = [
        literal(points[i], points[j], metric)
        for i in range(len(points))
        for j in range(i + 1, len(points))
    ]
    np.testing.assert_allclose(pairwise(points, metric), expected, rtol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", COUNTED)
def test_nearest_points_are_scipys_the_lowest_number_first(
    metric: DistanceMetric, kind: Any
) -> None:
    points, rows = table(300, 6, kind), table(70, 6, kind, seed=1)
    number, distance = PointSearch(points, 5, metric).nearest(rows)
    every = cdist(rows.astype(float), points.astype(float), metric)
    order = np.argsort(every, axis=1, kind="stable")[:, :5]
    assert (number == order).all()
    assert (distance == np.take_along_axis(every, order, axis=1)).all()


@pytest.mark.parametrize("metric", COUNTED)
def test_neighbours_of_distinct_points_are_scipys(metric: DistanceMetric) -> None:
    points = np.unique(table(300, 7, np.float64), axis=0)
    found = nearest(points, 6, metric, 1, silent)
    every = cdist(points, points, metric)
    np.fill_diagonal(every, np.inf)
    order = np.argsort(every, axis=1, kind="stable")[:, :6]
    assert (found.index == order).all()
    assert (found.distance == np.take_along_axis(every, order, axis=1)).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", COUNTED)
def test_hac_is_that_of_scipys_distances(metric: str, kind: Any) -> None:
    points = table(60, 8, kind)
    distances = pdist(points.astype(float), metric)
    for linkage in ("average", "complete", "weighted"):
        by_features = fit("hac", "features", points, linkage=linkage, metric=metric)
        by_distances = fit("hac", "distances", squareform(distances), linkage=linkage)
        assert (by_features.tree.parent == by_distances.tree.parent).all()
        np.testing.assert_allclose(by_features.tree.height, by_distances.tree.height, rtol=1e-12)
    # Ties do not change the heights of single linkage.
    single = fit("hac", "features", points, linkage="single", metric=metric).tree
    expected = np.sort(scipy_linkage(distances, "single")[:, 2])
    heights = np.sort(single.height)
    np.testing.assert_allclose(heights[-expected.size :], expected, rtol=1e-12)


@pytest.mark.parametrize("metric", COUNTED)
def test_new_rows_are_at_the_leaf_of_scipys_nearest_point(metric: str) -> None:
    points, rows = table(80, 6, np.uint8), table(40, 6, np.uint8, seed=2)
    nearest_point = cdist(rows.astype(float), points.astype(float), metric).argmin(axis=1)
    for params in ({}, {"linkage": "single"}, {"connectivity": "knn", "n_neighbors": 5}):
        fitted = fit("hac", "features", points, metric=metric, **params)
        method = registry.method("hac")
        assert fitted.model is not None
        places = method.predict(fitted.model, fitted.tree, Data({"features": rows}))
        assert (places.leaf == fitted.tree.leaf_of_point[nearest_point]).all()


@pytest.mark.parametrize("noise", ["keep", "nearest"])
@pytest.mark.parametrize("metric", COUNTED)
def test_hdbscan_is_that_of_scipys_distances(metric: str, noise: str) -> None:
    rng = np.random.default_rng(4)
    centres = table(4, 30, np.uint8, seed=5)
    points = centres[rng.integers(4, size=160)]
    flipped = rng.random(points.shape) < 0.12
    points[flipped] = rng.integers(0, 3, size=int(flipped.sum()))
    square = squareform(pdist(points.astype(float), metric))
    params: dict[str, Any] = {"min_cluster_size": 8, "min_samples": 4, "noise": noise}
    by_features = fit("hdbscan", "features", points, metric=metric, **params)
    by_distances = fit("hdbscan", "distances", square, **params)
    assert by_features.metrics["n_clusters"] >= 2
    assert by_features.metrics == by_distances.metrics
    assert (by_features.tree.leaf_of_point == by_distances.tree.leaf_of_point).all()
    rows = points[::7].copy()
    rows[:, :5] = 1
    pairs = cdist(rows.astype(float), points.astype(float), metric)
    method = registry.method("hdbscan")
    own = method.predict(by_features.model, by_features.tree, Data({"features": rows}))
    other = method.predict(by_distances.model, by_distances.tree, Data({"distances": pairs}))
    assert (own.leaf == other.leaf).all()
    np.testing.assert_allclose(own.probability, other.probability, rtol=1e-12)


@pytest.mark.parametrize("method", ["hac", "hdbscan", "scc"])
def test_values_that_jaccard_takes_as_present_are_warned_of(method: str) -> None:
    for kind, metric, warned in (
        (np.uint8, "jaccard", True),
        (np.uint8, "hamming", False),
        (bool, "jaccard", False),
    ):
        fitted = fit(method, "features", table(50, 6, kind), metric=metric)
        assert any("as present" in warning for warning in fitted.warnings) == warned

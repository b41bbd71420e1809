"""New rows in the clusters of HDBSCAN, against the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted, Predictions
from models.methods.features.density.placing import approximate

METHOD = registry.method("hdbscan")


def fit(values: Any, role: str = "features", **params: Any) -> Fitted:
    return METHOD.fit(Data({role: values}), METHOD.Params(**{"min_samples": None, **params}))


def place(fitted: Fitted, values: Any, role: str = "features") -> Predictions:
    assert fitted.model is not None
    return METHOD.predict(fitted.model, fitted.tree, Data({role: values}))


def blobs(n_features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points of groups of several densities with some between, and new rows of the same kind."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(4, n_features)) * 4 + 9
    width = np.array([0.3, 0.6, 1.0, 0.5])
    group = rng.integers(4, size=400)
    every = centres[group] + rng.normal(size=(400, n_features)) * width[group, None]
    every[::10] = rng.random((40, n_features)) * 30 - 5
    return every[:300], every[300:]


def by_definition(
    square: np.ndarray, pairs: np.ndarray, fitted: Fitted, min_samples: int
) -> tuple[list[int], list[float]]:
    """Labels and strengths, row by row.

    square : distances of the points; pairs : distances of the rows from them.
    """
    assert fitted.model is not None
    arrays = fitted.model.arrays
    core = np.sort(square, axis=1)[:, min_samples - 1]
    labels, strengths = [], []
    for far in pairs:
        near = np.argsort(far, kind="stable")[: 2 * min_samples]
        reach = [max(core[y], np.sort(far)[min_samples], far[y]) for y in near]
        y = int(near[int(np.argmin(reach))])
        density = 1 / min(reach)
        cluster = int(arrays["cluster"][y])
        if density < arrays["fall"][y]:
            while cluster > 0 and density <= arrays["birth"][cluster]:
                cluster = int(arrays["above"][cluster])
        label = int(arrays["label_of_cluster"][cluster])
        labels.append(label)
        most = arrays["densest"][label] if label >= 0 else 0.0
        strengths.append(min(density, most) / most if label >= 0 else 0.0)
    return labels, strengths


@pytest.mark.parametrize("n_features", [2, 12])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"min_samples": 1},
        {"min_samples": 9},
        {"cluster_selection_method": "leaf"},
        {"metric": "cityblock"},
        {"metric": "chebyshev"},
        {"cluster_selection_epsilon": 1.0},
    ],
)
def test_it_is_the_definition(params: dict[str, Any], n_features: int) -> None:
    points, rows = blobs(n_features)
    params = {"min_cluster_size": 12, **params}
    fitted = fit(points, **params)
    assert fitted.model is not None
    metric = params.get("metric", "euclidean")
    labels, strengths = by_definition(
        cdist(points, points, metric),
        cdist(rows, points, metric),
        fitted,
        params.get("min_samples", 12),
    )
    label, strength = np.array(labels), np.array(strengths)
    own, own_strength, _ = approximate(fitted.model, Data({"features": rows}))
    assert (own == label).all()
    np.testing.assert_allclose(own_strength, strength, rtol=1e-9)
    assert 0 < (label >= 0).mean() < 1
    places = place(fitted, rows)
    names = fitted.tree.name[places.leaf]
    assert names.tolist() == [str(number) if number >= 0 else "noise" for number in label]
    last = places.probability[places.start[1:] - 1]
    np.testing.assert_allclose(last, np.where(label >= 0, strength, 1.0), rtol=1e-9)


@pytest.mark.parametrize("metric", ["cosine", "correlation", "braycurtis", "canberra"])
def test_metrics_that_the_library_leaves_out(metric: str) -> None:
    points, rows = blobs(5)
    points, rows = np.abs(points), np.abs(rows)
    fitted = fit(points, min_cluster_size=8, metric=metric)
    assert fitted.model is not None
    label, strength, _ = approximate(fitted.model, Data({"features": rows}))
    expected = by_definition(
        cdist(points, points, metric), cdist(rows, points, metric), fitted, min_samples=8
    )
    assert label.tolist() == expected[0]
    np.testing.assert_allclose(strength, expected[1], rtol=1e-6)


def test_rows_that_come_with_their_distances() -> None:
    points, rows = blobs(3)
    square, pairs = cdist(points, points), cdist(rows, points)
    fitted, other = fit(square, "distances"), fit(points)
    assert fitted.model is not None
    assert "points" not in fitted.model.arrays
    places, expected = place(fitted, pairs, "distances"), place(other, rows)
    assert (fitted.tree.name[places.leaf] == other.tree.name[expected.leaf]).all()
    np.testing.assert_allclose(places.probability, expected.probability, rtol=1e-9)
    with pytest.raises(UsageError, match="fitted on the input 'distances'"):
        place(fitted, rows)


def test_noise_goes_to_its_leaf_or_to_the_nearest_point() -> None:
    rng = np.random.default_rng(4)
    points = np.concatenate([rng.random((40, 2)), rng.random((30, 2)) + 9]).astype(np.float32)
    fitted = fit(points, min_cluster_size=15, min_samples=2)
    assert fitted.metrics["n_noise"] == 0
    assert fitted.model is not None
    assert fitted.model.arrays["points"] is points
    #      0
    #    /   \
    #   1     2      40 points around (0.5, 0.5) and 30 around (9.5, 9.5)
    places = place(fitted, np.array([[0.5, 0.5], [500.0, 500.0]]))
    assert fitted.tree.size[places.leaf].tolist() == [40, 30]
    assert places.probability[places.start[1:] - 1][1] == 0.0
    assert "1 row(s) are noise" in places.warnings[-1]
    points[3] = [70.0, -70.0]
    places = place(fit(points, min_cluster_size=15, min_samples=2), np.array([[500.0, 500.0]]))
    assert len(places.warnings) == 1
    assert places.probability.tolist() == [1.0, 1.0]


def test_where_no_cluster_was_found_every_row_is_noise() -> None:
    points = np.random.default_rng(0).random((30, 2))
    fitted = fit(points, min_cluster_size=20)
    assert fitted.tree.name.tolist() == ["noise"]
    places = place(fitted, np.array([[0.5, 0.5], [9.0, 9.0]]))
    assert (places.leaf.tolist(), places.probability.tolist()) == ([0, 0], [1.0, 1.0])


def test_in_a_single_cluster_rows_are_as_dense_as_its_points() -> None:
    rng = np.random.default_rng(1)
    points = np.concatenate([rng.normal(size=(200, 2)), rng.normal(size=(20, 2)) * 8])
    fitted = fit(points, min_cluster_size=100, allow_single_cluster=True)
    assert fitted.metrics["n_clusters"] == 1
    assert fitted.metrics["n_noise"] > 0
    places = place(fitted, np.array([[0.0, 0.0], [60.0, 60.0]]))
    assert fitted.tree.name[places.leaf].tolist() == ["0", "noise"]


def test_coinciding_points() -> None:
    points = np.repeat([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0]], 10, axis=0)
    fitted = fit(points, min_cluster_size=10, min_samples=3)
    places = place(fitted, points)
    assert (places.leaf == fitted.tree.leaf_of_point).all()
    assert (places.probability == 1.0).all()


def test_no_rows() -> None:
    points, _ = blobs(2)
    places = place(fit(points), np.empty((0, 2)))
    assert (places.leaf.size, places.start.tolist()) == (0, [0])

"""Nearest points of a fit against all pairs, sorted; and rows placed by them."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.spatial.distance import cdist

from models import registry
from models.errors import UsageError
from models.graphs import nearest_points
from models.graphs.nearest_points import PointSearch, placing_by
from models.inputs.data import Data
from models.numerics.distances import DistanceMetric
from models.running import budget
from tests.models.crew_kit import Scattered

METRICS = get_args(DistanceMetric)


@pytest.mark.parametrize("n_columns", [3, 20])
@pytest.mark.parametrize("metric", METRICS)
def test_they_are_those_of_all_pairs(metric: DistanceMetric, n_columns: int) -> None:
    rng = np.random.default_rng(1)
    points, rows = rng.random((200, n_columns)), rng.random((50, n_columns))
    number, distance = PointSearch(points, 4, metric).nearest(rows)
    every = cdist(rows, points, metric)
    order = np.argsort(every, axis=1, kind="stable")[:, :4]
    assert (number == order).all()
    expected = np.take_along_axis(every, order, axis=1)
    np.testing.assert_allclose(distance, expected, rtol=1e-9, atol=1e-15)


@given(
    arrays.arrays(
        np.int8, st.tuples(st.integers(1, 9), st.integers(1, 3)), elements=st.integers(0, 3)
    ),
    st.data(),
)
def test_of_equally_near_points_the_lowest_number_comes_first(
    points: np.ndarray, data: st.DataObject
) -> None:
    shape = (3, points.shape[1])
    rows = data.draw(arrays.arrays(np.int8, shape, elements=st.integers(0, 3)))
    number, _ = PointSearch(points, 1, "sqeuclidean").nearest(rows)
    every = cdist(rows.astype(float), points.astype(float), "sqeuclidean")
    # With up to eight candidates, all of the points that tie are seen.
    if len(points) <= 8:
        assert (number[:, 0] == every.argmin(axis=1)).all()
    assert (every[np.arange(3), number[:, 0]] == every.min(axis=1)).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_points_of_the_fit_are_their_own_nearest_far_from_the_origin(dtype: Any) -> None:
    points = (np.random.default_rng(0).normal(size=(300, 4)) * 4 + 1000).astype(dtype)
    points = np.unique(points, axis=0)
    number, distance = PointSearch(points, 1, "euclidean").nearest(points)
    assert (number[:, 0] == np.arange(len(points))).all()
    assert not distance.any()


@pytest.mark.parametrize(
    ("metric", "row", "message"),
    [
        ("cosine", [0.0, 0.0], "Row 1 of input 'features' is all zeros"),
        ("correlation", [2.0, 2.0], "Row 1 of input 'features' has one value"),
        ("cityblock", [1.7e308, 0.0], "at row 1, column 0 .* overflow"),
        ("braycurtis", [-1.0, -2.0], "a new row and one of the fit, numbers 1 and 0"),
        ("euclidean", [1e200, 0.0], "overflow"),
    ],
)
def test_rows_without_a_distance(metric: DistanceMetric, row: list[float], message: str) -> None:
    search = PointSearch(np.array([[1.0, 2.0]]), 1, metric)
    with pytest.raises(UsageError, match=message):
        search.nearest(np.array([[1.0, 3.0], row]))
    with pytest.raises(UsageError, match="overflow"):
        PointSearch(np.array([[1e200, 2.0]]), 1, "chebyshev")


@pytest.mark.parametrize("method", ["hac", "scc"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "cityblock"])
def test_rows_are_placed_at_the_leaf_of_the_nearest_point(
    method: str, metric: DistanceMetric
) -> None:
    rng = np.random.default_rng(2)
    points = (rng.normal(size=(80, 3)) + 2).astype(np.float32)
    rows = (rng.normal(size=(30, 3)) + 2).astype(np.float32)
    used = registry.method(method)
    fitted = used.fit(Data({"features": points}), used.Params(metric=metric))
    assert fitted.model is not None
    kept = fitted.model.arrays["points"]  # as it was given: neither copied nor widened
    assert np.shares_memory(kept, points)
    assert kept.dtype == points.dtype
    places = used.predict(fitted.model, fitted.tree, Data({"features": rows}))
    nearest = cdist(rows, points, metric).argmin(axis=1)
    assert (places.leaf == fitted.tree.leaf_of_point[nearest]).all()
    assert (places.probability == 1.0).all()
    assert (places.node[places.start[1:] - 1] == places.leaf).all()
    assert [f"'{method}' has no rule" in warning for warning in places.warnings] == [True]


@pytest.mark.parametrize("role", ["distances", "similarity"])
def test_rows_come_with_their_distances_or_similarities(role: str) -> None:
    rng = np.random.default_rng(3)
    points, rows = rng.normal(size=(40, 2)), rng.normal(size=(15, 2))
    pairs, square = cdist(rows, points), cdist(points, points)
    sign = 1 if role == "distances" else -1
    hac = registry.method("hac")
    fitted = hac.fit(Data({role: sign * square}), hac.Params())
    assert fitted.model is not None
    assert not fitted.model.arrays
    places = hac.predict(fitted.model, fitted.tree, Data({role: sign * pairs}))
    assert (places.leaf == fitted.tree.leaf_of_point[pairs.argmin(axis=1)]).all()
    with pytest.raises(UsageError, match=f"fitted on the input '{role}'"):
        hac.predict(fitted.model, fitted.tree, Data({"features": rows}))
    with pytest.raises(UsageError, match="15 columns; the model was fitted on 40"):
        hac.predict(fitted.model, fitted.tree, Data({role: pairs.T}))
    if role == "distances":
        pairs[4, 7] = -1.0
        with pytest.raises(UsageError, match="row 4, column 7"):
            hac.predict(fitted.model, fitted.tree, Data({role: pairs}))


def test_paths_that_would_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # A chain: the paths of n rows have about n^2 / 2 nodes.
    points = np.cumsum(np.arange(200.0))[:, None]
    hac = registry.method("hac")
    fitted = hac.fit(Data({"features": points}), hac.Params(linkage="single"))
    assert fitted.model is not None
    monkeypatch.setattr(budget, "available", lambda: 500_000)
    with pytest.raises(UsageError, match="Place fewer rows"):
        hac.predict(fitted.model, fitted.tree, Data({"features": points}))
    hac.predict(fitted.model, fitted.tree, Data({"features": points[:20]}))


@pytest.mark.parametrize("name", ["hac", "scc"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "cityblock"])
def test_rows_in_pieces_go_where_they_go_in_one(
    name: str, metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By workers that are lost in every third piece, which come back in any order."""
    rng, method = np.random.default_rng(6), registry.method(name)
    fitted = method.fit(
        Data({"features": rng.random((60, 4))}), method.Params.model_validate({"metric": metric})
    )
    assert fitted.model is not None
    data = Data({"features": np.concatenate([rng.random((70, 4)), np.full((1, 4), 1e9)])})
    whole = method.predict(fitted.model, fitted.tree, data)
    monkeypatch.setattr(nearest_points, "PIECE_VALUES", 60 * 4 * 3)
    n_lost = 0
    for seed in range(3):
        workers = list[Scattered]()

        def crew_of(piece: Any, seed: int = seed, workers: list[Scattered] = workers) -> Scattered:
            workers.append(Scattered(piece, 1, seed))
            return workers[0]

        with placing_by(crew_of):
            shared = method.predict(fitted.model, fitted.tree, data)
        alone = method.predict(fitted.model, fitted.tree, data)
        for array in ("leaf", "start", "node", "probability"):
            np.testing.assert_array_equal(getattr(shared, array), getattr(whole, array))
            np.testing.assert_array_equal(getattr(alone, array), getattr(whole, array))
        assert shared.warnings == whole.warnings
        n_lost += workers[0].n_lost
    assert n_lost


def test_a_row_of_a_piece_is_refused_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest_points, "PIECE_VALUES", 10)
    method, points = registry.method("scc"), np.random.default_rng(7).random((20, 2))
    fitted = method.fit(Data({"features": points}), method.Params())
    rows = points.copy()
    rows[17, 1] = np.inf
    assert fitted.model is not None
    with pytest.raises(UsageError) as caught:
        method.predict(fitted.model, fitted.tree, Data({"features": rows}))
    assert (caught.value.where["row"], caught.value.where["column"]) == (17, 1)

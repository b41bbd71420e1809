"""Methods that compare points by pairs, against the same methods on the same distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from models import registry
from models.errors import UsageError
from models.graphs.measured import measured
from models.inputs.data import Data
from models.inputs.items import ItemColumn, ItemTable, ranked
from models.method import Method

PARAMS: dict[str, dict[str, Any]] = {
    "hac": {"linkage": "average"},
    "hdbscan": {"min_cluster_size": 4},
}


def gaps(n: int, seed: int = 0) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, 6)) + 6.0 * (np.arange(n) % 2)[:, None]
    values[:, 2:][rng.random((n, 4)) < 0.3] = np.nan
    return values


def items(n: int, seed: int = 0) -> ItemTable:
    rng = np.random.default_rng(seed)
    part = np.arange(n) % 2
    size = pa.array(part + rng.normal(size=n) / 9, mask=rng.random(n) < 0.2)
    sort = pa.array(np.array(["a", "b"])[part], pa.large_string())
    return ItemTable(
        (ItemColumn("size", "number", size), ItemColumn("sort", "category", ranked(sort)))
    )


def data_of(kind: str, n: int, seed: int = 0) -> Data:
    if kind == "items":
        return Data({"items": items(n, seed)})
    return Data({"features": gaps(n, seed)}, pairwise=True)


@pytest.mark.parametrize("kind", ["items", "features"])
@pytest.mark.parametrize("name", PARAMS)
def test_the_fit_is_that_of_the_distances(name: str, kind: str) -> None:
    method: Method[Any] = registry.method(name)
    more = {"metric": "gower", "weights": {"size": 2.0}} if kind == "items" else {}
    data, params = data_of(kind, 40), method.Params(**PARAMS[name], **more)
    fitted = method.fit(data, params)
    points = measured(data, "euclidean", more.get("weights"))
    assert points is not None
    other = method.fit(Data({"distances": points.square()}), method.Params(**PARAMS[name]))
    assert (fitted.tree.parent == other.tree.parent).all()
    assert (fitted.tree.leaf_of_point == other.tree.leaf_of_point).all()
    np.testing.assert_array_equal(fitted.tree.height, other.tree.height)
    assert fitted.model is not None
    assert other.model is not None
    new = data_of(kind, 12, seed=1)
    places = method.predict(fitted.model, fitted.tree, new)
    far = points.between(points.new(new)[0], 0, "Rows")
    wanted = method.predict(other.model, other.tree, Data({"distances": far}))
    assert (places.leaf == wanted.leaf).all()
    np.testing.assert_array_equal(places.probability, wanted.probability)
    if kind == "features":
        same = registry.method(name).fit(Data({"features": gaps(40)[:, :2]}), params)
        whole = method.fit(Data({"features": gaps(40)[:, :2]}, pairwise=True), params)
        np.testing.assert_allclose(whole.tree.height, same.tree.height, rtol=1e-6)


@pytest.mark.parametrize("name", PARAMS)
def test_what_is_refused(name: str) -> None:
    method: Method[Any] = registry.method(name)
    rows = gaps(20)
    rows[7] = np.nan
    bare, wild = Data({"features": rows}, pairwise=True), gaps(20)
    wild[3, 4] = np.inf
    for data, more, message in (
        (bare, {}, "Row 7 of input 'features'"),
        (Data({"features": gaps(20)}), {}, "NaN at row"),
        (Data({"features": wild}, pairwise=True), {}, "infinite at row 3, column 4"),
        (data_of("items", 20), {"metric": "cityblock"}, "by the metric 'gower'"),
        (Data({"features": rows}, pairwise=True), {"metric": "gower"}, "applies to the input"),
        (Data({"distances": np.zeros((20, 20))}), {"weights": {"x": 1.0}}, "applies to the input"),
    ):
        with pytest.raises(UsageError, match=message):
            method.fit(data, method.Params(**PARAMS[name], **more))


def test_neighbours_are_not_found_among_rows_with_empty_values() -> None:
    method: Method[Any] = registry.method("hac")
    with pytest.raises(UsageError, match="Connectivity 'knn'"):
        method.fit(data_of("features", 20), method.Params(connectivity="knn"))

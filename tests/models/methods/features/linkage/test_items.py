"""Trees of items by Gower's distance, against trees of the same distances; new rows."""

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
from models.method import Fitted
from models.methods.features.hac import HACParams

METHOD = registry.method("hac")


def table(n: int, seed: int = 0, missing: float = 0.1) -> ItemTable:
    rng = np.random.default_rng(seed)
    size = pa.array(rng.normal(size=n), mask=rng.random(n) < missing)
    sort = pa.array(np.array(["a", "b", "c"])[rng.integers(0, 3, size=n)], pa.large_string())
    age = pa.array(rng.integers(0, 80, size=n).astype(np.float64))
    return ItemTable(
        (
            ItemColumn("size", "number", size),
            ItemColumn("sort", "category", ranked(sort)),
            ItemColumn("age", "number", age),
        )
    )


def fit(items: ItemTable, **params: Any) -> Fitted:
    return METHOD.fit(Data({"items": items}), HACParams(**params))


@pytest.mark.parametrize("metric", ["gower", "euclidean"])
@pytest.mark.parametrize("linkage", ["average", "single", "complete", "weighted", "ward"])
def test_the_tree_is_that_of_the_distances(linkage: str, metric: str) -> None:
    items, weights = table(50), {"age": 2.0}
    fitted = fit(items, linkage=linkage, metric=metric, weights=weights)
    points = measured(Data({"items": items}), "euclidean", weights)
    assert points is not None
    square = points.square()
    other = METHOD.fit(Data({"distances": square}), HACParams(linkage=linkage))
    assert (fitted.tree.parent == other.tree.parent).all()
    np.testing.assert_array_equal(fitted.tree.height, other.tree.height)
    assert set(other.warnings) < set(fitted.warnings)
    assert any("'sort' as category" in warning for warning in fitted.warnings)


def test_constraints_hold_for_items() -> None:
    items = table(30)
    pairs = np.array([[0, 7], [7, 12]])
    data = Data({"items": items, "must_link": pairs})
    tree = METHOD.fit(data, HACParams(metric="gower")).tree
    assert len({int(tree.parent[tree.leaf_of_point[row]]) for row in (0, 7, 12)}) == 1


def test_new_rows_are_at_their_nearest_item() -> None:
    items, rows = table(60, missing=0.0), table(25, 1, missing=0.2)
    fitted = fit(items, metric="gower", weights={"size": 3.0})
    assert fitted.model is not None
    places = METHOD.predict(fitted.model, fitted.tree, Data({"items": rows}))
    size, sort, age = (column.values.to_pylist() for column in items.columns)
    spans = max(size) - min(size), max(age) - min(age)
    for number, (a, b, c) in enumerate(
        zip(*(column.values.to_pylist() for column in rows.columns), strict=True)
    ):
        far = []
        for x, y, z in zip(size, sort, age, strict=True):
            parts = [(1.0, float(b != y)), (1.0, abs(c - z) / spans[1])]
            parts += [(3.0, abs(a - x) / spans[0])] if a is not None else []
            far.append(sum(w * d for w, d in parts) / sum(w for w, _ in parts))
        assert places.leaf[number] == fitted.tree.leaf_of_point[int(np.argmin(far))]
    turned = ItemTable(rows.columns[::-1])
    again = METHOD.predict(fitted.model, fitted.tree, Data({"items": turned}))
    assert (again.leaf == places.leaf).all()


def test_new_values_and_columns_that_the_fit_does_not_have() -> None:
    fitted = fit(table(20, missing=0.0), metric="gower")
    assert fitted.model is not None
    sizes, ages = pa.array([0.0, 1e3]), pa.array([3.0, 4.0])
    texts = pa.array(["a", "new"], pa.large_string())
    rows = ItemTable(
        (
            ItemColumn("size", "number", sizes),
            ItemColumn("sort", "text", texts),
            ItemColumn("age", "number", ages),
        )
    )
    places = METHOD.predict(fitted.model, fitted.tree, Data({"items": rows}))
    assert any("'size': 1 value(s) lie outside" in warning for warning in places.warnings)
    assert any("'sort': 1 value(s) are no categories" in warning for warning in places.warnings)
    more = ItemTable((*rows.columns, ItemColumn("more", "number", ages)))
    again = METHOD.predict(fitted.model, fitted.tree, Data({"items": more}))
    assert (again.leaf == places.leaf).all()
    assert any("left out of the distances: 'more'" in warning for warning in again.warnings)
    for columns, message in (
        (rows.columns[:2], "no column 'age'"),
        ((*rows.columns[:2], ItemColumn("age", "text", texts)), "'age' .* of the kind 'text'"),
        ((rows.columns[0], ItemColumn("sort", "number", ages), rows.columns[2]), "categories"),
    ):
        with pytest.raises(UsageError, match=message):
            METHOD.predict(fitted.model, fitted.tree, Data({"items": ItemTable(columns)}))


@pytest.mark.parametrize(
    ("params", "parameter"),
    [
        ({"metric": "cityblock"}, "metric"),
        ({"metric": "gower", "connectivity": "knn"}, "connectivity"),
    ],
)
def test_parameters_that_items_do_not_take(params: dict[str, Any], parameter: str) -> None:
    with pytest.raises(UsageError) as caught:
        fit(table(10), **params)
    assert caught.value.where["parameter"] == parameter


@pytest.mark.parametrize("role", ["features", "distances", "similarity"])
def test_parameters_that_only_items_take(role: str) -> None:
    square = np.zeros((4, 4))
    for params in ({"metric": "gower"}, {"weights": {"x": 1.0}}):
        with pytest.raises(UsageError, match="'items'"):
            METHOD.fit(Data({role: square}), HACParams(**params))


def test_memory_is_that_of_all_pairs() -> None:
    needed = METHOD._memory({"items": (30_000, 4)}, HACParams())
    assert 12 * 30_000**2 < needed < 13 * 30_000**2
    with pytest.raises(UsageError, match="would need about"):
        METHOD.check_size({"items": (190_000, 4)}, HACParams(), 10**9)

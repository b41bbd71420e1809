"""Distances between clusters against means over the pairs of their points, by SciPy or the
definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from models.errors import UsageError
from models.graphs.measured import MeasuredFeatures
from models.heatmaps.drawing import measured_heatmap, tips_of
from models.heatmaps.heatmap import Metric, PooledRange, tile
from models.heatmaps.measured import of_features, of_fit
from models.inputs.data import Data
from models.inputs.items import ItemColumn, ItemTable
from models.method import Model
from models.registry import method
from models.running.progress import silent
from models.tree.tree import Tree

RNG = np.random.default_rng(0)
BITS = (RNG.random((12, 6)) < 0.5).astype(np.float64)
BITS[:, 0] = 1
HAC = method("hac")


def by_pairs(tree: Tree, cut: Any, between: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The definition: the mean over all pairs of points, 0 of a cluster to itself."""
    tips, _ = tips_of(tree, cut)
    groups = [np.flatnonzero(tips.of_point == at) for at in range(tips.node.size)]
    means = [[between[np.ix_(one, other)].mean() for other in groups] for one in groups]
    expected = np.array(means)
    np.fill_diagonal(expected, 0.0)
    return expected


@pytest.mark.parametrize("cut", [None, {"k": 4}])
@pytest.mark.parametrize("metric", ["hamming", "jaccard"])
def test_features_by_scipy(metric: Metric, cut: Any) -> None:
    values = BITS * RNG.integers(1, 3, BITS.shape)
    tree = HAC.fit(Data({"features": values}), HAC.Params()).tree
    points, _ = of_features(values, metric)
    made = measured_heatmap(tree, cut, points, (), silent)
    # 'jaccard' takes values other than 0 as present, as hac does.
    own = values.astype(bool) if metric == "jaccard" else values
    expected = by_pairs(tree, cut, cdist(own, own, metric))
    np.testing.assert_allclose(made.values, expected, rtol=1e-6)
    assert made.high == pytest.approx(expected.max())
    whole = PooledRange(0, made.n_rows, 2)
    pooled = tile(made.values, "distances", metric, whole, whole)
    assert pooled[0, 0] == pytest.approx(expected[:2, :2].mean(), rel=1e-6)


def test_items_as_the_fit_compared_them() -> None:
    import pyarrow as pa

    numbers, kinds = [0.0, 1.0, 4.0, 10.0], ["a", "a", "b", None]
    table = ItemTable(
        (
            ItemColumn("size", "number", pa.array(numbers)),
            ItemColumn("kind", "category", pa.array(kinds).dictionary_encode()),
        )
    )
    weights = {"size": 3.0}
    params = HAC.Params.model_validate({"metric": "gower", "weights": weights})
    fitted = HAC.fit(Data({"items": table}), params)
    made = measured_heatmap(fitted.tree, None, of_fit(fitted.model, "gower"), (), silent)
    between = np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            parts = [(3.0, abs(numbers[i] - numbers[j]) / 10)]
            if kinds[i] is not None and kinds[j] is not None:
                parts.append((1.0, float(kinds[i] != kinds[j])))
            between[i, j] = sum(w * d for w, d in parts) / sum(w for w, _ in parts)
    np.testing.assert_allclose(made.values, by_pairs(fitted.tree, None, between), rtol=1e-6)


def test_rows_without_a_value_are_missing_with_a_warning() -> None:
    """Features with gaps as the fit measured them; the tree has one more point."""
    values = np.array([[0.0, np.nan, 1.0], [3.0, 4.0, 1.0], [0.0, 1.0, np.nan]])
    whole = HAC.fit(Data({"features": np.zeros((4, 1)) + np.arange(4.0)[:, None]}), HAC.Params())
    model = HAC.fit(Data({"features": values}, pairwise=True), HAC.Params()).model
    points = of_fit(model, "pairwise")
    made = measured_heatmap(whole.tree, None, points, (), silent, bare=(1,))
    order = whole.tree.name[np.array(made.rows["node"])].astype(int)
    between = np.full((4, 4), np.nan)
    kept = [0, 2, 3]
    for i, a in zip(kept, values, strict=True):
        for j, b in zip(kept, values, strict=True):
            both = ~np.isnan(a) & ~np.isnan(b)
            between[i, j] = np.sqrt(np.square(a - b)[both].sum() * 3 / both.sum())
    np.testing.assert_allclose(made.values, between[np.ix_(order, order)], rtol=1e-6)
    assert any("1 row(s) have no point with a value" in note for note in made.warnings)


def test_what_the_model_does_not_keep_is_refused() -> None:
    other = HAC.fit(Data({"features": BITS}), HAC.Params())
    for model in (None, other.model, Model()):
        for metric in ("gower", "pairwise"):
            with pytest.raises(UsageError, match="this tree has no such model"):
                of_fit(model, metric)
    points = MeasuredFeatures("euclidean", BITS[:5])
    with pytest.raises(UsageError, match="There are 5 rows; the tree has 12 points"):
        measured_heatmap(other.tree, None, points, (), silent)

"""What all methods of the family do with their learned transformation, by `fda`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.registry import method
from tests.models.methods.labelled.bimodal_kit import half_known


def fitted(data: Data, **params: Any) -> Fitted:
    used = method("fda")
    return used.fit(data, used.Params(**{"n_clusters": 3, "n_init": 5, **params}))


def test_the_tree_has_known_clusters_first_and_all_rows() -> None:
    data, code = half_known(0)
    fit = fitted(data)
    assert fit.tree.name.tolist() == [None, "3", "4", "5", "new 1", "new 2", "new 3"]
    cluster = fit.tree.leaf_of_point - 1
    np.testing.assert_array_equal(cluster[code >= 3], code[code >= 3] - 3)
    assert len({*zip(cluster.tolist(), code.tolist(), strict=True)}) == 6
    assert fit.metrics["log_likelihood"] >= fit.metrics["log_likelihood_mean"]


@pytest.mark.parametrize("clusterer", ["gmm", "vmf"])
def test_predictions_of_the_same_rows_are_their_clusters(clusterer: str) -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(6), 30)
    points = 8.0 * np.eye(6)[truth] + rng.normal(size=(180, 6))
    labels = np.where(truth < 3, truth, -1)
    data = Data({"features": points, "labels": labels})
    fit = fitted(data, clusterer=clusterer, gamma=1e3)
    used = method("fda")
    assert fit.model is not None
    new = Data({"features": points})
    placed = used.predict(fit.model, fit.tree, new)
    if clusterer == "gmm":
        assert (placed.leaf == fit.tree.leaf_of_point).mean() > 0.9
    np.testing.assert_array_equal(placed.leaf - 1, used.logits(fit.model, new).argmax(axis=1))
    with pytest.raises(UsageError, match="columns"):
        used.predict(fit.model, fit.tree, Data({"features": points[:, :5]}))


@pytest.mark.parametrize("choose", ["bic", "silhouette"])
def test_the_number_of_new_clusters_is_chosen(choose: str) -> None:
    rng = np.random.default_rng(1)
    truth = np.repeat(np.arange(6), 30)
    centers = np.array([[0, 0], [9, 0], [0, 9], [9, 9], [18, 0], [0, 18]])
    points = centers[truth] + rng.normal(size=(180, 2))
    data = Data({"features": points, "labels": np.where(truth < 3, truth, -1)})
    fit = fitted(data, choose=choose, min_clusters=2, max_clusters=6)
    assert fit.metrics["n_clusters"] == 3
    assert len(fit.curves[choose]) == 5


def test_sparse_and_single_precision_rows() -> None:
    data, _ = half_known(2)
    expected = fitted(data).tree.leaf_of_point
    points = data.dense("features")
    for features in (sp.csr_array(points), points.astype(np.float32)):
        fit = fitted(Data({**data.values, "features": features}))
        np.testing.assert_array_equal(fit.tree.leaf_of_point, expected)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"n_clusters": 400}, "only 180 row"),
        ({"choose": "bic", "min_clusters": 5, "max_clusters": 4}, "min_clusters"),
    ],
)
def test_impossible_numbers_are_refused(change: dict[str, Any], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        fitted(half_known(0)[0], **change)


def test_values_that_are_not_finite_are_refused() -> None:
    data, _ = half_known(0)
    points = data.dense("features").copy()
    points[7, 1] = np.nan
    with pytest.raises(UsageError, match="row 7, column 1"):
        fitted(Data({**data.values, "features": points}))


def test_the_same_seed_gives_the_same() -> None:
    data, _ = half_known(3)
    first, second = (fitted(data, seed=5) for _ in range(2))
    np.testing.assert_array_equal(first.logits, second.logits)

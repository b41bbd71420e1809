"""One covariance for known and new clusters, learned with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from models.inputs.data import Data
from models.method import Fitted
from models.metrics.flat import ari, contingency
from models.registry import method
from tests.models.methods.labelled.bimodal_kit import half_known

METHOD = method("bp")
ROOT = np.array([[4.0, 3.0], [0.0, 0.5]])
"""Rows times this spread widely in an oblique direction."""


def fitted(data: Data, **params: Any) -> Fitted:
    return METHOD.fit(data, METHOD.Params(**{"n_clusters": 3, "n_init": 5, **params}))


def oblique(seed: int, n_rows: int = 60) -> tuple[Data, np.ndarray]:
    """Six long thin clusters side by side, three of them labelled."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(6), n_rows)
    points = 4.0 * truth[:, None] * np.array([[-0.6, 0.8]])
    points = points + rng.normal(size=(truth.size, 2)) @ ROOT
    return Data({"features": points, "labels": np.where(truth % 2 == 0, truth, -1)}), truth


@pytest.mark.parametrize("seed", range(3))
def test_clusters_of_two_modes_are_found(seed: int) -> None:
    data, code = half_known(seed)
    new = code < 3
    cluster = fitted(data).tree.leaf_of_point[new] - 4
    assert ari(contingency(cluster, code[new], 3, 3)) == 1


def test_the_transformation_is_the_inverse_root_of_the_covariance() -> None:
    data, truth = oblique(0, n_rows=400)
    fit = fitted(data)
    assert fit.model is not None
    new = truth % 2 == 1
    cluster = fit.tree.leaf_of_point[new] - 4
    assert ari(contingency(cluster, truth[new] // 2, 3, 3)) > 0.9
    projection = np.asarray(fit.model.arrays["projection"])
    np.testing.assert_allclose(projection.T @ ROOT.T @ ROOT @ projection, np.eye(2), atol=0.1)
    assert fit.model.arrays["variance"].tolist() == [1.0]
    np.testing.assert_allclose(fit.model.arrays["weights"], 1 / 6)


def test_the_posterior_never_falls() -> None:
    values = [value for _, value in fitted(oblique(1)[0]).curves["log_posterior"]]
    assert len(values) > 2
    assert np.diff(values).min() >= -1e-9 * abs(values[-1])


@pytest.mark.parametrize("may_join", [False, True])
def test_only_where_rows_may_join_known_clusters_do_they(may_join: bool) -> None:
    data, code = half_known(0)
    labels = np.asarray(data.values["labels"]).copy()
    loose = np.flatnonzero(code == 4)[::2]
    labels[loose] = -1
    fit = fitted(Data({**data.values, "labels": labels}), may_join=may_join, n_init=10)
    joined = fit.tree.leaf_of_point[loose] == 2
    assert joined.all() if may_join else not joined.any()


def test_predictions_of_the_same_rows_are_their_clusters() -> None:
    data, _ = half_known(0)
    fit = fitted(data)
    assert fit.model is not None
    placed = METHOD.predict(fit.model, fit.tree, Data({"features": data.dense("features")}))
    np.testing.assert_array_equal(placed.leaf, fit.tree.leaf_of_point)


@pytest.mark.parametrize("choose", ["bic", "silhouette"])
def test_the_number_of_new_clusters_is_chosen(choose: str) -> None:
    fit = fitted(half_known(1)[0], choose=choose, min_clusters=2, max_clusters=4)
    assert fit.metrics["n_clusters"] == 3
    assert len(fit.curves[choose]) == 3


def test_single_precision_rows_give_the_same() -> None:
    data, _ = half_known(2)
    single = data.dense("features").astype(np.float32)
    again = fitted(Data({**data.values, "features": single}))
    np.testing.assert_array_equal(again.tree.leaf_of_point, fitted(data).tree.leaf_of_point)


def test_directions_are_refused() -> None:
    with pytest.raises(ValidationError):
        METHOD.Params(clusterer="vmf")

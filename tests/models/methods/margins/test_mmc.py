"""Maximum-margin clustering: its clusters, soft assignment and bad input."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted

METHOD = registry.method("mmc")


def fit(features: Any, names: Any = None, terms: Any = None, **params: Any) -> Fitted:
    values = {"features": np.asarray(features), "names": names, "feature_names": terms}
    data = Data({role: value for role, value in values.items() if value is not None})
    return METHOD.fit(data, METHOD.Params(**params))


def groups(k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Groups of 30 points, apart along one column each."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(k), 30)
    return rng.normal(size=(30 * k, k + 2)) + 8.0 * np.eye(k, k + 2)[group], group


@pytest.mark.parametrize("k", [2, 3, 5, 8])
@pytest.mark.parametrize("regularizer", ["l2", "l1", "group"])
def test_separated_groups_are_clusters(k: int, regularizer: str) -> None:
    points, group = groups(k)
    fitted = fit(points, n_clusters=k, regularizer=regularizer, alpha=0.1)
    cluster = fitted.tree.leaf_of_point
    assert len(np.unique(np.stack([cluster, group]), axis=1).T) == k
    assert fitted.tree.kind == "partition"
    assert (fitted.point_columns["margin"] > 0).all()
    assert fitted.metrics["residual"] <= 1e-3


def test_it_is_the_best_of_all_balanced_clusterings() -> None:
    """Eight points in two clusters of four: no other clustering has a lower objective."""
    rng = np.random.default_rng(2)
    points = rng.normal(size=(8, 2)) + np.repeat([[0.0, 0.0], [4.0, 2.0]], 4, axis=0)
    fitted = fit(points, n_clusters=2, alpha=0.5, min_balance=1.0, max_balance=1.0, tol=1e-6)

    def objective(sign: np.ndarray) -> float:
        """By v = w_1 - w_0: alpha |v|^2 / (2 P K) + mean hinge / K."""

        def value(v: np.ndarray) -> float:
            lack = np.maximum(1 - sign * (points @ v[:2] + v[2]), 0)
            return 0.5 * float(v[:2] @ v[:2]) / 8 + float((lack**2).sum()) / 16

        return float(minimize(value, np.zeros(3), tol=1e-10).fun)

    values = []
    for chosen in combinations(range(1, 8), 3):
        sign = -np.ones(8)
        sign[[0, *chosen]] = 1
        values.append(objective(sign))
    assert fitted.metrics["objective"] == pytest.approx(min(values), rel=1e-3)


def test_sizes_are_within_the_bounds() -> None:
    points = np.random.default_rng(0).normal(size=(200, 3))
    for least, most in ((0.9, 1.1), (1.0, 1.0), (0.0, 4.0)):
        fitted = fit(points, n_clusters=4, min_balance=least, max_balance=most)
        size = fitted.tree.size[1:]
        assert size.min() >= max(1, np.floor(least * 50))
        assert size.max() <= np.ceil(most * 50)
        assert size.tolist() == sorted(size, reverse=True)


def test_the_soft_assignment_agrees_with_the_clusters() -> None:
    points = np.random.default_rng(1).normal(size=(150, 4))
    fitted = fit(points, n_clusters=5, alpha=10.0)
    assert (fitted.point_columns["margin"] < 0).any(), (
        "the bounds keep some from their best cluster"
    )
    assert (fitted.logits.argmax(axis=1) + 1 == fitted.tree.leaf_of_point).all()
    np.testing.assert_allclose(np.exp(fitted.logits).sum(axis=1), 1)
    placed = METHOD.predict(fitted.model, fitted.tree, Data({"features": points}))
    np.testing.assert_array_equal(placed.leaf, fitted.tree.leaf_of_point)
    largest = np.exp(fitted.logits.max(axis=1))
    np.testing.assert_allclose(placed.probability[1::2], largest)
    np.testing.assert_allclose(placed.columns["margin"], fitted.point_columns["margin"], atol=1e-9)


def test_clusters_are_named_and_explained() -> None:
    points, _ = groups(3)
    terms = ["a", "b", "c", "d", "e"]
    fitted = fit(points, ["x", "y", "z"], terms, n_clusters=3, regularizer="group", alpha=0.5)
    tree = fitted.tree
    assert tree.name.tolist() == [None, "x", "y", "z"]
    assert {feature["feature"] for feature in tree.extra["split_features"][0][:3]} == {
        "a",
        "b",
        "c",
    }
    for node in (1, 2, 3):
        own = tree.extra["own_features"][node][0]
        column = terms.index(own["feature"])
        inside = points[tree.leaf_of_point == node][:, column].mean()
        assert own["weight"] > 0
        assert inside > points[:, column].mean()


@pytest.mark.parametrize(
    ("features", "params", "code", "part"),
    [
        (np.ones((9, 2)), {"n_clusters": 2}, "too-few-points", "only 1 distinct point(s)"),
        (np.eye(3), {"n_clusters": 4}, "too-few-points", "'n_clusters' is 4"),
        (np.eye(3), {"n_clusters": 2, "alpha": 0}, "wrong-parameter", "alpha above 0"),
        (
            np.eye(3),
            {"n_clusters": 2, "regularizer": "l1", "alpha": 1e6},
            "wrong-parameter",
            "Lower alpha, or scale the features up",
        ),
    ],
)
def test_unusable_input_is_named(
    features: np.ndarray, params: dict[str, Any], code: str, part: str
) -> None:
    with pytest.raises(UsageError) as caught:
        fit(features, **params)
    assert caught.value.code == code
    assert part in caught.value.detail


@pytest.mark.parametrize("name", ["mmc", "hmmc"])
def test_a_split_does_not_depend_on_the_unit_of_the_features(name: str) -> None:
    rng = np.random.default_rng(1)
    points = np.repeat(4.0 * rng.normal(size=(2, 3)), 10, axis=0) + rng.normal(size=(20, 3))
    splitter = registry.method(name)
    params = splitter.Params(**({"n_clusters": 2} if name == "mmc" else {"max_leaves": 2}))
    ends = []
    for power in (-100, -40, 20, 100):
        features = points * 2.0**power
        fitted = splitter.fit(Data({"features": features}), params)
        assert "were divided by it" in fitted.warnings[0]
        assert fitted.model is not None
        leaf = splitter.predict(fitted.model, fitted.tree, Data({"features": features})).leaf
        np.testing.assert_array_equal(leaf, fitted.tree.leaf_of_point)
        ends.append((fitted.metrics["objective"], fitted.tree.leaf_of_point.tolist()))
    assert ends == [ends[0]] * len(ends)
    assert not splitter.fit(Data({"features": points}), params).warnings

"""Maximum-margin hierarchies: the paper's claims, prediction, and bad input."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.methods.margins.splitting.objective import group
from models.tree import columns

METHOD = registry.method("hmmc")
VARIANTS = ("group", "exclusive", "l1", "l2")


def fit(features: Any, names: Any = None, **params: Any) -> Fitted:
    values = {"features": np.asarray(features), "feature_names": names}
    data = Data({role: value for role, value in values.items() if value is not None})
    return METHOD.fit(data, METHOD.Params(**params))


def vehicles(seed: int, n_points: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The introduction's case: columns 0 to 9 tell the type, and a little of the make, 10 to 19 the
    make, 20 to 29 nothing. Points, and the type and the make of each.

    (all) -+- type 0 -+- make 0
           |          +- make 1
           +- type 1 -+- make 0
                      +- make 1
    """
    rng = np.random.default_rng(seed)
    kind, make = rng.integers(0, 2, n_points), rng.integers(0, 2, n_points)
    points = 0.5 * rng.normal(size=(n_points, 30))
    points[:, :10] += 1.5 * (2 * kind - 1)[:, None]
    points[:, :10] += 0.4 * (2 * make - 1)[:, None] * np.resize([1, -1], 10)
    points[:, 10:20] += 0.8 * (2 * make - 1)[:, None]
    return points, kind, make


@lru_cache
def planted(seed: int, regularizer: str = "group+exclusive") -> Fitted:
    points, _, _ = vehicles(seed)
    return fit(points, max_leaves=4, alpha=0.1, beta=1.0, min_balance=0.8, max_balance=1.2,
               regularizer=regularizer)  # fmt: skip


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_levels_of_the_planted_tree_use_different_features(seed: int) -> None:
    _, kind, make = vehicles(seed)
    fitted = planted(seed)
    tree, weights = fitted.tree, np.abs(fitted.model.arrays["weights"]).sum(axis=1)
    assert tree.parent.tolist() == [-1, 0, 0, 1, 1, 2, 2] or tree.parent.tolist() == [
        -1, 0, 0, 2, 2, 1, 1,
    ]  # fmt: skip
    for leaf in tree.leaves:
        inside = tree.leaf_of_point == leaf
        assert len(set(zip(kind[inside], make[inside], strict=True))) == 1
    share = weights / weights.sum(axis=1, keepdims=True)
    assert share[0, :10].sum() > 0.95, "the top split is by type"
    assert (share[1:, 10:20].sum(axis=1) > 0.85).all(), "those below by make"
    listed = tree.extra["split_features"]
    assert {feature["feature"] for feature in listed[0][:5]} <= set(range(10))
    for node in (1, 2):
        assert {feature["feature"] for feature in listed[node][:5]} <= set(range(10, 20))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_variant_is_as_exclusive(seed: int) -> None:
    own = planted(seed).metrics
    for variant in VARIANTS:
        its = planted(seed, variant).metrics
        assert own["exclusive_overlap"] < its["exclusive_overlap"], variant
        assert own["sparsity"] > its["sparsity"], variant


@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("regularizer", ["group+exclusive", *VARIANTS])
def test_every_branching_with_every_regularizer(k: int, regularizer: str) -> None:
    points, _, _ = vehicles(3, 120)
    fitted = fit(points, max_leaves=2 * k - 1, branching=k, regularizer=regularizer, n_init=2)
    tree = fitted.tree
    assert tree.n_children.tolist().count(k) == 2
    assert tree.n_leaves == 2 * k - 1
    assert fitted.metrics["residual"] <= 1e-3
    assert (fitted.metrics["sparsity"] == 0) == (regularizer == "l2")
    first = fitted.model.arrays["weights"][0]
    complexity = {
        "group": group(first),
        "group+exclusive": group(first),
        "l1": np.abs(first).mean(),
        "l2": (first**2).mean(),
    }
    if regularizer in complexity:
        scores = points @ first.T + fitted.model.arrays["intercept"][0]
        below = np.array([path_step(tree, int(leaf)) for leaf in tree.leaf_of_point])
        fitting = scores[np.arange(len(points)), below - 1].sum()
        assert tree.extra["split_score"][0] == pytest.approx(fitting / complexity[regularizer])
    else:
        # At the root nothing competes, so a score divides by 0.
        assert np.isinf(tree.extra["split_score"][0])
        assert any("cost nothing by this regularizer" in text for text in fitted.warnings)


def path_step(tree: Any, node: int) -> int:
    """The child of the root above a node."""
    while tree.parent[node] != 0:
        node = int(tree.parent[node])
    return node


def test_scores_fall_as_the_objective_says() -> None:
    """Eq. 5 of the root, from the model and the leaves alone."""
    points, _, _ = vehicles(4)
    fitted = fit(points, max_leaves=2, alpha=0.3, beta=5.0, max_balance=1.3, min_balance=0.7)
    weights, intercept = (fitted.model.arrays[name][0] for name in ("weights", "intercept"))
    scores = points @ weights.T + intercept
    own = fitted.tree.leaf_of_point - 1
    lack = 1 - scores[np.arange(400), own] + scores[np.arange(400), 1 - own]
    value = 0.3 * group(weights) + (np.maximum(lack, 0) ** 2).sum() / (400 * 2)
    assert fitted.metrics["objective"] == pytest.approx(value, rel=1e-6)
    margin = scores[np.arange(400), own] - scores[np.arange(400), 1 - own]
    np.testing.assert_allclose(fitted.point_columns["margin"], margin, atol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("k", [2, 3])
def test_fitted_points_are_predicted_where_they_lie(k: int, intercept: bool) -> None:
    """Including those that the bounds keep from the cluster with their highest score."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 5)) + 4.0 * np.eye(3, 5)[rng.integers(3, size=300)]
    fitted = fit(points, max_leaves=11, branching=k, intercept=intercept, alpha=5.0)
    assert (fitted.point_columns["margin"] < 0).any(), "the case is of use"
    placed = METHOD.predict(fitted.model, fitted.tree, Data({"features": points}))
    assert (placed.leaf == fitted.tree.leaf_of_point).all()
    np.testing.assert_allclose(placed.columns["margin"], fitted.point_columns["margin"], atol=1e-9)


def test_new_points_go_down_by_each_splits_rule() -> None:
    points, _, _ = vehicles(0)
    fitted = fit(points, max_leaves=7)
    new, _, _ = vehicles(9)
    arrays, tree = fitted.model.arrays, fitted.tree
    placed = METHOD.predict(fitted.model, tree, Data({"features": new}))
    for row, x in enumerate(new[:50]):
        node, chance, at = 0, 1.0, placed.start[row]
        while True:
            assert placed.node[at] == node
            assert placed.probability[at] == pytest.approx(chance, rel=1e-9)
            number = arrays["split_of_node"][node]
            if number < 0:
                break
            first, second = arrays["weights"][number] @ x + arrays["intercept"][number]
            lack = np.maximum([1 - first + second, 1 - second + first], 0) ** 2
            cost = lack + arrays["price"][number]
            step = int(cost.argmin())
            chance *= 1 / (1 + np.exp(-(cost[1 - step] - cost[step]) / 2))
            node = int(np.flatnonzero(tree.parent == node)[step])
            at += 1
        assert placed.leaf[row] == node


def test_a_warning_names_coinciding_points_in_different_leaves() -> None:
    """Five points at one place and one at another: the bounds put two of the five elsewhere."""
    points = np.repeat([[0.0, 0.0], [1.0, 1.0]], [5, 1], axis=0)
    fitted = fit(points, max_leaves=2, alpha=0.001)
    assert sorted(fitted.tree.size[1:]) == [2, 4]
    assert fitted.warnings[0].startswith("At 1 place(s) points that coincide lie in different")


def test_planted_leaves_hold_for_new_points() -> None:
    fitted = planted(0)
    new, kind, make = vehicles(20)
    leaf = METHOD.predict(fitted.model, fitted.tree, Data({"features": new})).leaf
    groups = np.unique(np.stack([leaf, kind, make]), axis=1)
    assert groups.shape[1] == 4


def test_names_change_no_tree() -> None:
    points, _, _ = vehicles(0, 200)
    names = [f"feature {number}" for number in range(30)]
    plain, named = fit(points, max_leaves=3), fit(points, names, max_leaves=3)
    np.testing.assert_array_equal(plain.tree.leaf_of_point, named.tree.leaf_of_point)
    np.testing.assert_array_equal(plain.model.arrays["weights"], named.model.arrays["weights"])
    assert named.tree.extra["split_features"][0][0]["feature"].startswith("feature ")


def test_explanations_are_kept_with_the_tree() -> None:
    tree = planted(0).tree
    again = columns.from_table(columns.to_table(tree), tree.leaf_of_point)
    for name in ("split_features", "own_features"):
        assert again.extra[name].tolist() == tree.extra[name].tolist()
    np.testing.assert_array_equal(again.extra["sparsity"], tree.extra["sparsity"])


def test_float32_points_are_predicted_in_their_leaves() -> None:
    points, _, _ = vehicles(0)
    fitted = fit(points.astype(np.float32), max_leaves=4, alpha=0.1)
    placed = METHOD.predict(
        fitted.model, fitted.tree, Data({"features": points.astype(np.float32)})
    )
    assert (placed.leaf == fitted.tree.leaf_of_point).all()


def test_rounds_that_ran_out_are_warned_of() -> None:
    points, _, _ = vehicles(0)
    # A start in a gap may end in one round.
    fitted = fit(points, max_leaves=2, max_iter=1, tol=1e-9, n_init=3)
    assert any("stopped after max_iter = 1 rounds" in text for text in fitted.warnings)


def test_more_leaves_than_points_end_where_they_must() -> None:
    points = np.random.default_rng(0).normal(size=(6, 2))
    fitted = fit(points, max_leaves=50, alpha=0.01)
    assert fitted.tree.n_leaves == 6
    assert fitted.warnings == (
        "The tree has 6 leaves, not max_leaves = 50: 6 have fewer than 2 points.",
    )


@pytest.mark.parametrize(
    ("features", "params", "code", "part"),
    [
        (np.array([[1e200], [0.0]]), {}, "too-large", "row 0"),
        (np.ones((9, 2)), {}, "too-few-points", "only 1 distinct point(s)"),
        (np.eye(3), {"branching": 4}, "too-few-points", "'branching' is 4"),
        (np.eye(3), {"alpha": 0, "beta": 0}, "wrong-parameter", "alpha or beta above 0"),
        (np.eye(3), {"alpha": 0, "regularizer": "l1"}, "wrong-parameter", "alpha above 0"),
        (np.eye(3), {"alpha": 1e6}, "wrong-parameter", "all weights of the first split are 0"),
    ],
)
def test_unusable_input_is_named(
    features: np.ndarray, params: dict[str, Any], code: str, part: str
) -> None:
    with pytest.raises(UsageError) as caught:
        fit(features, **params)
    assert caught.value.code == code
    assert part in caught.value.detail


@pytest.mark.parametrize("bounds", [{"min_balance": 1.1}, {"max_balance": 0.9}])
def test_bounds_that_no_clusters_meet_are_refused(bounds: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match=next(iter(bounds))):
        METHOD.Params(**bounds)


def test_a_wrong_number_of_feature_names_is_refused() -> None:
    with pytest.raises(UsageError, match="1 names; 3 are needed"):
        fit(np.eye(3), ["a"])

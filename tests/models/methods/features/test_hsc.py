"""Hierarchical spectral clustering: its leaves, new points, and data that fall apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted

METHOD = registry.method("hsc")


def fit(features: Any, **params: Any) -> Fitted:
    return METHOD.fit(Data({"features": np.asarray(features)}), METHOD.Params(**params))


def rings(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two pairs of rings, each pair inside each other, far apart; and the ring of each point."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(4), [80, 160, 80, 160])
    radius = np.array([1.0, 4.0, 1.0, 4.0])[group]
    middle = np.array([[0.0, 0.0], [0.0, 0.0], [60.0, 0.0], [60.0, 0.0]])[group]
    angle = rng.random(len(group)) * 2 * np.pi
    points = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1) + middle
    return points + rng.normal(size=points.shape) * 0.05, group


@pytest.mark.parametrize("grow", ["compact", "scattered"])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_rings_are_leaves(grow: str, kind: type) -> None:
    points, group = rings()
    fitted = fit(points.astype(kind), grow=grow, max_leaves=2)
    left = fitted.tree.leaf_of_point[group < 2]
    assert len(set(left)) == 1
    assert fitted.tree.n_leaves == 2
    four = fit(points.astype(kind), grow="scattered", max_leaves=4)
    pairs = set(zip(four.tree.leaf_of_point.tolist(), group.tolist(), strict=True))
    assert len(pairs) == 4


def test_a_graph_in_parts_is_warned_of() -> None:
    fitted = fit(rings()[0], max_leaves=4)
    assert any("fell into parts" in warning for warning in fitted.warnings)


def test_new_points_go_where_the_nearest_lies() -> None:
    points, _ = rings()
    fitted = fit(points, max_leaves=12, n_neighbors=4)
    new, _ = rings(seed=9)
    placed = METHOD.predict(fitted.model, fitted.tree, Data({"features": new}))
    tree = fitted.tree
    near = np.argsort(cdist(new, points), axis=1)[:, :4]
    assert (placed.leaf == tree.leaf_of_point[near[:, 0]]).all()
    for row in range(0, len(new), 7):
        for at in range(placed.start[row], placed.start[row + 1]):
            under = 0
            for leaf in tree.leaf_of_point[near[row]]:
                node = int(leaf)
                while node > placed.node[at]:
                    node = int(tree.parent[node])
                under += node == placed.node[at]
            assert placed.probability[at] == under / 4


def test_points_far_from_the_origin_find_themselves() -> None:
    points = rings()[0] + 1e6
    fitted = fit(points, max_leaves=30)
    placed = METHOD.predict(fitted.model, fitted.tree, Data({"features": points}))
    assert (placed.leaf == fitted.tree.leaf_of_point).all()


def test_the_tree_goes_down_to_distinct_points() -> None:
    points = np.random.default_rng(2).integers(0, 4, size=(30, 2)).astype(float)
    fitted = fit(points, max_leaves=100, n_init=1)
    assert fitted.tree.n_leaves == len(np.unique(points, axis=0))
    assert any("no leaf could be split further" in warning for warning in fitted.warnings)


@pytest.mark.parametrize("n_points", [1, 5])
def test_equal_points_are_one_leaf(n_points: int) -> None:
    fitted = fit(np.full((n_points, 2), 3.0))
    assert fitted.tree.n_nodes == 1
    placed = METHOD.predict(fitted.model, fitted.tree, Data({"features": np.zeros((2, 2))}))
    assert placed.probability.tolist() == [1, 1]


def test_a_value_whose_square_overflows_is_named() -> None:
    with pytest.raises(UsageError, match="at row 0") as caught:
        fit(np.array([[1e200], [0.0]]))
    assert caught.value.code == "too-large"


def test_inputs_too_large_for_memory_are_refused() -> None:
    with pytest.raises(UsageError, match=r"GiB.*'hkm'"):
        METHOD.check_size({"features": (10**6, 64)}, METHOD.Params(), 2**30)

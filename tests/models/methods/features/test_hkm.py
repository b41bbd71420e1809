"""Hierarchical k-means: its splits, its leaves, and the known figures of real data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.metrics.hierarchical import dendrogram_purity
from models.metrics.inputs import classes_of
from models.tree.walk import path

METHOD = registry.method("hkm")


def fit(features: Any, **params: Any) -> Fitted:
    return METHOD.fit(Data({"features": np.asarray(features)}), METHOD.Params(**params))


def nested(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two pairs of groups and a wide one: points and the group of each."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0, 0], [6, 0], [100, 0], [106, 0], [50, 200]], dtype=float)
    group = np.repeat(np.arange(5), [40, 30, 20, 20, 25])
    width = np.array([0.5, 0.5, 0.5, 0.5, 12.0])[group]
    return centres[group] + rng.normal(size=(len(group), 2)) * width[:, None], group


def groups(fitted: Fitted) -> set[frozenset[int]]:
    leaf = fitted.tree.leaf_of_point
    return {frozenset(np.flatnonzero(leaf == node).tolist()) for node in fitted.tree.leaves}


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_well_separated_groups_are_leaves(kind: type) -> None:
    points, group = nested()
    # The wide group last, so that its own points are not scattered more than the pairs.
    points, group = points[group < 4].astype(kind), group[group < 4]
    fitted = fit(points, max_leaves=4)
    assert groups(fitted) == {frozenset(np.flatnonzero(group == g).tolist()) for g in range(4)}
    tree = fitted.tree
    assert tree.max_depth == 2
    assert sorted(tree.height.tolist()) == [0, 0, 0, 0, 1, 2, 3]
    # The pair of more points is split first.
    assert tree.height[tree.parent[tree.leaf_of_point[0]]] == 2
    assert tree.name[tree.leaf_of_point[0]] == "0"


def test_compact_and_scattered_differ_as_they_should() -> None:
    points, group = nested()
    # Both pairs and the wide group are separated already. The pairs split into the most compact
    # clusters; the wide group has its points farthest from their centre.
    compact = groups(fit(points, grow="compact", max_leaves=4, branching=2))
    scattered = groups(fit(points, grow="scattered", max_leaves=4, branching=2))
    wide = frozenset(np.flatnonzero(group == 4).tolist())
    assert wide in compact
    assert wide not in scattered


def test_branching_is_the_number_of_children() -> None:
    points = np.random.default_rng(1).normal(size=(200, 3))
    fitted = fit(points, branching=4, max_leaves=22)
    tree = fitted.tree
    assert set(tree.n_children.tolist()) == {0, 4}
    assert tree.n_leaves == 22
    less = fit(points, branching=4, max_leaves=21)
    assert less.tree.n_leaves == 19
    assert any("19 leaves, not max_leaves = 21" in warning for warning in less.warnings)


@pytest.mark.parametrize("grow", ["compact", "scattered"])
@pytest.mark.parametrize("branching", [2, 3])
def test_the_tree_goes_down_to_distinct_points(grow: str, branching: int) -> None:
    points = np.random.default_rng(2).integers(0, 5, size=(60, 2)).astype(float)
    fitted = fit(points, grow=grow, branching=branching, max_leaves=1000, n_init=1)
    assert fitted.tree.n_leaves == len(np.unique(points, axis=0))
    assert any("no leaf could be split further" in warning for warning in fitted.warnings)
    assert fitted.metrics["inertia"] == pytest.approx(0, abs=1e-12)


def test_each_split_is_the_best_of_its_points() -> None:
    """Two clusters of up to 9 points: no other split has less inertia."""
    points = np.random.default_rng(3).normal(size=(9, 2))
    fitted = fit(points, max_leaves=2, n_init=50, tol=0.0)
    best = min(
        sum(((points[side] - points[side].mean(axis=0)) ** 2).sum() for side in (mask, ~mask))
        for mask in (np.array([(code >> i) & 1 for i in range(9)], bool) for code in range(1, 256))
    )
    assert fitted.metrics["inertia"] == pytest.approx(best)


@pytest.mark.parametrize(
    ("name", "known"), [("glass", 0.508), pytest.param("spambase", 0.626, marks=pytest.mark.slow)]
)
def test_known_dendrogram_purity(name: str, known: float, real_data: Callable[[str], Path]) -> None:
    """HKMeans in the gHHC paper's table, 0.508 and 0.626: trees down to the points, two seeds."""
    with np.load(real_data(f"bench_{name}.npz")) as file:
        features, labels = file["X"], file["y"]
    purities = []
    for seed in range(2):
        tree = fit(features, max_leaves=1_000_000, n_init=1, seed=seed).tree
        purities.append(dendrogram_purity(tree, classes_of(labels, len(labels))).value)
    assert np.mean(purities) == pytest.approx(known, abs=0.03)


def test_new_points_go_down_by_the_nearest_centre() -> None:
    points, _ = nested()
    fitted = fit(points, max_leaves=6, branching=2)
    new = nested(seed=9)[0]
    placed = METHOD.predict(fitted.model, fitted.tree, Data({"features": new}))
    centre, variance = fitted.model.arrays["centers"], fitted.model.arrays["variance"]
    for row, point in enumerate(new):
        node, chance = 0, 1.0
        at = placed.start[row]
        while True:
            assert placed.node[at] == node
            assert placed.probability[at] == pytest.approx(chance, rel=1e-9)
            below = np.flatnonzero(fitted.tree.parent == node)
            if not below.size:
                break
            squared = ((centre[below] - point) ** 2).sum(axis=1)
            weight = np.exp(-(squared - squared.min()) / (2 * variance[node]))
            node, chance = int(below[squared.argmin()]), chance / weight.sum()
            at += 1
        assert placed.leaf[row] == node
        assert at + 1 == placed.start[row + 1]


def test_the_variance_of_a_split_is_about_its_centres() -> None:
    points, _ = nested()
    fitted = fit(points, max_leaves=5)
    tree = fitted.tree
    for node in np.flatnonzero(tree.n_children > 0):
        total, inside = 0.0, 0
        for row, leaf in enumerate(tree.leaf_of_point):
            along = path(tree, int(leaf))
            if node in along:
                child = along[list(along).index(node) + 1]
                total += ((points[row] - fitted.model.arrays["centers"][child]) ** 2).sum()
                inside += 1
        assert fitted.model.arrays["variance"][node] == pytest.approx(total / (2 * inside))


@pytest.mark.parametrize("n_points", [1, 5])
def test_equal_points_are_one_leaf(n_points: int) -> None:
    for grow in ("compact", "scattered"):
        fitted = fit(np.full((n_points, 2), 3.0), grow=grow)
        assert fitted.tree.n_nodes == 1
        assert any("1 leaves" in warning for warning in fitted.warnings)
        placed = METHOD.predict(fitted.model, fitted.tree, Data({"features": np.zeros((2, 2))}))
        assert placed.probability.tolist() == [1, 1]


def test_a_run_that_did_not_converge_is_warned_of() -> None:
    points = np.random.default_rng(0).normal(size=(500, 5))
    fitted = fit(points, branching=9, max_leaves=9, n_init=1, max_iter=2, tol=0.0)
    assert any("max_iter = 2" in warning for warning in fitted.warnings)


def test_a_value_whose_square_overflows_is_named() -> None:
    with pytest.raises(UsageError, match="at row 0") as caught:
        fit(np.array([[1e200], [0.0]]))
    assert caught.value.code == "too-large"

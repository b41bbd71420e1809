"""The report on every node against its definition, node by node."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from scipy.stats import entropy

from models.errors import UsageError
from models.metrics import nodes
from models.metrics.nodes import NodeReport, report_on_nodes
from models.tree.tree import Tree
from tests.models.metrics.trees_kit import (
    any_tree,
    chain,
    from_linkage,
    points_under,
    small_trees,
    tree_of,
)


def check_classes(tree: Tree, labels: list[Any]) -> None:
    report = report_on_nodes(tree, labels=labels)
    assert report.exemplars is None
    assert report.warnings == ()
    assert report.class_name == sorted(set(labels))
    for node in range(tree.n_nodes):
        inside = Counter(labels[point] for point in points_under(tree, node))
        n_points = inside.total()
        assert report.size[node] == n_points
        assert report.n_classes[node] == len(inside)
        if not n_points:
            assert np.isnan(report.purity[node])
            assert np.isnan(report.entropy[node])
            assert report.majority[node] == -1
            continue
        largest = max(inside.values())
        assert report.purity[node] == largest / n_points
        first = min(label for label, times in inside.items() if times == largest)
        assert report.class_name[report.majority[node]] == first
        expected = entropy(list(inside.values()))
        assert report.entropy[node] == pytest.approx(expected, abs=1e-12)
        assert report.entropy[node] >= 0.0
        if len(inside) == 1:
            assert report.entropy[node] == 0.0


def inside_each(tree: Tree) -> np.ndarray:
    """(n_nodes, n_points): what lies under each node."""
    inside = np.zeros((tree.n_nodes, tree.n_points), dtype=bool)
    inside[tree.leaf_of_point, np.arange(tree.n_points)] = True
    for node in range(tree.n_nodes - 1, 0, -1):
        inside[tree.parent[node]] |= inside[node]
    return inside


def check_exemplars(tree: Tree, features: np.ndarray, n: int, report: NodeReport) -> None:
    assert report.exemplars is not None
    assert report.exemplars.shape == (tree.n_nodes, n)
    rows = features.astype(np.float64)
    for chosen, under in zip(report.exemplars, inside_each(tree), strict=True):
        inside = np.flatnonzero(under)
        assert (chosen[inside.size :] == -1).all()
        if not inside.size:
            continue
        chosen = chosen[: inside.size]
        assert under[chosen].all()
        assert len(set(chosen.tolist())) == len(chosen)
        apart = np.linalg.norm(rows - rows[inside].mean(axis=0), axis=1)
        nearest = np.sort(apart[inside])[: chosen.size]
        assert apart[chosen] == pytest.approx(nearest, rel=1e-6, abs=1e-9)


def test_every_shape_up_to_7_leaves() -> None:
    rng = np.random.default_rng(1)
    for tree in small_trees():
        for n_classes in (1, 2, 3):
            check_classes(tree, rng.integers(0, n_classes, tree.n_points).tolist())
        features = rng.normal(size=(tree.n_points, 2))
        check_exemplars(tree, features, 2, report_on_nodes(tree, features=features, n_exemplars=2))


@given(any_tree(), st.data())
def test_any_tree(tree: Tree, data: st.DataObject) -> None:
    n = tree.n_points
    check_classes(tree, data.draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n)))
    seed, digits = data.draw(st.integers(0, 2**32)), data.draw(st.sampled_from([0, 9]))
    features = np.round(np.random.default_rng(seed).normal(size=(n, 3)), digits)
    check_exemplars(tree, features, 3, report_on_nodes(tree, features=features))


def test_by_hand() -> None:
    #        0
    #      /   \
    #     1     2        points  0 1 2 3 4 in leaves 3 3 4 2 2
    #    / \             labels  a a b a b
    #   3   4            x       0 1 5 8 9
    tree = tree_of([-1, 0, 0, 1, 1], [3, 3, 4, 2, 2])
    x = np.array([0.0, 1.0, 5.0, 8.0, 9.0])[:, None]
    report = report_on_nodes(tree, labels=list("aabab"), features=x, n_exemplars=2)
    assert report.size.tolist() == [5, 3, 2, 2, 1]
    assert report.purity.tolist() == [3 / 5, 2 / 3, 1 / 2, 1, 1]
    assert report.majority.tolist() == [0, 0, 0, 0, 1]
    assert report.n_classes.tolist() == [2, 2, 2, 1, 1]
    assert report.entropy[2] == pytest.approx(np.log(2))
    # Means 4.6, 2, 8.5, 0.5, 5.
    assert report.exemplars.tolist() == [[2, 3], [1, 0], [3, 4], [0, 1], [2, -1]]


def random_tree(n_nodes: int, n_points: int, reach: int, rng: np.random.Generator) -> Tree:
    """Each node is a child of one of the `reach` before it: a small `reach` makes a deep tree."""
    node = np.arange(1, n_nodes)
    parent = np.append(-1, rng.integers(np.maximum(0, node - reach), node))
    leaves = np.setdiff1d(np.arange(n_nodes), parent)
    return tree_of(parent, rng.choice(leaves, n_points))


@pytest.mark.parametrize("reach", [2, 30, 500])
def test_larger_trees_by_tables_of_all_nodes(reach: int) -> None:
    rng = np.random.default_rng(reach)
    tree = random_tree(900, 1500, reach, rng)
    labels = rng.integers(0, 40, 1500) ** 2 // 40
    features = rng.normal(size=(1500, 6)) + labels[:, None] / 10
    inside = inside_each(tree)
    report = report_on_nodes(tree, labels=labels, features=features, n_exemplars=5)
    assert report.warnings == ()
    table = inside.astype(np.int64) @ (labels[:, None] == np.unique(labels))
    held = tree.size > 0
    assert (report.majority[held] == table[held].argmax(axis=1)).all()
    assert report.purity[held] == pytest.approx(table[held].max(axis=1) / tree.size[held])
    assert report.entropy[held] == pytest.approx(entropy(table[held], axis=1), abs=1e-10)
    check_exemplars(tree, features, 5, report)


@pytest.mark.parametrize("form", [np.float16, np.float32, np.int32, "fortran", "frozen"])
def test_every_kind_of_features(form: Any) -> None:
    rng = np.random.default_rng(3)
    features: Any = np.round(9 * rng.normal(size=(150, 4)))
    tree = from_linkage(linkage(features, "average"))
    if form == "fortran":
        features = np.asfortranarray(features)
    elif form == "frozen":
        features.flags.writeable = False
    else:
        features = features.astype(form)
    check_exemplars(tree, features, 3, report_on_nodes(tree, features=features))


def drifting(tree: Tree) -> np.ndarray:
    """Means that move along a line while the tree grows."""
    return np.argsort(np.argsort(-tree.leaf_of_point)).astype(np.float64)[:, None] ** 1.5


@pytest.mark.parametrize("kind", ["equal", "two places", "far away", "drifting"])
def test_hard_cases_in_a_deep_tree(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "POOL", 8)
    rng = np.random.default_rng(4)
    tree = chain(600, rng)
    features = {
        "equal": np.ones((600, 2)),
        "two places": np.repeat([[0.0, 0.0], [3.0, 4.0]], 300, axis=0),
        "far away": 1e8 + rng.normal(size=(600, 2)),
        "drifting": drifting(tree),
    }[kind]
    report = report_on_nodes(tree, features=features)
    assert report.warnings == ()
    check_exemplars(tree, features, 3, report)


def test_metrics_that_take_too_long_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "POOL", 8)
    tree = chain(2000, np.random.default_rng(5))
    features = drifting(tree)
    exact = report_on_nodes(tree, features=features)
    assert exact.warnings == ()
    monkeypatch.setattr(nodes, "MOST_VALUES", 0)
    report = report_on_nodes(tree, features=features)
    assert "nodes are the nearest of some" in report.warnings[0]
    same = (report.exemplars == exact.exemplars).all(axis=1).mean()
    assert 0.1 < same < 1.0
    assert (report.exemplars[tree.size >= 3] >= 0).all()


def test_a_chain_of_100_000_leaves() -> None:
    rng = np.random.default_rng(6)
    tree = chain(100_000, rng)
    labels = rng.integers(0, 1000, 100_000)
    features = rng.normal(size=(100_000, 8)).astype(np.float32)
    report = report_on_nodes(tree, labels=labels, features=features)
    assert report.warnings == ()
    counts = np.bincount(labels)
    assert report.purity[0] == counts.max() / 100_000
    assert report.entropy[0] == pytest.approx(entropy(counts), abs=1e-9)
    mean = features.mean(axis=0, dtype=np.float64)
    apart = np.linalg.norm(features - mean, axis=1)
    assert report.exemplars[0].tolist() == np.argsort(apart)[:3].tolist()


def test_invalid_inputs_are_refused() -> None:
    tree = tree_of([-1, 0, 0], [1, 2])
    for given_, code in (
        ({}, "wrong-input"),
        ({"labels": [1]}, "wrong-length"),
        ({"features": np.ones((3, 1))}, "wrong-length"),
        ({"features": np.array([[0.0], [np.nan]])}, "not-finite"),
    ):
        with pytest.raises(UsageError) as caught:
            report_on_nodes(tree, **given_)
        assert caught.value.code == code
    report = report_on_nodes(tree, features=sp.csr_array(np.eye(2)))
    assert report.exemplars is None
    assert "dense" in report.warnings[0]
    empty = report_on_nodes(tree_of([-1, 0, 0], []), labels=[], features=np.ones((0, 2)))
    assert empty.size.tolist() == [0, 0, 0]
    assert (empty.exemplars == -1).all()

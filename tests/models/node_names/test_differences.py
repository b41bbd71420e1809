"""Clusters called by the features in which they differ from their siblings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.inputs.rows import ArrayRows
from models.node_names import differences
from models.node_names.differences import described, distinctive_features
from models.tree.build import from_parents, from_partition
from models.tree.cluster_names import called, cluster_names, telling_names
from models.tree.tree import Tree
from models.tree.window import fold

NAMES = ["length", "width", "weight"]


@pytest.fixture(scope="module")
def points() -> tuple[Tree, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    cluster = np.repeat([0, 1, 2], [30, 20, 10])
    features = rng.normal(size=(60, 3)) + 1e6
    features[cluster == 0, 0] += 9
    features[cluster == 2, 1] -= 9
    return from_partition(cluster, 3), features


def test_effects_are_those_of_the_definition(points: tuple[Tree, np.ndarray[Any, Any]]) -> None:
    tree, features = points
    found = distinctive_features(tree, features)
    for node in (1, 2, 3):
        own = features[tree.leaf_of_point == node]
        rest = features[tree.leaf_of_point != node]
        within = (((own - own.mean(0)) ** 2).sum(0) + ((rest - rest.mean(0)) ** 2).sum(0)) / 60
        effect = (own.mean(0) - rest.mean(0)) / np.sqrt(within + features.var(0) / 4)
        order = [at for at in np.argsort(-abs(effect)).tolist() if abs(effect[at]) >= 0.5]
        assert [at for at, _ in found[node]] == order
        assert [by for _, by in found[node]] == pytest.approx(effect[order], rel=1e-6)
    assert 0 not in found
    small = features - 1e6
    dense = distinctive_features(tree, small)
    for same in (ArrayRows(small), sp.csr_array(small)):
        for node, own in distinctive_features(tree, same).items():
            assert np.array(own) == pytest.approx(np.array(dense[node]))


def test_clusters_are_called_by_their_features(points: tuple[Tree, np.ndarray[Any, Any]]) -> None:
    tree, features = points
    named = described(tree, features, NAMES)
    # Files have the numbers, words the features.
    assert named.name.tolist() == [None, "0", "1", "2"]
    names = cluster_names(named, [1, 2, 3])
    assert names[:2] == ["high length, high width", "low length, high width"]
    assert names[2] == "low width, low length, low weight"
    part = fold(named, max_nodes=10)
    assert called(named, part.node, part.n_leaves) == ["Clusters 0, 1, 2", *names]


def test_without_names_of_features_numbers_say_what_they_are() -> None:
    #        0
    #      /   \
    #     1     2
    #    / \   / \
    #   3   4 5   6
    leaf = np.repeat([3, 4, 5, 6], [2, 3, 4, 5])
    tree = from_parents([-1, 0, 0, 1, 1, 2, 2], [2, 1, 1, 0, 0, 0, 0], [None] * 3 + [*"0123"], leaf)
    named = described(tree, None, None)
    assert cluster_names(named, [1, 2]) == ["Clusters 1, 0", "Clusters 3, 2"]
    assert cluster_names(named, [6]) == ["Cluster 3"]


def test_of_wide_rows_fewer_clusters_are_described(monkeypatch: pytest.MonkeyPatch) -> None:
    leaf = np.repeat([3, 4, 5, 6], 4)
    tree = from_parents([-1, 0, 0, 1, 1, 2, 2], [2, 1, 1, 0, 0, 0, 0], [None] * 3 + [*"0123"], leaf)
    features = np.repeat([[0.0], [5.0], [8.0], [13.0]], 4, axis=0)
    for most, nodes in ((4, [1, 2, 3, 4, 5, 6]), (2, [1, 2]), (0, [])):
        monkeypatch.setattr(differences, "_MOST_SUMS", most)
        column = described(tree, features, ["x"]).extra["distinctive"]
        assert [node for node in range(7) if column[node]] == nodes


def test_siblings_alike_have_their_points_in_brackets() -> None:
    cluster = np.repeat([0, 1, 2, 3], [8, 4, 8, 4])
    features = np.repeat([[5.0], [5.0], [0.0], [0.0]], [8, 4, 8, 4], axis=0)
    named = described(from_partition(cluster, 4), features, ["length"])
    assert cluster_names(named, [1, 2, 3, 4]) == [
        *("high length (8)", "high length (4)"),
        *("low length (8)", "low length (4)"),
    ]
    # The points of siblings that are as large stand there once, too.
    features = np.repeat([[5.0], [5.0], [0.0]], 8, axis=0)
    twins = described(from_partition(np.repeat([0, 1, 2], 8), 3), features, ["length"])
    assert telling_names(twins, np.array([1, 2, 3]))[:2] == ["high length (8)"] * 2


def test_large_nodes_of_a_tree_of_rows_are_called_by_their_features() -> None:
    #            0: 64 rows
    #        /             \\
    #    1: 40 rows      2: 24 rows
    #     /      \\        |
    #  3: 30   4: 10    rows 40 to 63
    #    |       |
    #  0..29  30..39
    parent = [-1, 0, 0, 1, 1, *[3] * 30, *[4] * 10, *[2] * 24]
    height = [3.0, 2.0, 1.0, 1.0, 1.0, *[0.0] * 64]
    names = [*[None] * 5, *(f"bike {row}" for row in range(64))]
    tree = from_parents(parent, height, names, np.arange(5, 69))
    features = np.zeros((64, 2))
    features[:30, 0], features[40:, 1] = 5.0, 9.0
    named = described(tree, features, ["gears", "watts"])
    assert cluster_names(named, [1, 2, 3, 4]) == [
        *("low watts, high gears", "high watts, low gears", "high gears, low watts"),
        "bike 30, bike 31, bike 32, …",
    ]
    assert named.extra["differences"][4] is None
    assert described(tree, None, None) is tree


def test_names_that_were_given_and_rows_stay() -> None:
    tree = from_partition([0, 0, 1], 2, names=["cat", "dog"])
    assert described(tree, np.ones((3, 1)), ["x"]) is tree
    rows = from_partition([0, 1], 2)
    assert described(rows, np.ones((2, 1)), ["x"]) is rows

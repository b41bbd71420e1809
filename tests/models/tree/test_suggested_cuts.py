"""Suggested cuts: planted numbers of clusters, curves by their definitions."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster import hierarchy
from sklearn.metrics import silhouette_score

from models.tree import silhouette
from models.tree.build import from_merges, from_partition
from models.tree.cut import cut
from models.tree.nested_cuts import nested_cuts
from models.tree.suggested_cuts import MOST, levels
from models.tree.tree import Tree


def points(n_groups: int, seed: int = 0, apart: float = 30.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(n_groups, 5)) * apart
    return np.repeat(centers, 25, axis=0) + rng.normal(size=(25 * n_groups, 5))


def clustered(values: np.ndarray, method: str = "average") -> Tree:
    merges = hierarchy.linkage(values, method)
    left, right = merges[:, :2].astype(int).T
    return from_merges(left, right, merges[:, 2])


def random_tree(seed: int, ranked: bool = False) -> Tree:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    slots, left, right = list(range(n)), [], []
    for step in range(n - 1):
        a, b = rng.choice(len(slots), 2, replace=False)
        left.append(slots[a])
        right.append(slots[b])
        slots = [s for i, s in enumerate(slots) if i not in (a, b)] + [n + step]
    height = np.arange(1, n) if ranked else np.sort(rng.integers(0, 6, n - 1)).astype(float)
    return from_merges(left, right, height)


@settings(max_examples=200)
@given(st.integers(0, 1 << 30), st.integers(2, 30))
def test_nested_cuts_are_the_cuts(seed: int, most: int) -> None:
    tree = random_tree(seed)
    cuts = nested_cuts(tree, most)
    assert list(cuts.nodes) == list(range(2, min(most, tree.n_leaves) + 1))
    for k, nodes in cuts.nodes.items():
        expected = cut(tree, k=k)
        assert nodes.tolist() == expected.nodes.tolist()
        mine = cuts.coarser[k][cuts.cluster_of_point]
        assert mine.tolist() == expected.cluster_of_point.tolist()


@pytest.mark.parametrize("n_groups", [3, 6, 11])
def test_planted_groups_are_found_by_gap_and_by_silhouette(n_groups: int) -> None:
    values = points(n_groups)
    tree = clustered(values)
    curve = silhouette.curve(tree, values)
    suggested = levels(tree, {"silhouette": curve})
    assert len(suggested) <= MOST
    assert [one.k for one in suggested] == sorted({one.k for one in suggested})
    by = max(suggested, key=lambda one: one.score if one.criterion == "silhouette" else -1)
    if n_groups in silhouette.KS:
        assert by.k == n_groups
    assert n_groups in [one.k for one in suggested if one.criterion == "gap"] or by.k == n_groups


@settings(max_examples=200)
@given(st.integers(0, 1 << 30))
def test_a_levels_height_gives_its_clusters(seed: int) -> None:
    tree = random_tree(seed)
    for level in levels(tree):
        assert level.criterion == "gap"
        assert dict(level.curve)[level.k] == level.score
        assert max(score for _, score in level.curve) <= 2 * level.score
        assert level.height is not None
        assert cut(tree, height=level.height).n_clusters == level.k


def test_ranks_are_no_heights() -> None:
    assert levels(random_tree(3, ranked=True)) == []
    given_ = {"modularity": [(2, 0.1), (3, 0.5), (4, 0.2), (5, 0.3), (6, 0.1)]}
    suggested = levels(random_tree(3, ranked=True), given_)
    assert [(one.k, one.criterion) for one in suggested] == [(3, "modularity"), (5, "modularity")]


def test_each_criterions_highest_peak_comes_first() -> None:
    curves = {
        "a": [(k, float(k % 2)) for k in range(2, 30)],
        "b": [(k, 1.0 if k == 28 else 0.0) for k in range(2, 30)],
    }
    suggested = levels(random_tree(3, ranked=True), curves)
    assert len(suggested) == MOST
    assert (28, "b") in [(one.k, one.criterion) for one in suggested]


def test_support_is_a_criterion() -> None:
    tree = random_tree(8, ranked=True)
    column = np.full(tree.n_nodes, 0.1)
    column[cut(tree, k=4).nodes] = 1.0
    column[tree.leaves] = np.nan
    suggested = levels(dataclasses.replace(tree, extra={"support": column}))
    assert [(one.k, one.criterion) for one in suggested] == [(4, "support")]


@pytest.mark.parametrize("tree", [from_partition(np.arange(5), 5), random_tree(0)])
def test_curves_may_be_missing_or_flat(tree: Tree) -> None:
    assert levels(tree, {"x": [], "y": [(2, 0.0), (3, -1.0)]}) == levels(tree)


def test_trees_too_small_for_levels() -> None:
    assert levels(from_merges([], [], [])) == []
    assert levels(from_merges([0], [1], [1.5])) == []


def test_the_silhouette_is_scikit_learns() -> None:
    values = points(5, apart=4.0)
    tree = clustered(values)
    for k, score in silhouette.curve(tree, values):
        labels = cut(tree, k=k).cluster_of_point
        assert score == pytest.approx(silhouette_score(values, labels), abs=1e-12)


def test_the_silhouette_of_many_points_is_of_a_sample() -> None:
    values = points(60, apart=4.0)
    tree = clustered(values)
    curve = dict(silhouette.curve(tree, values))
    exact = silhouette_score(values, cut(tree, k=10).cluster_of_point)
    assert curve[10] == pytest.approx(exact, abs=0.05)


def test_the_silhouette_of_few_or_equal_points() -> None:
    assert silhouette.curve(clustered(np.zeros((2, 1))), np.zeros((2, 1))) == []
    equal = np.zeros((6, 2))
    assert {score for _, score in silhouette.curve(clustered(equal), equal)} == {0.0}

"""Dendrogram purity, leaf purity and LHD against their definitions, pair by pair."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.metrics import hierarchical
from models.metrics.hierarchical import dendrogram_purity, leaf_purity, lhd, upper_part
from models.metrics.inputs import classes_of
from models.tree.cut import cut
from models.tree.tree import Tree
from tests.models.metrics.trees_kit import (
    any_tree,
    meet,
    naive_lhd,
    path,
    points_under,
    small_trees,
    tree_of,
)


def naive_dendrogram_purity(tree: Tree, labels: list[int]) -> float | None:
    shares = []
    for i, j in combinations(range(tree.n_points), 2):
        if labels[i] == labels[j]:
            under = points_under(tree, meet(tree, i, j))
            shares.append(sum(labels[p] == labels[i] for p in under) / len(under))
    return sum(shares) / len(shares) if shares else None


def naive_leaf_purity(tree: Tree, labels: list[int]) -> float:
    hits = 0
    for leaf in tree.leaves:
        inside = [labels[p] for p in points_under(tree, int(leaf))]
        hits += max((inside.count(label) for label in inside), default=0)
    return hits / tree.n_points


def check(tree: Tree, labels: list[int]) -> None:
    classes = classes_of(labels, tree.n_points)
    purity = dendrogram_purity(tree, classes)
    naive = naive_dendrogram_purity(tree, labels)
    if naive is None:
        assert purity.value is None
        assert purity.warnings
    else:
        assert purity.value == pytest.approx(naive, abs=1e-12)
        assert purity.value <= 1.0
    assert purity.standard_error is None
    assert leaf_purity(tree, classes).value == pytest.approx(naive_leaf_purity(tree, labels))
    distance = lhd(tree, classes)
    assert distance.value == pytest.approx(naive_lhd(tree, labels), abs=1e-12)
    assert distance.value is not None
    assert 0.0 <= distance.value <= 1.0


def test_every_shape_up_to_7_leaves() -> None:
    rng = np.random.default_rng(1)
    n_trees = 0
    for tree in small_trees():
        n_trees += 1
        for n_classes in (1, 2, 3):
            check(tree, rng.integers(0, n_classes, tree.n_points).tolist())
    assert n_trees == 1 + 1 + 2 + 5 + 12 + 33 + 90


@given(any_tree(), st.data())
def test_any_tree(tree: Tree, data: st.DataObject) -> None:
    n = tree.n_points
    check(tree, data.draw(st.lists(st.integers(-1, 3), min_size=n, max_size=n)))


def test_dendrogram_purity_by_hand() -> None:
    #        0
    #      /   \
    #     1     2        points  0 1 2 3 4 in leaves 3 3 4 2 2
    #    / \             labels  a a b a b
    #   3   4
    tree = tree_of([-1, 0, 0, 1, 1], [3, 3, 4, 2, 2])
    classes = classes_of(list("aabab"), 5)
    # a: (0, 1) in leaf 3: 1; (0, 3), (1, 3) at the root: 3/5 each. b: (2, 4) at the root: 2/5.
    assert dendrogram_purity(tree, classes).value == pytest.approx((1 + 0.6 + 0.6 + 0.4) / 4)
    # a's pairs across leaves: td(3, 2) = 3, twice; b's: td(4, 2) = 3. K = 3.
    assert lhd(tree, classes).value == pytest.approx(1.0)
    assert leaf_purity(tree, classes).value == pytest.approx((2 + 1 + 1) / 5)


@pytest.mark.parametrize("n_leaves", [3, 4, 50])
def test_lhd_spans_0_to_1(n_leaves: int) -> None:
    # A chain of forks: leaves 1, 3, 5, ... are children of the spine 0, 2, 4, ...; the first and
    # the last leaf are n_leaves edges apart, siblings 2.
    parent = [-1] + [2 * ((node - 1) // 2) for node in range(1, 2 * n_leaves - 1)]
    leaves = [*range(1, 2 * n_leaves - 1, 2), 2 * n_leaves - 2]
    tree = tree_of(parent, leaves)
    others = list(range(10, 10 + n_leaves - 2))
    ends = classes_of([0, *others, 0], n_leaves)
    assert lhd(tree, ends).value == pytest.approx(1.0)
    siblings = classes_of([*others, 0, 0], n_leaves)
    assert lhd(tree, siblings).value == pytest.approx(0.0)


def test_lhd_is_0_without_such_a_pair() -> None:
    tree = tree_of([-1, 0, 0, 0], [1, 1, 2, 3])
    assert lhd(tree, classes_of([0, 0, 1, 2], 4)).value == 0.0
    two = tree_of([-1, 0, 0], [1, 2])
    assert lhd(two, classes_of([0, 0], 2)).value == 0.0


def random_tree(n_nodes: int, n_points: int, rng: np.random.Generator) -> Tree:
    parent = np.concatenate([[-1], rng.integers(0, np.arange(1, n_nodes))])
    leaves = np.setdiff1d(np.arange(n_nodes), parent)
    return tree_of(parent, rng.choice(leaves, n_points))


def test_estimates_are_unbiased_and_know_their_error(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    tree = random_tree(40, 120, rng)
    classes = classes_of((tree.leaf_of_point % 5) * (rng.random(120) < 0.8), 120)
    monkeypatch.setattr(hierarchical, "SAMPLED_PAIRS", 400)
    for exact, draw in (
        (
            dendrogram_purity(tree, classes).value,
            lambda rng: dendrogram_purity(tree, classes, sample=400, rng=rng),
        ),
        (lhd(tree, classes).value, lambda rng: lhd(tree, classes, exact_steps=0, rng=rng)),
    ):
        assert exact is not None
        runs = [draw(np.random.default_rng(seed)) for seed in range(400)]
        values = np.array([run.value for run in runs])
        errors = np.array([run.standard_error for run in runs])
        spread = values.std(ddof=1)
        assert spread > 0
        assert errors.mean() == pytest.approx(spread, rel=0.15)
        assert abs(values.mean() - exact) < 4 * spread / 20


def test_a_chain_of_100_000_leaves() -> None:
    # Spine 0, 2, 4, ... with one leaf at each step: 100,000 deep.
    n = 100_000
    parent = np.array([-1, *(2 * ((node - 1) // 2) for node in range(1, 2 * n - 1))])
    leaves = np.array([*range(1, 2 * n - 1, 2), 2 * n - 2])
    tree = tree_of(parent, leaves)
    # Labels 0 below, 1 above: a pair of 0s meets among 0s only; a pair of 1s at places i < j meets
    # at i, over the n - i points from i on.
    labels = (np.arange(n) < n // 2).astype(int)
    place = np.arange(n // 2, dtype=np.float64)
    ones = ((n // 2 - 1 - place) * (n // 2 - place) / (n - place)).sum()
    pairs = (n // 2) * (n // 2 - 1) / 2
    expected = (pairs + ones) / (2 * pairs)
    classes = classes_of(labels, n)
    assert dendrogram_purity(tree, classes).value == pytest.approx(expected, rel=1e-10)
    estimate = lhd(tree, classes)
    assert estimate.value is not None
    assert estimate.standard_error is not None
    assert 0 < estimate.value < 1


@given(any_tree(), st.data())
def test_upper_part_is_a_valid_tree_over_the_clusters(tree: Tree, data: st.DataObject) -> None:
    level = data.draw(st.integers(0, 6))
    clusters = cut(tree, level=level)
    part = upper_part(tree, clusters.nodes, clusters.cluster_of_point)
    part.validate()
    assert part.n_leaves == clusters.n_clusters
    assert part.n_nodes == len({node for leaf in clusters.nodes for node in path(tree, int(leaf))})
    for i, j in combinations(range(tree.n_points), 2):
        same = clusters.cluster_of_point[i] == clusters.cluster_of_point[j]
        assert same == (part.leaf_of_point[i] == part.leaf_of_point[j])
        if not same:
            assert part.height[meet(part, i, j)] == tree.height[meet(tree, i, j)]
            assert len(path(part, meet(part, i, j))) == len(path(tree, meet(tree, i, j)))

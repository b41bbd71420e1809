"""Two trees over the same points against the definitions, pair by pair and group by group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from sklearn.metrics import rand_score

from models.metrics import agreement
from models.metrics.agreement import (
    cophenetic_agreement,
    path_sharing_similarity,
    robinson_foulds,
    shortest_path_similarity,
)
from models.metrics.estimate import Estimate
from models.tree.build import from_partition
from models.tree.tree import Tree, sizes
from tests.models.metrics.trees_kit import (
    any_tree,
    chain,
    from_linkage,
    meet,
    path,
    points_under,
    small_trees,
    tree_of,
)
from tests.models.tree.strategies_kit import SMALL_TREES

Relation = Callable[[Tree, int, int], float]
Metric = Callable[..., Estimate]


def edges(tree: Tree, a: int, b: int) -> int:
    return len(set(path(tree, a)) ^ set(path(tree, b)))


@cache
def most_edges(tree: Tree) -> int:
    return max((edges(tree, a, b) for a, b in combinations(tree.leaves.tolist(), 2)), default=0)


def by_shortest_path(tree: Tree, i: int, j: int) -> float:
    longest = most_edges(tree)
    apart = edges(tree, int(tree.leaf_of_point[i]), int(tree.leaf_of_point[j]))
    return 1 - apart / longest if longest else 1.0


def by_path_sharing(tree: Tree, i: int, j: int) -> float:
    a, b = (path(tree, int(tree.leaf_of_point[p])) for p in (i, j))
    if tree.max_depth <= 1:
        return float(a == b)
    return len(set(a) & set(b)) / max(len(a), len(b))


def naive(relation: Relation, tree: Tree, truth: Tree) -> float:
    gaps = [
        (relation(tree, i, j) - relation(truth, i, j)) ** 2
        for i, j in combinations(range(tree.n_points), 2)
    ]
    return 1 - sum(gaps) / len(gaps)


def naive_groups(tree: Tree) -> set[frozenset[int]]:
    groups = {frozenset(points_under(tree, node)) for node in range(tree.n_nodes)}
    return {group for group in groups if 1 < len(group) < tree.n_points}


def naive_robinson_foulds(tree: Tree, truth: Tree) -> float:
    own, others = naive_groups(tree), naive_groups(truth)
    return len(own ^ others) / (len(own) + len(others)) if own or others else 0.0


def check(tree: Tree, truth: Tree) -> None:
    values = [
        metric(tree, truth)
        for metric in (
            shortest_path_similarity,
            path_sharing_similarity,
            cophenetic_agreement,
            robinson_foulds,
        )
    ]
    assert all(value.standard_error is None for value in values)
    if tree.n_points < 2:
        assert all(value.value is None and value.warnings for value in values)
        return
    shortest, sharing, correlation, apart = values
    assert shortest.value == pytest.approx(naive(by_shortest_path, tree, truth), abs=1e-12)
    assert sharing.value == pytest.approx(naive(by_path_sharing, tree, truth), abs=1e-12)
    assert apart.value == pytest.approx(naive_robinson_foulds(tree, truth), abs=1e-12)
    pairs = list(combinations(range(tree.n_points), 2))
    heights = [[t.height[meet(t, i, j)] for i, j in pairs] for t in (tree, truth)]
    if any(len(set(side)) < 2 for side in heights):
        assert correlation.value is None
        assert "same height" in correlation.warnings[0]
    else:
        assert correlation.value == pytest.approx(np.corrcoef(*heights)[0, 1], abs=1e-9)


def with_points(tree: Tree, leaf_of_point: np.ndarray) -> Tree:
    leaf = leaf_of_point.astype(np.int32)
    return replace(tree, leaf_of_point=leaf, size=sizes(tree.parent, leaf)).validate()


def test_every_shape_up_to_7_leaves() -> None:
    rng = np.random.default_rng(3)
    for tree in small_trees():
        for _ in range(2):
            truth = SMALL_TREES[rng.integers(len(SMALL_TREES))]
            check(tree, with_points(truth, rng.choice(truth.leaves, tree.n_points)))
        check(tree, tree)


@given(any_tree(), any_tree(), st.integers(0, 2**32))
def test_any_two_trees(tree: Tree, truth: Tree, seed: int) -> None:
    leaf = np.random.default_rng(seed).choice(truth.leaves, tree.n_points)
    check(tree, with_points(truth, leaf))


@given(any_tree().filter(lambda tree: tree.n_points > 1))
def test_a_tree_agrees_with_itself(tree: Tree) -> None:
    assert shortest_path_similarity(tree, tree).value == 1.0
    assert path_sharing_similarity(tree, tree).value == 1.0
    assert robinson_foulds(tree, tree).value == 0.0
    assert cophenetic_agreement(tree, tree).value in (None, pytest.approx(1.0))


@pytest.mark.parametrize("metric", [shortest_path_similarity, path_sharing_similarity])
def test_partitions_are_compared_as_the_rand_index_does(metric: Metric) -> None:
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 4, 90), rng.integers(0, 3, 90)
    result = metric(from_partition(one, 4), from_partition(other, 3))
    assert result.value == pytest.approx(rand_score(one, other))


def test_by_hand() -> None:
    #        0               0
    #      /   \           / | \
    #     1     2         1  2  3        points 0 1 2 in leaves 3 4 2 and 1 2 3
    #    / \
    #   3   4
    tree = tree_of([-1, 0, 0, 1, 1], [3, 4, 2])
    flat = tree_of([-1, 0, 0, 0], [1, 2, 3])
    # Shortest paths 2, 3, 3 of 3 at most.
    assert shortest_path_similarity(tree, flat).value == pytest.approx(1 - (1 / 3) ** 2 / 3)
    # Shared nodes 2 of 3, 1 of 3, 1 of 3.
    shared = (4 + 1 + 1) / 9 / 3
    assert path_sharing_similarity(tree, flat).value == pytest.approx(1 - shared)
    assert robinson_foulds(tree, flat).value == 1.0
    other = tree_of([-1, 0, 0, 1, 1], [3, 2, 4])
    assert robinson_foulds(tree, other).value == 1.0
    assert robinson_foulds(flat, flat).value == 0.0


def test_larger_trees_of_many_points_a_leaf() -> None:
    rng = np.random.default_rng(7)
    trees = []
    for n_nodes in (60, 300):
        parent = np.append(-1, rng.integers(0, np.arange(1, n_nodes)))
        leaves = np.setdiff1d(np.arange(n_nodes), parent)
        trees.append(tree_of(parent, rng.choice(leaves, 120)))
    check(*trees)
    check(*trees[::-1])


def test_chains_of_100_000_leaves() -> None:
    rng = np.random.default_rng(1)
    tree, truth = chain(100_000, rng), chain(100_000, rng)
    # Groups differ but by chance near the bottom; n - 2 on each side.
    assert robinson_foulds(tree, truth).value > 0.99
    for metric in (shortest_path_similarity, path_sharing_similarity, cophenetic_agreement):
        result = metric(tree, truth)
        assert result.standard_error is not None
        assert 0 < result.standard_error < 0.01
        assert "sampled pairs" in result.warnings[0]
        same = metric(tree, tree)
        assert same.value == pytest.approx(1.0)


@pytest.mark.parametrize(
    "metric", [shortest_path_similarity, path_sharing_similarity, cophenetic_agreement]
)
def test_estimates_are_unbiased_and_know_their_error(
    metric: Metric, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agreement, "SAMPLED_PAIRS", 500)
    rng = np.random.default_rng(5)
    features = rng.normal(size=(80, 3))
    tree = from_linkage(linkage(features, "average"))
    truth = from_linkage(linkage(features + rng.normal(size=(80, 3)), "average"))
    truth = with_points(truth, truth.leaves[rng.integers(0, 40, 80)])
    exact = metric(tree, truth).value
    monkeypatch.setattr(agreement, "EXACT_STEPS", 0)
    runs = [metric(tree, truth, rng=np.random.default_rng(seed)) for seed in range(300)]
    values = np.array([run.value for run in runs])
    errors = np.array([run.standard_error for run in runs])
    spread = values.std(ddof=1)
    assert spread > 0
    assert errors.mean() == pytest.approx(spread, rel=0.15)
    assert abs(values.mean() - exact) < 4 * spread / np.sqrt(300)


def test_heights_of_any_size() -> None:
    tree = tree_of([-1, 0, 0, 1, 1], [2, 3, 4], [1.7e308, 0.0, 0.0, -1.7e308, -1.7e308])
    other = tree_of([-1, 0, 0, 1, 1], [3, 2, 4], [3e-308, 1e-308, 0.0, 0.0, 0.0])
    assert cophenetic_agreement(tree, other).value == pytest.approx(-0.5)
    assert cophenetic_agreement(tree, tree).value == pytest.approx(1.0)

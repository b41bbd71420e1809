"""Costs of triples and the revenue against their definitions, triple by triple and pair by pair."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage

from models.arrays import Float
from models.metrics import costs
from models.metrics.costs import dasgupta_cost, moseley_wang_revenue, triplet_cost, wang_wang_ratio
from models.metrics.estimate import Estimate
from models.metrics.inputs import similarity_of
from models.metrics.loops import trees
from models.metrics.pairs import Cosine, Gaussian
from models.tree.tree import Tree
from tests.models.metrics.trees_kit import (
    any_tree,
    from_linkage,
    meet,
    path,
    points_under,
    small_trees,
    symmetric,
    tree_of,
)


def below(tree: Tree, node: int, other: int) -> bool:
    """Whether `node` is a descendant of `other`."""
    return node != other and other in path(tree, node)


def naive_triple(tree: Tree, w: Float, i: int, j: int, k: int) -> float:
    """gHHC eq. 8, its indicator by indicator."""
    ij, ik, jk = meet(tree, i, j), meet(tree, i, k), meet(tree, j, k)
    ordered = (
        w[i, j] * below(tree, ij, ik)
        + w[i, k] * below(tree, ik, ij)
        + w[j, k] * below(tree, jk, ik)
    )
    return float(w[i, j] + w[i, k] + w[j, k] - ordered)


def naive_least(w: Float, i: int, j: int, k: int) -> float:
    return float(min(w[i, j] + w[i, k], w[i, j] + w[j, k], w[i, k] + w[j, k]))


def naive_revenue(tree: Tree, w: Float) -> float:
    n = tree.n_points
    return sum(
        w[i, j] * (n - len(points_under(tree, meet(tree, i, j))))
        for i, j in combinations(range(n), 2)
    )


def check(tree: Tree, rng: np.random.Generator) -> None:
    n = tree.n_points
    full = symmetric(n, rng)
    holes = np.where(symmetric(n, rng) < 0.8, full, 0.0)
    for matrix in (full, holes, sp.csr_array(full), sp.csr_array(holes)):
        w = matrix.toarray() if sp.issparse(matrix) else matrix
        given_ = similarity_of(matrix, n)
        cost = sum(naive_triple(tree, w, *ijk) for ijk in combinations(range(n), 3))
        least = sum(naive_least(w, *ijk) for ijk in combinations(range(n), 3))
        assert triplet_cost(tree, given_).value == pytest.approx(cost, rel=1e-12, abs=1e-12)
        revenue = moseley_wang_revenue(tree, given_)
        assert revenue.value == pytest.approx(naive_revenue(tree, w), rel=1e-12, abs=1e-12)
        ratio = wang_wang_ratio(tree, given_)
        assert ratio.standard_error is None
        if n < 3 or least == 0.0:
            assert ratio.value is None
            assert ratio.warnings
        else:
            assert ratio.value == pytest.approx(cost / least, rel=1e-12)
            assert ratio.value >= 1.0


def test_every_shape_up_to_7_leaves() -> None:
    rng = np.random.default_rng(2)
    for tree in small_trees():
        check(tree, rng)


@given(any_tree(), st.integers(0, 2**32))
def test_any_tree(tree: Tree, seed: int) -> None:
    check(tree, np.random.default_rng(seed))


def test_by_hand() -> None:
    #      0
    #     / \
    #    1   4      points 0 1 2 in leaves 2 3 4
    #   / \
    #  2   3
    tree = tree_of([-1, 0, 1, 1, 0], [2, 3, 4])
    w = np.array([[0.0, 5.0, 1.0], [5.0, 0.0, 2.0], [1.0, 2.0, 0.0]])
    given_ = similarity_of(w, 3)
    assert triplet_cost(tree, given_).value == 3.0
    assert wang_wang_ratio(tree, given_).value == 1.0
    assert moseley_wang_revenue(tree, given_).value == 5.0
    assert dasgupta_cost(tree, given_).value == 2 * 5 + 3 * 1 + 3 * 2
    star = tree_of([-1, 0, 0, 0], [1, 2, 3])
    assert wang_wang_ratio(star, given_).value == pytest.approx(8 / 3)
    assert moseley_wang_revenue(star, given_).value == 0.0


def test_the_tree_of_an_ultrametric_pays_the_least() -> None:
    features = np.random.default_rng(0).normal(size=(60, 3))
    tree = from_linkage(linkage(features, "average"))
    nodes = [[meet(tree, i, j) for j in range(60)] for i in range(60)]
    similar = 1.0 / (1.0 + tree.height[np.array(nodes)])
    assert wang_wang_ratio(tree, similarity_of(similar, 60)).value == pytest.approx(1.0, rel=1e-12)
    assert wang_wang_ratio(tree, Gaussian(features)).value > 1.0


def test_larger_ones_by_all_triples() -> None:
    rng = np.random.default_rng(3)
    for n in (30, 41, 64):
        matrix = symmetric(n, rng)
        matrix[rng.random((n, n)) < 0.02] = 0.0
        matrix = np.minimum(matrix, matrix.T)
        i, j, k = np.array(list(combinations(range(n), 3))).T
        sides = np.stack([matrix[i, j], matrix[i, k], matrix[j, k]])
        least = float((sides.sum(axis=0) - sides.max(axis=0)).sum())
        tree = from_linkage(linkage(rng.normal(size=(n, 2)), "average"))
        for form in (matrix, sp.csr_array(matrix)):
            given_ = similarity_of(form, n)
            cost = triplet_cost(tree, given_).value
            assert wang_wang_ratio(tree, given_).value == pytest.approx(cost / least, rel=1e-12)


def test_parts_of_the_matrix_make_no_difference() -> None:
    # More than one part of 512 columns, and rows that parts of 32 do not divide.
    n = 1041
    matrix = symmetric(n, np.random.default_rng(4))
    expected = 0.0
    for j in range(1, n - 1):
        one, other = matrix[:j, j + 1 :], matrix[j, j + 1 :]
        own = matrix[:j, j, None]
        most = np.maximum(np.maximum(one, other), own)
        expected += float((one + other + own - most).sum())
    assert trees.least_costs(matrix) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("metric", [triplet_cost, moseley_wang_revenue])
def test_cosines_are_summed_over_subtrees(metric: Callable[..., Estimate]) -> None:
    rng = np.random.default_rng(6)
    tree = from_linkage(linkage(rng.normal(size=(200, 4)), "average"))
    features = rng.normal(size=(200, 4)) + 0.5
    features[3] = 0.0
    exact = metric(tree, Cosine(features))
    summed = metric(tree, Cosine(features), exact_points=0)
    assert summed.standard_error is None
    assert summed.value == pytest.approx(exact.value, rel=1e-12)


def test_estimates_are_unbiased_and_know_their_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "SAMPLED_PAIRS", 500)
    monkeypatch.setattr(costs, "SAMPLED_TRIPLES", 500)
    rng = np.random.default_rng(1)
    features = rng.exponential(size=(80, 3))
    tree = from_linkage(linkage(features, "average"))
    near = np.exp(-3 * np.abs(features[:, :1] - features[:, 0]))
    sparse = similarity_of(sp.csr_array(np.where(near > 0.5, near, 0.0)), 80)
    exact_of_sparse = wang_wang_ratio(tree, sparse).value
    cases = [
        (metric, Gaussian(features), metric(tree, Gaussian(features)).value)
        for metric in (triplet_cost, moseley_wang_revenue, wang_wang_ratio)
    ]
    monkeypatch.setattr(costs, "EXACT_STEPS", 10)
    for metric, pairs, exact in (*cases, (wang_wang_ratio, sparse, exact_of_sparse)):
        runs = [
            metric(tree, pairs, exact_points=10, rng=np.random.default_rng(seed))
            for seed in range(300)
        ]
        values = np.array([run.value for run in runs])
        errors = np.array([run.standard_error for run in runs])
        spread = values.std(ddof=1)
        assert spread > 0
        assert errors.mean() == pytest.approx(spread, rel=0.15)
        # The bias of a ratio of few draws is an order below its error.
        assert abs(values.mean() - exact) < 4 * spread / np.sqrt(300) + 0.05 * spread
        assert "500 sampled" in runs[0].warnings[0]


def test_undefined() -> None:
    pair = tree_of([-1, 0, 0], [1, 2])
    answer = wang_wang_ratio(pair, Cosine(np.ones((2, 2))))
    assert answer.value is None
    assert "three points" in answer.warnings[0]
    assert triplet_cost(pair, Cosine(np.ones((2, 2)))).value == 0.0
    tree = tree_of([-1, 0, 0, 0], [1, 2, 3])
    for matrix, part in ((np.zeros((3, 3)), "similar"), (-np.ones((3, 3)), "negative")):
        for form in (matrix, sp.csr_array(matrix)):
            answer = wang_wang_ratio(tree, similarity_of(form, 3))
            assert answer.value is None
            assert part in answer.warnings[0]
    # Drawn triples that are all apart.
    lone = similarity_of(np.zeros((3, 3)), 3)
    assert wang_wang_ratio(tree, lone, exact_points=0).value is None

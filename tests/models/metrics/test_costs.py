"""Dasgupta's cost and cophenetic correlation against their definitions, pair by pair."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import pdist, squareform

from models.errors import UsageError
from models.metrics import costs
from models.metrics.costs import cophenetic_correlation, dasgupta_cost
from models.metrics.inputs import distances_of, features_of, similarity_of
from models.metrics.pairs import Cosine, Euclidean, Gaussian
from models.tree.tree import Tree
from tests.models.metrics.trees_kit import (
    any_tree,
    from_linkage,
    meet,
    points_under,
    small_trees,
    symmetric,
    tree_of,
)


def naive_cost(tree: Tree, similarity: npt.NDArray[np.float64]) -> float:
    return sum(
        similarity[i, j] * len(points_under(tree, meet(tree, i, j)))
        for i, j in combinations(range(tree.n_points), 2)
    )


def check(tree: Tree, rng: np.random.Generator) -> None:
    n = tree.n_points
    matrix = symmetric(n, rng)
    got = dasgupta_cost(tree, similarity_of(matrix, n))
    assert got.value == pytest.approx(naive_cost(tree, matrix), rel=1e-12)
    assert got.standard_error is None

    holes = np.where(symmetric(n, rng) < 1.0, matrix, 0.0)
    got = dasgupta_cost(tree, similarity_of(sp.csr_array(holes), n))
    assert got.value == pytest.approx(naive_cost(tree, holes), rel=1e-12)

    pairs = list(combinations(range(n), 2))
    heights = [tree.height[meet(tree, i, j)] for i, j in pairs]
    distances = [matrix[i, j] for i, j in pairs]
    own = np.where(np.eye(n, dtype=bool), 0.0, matrix)
    correlation = cophenetic_correlation(tree, distances_of(own, n))
    if len(set(heights)) < 2 or len(set(distances)) < 2:
        assert correlation.value is None
        assert correlation.warnings
    else:
        assert correlation.value == pytest.approx(np.corrcoef(heights, distances)[0, 1], abs=1e-9)


def test_every_shape_up_to_7_leaves() -> None:
    rng = np.random.default_rng(2)
    for tree in small_trees():
        check(tree, rng)


@given(any_tree(), st.integers(0, 2**32))
def test_any_tree(tree: Tree, seed: int) -> None:
    check(tree, np.random.default_rng(seed))


@given(any_tree(max_leaves=6), st.integers(0, 2**32))
def test_from_features(tree: Tree, seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = np.round(rng.normal(size=(tree.n_points, 3)), 1)
    first, second = (np.array(side) for side in np.nonzero(np.ones((len(features),) * 2)))
    squared = squareform(pdist(features, "sqeuclidean"))
    lengths = np.linalg.norm(features, axis=1)
    dots = features @ features.T
    cosine = np.divide(
        dots,
        np.outer(lengths, lengths),
        out=np.zeros_like(dots),
        where=np.outer(lengths, lengths) > 0,
    )
    off = ~np.eye(len(features), dtype=bool)
    width2 = squared[off].mean() if off.any() else 0.0
    gaussian = np.exp(-squared / (2 * width2)) if width2 else np.ones_like(squared)
    everyone = np.arange(len(features))
    for form in (features, sp.csr_array(features), features.astype(np.float32)):
        # float32 rounds the features; sparse distances come from squares that cancel.
        close = 1e-12 if form is features else 1e-6
        for pairs, expected in (
            (Euclidean(form), np.sqrt(squared)),
            (Cosine(form), (1 + cosine) / 2),
            (Gaussian(form), gaussian),
        ):
            assert pairs.block(everyone, everyone)[off] == pytest.approx(expected[off], abs=close)
            assert pairs.at(first, second) == pytest.approx(expected[first, second], abs=close)
    expected = naive_cost(tree, (1 + cosine) / 2)
    assert dasgupta_cost(tree, Cosine(features)).value == pytest.approx(expected, rel=1e-9)
    by_sums = dasgupta_cost(tree, Cosine(features), exact_points=0)
    assert by_sums.value == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert by_sums.standard_error is None


@pytest.mark.parametrize("method", ["single", "average", "ward"])
def test_scipy_agrees_on_cophenetic_correlation(method: str) -> None:
    features = np.random.default_rng(0).normal(size=(150, 4))
    merges = linkage(features, method)
    expected, _ = cophenet(merges, pdist(features))
    tree = from_linkage(merges)
    assert cophenetic_correlation(tree, Euclidean(features)).value == pytest.approx(expected)
    given_ = distances_of(squareform(pdist(features)), 150)
    assert cophenetic_correlation(tree, given_).value == pytest.approx(expected)


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    features = rng.normal(size=(97, 3)) + 1e6
    tree = from_linkage(linkage(features, "average"))
    whole = (
        dasgupta_cost(tree, Gaussian(features)),
        cophenetic_correlation(tree, Euclidean(features)),
    )
    monkeypatch.setattr(costs, "BLOCK_VALUES", 500)
    parts = (
        dasgupta_cost(tree, Gaussian(features)),
        cophenetic_correlation(tree, Euclidean(features)),
    )
    for value, value_by_parts in zip(whole, parts, strict=True):
        assert value.value == pytest.approx(value_by_parts.value, rel=1e-12)


def test_cosines_are_summed_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    parent = np.append(-1, rng.integers(0, np.arange(1, 300)))
    leaves = np.setdiff1d(np.arange(300), parent)
    tree = tree_of(parent, rng.choice(leaves, 500))
    features = rng.normal(size=(500, 7)) + 0.5
    features[3] = 0.0
    exact = dasgupta_cost(tree, Cosine(features)).value
    for sums, values in ((1 << 24, 1 << 22), (1000, 20), (300, 1)):
        monkeypatch.setattr(costs, "SUMS", sums)
        monkeypatch.setattr(costs, "BLOCK_VALUES", values)
        got = dasgupta_cost(tree, Cosine(np.asfortranarray(features)), exact_points=0)
        assert got.value == pytest.approx(exact, rel=1e-12)
        assert got.standard_error is None
        assert "zero" in got.warnings[0]
    # More blocks of columns than passes: pairs are drawn.
    monkeypatch.setattr(costs, "PASSES", 6)
    assert dasgupta_cost(tree, Cosine(features), exact_points=0).standard_error is not None


def test_estimates_are_unbiased_and_know_their_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "SAMPLED_PAIRS", 500)
    features = np.random.default_rng(1).exponential(size=(80, 3))
    tree = from_linkage(linkage(features, "average"))
    for metric, pairs in (
        (dasgupta_cost, Gaussian(features)),
        (dasgupta_cost, Cosine(sp.csr_array(features))),
        (cophenetic_correlation, Euclidean(features)),
    ):
        exact = metric(tree, pairs).value
        assert exact is not None
        runs = [
            metric(tree, pairs, exact_points=10, rng=np.random.default_rng(seed))
            for seed in range(300)
        ]
        values = np.array([run.value for run in runs])
        errors = np.array([run.standard_error for run in runs])
        spread = values.std(ddof=1)
        assert spread > 0
        assert errors.mean() == pytest.approx(spread, rel=0.15)
        # The bias of a correlation of few draws is an order below its error.
        assert abs(values.mean() - exact) < 4 * spread / np.sqrt(300) + 0.05 * spread
        assert "500 sampled pairs" in runs[0].warnings[0]


def test_undefined_correlations_are_null() -> None:
    line = np.arange(3.0)[:, None]
    flat_tree = tree_of([-1, 0, 0, 0], [1, 2, 3])
    answer = cophenetic_correlation(flat_tree, Euclidean(line))
    assert answer.value is None
    assert "same height" in answer.warnings[0]
    tree = tree_of([-1, 0, 0, 1, 1], [2, 3, 4])
    answer = cophenetic_correlation(tree, Euclidean(np.ones((3, 2))))
    assert answer.value is None
    assert "same distance" in answer.warnings[0]
    alone = tree_of([-1], [0])
    assert cophenetic_correlation(alone, Euclidean(np.ones((1, 2)))).value is None
    assert dasgupta_cost(alone, Cosine(np.ones((1, 2)))).value == 0.0


def test_given_matrices_are_checked() -> None:
    good = squareform(np.arange(1.0, 4.0))
    nan, skew, negative = good.copy(), good.copy(), -good
    nan[1, 2] = np.nan
    skew[0, 1] = 5
    cases = [
        (distances_of, np.ones((3, 2)), "wrong-length", "3 x 2"),
        (distances_of, nan, "not-finite", "row 1, column 2"),
        (distances_of, skew, "wrong-input", "not symmetric"),
        (distances_of, negative, "wrong-input", "negative"),
        (distances_of, good + np.diag([0.0, 0.5, 0.0]), "wrong-input", "row 1 .* 0.5 from itself"),
        (distances_of, sp.csr_array(good), "wrong-input", "dense"),
        (distances_of, [[0.0]], "wrong-input", "matrix of numbers"),
        (similarity_of, sp.csr_array(skew), "wrong-input", "not symmetric"),
        (similarity_of, sp.csr_array(nan), "not-finite", "row 1, column 2"),
        (features_of, np.ones((4, 2)), "wrong-length", "4 rows"),
        (features_of, np.ones(3), "wrong-input", "matrix of numbers"),
        (features_of, nan, "not-finite", "row 1, column 2"),
        (features_of, sp.csr_array(nan), "not-finite", "row 1, column 2"),
    ]
    for check_, matrix, code, text in cases:
        with pytest.raises(UsageError, match=text) as caught:
            check_(matrix, 3)
        assert caught.value.code == code
    assert "negative" in similarity_of(negative, 3).warnings[0]
    assert "zero" in Cosine(np.array([[0.0, 0.0], [1.0, 2.0]])).warnings[0]

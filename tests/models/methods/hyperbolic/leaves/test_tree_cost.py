"""The cost of trees against Dasgupta's, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest

from models.methods.hyperbolic.leaves import similarity as module
from models.methods.hyperbolic.leaves.decoding import decode
from models.methods.hyperbolic.leaves.fit import tree_of
from models.methods.hyperbolic.leaves.similarity import (
    DasguptaCost,
    FeatureSimilarity,
    MatrixSimilarity,
    Similarity,
)
from models.metrics.costs import dasgupta_cost
from models.metrics.pairs import MatrixPairs
from models.tree.tree import Tree
from models.tree.walk import lca

pytestmark = pytest.mark.needs("torch")

N_POINTS = 40
RNG = np.random.default_rng(5)
FEATURES = RNG.normal(size=(N_POINTS, 3))


def some_tree(seed: int = 0) -> Tree:
    angle = np.random.default_rng(seed).uniform(0, 7, size=N_POINTS)
    return tree_of(decode(np.stack([np.cos(angle), np.sin(angle)], axis=1)))


def literal(tree: Tree, similarity: Similarity) -> float:
    total = 0.0
    for i in range(N_POINTS):
        for j in range(i):
            node = lca(tree, [tree.leaf_of_point[i]], [tree.leaf_of_point[j]])[0]
            total += float(similarity.at(np.array([i]), np.array([j]))[0]) * tree.size[node]
    return total


def similarities() -> list[Similarity]:
    matrix = 10 + np.cov(FEATURES)
    return [
        FeatureSimilarity(FEATURES, "cosine", None),
        FeatureSimilarity(FEATURES, "rbf", None),
        MatrixSimilarity(matrix),
    ]


@pytest.mark.parametrize("number", range(3))
def test_the_cost_is_its_definition(number: int) -> None:
    similarity = similarities()[number]
    tree_cost = DasguptaCost(similarity, np.random.default_rng(0))
    assert tree_cost.exact
    assert tree_cost.warnings == ()
    assert tree_cost.of(some_tree()) == pytest.approx(literal(some_tree(), similarity), rel=1e-6)


def test_the_cost_is_that_of_the_metrics() -> None:
    similarity = MatrixSimilarity(np.cov(FEATURES))
    matrix = similarity.matrix[np.ix_(similarity.order, similarity.order)]
    expected = dasgupta_cost(some_tree(), MatrixPairs(matrix)).value
    assert DasguptaCost(similarity, np.random.default_rng(0)).of(some_tree()) == pytest.approx(
        expected
    )


@pytest.mark.parametrize("number", range(3))
def test_the_cost_of_many_points_is_estimated_from_a_fixed_sample(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    similarity = similarities()[number]
    exact = [
        DasguptaCost(similarity, np.random.default_rng(0)).of(some_tree(seed)) for seed in (0, 1)
    ]
    monkeypatch.setattr(module, "EXACT_POINTS", 10)
    monkeypatch.setattr(module, "PASSES", 0)
    tree_cost = DasguptaCost(similarity, np.random.default_rng(0))
    assert not tree_cost.exact
    assert "sample of 262,144 pairs" in tree_cost.warnings[0]
    costs = [tree_cost.of(some_tree(seed)) for seed in (0, 1)]
    assert costs == pytest.approx(exact, rel=0.02)
    assert tree_cost.of(some_tree()) == costs[0]

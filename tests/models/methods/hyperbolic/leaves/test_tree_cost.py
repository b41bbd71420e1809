"""The judge's cost against Dasgupta's, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest

from models.methods.hyperbolic.leaves import tree_cost
from models.methods.hyperbolic.leaves.decoding import decode
from models.methods.hyperbolic.leaves.similarity import OfFeatures, OfMatrix, Similarity
from models.methods.hyperbolic.leaves.training import tree_of
from models.methods.hyperbolic.leaves.tree_cost import Judge
from models.metrics.costs import dasgupta_cost
from models.metrics.pairs import MatrixPairs
from models.tree.tree import Tree
from models.tree.walk import lca

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
        OfFeatures(FEATURES, "cosine", None),
        OfFeatures(FEATURES, "rbf", None),
        OfMatrix(matrix),
    ]


@pytest.mark.parametrize("number", range(3))
def test_the_cost_is_its_definition(number: int) -> None:
    similarity = similarities()[number]
    judge = Judge(similarity, np.random.default_rng(0))
    assert judge.exact
    assert judge.warnings == ()
    assert judge.cost(some_tree()) == pytest.approx(literal(some_tree(), similarity), rel=1e-6)


def test_it_is_that_of_the_metrics() -> None:
    similarity = OfMatrix(np.cov(FEATURES))
    matrix = similarity.matrix[np.ix_(similarity.order, similarity.order)]
    wanted = dasgupta_cost(some_tree(), MatrixPairs(matrix)).value
    assert Judge(similarity, np.random.default_rng(0)).cost(some_tree()) == pytest.approx(wanted)


@pytest.mark.parametrize("number", range(3))
def test_of_many_points_a_sample_is_near_and_the_same_each_time(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    similarity = similarities()[number]
    exact = [Judge(similarity, np.random.default_rng(0)).cost(some_tree(seed)) for seed in (0, 1)]
    monkeypatch.setattr(tree_cost, "EXACT_POINTS", 10)
    monkeypatch.setattr(tree_cost, "PASSES", 0)
    judge = Judge(similarity, np.random.default_rng(0))
    assert not judge.exact
    assert "sample of 262,144 pairs" in judge.warnings[0]
    found = [judge.cost(some_tree(seed)) for seed in (0, 1)]
    assert found == pytest.approx(exact, rel=0.02)
    assert judge.cost(some_tree()) == found[0]

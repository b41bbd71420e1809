"""Inner nodes eliminated from a tree's penalty, against a dense system."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.methods.classifiers.bayes.newton import Elimination, Levels
from models.methods.classifiers.classes.structure import ClassTree


def drawn(seed: int, n_nodes: int) -> ClassTree:
    """A random tree; its leaves are the classes, inner nodes may have one child."""
    rng = np.random.default_rng(seed)
    parent = np.array([-1, *(int(rng.integers(node)) for node in range(1, n_nodes))])
    return ClassTree(parent, np.flatnonzero(np.bincount(parent[1:], minlength=n_nodes) == 0))


def penalty(tree: ClassTree, weights: np.ndarray, precision: np.ndarray) -> float:
    total = 0.5 * (precision[0] * weights[0] ** 2).sum()
    for node in range(1, tree.n_nodes):
        total += 0.5 * (precision[node] * (weights[node] - weights[tree.parent[node]]) ** 2).sum()
    return float(total)


@given(seed=st.integers(0, 10_000), n_nodes=st.integers(2, 12), by_feature=st.booleans())
def test_the_inner_nodes_are_the_best_and_the_gradient_is_theirs(
    seed: int, n_nodes: int, by_feature: bool
) -> None:
    tree = drawn(seed, n_nodes)
    rng = np.random.default_rng(seed)
    precision = np.exp(rng.normal(size=(n_nodes, 3 if by_feature else 1), scale=2.0))
    leaves = rng.normal(size=(tree.n_classes, 3))
    elimination = Elimination(tree, Levels.of(tree), precision)
    weights = elimination.nodes(leaves)
    np.testing.assert_array_equal(weights[tree.node], leaves)
    gradient = np.zeros_like(weights)
    gradient[0] = precision[0] * weights[0]
    for node in range(1, n_nodes):
        pull = precision[node] * (weights[node] - weights[tree.parent[node]])
        gradient[node] += pull
        gradient[tree.parent[node]] -= pull
    inner = np.setdiff1d(np.arange(n_nodes), tree.node)
    np.testing.assert_allclose(gradient[inner], 0.0, atol=1e-10 * precision.max())
    np.testing.assert_allclose(elimination.gradient(leaves), gradient[tree.node])
    least = penalty(tree, weights, precision)
    assert 0.5 * (leaves * elimination.gradient(leaves)).sum() == pytest.approx(least)


def test_a_deep_chain_passes() -> None:
    n_nodes = 2000
    parent = np.array([*range(-1, n_nodes - 2), n_nodes - 3])
    tree = ClassTree(parent, np.array([n_nodes - 2, n_nodes - 1]))
    elimination = Elimination(tree, Levels.of(tree), np.full((n_nodes, 1), 2.0))
    weights = elimination.nodes(np.array([[1.0], [3.0]]))
    # Between 0 and the mean of the leaves the chain is a line.
    steps = np.diff(weights[: n_nodes - 2, 0])
    np.testing.assert_allclose(steps, steps[0])

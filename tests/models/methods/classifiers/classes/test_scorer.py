"""Scores down the tree and by draws, row by row."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

from models.methods.classifiers.classes.answers import Scorer
from models.methods.classifiers.classes.structure import ClassTree


def tree_of(rng: np.random.Generator, n_nodes: int) -> ClassTree:
    parent = np.array([-1, *(int(rng.integers(node)) for node in range(1, n_nodes))])
    leaves = np.setdiff1d(np.arange(n_nodes), parent)
    return ClassTree(parent, leaves)


def path(tree: ClassTree, node: int) -> list[int]:
    """The nodes from below the root down to a node."""
    nodes: list[int] = []
    while node > 0:
        nodes.insert(0, node)
        node = int(tree.parent[node])
    return nodes


def children(tree: ClassTree, node: int) -> list[int]:
    return np.flatnonzero(tree.parent == node).tolist()


@given(st.integers(0, 2**32 - 1), st.integers(3, 12))
def test_rows_go_from_the_root_to_the_best_child(seed: int, n_nodes: int) -> None:
    rng = np.random.default_rng(seed)
    tree = tree_of(rng, n_nodes)
    weights, features = rng.normal(size=(n_nodes, 4)), rng.normal(size=(5, 3))
    scored = Scorer(weights, True, tree)(features)
    again = Scorer(weights, True, tree)(sp.csr_array(features))
    np.testing.assert_allclose(again.values, scored.values)
    for row, x in enumerate(features):
        value = weights @ np.append(x, 1.0)
        node = 0
        while children(tree, node):
            node = max(children(tree, node), key=lambda child: value[child])
        assert tree.node[scored.best[row]] == node
        for class_, leaf in enumerate(tree.node):
            total = 0.0
            for on_path in path(tree, int(leaf)):
                own = children(tree, int(tree.parent[on_path]))
                total += log_softmax(value[own])[own.index(on_path)]
            assert scored.values[row, class_] == pytest.approx(total)
    np.testing.assert_allclose(np.exp(scored.values).sum(axis=1), 1.0)


@given(st.integers(0, 2**32 - 1), st.integers(3, 12))
def test_rows_of_several_classes_go_to_every_positive_child(seed: int, n_nodes: int) -> None:
    rng = np.random.default_rng(seed)
    tree = tree_of(rng, n_nodes)
    weights, features = rng.normal(size=(n_nodes, 3)), rng.normal(size=(5, 3))
    scored = Scorer(weights, False, tree)(features)
    for row, x in enumerate(features):
        reached, here = set(), [0]
        while here:
            node = here.pop()
            if not children(tree, node):
                reached.add(node)
            here += [child for child in children(tree, node) if weights[child] @ x >= 0]
        positive = tree.node[scored.values[row] >= 0]
        assert set(positive.tolist()) == reached


def test_draws_are_averaged_as_probabilities() -> None:
    rng = np.random.default_rng(0)
    draws, features = rng.normal(size=(4, 3, 2)), rng.normal(size=(6, 2))
    scored = Scorer(draws, True)(features)
    mean = np.mean([softmax(features @ weights.T, axis=1) for weights in draws], axis=0)
    np.testing.assert_allclose(np.exp(scored.values), mean)
    assert (scored.best == mean.argmax(axis=1)).all()


def test_the_best_class_is_first_though_another_has_the_largest_value() -> None:
    # Two of three children under one node share its probability.
    tree = ClassTree(np.array([-1, 0, 0, 1, 1]), np.array([2, 3, 4]))
    weights = np.array([[0.0], [0.1], [0.0], [0.0], [0.0]])
    scored = Scorer(weights, True, tree)(np.ones((1, 1)))
    assert scored.values.argmax() == 0
    assert scored.best.tolist() == [1]
    assert scored.top(3).tolist() == [[1, 0, 2]]
    assert scored.top(1).tolist() == [[1]]

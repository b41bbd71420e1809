"""The penalty of products of weights along paths, against its literal sum."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.methods.classifiers.classes.structure import ClassTree
from models.methods.classifiers.structured.penalty import Orthogonal, ancestor_pairs


def tree_of(seed: int, n_nodes: int) -> ClassTree:
    rng = np.random.default_rng(seed)
    parent = np.array([-1, *(int(rng.integers(node)) for node in range(1, n_nodes))])
    return ClassTree(parent, np.setdiff1d(np.arange(n_nodes), parent))


def pairs_of(tree: ClassTree) -> set[tuple[int, int]]:
    pairs = set()
    for node in range(1, tree.n_nodes):
        above = int(tree.parent[node])
        while above > 0:
            pairs.add((node, above))
            above = int(tree.parent[above])
    return pairs


@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_pairs_and_value_are_the_literal_ones(seed: int, n_nodes: int) -> None:
    tree = tree_of(seed, n_nodes)
    node, above = ancestor_pairs(tree)
    assert node.size == len(pairs_of(tree))
    assert set(zip(node.tolist(), above.tolist(), strict=True)) == pairs_of(tree)
    penalty = Orthogonal.over(tree, 0.7)
    weights = np.random.default_rng(seed).normal(size=(n_nodes, 3))
    expected = 0.5 * (weights**2).sum()
    for i, j in pairs_of(tree):
        expected += penalty.factor * abs(weights[i] @ weights[j])
    assert penalty.value(weights) == pytest.approx(expected)


@given(st.integers(0, 2**32 - 1), st.integers(2, 7))
def test_it_is_convex_up_to_the_whole_share(seed: int, n_nodes: int) -> None:
    tree = tree_of(seed, n_nodes)
    penalty = Orthogonal.over(tree, 1.0)
    n_pairs = penalty.node.size
    for signs in product((-1.0, 1.0), repeat=min(n_pairs, 8)):
        full = np.resize(np.array(signs), n_pairs) if n_pairs else np.zeros(0)
        assert np.linalg.eigvalsh(penalty.matrix(full)).min() >= -1e-9
    worst = np.linalg.eigvalsh(penalty.matrix(-np.ones(n_pairs))).min()
    assert n_pairs == 0 or worst == pytest.approx(0.0, abs=1e-9)
    rng = np.random.default_rng(seed)
    one, other = rng.normal(size=(2, n_nodes, 2))
    ends = 0.5 * (penalty.value(one) + penalty.value(other))
    assert penalty.value(0.5 * (one + other)) <= ends + 1e-9


@given(st.integers(0, 2**32 - 1), st.integers(4, 9))
def test_the_best_signs_give_the_conjugate_of_the_penalty(seed: int, n_nodes: int) -> None:
    tree = tree_of(seed, n_nodes)
    rng = np.random.default_rng(seed)
    sums = rng.normal(size=(n_nodes, 3))
    penalty = Orthogonal.over(tree, 0.8).fitted(sums)
    assert (np.abs(penalty.signs) <= 1.0).all()
    # At the conjugate's maximiser the linear part minus the penalty is the form itself.
    weights = penalty.weights(sums)
    reached = float(np.vdot(sums, weights)) - penalty.value(weights)
    assert reached == pytest.approx(penalty.form(sums), rel=1e-3)
    for _ in range(5):
        other = weights + 0.1 * rng.normal(size=weights.shape)
        assert float(np.vdot(sums, other)) - penalty.value(other) <= penalty.form(sums) + 1e-9

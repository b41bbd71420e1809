"""The hierarchy of clusters, and the starting points of its leaves."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from models.methods.sphere.nested.hierarchy import Hierarchy, first_means, leaf_means, n_complete
from models.numerics.sphere import draw_vmf, uniform
from tests.models.methods.sphere.sphere_kit import random_hierarchy


def test_a_complete_hierarchy() -> None:
    #        0
    #    1       2
    #  3   4   5   6
    result = Hierarchy.complete(2, 2)
    assert result.parent.tolist() == [-1, 0, 0, 1, 1, 2, 2]
    assert result.leaves.tolist() == [3, 4, 5, 6]
    assert result.inner.tolist() == [0, 1, 2]
    assert [level.tolist() for level in result.levels] == [[0], [1, 2], [3, 4, 5, 6]]
    assert result.n_leaves_under.tolist() == [4, 2, 2, 1, 1, 1, 1]
    assert [n_complete(h, b) for h, b in ((1, 5), (3, 3), (2, 10))] == [6, 40, 111]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 30))
def test_any_hierarchy_by_its_definition(seed: int, n_nodes: int) -> None:
    tree = random_hierarchy(seed, n_nodes)
    children = [np.flatnonzero(tree.parent == node) for node in range(n_nodes)]
    assert tree.n_children.tolist() == [len(one) for one in children]
    assert sorted([*tree.leaves, *tree.inner]) == list(range(n_nodes))
    values = np.random.default_rng(seed).normal(size=(n_nodes, 3))
    for node in range(n_nodes):
        summed = (tree.below @ values)[node]
        assert summed == pytest.approx(values[children[node]].sum(axis=0))
    depth = np.zeros(n_nodes, dtype=int)
    for node in range(1, n_nodes):
        depth[node] = depth[tree.parent[node]] + 1
    for level, nodes in enumerate(tree.levels):
        assert nodes.tolist() == np.flatnonzero(depth == level).tolist()
    assert (tree.sorted(np.arange(n_nodes), values) == np.arange(n_nodes)).all()


def test_larger_siblings_come_first() -> None:
    #          0                       0
    #     1         2      ->     2         1
    #   3   4     5   6         6   5     3   4
    order = Hierarchy.complete(2, 2).sorted(np.array([9, 4, 5, 3, 1, 2, 3]), np.zeros((7, 2)))
    assert order.tolist() == [0, 2, 1, 6, 5, 3, 4]
    # Nodes of one size are sorted by their rows.
    rows = np.array([[0], [1], [0], [5], [4], [7], [8.0]])
    order = Hierarchy.complete(2, 2).sorted(np.array([8, 4, 4, 2, 2, 2, 2]), rows)
    assert order.tolist() == [0, 2, 1, 5, 6, 4, 3]


@pytest.mark.parametrize("sparse", [False, True])
def test_leaves_begin_in_the_groups_of_their_parents_group(sparse: bool) -> None:
    rng = np.random.default_rng(3)
    top = np.linalg.qr(rng.normal(size=(8, 8)))[0][:3]
    leaves = draw_vmf(np.repeat(top, 3, axis=0), 60.0, rng)
    own = rng.permutation(np.arange(270) % 9)
    features = draw_vmf(leaves[own], 3000.0, rng)
    given_rows = sp.csr_array(features) if sparse else features
    result = leaf_means(given_rows, Hierarchy.complete(2, 3), rng)
    assert np.linalg.norm(result, axis=1) == pytest.approx(1.0)
    nearest = (result @ leaves.T).argmax(axis=1)
    assert (result @ leaves.T).max(axis=1).min() > 0.99
    groups = sorted(sorted(nearest[k : k + 3].tolist()) for k in (0, 3, 6))
    assert groups == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 25), st.integers(0, 12))
def test_every_leaf_begins_with_a_row(seed: int, n_nodes: int, more: int) -> None:
    tree, rng = random_hierarchy(seed, n_nodes), np.random.default_rng(seed)
    n_rows = tree.leaves.size + more
    features = uniform(n_rows, 3, rng)
    features[: n_rows // 2] = features[0]
    result = leaf_means(features, tree, rng)
    assert result.shape == (tree.leaves.size, 3)
    assert np.linalg.norm(result, axis=1) == pytest.approx(1.0)
    if not more and n_rows < 2:
        assert result == pytest.approx(features)


def test_as_many_leaves_as_rows_have_a_row_each() -> None:
    features = uniform(9, 4, np.random.default_rng(1))
    result = leaf_means(features, Hierarchy.complete(2, 3), np.random.default_rng(0))
    assert (result @ features.T).max(axis=0) == pytest.approx(1.0)


def test_every_second_run_begins_with_seeds() -> None:
    features = uniform(40, 4, np.random.default_rng(1))
    tree = Hierarchy.complete(2, 2)
    for sparse in (False, True):
        given_rows = sp.csr_array(features) if sparse else features
        seeds = first_means(given_rows, tree, 1, np.random.default_rng(0))
        assert (seeds @ features.T).max(axis=1) == pytest.approx(1.0)
        parted = first_means(given_rows, tree, 0, np.random.default_rng(0))
        assert ((parted @ features.T).max(axis=1) < 0.999).all()


def test_rows_that_cancel_leave_a_direction() -> None:
    features = np.array([[1.0, 0.0], [-1.0, 0.0]])
    root = Hierarchy(np.array([-1], dtype=np.int32))
    assert leaf_means(features, root, np.random.default_rng(0)).tolist() == [[1.0, 0.0]]

"""The compiled loops against dense tables of all pairs of points, on trees of some size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.metrics.catalogue import evaluate
from models.metrics.hierarchical import dendrogram_purity, lhd
from models.metrics.inputs import classes_of
from models.metrics.loops import trees
from models.tree import columns
from models.tree.tree import Tree
from models.tree.walk import leaf_order
from tests.models.metrics.trees_kit import any_tree, tree_of
from tests.models.tree.strategies_kit import under


def deep_tree(n_nodes: int, n_points: int, reach: int, rng: np.random.Generator) -> Tree:
    """Each node is a child of one of the `reach` before it: a small `reach` makes a deep tree."""
    node = np.arange(1, n_nodes)
    parent = np.append(-1, rng.integers(np.maximum(0, node - reach), node))
    leaves = np.setdiff1d(np.arange(n_nodes), parent)
    return tree_of(parent, rng.choice(leaves, n_points))


def by_all_pairs(tree: Tree, labels: np.ndarray) -> tuple[float, float]:
    """Dendrogram purity and LHD from (n_points, n_points) tables filled from the root down, so that
    the lowest node over a pair has the last word.
    """
    n = tree.n_points
    share, top = np.zeros((n, n)), np.zeros((n, n))
    branches = np.zeros(tree.n_nodes)
    for node, leaves in enumerate(under(tree)):
        if node:
            over = tree.parent[node]
            branches[node] = branches[over] + (tree.n_children[over] > 1)
        points = np.flatnonzero(np.isin(tree.leaf_of_point, list(leaves)))
        if not points.size:
            continue
        inside = labels[points]
        pairs = np.ix_(points, points)
        share[pairs] = (inside[:, None] == inside).mean(axis=1)[:, None]
        top[pairs] = branches[node]
    leaf = tree.leaf_of_point
    same = np.triu(labels[:, None] == labels, k=1)
    own = branches[leaf]
    td = own[:, None] + own - 2 * top
    apart = same & (leaf[:, None] != leaf)
    far = (np.log2(td[apart]) - 1) / (np.log2(tree.n_leaves) - 1)
    return share[same].mean(), far.mean()


@pytest.mark.parametrize("reach", [2, 6, 40, 400])
@pytest.mark.parametrize("n_classes", [1, 3, 60])
def test_all_pairs(reach: int, n_classes: int) -> None:
    rng = np.random.default_rng(reach + n_classes)
    tree = deep_tree(200, 400, reach, rng)
    labels = rng.integers(0, n_classes, 400)
    classes = classes_of(labels, 400)
    purity, distance = by_all_pairs(tree, labels)
    assert dendrogram_purity(tree, classes).value == pytest.approx(purity, rel=1e-12)
    exact = lhd(tree, classes)
    assert exact.standard_error is None
    assert exact.value == pytest.approx(distance, rel=1e-12)


@given(any_tree())
def test_intervals_hold_the_leaves_under_each_node(tree: Tree) -> None:
    order = leaf_order(tree)
    start, end = trees.intervals(tree.parent)
    for node, leaves in enumerate(under(tree)):
        assert order[start[node] : end[node]].tolist() == [v for v in order if v in leaves]


def test_columns_that_must_not_be_written_to() -> None:
    rng = np.random.default_rng(0)
    tree = deep_tree(50, 200, 9, rng)
    stored = columns.from_table(columns.to_table(tree), tree.leaf_of_point)
    assert not stored.parent.flags.writeable
    labels = rng.integers(0, 4, 200)
    assert evaluate(stored, labels=labels).metrics == evaluate(tree, labels=labels).metrics


@given(st.integers(2, 30), st.integers(1, 5))
def test_a_star_of_one_class(n_leaves: int, n_each: int) -> None:
    tree = tree_of([-1] + [0] * n_leaves, np.repeat(np.arange(1, n_leaves + 1), n_each))
    classes = classes_of(np.zeros(tree.n_points, dtype=int), tree.n_points)
    assert dendrogram_purity(tree, classes).value == (1.0 if tree.n_points > 1 else None)
    # All leaves are two edges apart.
    assert lhd(tree, classes).value == pytest.approx(0.0)

"""Below which node a new component lies."""

from __future__ import annotations

import numpy as np

from models.methods.labelled.hierarchy.known_tree import KnownTree
from models.methods.labelled.hierarchy.spreads import BORROWED, Spreads
from tests.models.methods.labelled.hierarchy.tree_kit import LEAVES, known_tree

MEANS = np.array([[0.0, 0], [2, 0], [1, 1], [20, 0], [22, 0], [0, 20]])
"""Of the leaves 0, 1, 2 below a, 3 and 4 below b, 5 below c."""


def spreads() -> tuple[KnownTree, Spreads]:
    tree, _ = known_tree(0)
    return tree, Spreads.of(tree, 0, LEAVES, MEANS)


def test_means_and_variances_are_those_of_the_leaves_below() -> None:
    tree, own = spreads()
    assert own.node.tolist() == [0, 1, 2, 3]
    assert own.child.tolist() == [-1, 0, 1, 2]
    np.testing.assert_allclose(own.mean[:3], [MEANS.mean(0), MEANS[:3].mean(0), [21, 0]])
    within = [np.square(MEANS[:3] - MEANS[:3].mean(0)).sum() / 2, 1.0, 0.0]
    pooled = (within[0] + within[1]) / 3
    expected = [
        (own_within + BORROWED * pooled) / (n_leaves - 1 + BORROWED)
        for own_within, n_leaves in zip(within, [3, 2, 1], strict=True)
    ]
    np.testing.assert_allclose(own.variance[1:], expected)
    np.testing.assert_allclose(own.by_level[0], pooled)
    assert own.by_level[1] > own.by_level[0]
    assert tree.levels[0] == own.by_level.size


def test_a_new_component_lies_below_the_node_whose_leaves_are_about_there() -> None:
    _, own = spreads()
    means = np.array([[1.0, -1], [21, 1], [0, 21], [10, 10], [20, 20]])
    assert own.owner(means).tolist() == [0, 1, 2, -1, -1]


def test_it_is_the_likeliest_by_densities() -> None:
    from scipy.stats import multivariate_normal

    _, own = spreads()
    means = np.random.default_rng(0).normal(10.0, 8.0, size=(50, 2))
    score = [
        np.log(n) + multivariate_normal(mean, variance).logpdf(means)
        for n, mean, variance in zip(own.n_children, own.mean, own.variance, strict=True)
    ]
    np.testing.assert_array_equal(own.owner(means), own.child[np.argmax(score, axis=0)])

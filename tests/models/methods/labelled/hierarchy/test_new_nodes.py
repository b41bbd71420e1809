"""New nodes hang in a tree, hold enough rows, and share none with what is beside them.

Ward's tree against what its nodes' rows give.

Below which node a new component lies.

Rows of no known leaf, and votes of the nearest labelled rows.

Sizes and spreads of known nodes by level.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from models.methods.labelled.hierarchy.known_tree import KnownTree
from models.methods.labelled.hierarchy.new_nodes import (
    BORROWED,
    DEVIATION,
    MOST_NEIGHBOURS,
    N_VOTES,
    PAIRS,
    NewNodes,
    Resemblance,
    Spreads,
    WardTree,
    labelled_near,
    votes,
)
from tests.models.methods.labelled.hierarchy.tree_kit import LEAVES, known_tree


def test_logarithms_are_averaged_by_level() -> None:
    tree, points = known_tree(0)
    like = Resemblance.of(tree, points, 0.5)
    # Node 3 has one child, which it is.
    for level, nodes in ((0, LEAVES), (1, np.array([1, 2]))):
        rows = [tree.labelled(node) for node in nodes.tolist()]
        logs = np.log([[2 * own.size, points[own].var(axis=0, ddof=1).sum()] for own in rows])
        np.testing.assert_allclose(like.mean[level], logs.mean(axis=0))
        squares = np.square(logs - logs.mean(axis=0)).sum(axis=0) + PAIRS * DEVIATION**2
        expected = np.sqrt(squares / (len(logs) - 1 + PAIRS))
        np.testing.assert_allclose(like.deviation[level], expected)


def test_no_node_has_a_level_that_no_known_one_shows() -> None:
    tree, points = known_tree(0)
    like = Resemblance.of(tree, points, 0.5)
    like.mean[0] = np.nan
    assert not like.allows(0, 10.0, 1.0, 0.5)


@pytest.mark.parametrize(
    ("size", "variance", "expected"),
    [(1.01, 1.0, True), (0.9, 1.0, False), (50.0, 1.0, False), (1.01, 50.0, False)],
)
def test_a_subtree_is_large_enough_and_not_too_wide(
    size: float, variance: float, expected: bool
) -> None:
    tree, points = known_tree(0)
    like = Resemblance.of(tree, points, 0.5)
    usual = np.exp(like.mean[1])
    assert like.allows(1, size * usual[0], variance * usual[1], 0.8) is expected


def test_rows_of_unknown_clusters_are_new_and_others_are_not() -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(6).repeat(20)
    points = 20.0 * np.eye(6)[truth] + rng.normal(size=(truth.size, 6))
    labelled = (truth < 4) & (np.arange(truth.size) % 2 == 0)
    share = labelled_near(points, np.where(labelled, truth + 1, 0))
    # By hand: a leaf has 10 labelled rows, and of the 20 nearest rows about half are labelled.
    squares = np.square(points[:, None] - points).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    near = labelled[squares.argsort(axis=1)]
    n_near = min(round(10 / near[labelled, :10].mean()), MOST_NEIGHBOURS)
    own = near[:, :n_near].mean(axis=1)
    np.testing.assert_allclose(share, own / own[labelled].mean())
    assert (share[truth >= 4] < 0.2).all()
    assert (share[truth < 4] > 0.6).mean() > 0.9


def test_leaves_are_wards_cut_into_as_many_as_have_the_usual_size() -> None:
    tree, points = known_tree(0, n_rows=240)
    is_new = tree.row_node == 0
    new = NewNodes(tree, points, is_new, 1, None)
    labelled = tree.row_node > 0
    # All unlabelled rows are new, so that all rows of known leaves are labelled.
    n_leaves = round(is_new.sum() / np.bincount(tree.row_node[labelled])[LEAVES].mean())
    cut = fcluster(linkage(points[is_new], "ward"), n_leaves, "maxclust")
    expected = {tuple(np.flatnonzero(cut == own)) for own in np.unique(cut)}
    found = {tuple(np.sort(new._ward.rows(node))) for node in np.flatnonzero(new._is_leaf).tolist()}
    assert found == expected
    assert len(found) == n_leaves > 1


def test_votes_are_shares_of_the_nearest_labelled_rows_below_each_node() -> None:
    tree, points = known_tree(0)
    rows = np.arange(60, 72)
    share = votes(tree, points, rows)
    labelled = np.flatnonzero(tree.row_node > 0)
    for place, row in enumerate(rows.tolist()):
        squares = np.square(points[labelled] - points[row]).sum(axis=1)
        near = labelled[np.argsort(squares)[:N_VOTES]]
        for node in range(tree.n_nodes):
            below = np.isin(near, tree.labelled(node)).mean()
            np.testing.assert_allclose(share[place, node], below)


MEANS = np.array([[0.0, 0], [2, 0], [1, 1], [20, 0], [22, 0], [0, 20]])
"""Means of the leaves 0, 1, 2 below a, 3 and 4 below b, 5 below c."""


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


@pytest.mark.parametrize("n_rows", [1, 2, 17])
def test_sizes_means_and_variances_are_those_of_the_rows(n_rows: int) -> None:
    points = np.random.default_rng(n_rows).normal(size=(n_rows, 3))
    values = np.random.default_rng(99).random((n_rows, 2))
    tree = WardTree.of(points)
    means = tree.means(values)
    assert tree.size[-1] == n_rows
    for node in range(tree.size.size):
        rows = tree.rows(node)
        assert rows.size == tree.size[node]
        np.testing.assert_allclose(tree.mean[node], points[rows].mean(axis=0))
        np.testing.assert_allclose(means[node], values[rows].mean(axis=0))
        expected = points[rows].var(axis=0, ddof=1).sum() if rows.size > 1 else 0.0
        assert tree.variance[node] == pytest.approx(expected)
        assert sum(tree.size[child] for child in tree.below(node)) in (0, rows.size)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("max_depth", [None, 1])
def test_nodes_are_nested_or_apart(seed: int, max_depth: int | None) -> None:
    tree, points = known_tree(seed, n_rows=240)
    is_new = tree.row_node == 0
    new = NewNodes(tree, points, is_new, 5, max_depth).chosen()
    assert new
    held: dict[int, np.ndarray] = {}
    for place, own in enumerate(new):
        assert own.rows.size >= 5
        assert is_new[own.rows].all()
        assert own.above < tree.n_nodes
        if own.above < 0:
            above = -1 - own.above
            assert above < place
            assert np.isin(own.rows, new[above].rows).all()
            assert own.rows.size < new[above].rows.size
        else:
            assert not tree.is_leaf[own.above]
        assert max_depth is None or own.above == 0
        beside = held.setdefault(own.above, np.empty(0, dtype=np.int64))
        assert not np.isin(own.rows, beside).any()
        held[own.above] = np.concatenate([beside, own.rows])


def test_too_few_rows_give_none() -> None:
    tree, points = known_tree(0)
    is_new = np.zeros(tree.row_node.size, dtype=bool)
    is_new[-4:] = True
    assert NewNodes(tree, points, is_new, 5, None).chosen() == []

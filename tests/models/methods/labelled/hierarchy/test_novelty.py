"""Rows of no known leaf, and votes of the nearest labelled rows."""

from __future__ import annotations

import numpy as np

from models.methods.labelled.hierarchy.novelty import N_VOTES, novel, votes
from tests.models.methods.labelled.hierarchy.tree_kit import known_tree


def test_rows_of_unknown_clusters_are_new_and_others_are_not() -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(6).repeat(20)
    points = 20.0 * np.eye(6)[truth] + rng.normal(size=(truth.size, 6))
    labelled = (truth < 4) & (np.arange(truth.size) % 2 == 0)
    is_new = novel(points, np.where(labelled, truth + 1, 0), 0.6)
    assert not is_new[labelled].any()
    assert is_new[truth >= 4].all()
    assert is_new[truth < 4].mean() < 0.1
    assert not novel(points, np.where(labelled, truth + 1, 0), 0.0).any()


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

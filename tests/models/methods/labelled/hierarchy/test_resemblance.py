"""Sizes and spreads of known nodes by level."""

from __future__ import annotations

import numpy as np
import pytest

from models.methods.labelled.hierarchy.resemblance import BORROWED, DEVIATION, Resemblance
from tests.models.methods.labelled.hierarchy.tree_kit import LEAVES, known_tree


def test_logarithms_are_averaged_by_level() -> None:
    tree, points = known_tree(0)
    like = Resemblance.of(tree, points, 0.5)
    # Node 3 has one child, which it is.
    for level, nodes in ((0, LEAVES), (1, np.array([1, 2]))):
        rows = [tree.labelled(node) for node in nodes.tolist()]
        logs = np.log([[2 * own.size, points[own].var(axis=0, ddof=1).sum()] for own in rows])
        np.testing.assert_allclose(like.mean[level], logs.mean(axis=0))
        squares = np.square(logs - logs.mean(axis=0)).sum(axis=0) + BORROWED * DEVIATION**2
        expected = np.sqrt(squares / (len(logs) - 1 + BORROWED))
        np.testing.assert_allclose(like.deviation[level], expected)


def test_the_score_is_largest_at_the_usual_node_and_infinite_where_none_is_known() -> None:
    tree, points = known_tree(0)
    like = Resemblance.of(tree, points, 0.5)
    size, variance = np.exp(like.mean[1])
    factor = np.array([0.5, 1.0, 2.0])
    assert like.score(1, factor * size, np.full(3, variance)).argmax() == 1
    assert like.score(1, np.full(3, size), factor * variance).argmax() == 1
    like.mean[0] = np.nan
    assert (like.score(0, factor, factor) == -np.inf).all()
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

"""The tree itself: its invariants, one broken at a time, and its derived columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from models.errors import InvalidTree
from models.tree.build import from_parents
from models.tree.tree import Tree
from tests.models.tree.strategies_kit import SMALL_TREES, chain, random_tree, under


@pytest.fixture
def tree() -> Tree:
    #     0
    #    / \
    #   1   4      points 0, 1 in 2; point 2 in 3; none in 4
    #  / \
    # 2   3
    return from_parents([-1, 0, 1, 1, 0], [3, 1, 0, 0, 0], list("rabcd"), [2, 2, 3])


def test_columns_of_a_small_tree(tree: Tree) -> None:
    assert tree.n_nodes == 5
    assert tree.n_points == 3
    assert tree.leaves.tolist() == [2, 3, 4]
    assert tree.size.tolist() == [3, 3, 2, 1, 0]
    assert tree.depth.tolist() == [0, 1, 2, 2, 1]
    start, child = tree.children
    assert [child[start[v] : start[v + 1]].tolist() for v in range(5)] == [
        [1, 4],
        [2, 3],
        [],
        [],
        [],
    ]


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("parent", [0, 0, 1, 1, 0], "Node 0 must be the root"),
        ("parent", [-1, 2, 1, 1, 0], "Node 1 has parent 2"),
        ("parent", [-1, 0, -1, 1, 0], "Node 2 has parent -1"),
        ("height", [3, np.nan, 0, 0, 0], "height of node 1 is not finite"),
        ("height", [3, 1, 2, 0, 0], "Node 2 lies higher"),
        ("height", [3, 1, 0, 0], "Column 'height' has 4 rows"),
        ("size", [3, 3, 1, 1, 0], "size of node 2"),
        ("leaf_of_point", [2, 1, 3], "Point 1 lies in node 1"),
        ("leaf_of_point", [2, 2, 5], "node 5: no such node"),
        ("leaf_of_point", [2, -1, 3], "node -1: no such node"),
    ],
)
def test_each_invariant_is_checked(tree: Tree, column: str, value: list[float], says: str) -> None:
    broken = replace(tree, **{column: np.array(value, dtype=getattr(tree, column).dtype)})
    with pytest.raises(InvalidTree, match=says):
        broken.validate()


def test_a_partition_is_not_deep(tree: Tree) -> None:
    with pytest.raises(InvalidTree, match="depth one"):
        replace(tree, kind="partition").validate()


def test_extra_columns_have_a_row_for_each_node(tree: Tree) -> None:
    with pytest.raises(InvalidTree, match="'score' has 2 rows"):
        replace(tree, extra={"score": np.zeros(2)}).validate()


def test_the_number_of_small_trees_is_the_known_one() -> None:
    # Schröder's fourth problem for unlabelled leaves: 1, 1, 2, 5, 12, 33, 90.
    counts = np.bincount([tree.n_leaves for tree in SMALL_TREES])
    assert counts.tolist() == [0, 1, 1, 2, 5, 12, 33, 90]


@given(random_tree(names=None, monotone=False))
def test_derived_columns_are_the_literal_ones(tree: Tree) -> None:
    inside = under(tree)
    for node in range(tree.n_nodes):
        assert tree.size[node] == sum(leaf in inside[node] for leaf in tree.leaf_of_point.tolist())
        up, depth = node, 0
        while up:
            up, depth = int(tree.parent[up]), depth + 1
        assert tree.depth[node] == depth
        assert tree.n_children[node] == (tree.parent == node).sum()
    tree.validate()


def test_depth_of_a_chain_of_a_hundred_thousand() -> None:
    tree = chain(100_000)
    assert tree.max_depth == 99_999

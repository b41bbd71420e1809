"""The trees on the sides of a heatmap, against the paths to the root and the merges themselves."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.heatmaps.drawing import tips_of
from models.heatmaps.heatmap import joins_of_merges, joins_of_tree
from models.tree.tree import Tree
from models.tree.walk import path
from tests.models.tree.strategies_kit import random_tree

with_points = random_tree(min_leaves=2).filter(lambda tree: tree.n_points > 0)


@given(with_points, st.integers(1, 6))
def test_each_node_above_rows_joins_what_lies_under_it(tree: Tree, k: int) -> None:
    for cut in (None, {"k": min(k, tree.n_leaves)}):
        rows = tips_of(tree, cut)[0].node
        above: dict[int, set[int]] = {}
        for row in rows.tolist():
            for node, child in zip(path(tree, row)[:-1], path(tree, row)[1:], strict=True):
                above.setdefault(int(node), set()).add(int(child))
        joins = joins_of_tree(tree, rows)
        assert len(joins) == len(above)
        # Children come before parents, and a parent has a lower number.
        for join, node in zip(joins, sorted(above, reverse=True), strict=True):
            heights = sorted(tree.height[child] for child in above[node])
            assert join.height == tree.height[node]
            assert sorted(height for _, height in join.feet) == heights
        middles = {join.middle for join in joins} | {at + 0.5 for at in range(rows.size)}
        assert {at for join in joins for at, _ in join.feet} <= middles


def test_columns_are_joined_as_their_merges_say() -> None:
    merges = np.array([[0, 1, 1.0], [2, 3, 2.0]])
    #  ┌──┴──┐   2
    # ┌┴┐    │   1
    # 0 1    2
    first, second = joins_of_merges(3, merges)
    assert (first.height, first.feet) == (1.0, ((0.5, 0.0), (1.5, 0.0)))
    assert (second.height, second.feet) == (2.0, ((1.0, 1.0), (2.5, 0.0)))
    assert joins_of_merges(1, []) == []

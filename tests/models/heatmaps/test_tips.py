"""The rows of a heatmap, against paths to the root."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import UsageError
from models.heatmaps import tips as tips_module
from models.heatmaps.tips import largest_groups, meetings, tips_of
from models.tree.leaf_ranges import spans
from models.tree.linkage import from_scipy
from models.tree.tree import Tree
from models.tree.walk import path
from tests.models.tree.strategies_kit import random_tree

LINKAGE = [[at, at + 1, at + 1.0, 2] for at in (0, 2, 4, 6)] + [
    *([8, 9, 8, 4], [10, 11, 9, 4], [12, 13, 10, 8])
]

with_points = random_tree(min_leaves=2).filter(lambda tree: tree.n_points > 0)


@given(with_points, st.integers(1, 12))
def test_points_lie_under_their_tip_and_tips_from_left_to_right(tree: Tree, k: int) -> None:
    for cut in (None, {"k": min(k, tree.n_leaves)}):
        tips, _ = tips_of(tree, cut)
        start = spans(tree).start[tips.node]
        assert (np.diff(start) > 0).all()
        for leaf, at in zip(tree.leaf_of_point.tolist(), tips.of_point.tolist(), strict=True):
            (over,) = np.flatnonzero(np.isin(tips.node, path(tree, leaf)))
            assert over == at
        assert (np.bincount(tips.of_point) == tree.size[tips.node]).all()
        groups = largest_groups(tree, tips, 4)
        assert groups.node.size <= 4
        assert set(range(groups.node.size)) <= set(groups.of_point.tolist())


@given(with_points)
def test_neighbours_meet_at_their_lowest_common_ancestor(tree: Tree) -> None:
    tips, _ = tips_of(tree, None)
    meets = meetings(tree, tips)
    assert meets.shape == (tips.node.size - 1, 2)
    for at, (left, right) in enumerate(zip(tips.node[:-1], tips.node[1:], strict=True)):
        common = [node for node in path(tree, left).tolist() if node in path(tree, right)]
        assert meets[at].tolist() == [common[-1], tree.height[common[-1]]]


def test_more_leaves_than_rows_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tips_module, "MOST_ROWS", 4)
    tree = from_scipy(np.array(LINKAGE))
    tips, (note,) = tips_of(tree, None)
    assert tips.node.size <= 4
    assert f"The tree has {tree.n_leaves} leaves; {tips.node.size} rows are shown" in note
    with pytest.raises(UsageError, match="a heatmap has at most 4 rows"):
        tips_of(tree, {"k": 6})

"""Clusters without their points are those of `cut`."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import UsageError
from models.tree.clusters import clusters
from models.tree.cut import cut
from models.tree.tree import Tree
from tests.models.tree.strategies_kit import random_tree
from tests.models.tree.trees_kit import FOUR


@given(
    st.one_of(random_tree(whole_heights=True), random_tree(monotone=False)),
    st.integers(1, 12),
    st.floats(-1, 6),
    st.integers(0, 6),
)
def test_as_with_points(tree: Tree, k: int, height: float, level: int) -> None:
    for asked in ({"k": min(k, tree.n_leaves)}, {"height": height}, {"level": level}, {}):
        found, whole = clusters(tree, **asked), cut(tree, **asked)  # type: ignore[arg-type]
        assert found.nodes.tolist() == whole.nodes.tolist()
        assert found.warning == whole.warning
        assert found.n_clusters == whole.n_clusters
        if "height" in asked:
            assert found.heights is not None
            low, below = found.heights
            assert low is None or low <= height
            assert below is None or height < below
        if found.heights is not None:
            low, below = found.heights
            for edge in (low, None if below is None else np.nextafter(below, -math.inf)):
                if edge is not None:
                    points = cut(tree, height=float(edge)).cluster_of_point
                    assert points.tolist() == whole.cluster_of_point.tolist()
            if below is not None and tree.n_points == tree.n_leaves:
                assert cut(tree, height=below).n_clusters <= whole.n_clusters


@given(random_tree(whole_heights=True))
def test_a_cut_that_a_height_gives_says_so(tree: Tree) -> None:
    for height in np.unique(tree.height).tolist():
        nodes = clusters(tree, height=height).nodes
        found = clusters(tree, k=nodes.size)
        if found.nodes.tolist() == nodes.tolist():
            assert found.heights is not None


#      0        heights 3, 2, 1 and leaves at 0
#     /  \
#    1    2
#   / \  / \
#  3  4 5   6


@pytest.mark.parametrize(
    ("k", "nodes", "heights"),
    [
        (1, [0], (3.0, None)),
        (2, [1, 2], (2.0, 3.0)),
        (3, [2, 3, 4], (1.0, 2.0)),
        (4, [3, 4, 5, 6], (None, 1.0)),
    ],
)
def test_heights(k: int, nodes: list[int], heights: tuple[float | None, float | None]) -> None:
    found = clusters(FOUR, k=k)
    assert (found.nodes.tolist(), found.heights) == (nodes, heights)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"k": 0}, "k = 0"),
        ({"k": 5}, "4 leaves"),
        ({"height": math.nan}, "finite"),
        ({"height": math.inf}, "finite"),
        ({"level": -1}, "level is -1"),
        ({"k": 2, "height": 1.0}, "k and height"),
    ],
)
def test_refused(asked: dict[str, float], said: str) -> None:
    with pytest.raises(UsageError, match=said) as error:
        clusters(FOUR, **asked)  # type: ignore[arg-type]
    assert error.value.code == "wrong-cut"

"""Clusters without their points equal the clusters of `cut`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import UsageError
from models.tree.cut import clusters, cut
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
    cuts: list[dict[str, Any]] = [
        {"k": min(k, tree.n_leaves)},
        {"height": height},
        {"level": level},
        {},
    ]
    for requested in cuts:
        listed, whole = clusters(tree, **requested), cut(tree, **requested)
        assert listed.nodes.tolist() == whole.nodes.tolist()
        assert listed.warning == whole.warning
        assert listed.n_clusters == whole.n_clusters
        if "height" in requested:
            assert listed.heights is not None
            low, below = listed.heights
            assert low is None or low <= height
            assert below is None or height < below
        if listed.heights is not None:
            low, below = listed.heights
            for edge in (low, None if below is None else np.nextafter(below, -math.inf)):
                if edge is not None:
                    points = cut(tree, height=float(edge)).cluster_of_point
                    assert points.tolist() == whole.cluster_of_point.tolist()
            if below is not None and tree.n_points == tree.n_leaves:
                assert cut(tree, height=below).n_clusters <= whole.n_clusters


@given(random_tree(whole_heights=True))
def test_a_cut_reports_the_height_that_gives_it(tree: Tree) -> None:
    for height in np.unique(tree.height).tolist():
        nodes = clusters(tree, height=height).nodes
        listed = clusters(tree, k=nodes.size)
        if listed.nodes.tolist() == nodes.tolist():
            assert listed.heights is not None


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
    listed = clusters(FOUR, k=k)
    assert (listed.nodes.tolist(), listed.heights) == (nodes, heights)


@pytest.mark.parametrize(
    ("requested", "part"),
    [
        ({"k": 0}, "k = 0"),
        ({"k": 5}, "4 leaves"),
        ({"height": math.nan}, "finite"),
        ({"height": math.inf}, "finite"),
        ({"level": -1}, "level is -1"),
        ({"k": 2, "height": 1.0}, "k and height"),
    ],
)
def test_refused(requested: dict[str, Any], part: str) -> None:
    with pytest.raises(UsageError, match=part) as error:
        clusters(FOUR, **requested)
    assert error.value.code == "wrong-cut"

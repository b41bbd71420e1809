"""Points that selected one node, joined by average linkage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.methods.hyperbolic.ball import extraction as merging
from models.methods.hyperbolic.ball.extraction import (
    BallTree,
    leaf_merges,
    merge_warnings,
    merged_tree,
)
from models.running.progress import silent
from models.tree.build import from_parents


def two_groups(leaf_of_point: np.ndarray) -> BallTree:
    """A root with the leaves 1 and 2."""
    columns = {
        "norm": np.array([0.1, 1.0, 2.0]),
        "parent_probability": np.array([np.nan, 0.5, 0.6]),
        "alternative_1": np.array([-1, -1, 0]),
    }
    heights = np.array([1.0, 0.0, 0.0])
    tree = from_parents(
        np.array([-1, 0, 0]), heights, [None, "0", "1"], leaf_of_point, extra=columns
    )
    probability = np.linspace(0.1, 0.9, len(leaf_of_point))
    nodes = np.zeros((3, 2), dtype=np.float32)
    return BallTree(tree, nodes, np.array([-1, 1, 2]), probability, 0.0, 0)


# Points 0, 1, 3 selected node 1, where 0 and 3 are nearest; point 2 selected node 2.
#
#      0              0
#     / \            / \
#    1   2   ->     1   2
#                  / \
#                 3   5 (point 1)
#                / \
#      (point 0) 4   6 (point 3)
def test_points_of_a_leaf_are_joined_nearest_first() -> None:
    points = np.array([[0.5, 0.0], [0.0, 0.5], [-0.5, 0.0], [0.5, 0.1]], dtype=np.float32)
    ball_tree = two_groups(np.array([1, 1, 2, 1]))
    merges = leaf_merges(ball_tree, points, silent)
    assert merges.leaf.tolist() == [4, 5, 2, 6]
    assert merges.parent.tolist() == [-1, 0, 0, 1, 3, 1, 3]

    def distance(i: int, j: int) -> float:
        a, b = points[i].astype(np.float64), points[j].astype(np.float64)
        return float(np.arccosh(1 + 2 * (a - b) @ (a - b) / ((1 - a @ a) * (1 - b @ b))))

    assert merges.height[3] == pytest.approx(distance(0, 3) / 2)
    assert merges.height[1] == pytest.approx((distance(0, 1) + distance(1, 3)) / 4)
    assert merges.height[0] == pytest.approx(max(1.0, merges.height[1]))
    assert merges.height[[2, 4, 5, 6]].tolist() == [0, 0, 0, 0]
    norm = 2 * np.arctanh(np.linalg.norm(points.astype(np.float64), axis=1))
    assert merges.columns["norm"][[4, 5, 6]] == pytest.approx(norm[[0, 1, 3]])
    assert np.isnan(merges.columns["norm"][3])
    probability = ball_tree.probability[[0, 1, 3]]
    assert merges.columns["parent_probability"][[4, 5, 6]] == pytest.approx(probability)
    assert merges.columns["alternative_1"].tolist() == [-1, -1, 0, -1, -1, -1, -1]
    tree = merged_tree(merges)
    assert tree.name.tolist() == [None, None, "0", None, "1", "2", "3"]
    assert not merge_warnings(merges)


def naive_sets(points: np.ndarray) -> set[frozenset[int]]:
    """The sets of average linkage of hyperbolic distances, by the definition."""
    wide = points.astype(np.float64)
    squares = ((wide[:, None] - wide) ** 2).sum(axis=2)
    gap = 1 - (wide**2).sum(axis=1)
    apart = np.arccosh(1 + 2 * squares / (gap[:, None] * gap))
    parts = [frozenset([number]) for number in range(len(points))]
    joined = set(parts)
    while len(parts) > 1:
        mean = {
            (a, b): apart[np.ix_(sorted(a), sorted(b))].mean()
            for at, a in enumerate(parts)
            for b in parts[at + 1 :]
        }
        a, b = min(mean, key=lambda pair: mean[pair])
        parts = [part for part in parts if part not in (a, b)] + [a | b]
        joined.add(a | b)
    return joined


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 12), st.integers(0, 10_000))
def test_sets_are_those_of_average_linkage(n_points: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n_points, 3))
    points *= rng.uniform(0.1, 0.95, (n_points, 1)) / np.linalg.norm(points, axis=1, keepdims=True)
    points = points.astype(np.float32)
    leaf_of_point = 1 + (rng.permutation(n_points) >= n_points // 2)
    tree = merged_tree(leaf_merges(two_groups(leaf_of_point), points, silent))
    below: dict[int, set[int]] = {node: set() for node in range(tree.n_nodes)}
    for point, leaf in enumerate(tree.leaf_of_point.tolist()):
        node = leaf
        while node >= 0:
            below[node].add(point)
            node = int(tree.parent[node])
    expected = {frozenset(range(n_points))}
    for group in (1, 2):
        members = np.flatnonzero(leaf_of_point == group)
        expected |= {frozenset(members[sorted(s)].tolist()) for s in naive_sets(points[members])}
    assert {frozenset(points) for points in below.values()} == expected
    assert tree.n_leaves == n_points


def test_equal_points_are_joined_at_height_0() -> None:
    points = np.full((5, 2), 0.3, dtype=np.float32)
    merges = leaf_merges(two_groups(np.array([1, 1, 1, 2, 2])), points, silent)
    tree = merged_tree(merges)
    assert tree.n_leaves == 5
    assert tree.height.tolist() == [1.0] + [0.0] * (tree.n_nodes - 1)


def test_a_group_that_is_too_large_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "MOST", 2)
    points = np.full((5, 2), 0.3, dtype=np.float32)
    merges = leaf_merges(two_groups(np.array([1, 2, 1, 2, 1])), points, silent)
    # Points 0, 2, 4 below node 1, then 1, 3 below node 2.
    assert merges.parent.tolist() == [-1, 0, 0, 1, 1, 1, 2, 2]
    assert merges.leaf.tolist() == [3, 6, 4, 7, 5]
    (warning,) = merge_warnings(merges)
    assert "1 node(s)" in warning

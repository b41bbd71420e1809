"""The points within an outline, and the nodes that fit them, against literal counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.arrays import Array
from models.maps.selection import best_fits, inside
from models.tree.tree import Tree
from models.tree.walk import path
from tests.models.tree.strategies_kit import random_tree


def crossings(x: float, y: float, outline: Array) -> int:
    """How often a ray from the point towards larger x crosses the outline."""
    n_crossings = 0
    for (x0, y0), (x1, y1) in zip(outline, np.roll(outline, -1, axis=0), strict=True):
        if (y0 <= y < y1) or (y1 <= y < y0):
            n_crossings += x < x0 + (y - y0) * ((x1 - x0) / (y1 - y0))
    return n_crossings


def under(tree: Tree, node: int) -> set[int]:
    """The points under a node, by the path of each."""
    leaves = enumerate(tree.leaf_of_point.tolist())
    return {point for point, leaf in leaves if node in path(tree, leaf)}


@given(st.integers(3, 12), st.integers(0, 10_000), st.booleans())
def test_points_within_an_outline(n_corners: int, seed: int, on_a_grid: bool) -> None:
    rng = np.random.default_rng(seed)
    # On a grid, points lie at the height of corners and on edges.
    points = rng.integers(0, 5, (40, 2)) if on_a_grid else rng.uniform(0, 4, (40, 2))
    outline = rng.integers(0, 5, (n_corners, 2)).astype(np.float64)
    expected = [crossings(x, y, outline) % 2 == 1 for x, y in points.tolist()]
    assert inside(points.astype(np.float32), outline).tolist() == [
        crossings(x, y, outline) % 2 == 1 for x, y in points.astype(np.float32).tolist()
    ]
    if on_a_grid:
        assert inside(points.astype(np.float32), outline).tolist() == expected


def test_an_outline_without_area_holds_nothing() -> None:
    assert not inside(np.ones((3, 2), np.float32), np.ones((4, 2))).any()


@given(random_tree(), st.integers(0, 10_000))
def test_the_best_nodes_are_those_of_largest_f1(tree: Tree, seed: int) -> None:
    selected = np.random.default_rng(seed).random(tree.n_points) < 0.4
    chosen = set(np.flatnonzero(selected).tolist())
    expected = []
    for node in range(tree.n_nodes):
        points = under(tree, node)
        both = len(points & chosen)
        if both:
            f1 = 2 * both / (len(points) + len(chosen))
            expected.append((-f1, len(points), node, both))
    fits = best_fits(tree, selected, 3)
    assert [fit.node for fit in fits] == [node for _, _, node, _ in sorted(expected)[:3]]
    for fit, (f1, size, _, both) in zip(fits, sorted(expected), strict=False):
        assert fit.n_both == both
        assert fit.f1 == pytest.approx(-f1)
        assert fit.purity == pytest.approx(both / size)
        assert fit.recall == pytest.approx(both / len(chosen))
        assert fit.jaccard == pytest.approx(both / (size + len(chosen) - both))

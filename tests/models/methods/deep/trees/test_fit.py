"""What a fit makes of a trained tree: heights, warnings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.methods.deep.trees.fit import _late_fall, inertia_of_nodes


@given(st.integers(0, 2**32 - 1))
def test_inertia_is_the_sum_of_squares_about_the_mean_and_never_falls(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parent = [-1]
    for _ in range(rng.integers(0, 8)):
        leaves = sorted(set(range(len(parent))) - set(parent))
        parent += [int(rng.choice(leaves))] * 2
    leaves = sorted(set(range(len(parent))) - set(parent))
    leaf = rng.choice(leaves, size=rng.integers(1, 30))
    points = (1e4 * rng.normal(size=3) + rng.normal(size=(len(leaf), 3))).astype(np.float32)
    inertia = inertia_of_nodes(np.array(parent), leaf, points)
    for node in range(len(parent)):
        inside = []
        for row, own in enumerate(leaf.tolist()):
            while own not in (node, -1):
                own = parent[own]
            if own == node:
                inside.append(points[row].astype(np.float64))
        expected = np.square(np.array(inside) - np.mean(inside, axis=0)).sum() if inside else 0.0
        assert inertia[node] == pytest.approx(expected, rel=1e-6, abs=1e-9)
        assert node == 0 or inertia[node] <= inertia[parent[node]]


def test_the_late_fall_is_that_of_the_last_fifth() -> None:
    assert _late_fall([]) == 0
    assert _late_fall([3.0, 2.0, 1.0, 0.5]) == 0
    assert _late_fall([5.0, 5.0, 4.0, 3.0, 2.0, 2.0, 2.0, 2.0, 1.5, 1.0]) == 0.25
    assert _late_fall([1.0, 5.0, 4.0, 4.0, 3.0]) == 0.5  # it rose when the tree began
    assert _late_fall([1.0] * 20) == 0
    assert _late_fall([1.0, 2.0, 3.0, 4.0, 5.0]) == 0

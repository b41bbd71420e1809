"""P-values of silhouettes: coordinates of references, planted groups, points without structure."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist, squareform

from models.levels.silhouette_chance import p_values, principal_coordinates

RNG = np.random.default_rng(0)
GROUPS = np.repeat(8.0 * np.eye(3), 30, axis=0) + RNG.normal(size=(90, 3))


@pytest.mark.parametrize("n_features", [1, 3, 60])
def test_coordinates_have_the_distances_along_axes_of_decreasing_variance(n_features: int) -> None:
    points = np.random.default_rng(1).normal(size=(20, n_features)) * np.arange(1, n_features + 1)
    apart = squareform(pdist(points))
    placed = principal_coordinates(apart)
    np.testing.assert_allclose(squareform(pdist(placed)), apart, atol=1e-8)
    assert placed.shape[1] == min(n_features, 19)
    np.testing.assert_allclose(placed.mean(axis=0), 0.0, atol=1e-10)
    scatter = placed.T @ placed
    np.testing.assert_allclose(scatter, np.diag(np.diag(scatter)), atol=1e-6)
    values = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[: placed.shape[1]]
    np.testing.assert_allclose(np.sort(np.diag(scatter))[::-1], values**2)


def test_planted_groups_are_significant() -> None:
    known = dict(p_values(90, GROUPS, [(3, 0.8), (30, 0.1)]))
    assert known[3] < 0.001
    assert known[30] > 0.5
    of_sparse = p_values(90, sparse.csr_array(GROUPS), [(3, 0.8)])
    assert dict(of_sparse)[3] == pytest.approx(known[3], rel=1e-6)


def test_chance_is_not() -> None:
    # The silhouettes of a square's quarters, and of the halves of a segment.
    rng = np.random.default_rng(2)
    assert p_values(300, rng.random((300, 2)), [(4, 0.40)])[0][1] > 0.05
    assert p_values(300, rng.random((300, 1)), [(2, 0.62)])[0][1] > 0.05


def test_the_same_points_have_the_same_p_values() -> None:
    curve = [(2, 0.5), (5, 0.4)]
    assert p_values(90, GROUPS, curve) == p_values(90, GROUPS, curve)


def test_few_or_equal_points() -> None:
    assert p_values(5, GROUPS[:5], [(2, 0.9)]) == []
    assert p_values(90, GROUPS, []) == []
    assert p_values(9, np.ones((9, 2)), [(2, 0.0)]) == [(2, 1.0)]

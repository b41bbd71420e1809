"""Valleys between clusters: the counts by coordinates, and data whose silhouettes mislead.

P-values of silhouettes: coordinates of references, planted groups, points without structure.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist, pdist, squareform

from models.arrays import Float
from models.inputs.data import Data
from models.levels import silhouette
from models.levels.silhouette import (
    FEWEST_POINTS,
    NEAR,
    counts,
    of_valleys,
    p_values_by_chance,
    principal_coordinates,
)
from models.levels.suggested_cuts import P_VALUE, Level, candidates, levels
from models.registry import method
from models.tree.tree import Tree

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
    known = dict(p_values_by_chance(90, GROUPS, [(3, 0.8), (30, 0.1)]))
    assert known[3] < 0.001
    assert known[30] > 0.5
    of_sparse = p_values_by_chance(90, sparse.csr_array(GROUPS), [(3, 0.8)])
    assert dict(of_sparse)[3] == pytest.approx(known[3], rel=1e-6)


def test_chance_is_not() -> None:
    # The silhouettes of a square's quarters, and of the halves of a segment.
    rng = np.random.default_rng(2)
    assert p_values_by_chance(300, rng.random((300, 2)), [(4, 0.40)])[0][1] > 0.05
    assert p_values_by_chance(300, rng.random((300, 1)), [(2, 0.62)])[0][1] > 0.05


def test_the_same_points_have_the_same_p_values() -> None:
    curve = [(2, 0.5), (5, 0.4)]
    assert p_values_by_chance(90, GROUPS, curve) == p_values_by_chance(90, GROUPS, curve)


def test_few_or_equal_points() -> None:
    assert p_values_by_chance(5, GROUPS[:5], [(2, 0.9)]) == []
    assert p_values_by_chance(90, GROUPS, []) == []
    assert p_values_by_chance(9, np.ones((9, 2)), [(2, 0.0)]) == [(2, 1.0)]


N = 300


def naive(points: Float, cluster: np.ndarray) -> tuple[int, int]:
    means = np.array([points[cluster == name].mean(axis=0) for name in np.unique(cluster)])
    apart = cdist(means, means)
    np.fill_diagonal(apart, np.inf)
    pairs = {frozenset((a, int(apart[a].argmin()))) for a in range(len(means))}
    middle = sides = 0
    for a, b in map(sorted, pairs):
        if min(np.sum(cluster == a), np.sum(cluster == b)) < FEWEST_POINTS:
            continue
        line, near = (means[b] - means[a]) / 2, {-1: 0, 0: 0, 1: 0}
        for point in points[(cluster == a) | (cluster == b)]:
            place = (point - (means[a] + means[b]) / 2) @ line / (line @ line)
            for at in near:
                near[at] += abs(place - at) < NEAR
        middle += near[0]
        sides += min(near[-1], near[1])
    return middle, sides


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_by_coordinates(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(80, 3)) + 3.0 * rng.integers(3, size=(80, 1))
    cluster = np.r_[np.arange(12), rng.integers(9, size=68)]
    assert counts(cdist(points, points) ** 2, cluster) == naive(points, cluster)


def test_few_points_are_no_valley() -> None:
    assert of_valleys(0, 0) == 1.0
    assert of_valleys(0, 9) < 0.01 < of_valleys(0, 8) < of_valleys(7, 10)
    equal = np.zeros((12, 12))
    assert counts(equal, np.arange(12) % 2) == (0, 0)


def circle(rng: np.random.Generator) -> Float:
    angle = 2.0 * np.pi * rng.random(N)
    return np.c_[np.cos(angle), np.sin(angle)] + rng.normal(scale=0.05, size=(N, 2))


def circles(rng: np.random.Generator) -> Float:
    from sklearn.datasets import make_circles

    points, _ = make_circles(N, noise=0.05, factor=0.5, random_state=int(rng.integers(1000)))
    return np.asarray(points, dtype=np.float64)


def counted(rng: np.random.Generator) -> Float:
    """Counts of 50 words of very different frequency, far more scattered than Poisson's."""
    return rng.negative_binomial(0.3, 0.02, size=(N, 50)).astype(np.float64)


def heavy(rng: np.random.Generator) -> Float:
    return rng.zipf(1.6, size=(N, 20)).clip(max=10_000).astype(np.float64)


def grouped(share: tuple[float, ...]) -> Float:
    rng = np.random.default_rng(0)
    centres = 7.0 * np.eye(len(share), 3)
    return centres[rng.choice(len(share), N, p=share)] + rng.normal(size=(N, 3))


def fitted(points: Float, linkage: str) -> tuple[Tree, list[tuple[int, float]]]:
    hac = method("hac")
    tree = hac.fit(Data({"features": points}), hac.Params(linkage=linkage)).tree
    return tree, silhouette.curve(tree, points)


def suggested(points: Float, linkage: str) -> list[Level]:
    tree, curve = fitted(points, linkage)
    p_values = silhouette.p_values(tree, points, candidates(tree, curve))
    return levels(tree, {"silhouette": curve, f"silhouette{P_VALUE}": p_values})


@pytest.mark.parametrize("linkage", ["average", "ward", "complete"])
@pytest.mark.parametrize("draw", [circle, circles, counted, heavy])
def test_silhouettes_of_what_is_merely_cut_up_are_no_levels(draw, linkage: str) -> None:  # type: ignore[no-untyped-def]
    points = draw(np.random.default_rng(3))
    tree, curve = fitted(points, linkage)
    by_chance = silhouette.p_values_by_chance(N, points, candidates(tree, curve))
    assert min(p for _, p in by_chance) < 0.05, "chance alone would suggest them"
    assert "silhouette" not in {level.criterion for level in suggested(points, linkage)}


def test_two_circles_are_two_by_single_linkage() -> None:
    points = circles(np.random.default_rng(0))
    found = suggested(points, "single")
    assert [(level.k, level.criterion) for level in found] == [(2, "gap")]


@pytest.mark.parametrize("share", [(0.4, 0.3, 0.3), (0.8, 0.1, 0.1)])
@pytest.mark.parametrize("linkage", ["average", "ward"])
def test_groups_of_any_size_are_found(share: tuple[float, ...], linkage: str) -> None:
    (found,) = [
        level for level in suggested(grouped(share), linkage) if level.criterion == "silhouette"
    ]
    assert found.k == 3

"""Valleys between clusters: the counts by coordinates, and data whose silhouettes mislead."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from models.arrays import Float
from models.inputs.data import Data
from models.levels import silhouette, silhouette_chance, silhouette_valleys
from models.levels.silhouette_valleys import FEWEST_POINTS, NEAR, counts, of_valleys
from models.levels.suggested_cuts import P_VALUE, Level, candidates, levels
from models.registry import method
from models.tree.tree import Tree

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
    p_values = silhouette_valleys.p_values(tree, points, candidates(tree, curve))
    return levels(tree, {"silhouette": curve, f"silhouette{P_VALUE}": p_values})


@pytest.mark.parametrize("linkage", ["average", "ward", "complete"])
@pytest.mark.parametrize("draw", [circle, circles, counted, heavy])
def test_silhouettes_of_what_is_merely_cut_up_are_no_levels(draw, linkage: str) -> None:  # type: ignore[no-untyped-def]
    points = draw(np.random.default_rng(3))
    tree, curve = fitted(points, linkage)
    by_chance = silhouette_chance.p_values(N, points, candidates(tree, curve))
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

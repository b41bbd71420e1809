"""Decoding against the literal algorithm, which merges the deepest pair of groups each time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.methods.hyperbolic.leaves import decoding
from models.methods.hyperbolic.leaves.decoding import DecodedTree, Sphere, decode, depth

pytestmark = pytest.mark.needs("torch")

SPHERE = Sphere(7.6)


def naive(directions: np.ndarray) -> list[tuple[frozenset[int], float]]:
    """The groups in the order they come about, with the depth at which their parts do part.

    Over all pairs from the deepest ancestor up, as the paper's algorithm has it.
    """
    leaves = torch.from_numpy(SPHERE.norm * directions)
    n_points = len(leaves)
    one, other = np.tril_indices(n_points, -1)
    deeps = depth(leaves[one], leaves[other]).tolist()
    pairs = list(zip(deeps, one.tolist(), other.tolist(), strict=True))
    group = {point: frozenset([point]) for point in range(n_points)}
    merges = []
    for deep, i, j in sorted(pairs, reverse=True):
        if group[i] is group[j]:
            continue
        both = group[i] | group[j]
        merges.append((both, deep))
        for point in both:
            group[point] = both
    return merges


def groups(decoded: DecodedTree) -> list[frozenset[int]]:
    n_points = len(decoded.merges) + 1
    under = [frozenset([point]) for point in range(n_points)]
    for left, right in decoded.merges:
        under.append(under[left] | under[right])
    return under[n_points:]


def scattered(n_points: int, dimension: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_points, dimension))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("dimension", [2, 3, 5])
@pytest.mark.parametrize("n_points", [2, 3, 4, 30])
def test_it_is_the_greedy_tree(dimension: int, n_points: int) -> None:
    for seed in range(3):
        directions = scattered(n_points, dimension, seed)
        decoded = decode(directions)
        expected = naive(directions)
        assert groups(decoded) == [group for group, _ in expected]
        heights = SPHERE.radius - np.array([deep for _, deep in expected])
        assert decoded.heights(SPHERE) == pytest.approx(heights, abs=1e-6)


def test_on_half_a_circle_the_ends_are_not_neighbours() -> None:
    """Angles 0, 10, 30, 60, 100 degrees: ((((0 1) 2) 3) 4)."""
    angle = np.radians([0.0, 10.0, 30.0, 60.0, 100.0])
    decoded = decode(np.stack([np.cos(angle), np.sin(angle)], axis=1))
    assert groups(decoded) == [frozenset(range(n)) for n in (2, 3, 4, 5)]


def test_across_the_cut_of_angles() -> None:
    """Angles 170, -170 and 100 degrees: the first two lie 20 apart."""
    angle = np.radians([170.0, -170.0, 100.0])
    decoded = decode(np.stack([np.cos(angle), np.sin(angle)], axis=1))
    assert groups(decoded)[0] == {0, 1}


@pytest.mark.parametrize("dimension", [2, 3])
def test_leaves_at_one_place_merge_first_at_height_0(dimension: int) -> None:
    directions = np.repeat(scattered(6, dimension), 3, axis=0)
    decoded = decode(directions)
    heights = decoded.heights(SPHERE)
    assert heights[:12] == pytest.approx(0.0, abs=1e-9)
    assert heights[12] > 0.01
    assert (np.diff(heights) >= 0).all()
    assert {frozenset(range(3 * n, 3 * n + 3)) for n in range(6)} <= set(groups(decoded))


@pytest.mark.parametrize("twice", [False, True])
def test_many_leaves_merge_along_a_graph_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, twice: bool
) -> None:
    directions = scattered(60, 3)
    if twice:
        directions = np.concatenate([directions, directions[::2]])
    exact = decode(directions)
    monkeypatch.setattr(decoding, "EXACT_POINTS", 10)
    decoded = decode(directions)
    assert decoded.warnings[0].startswith("The tree was decoded along the graph")
    assert set(groups(decoded)[-59:]) == set(groups(exact)[-59:])
    assert decoded.heights(SPHERE) == pytest.approx(exact.heights(SPHERE), abs=1e-6)


def test_a_chain_of_many_leaves_is_decoded() -> None:
    angle = np.geomspace(1e-6, 3.0, 20_000)
    decoded = decode(np.stack([np.cos(angle), np.sin(angle)], axis=1))
    assert len(np.unique(decoded.merges)) == 2 * 19_999

"""Where nodes start: norms, midpoints, and draws that are far apart."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.methods.hyperbolic.ball import seeding
from models.methods.hyperbolic.ball.parameters import Placement, SeedDraw, SeedingEffort
from models.methods.hyperbolic.ball.seeding import (
    by_midpoint,
    by_order,
    n_seeds,
    seed_merges,
    start_nodes,
)
from models.running.progress import silent
from tests.models.methods.hyperbolic.ball import equations_kit as equations

DRAWS: tuple[SeedDraw, ...] = ("k-means", "k-means++", "afk-mc2", "random", "points")


def on_sphere(n: int, n_features: int, seed: int = 0, radius: float = 0.9) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=(n, n_features))
    return radius * values / np.linalg.norm(values, axis=1, keepdims=True)


def started(
    points: np.ndarray, n_nodes: int, draw: SeedDraw, placement: Placement, max_norm: float
) -> np.ndarray:
    effort = SeedingEffort(n_nodes, 1, draw, placement, 0.9, max_norm)
    first, rng = np.arange(len(points)), np.random.default_rng(0)
    return start_nodes(points, first, n_nodes, effort, rng, silent)


@pytest.mark.parametrize("n_nodes", [3, 4, 7, 64, 65])
def test_seeds_and_merges_make_all_nodes(n_nodes: int) -> None:
    points = on_sphere(80, 3).astype(np.float32)
    for drawn in DRAWS:
        for placement in ("order", "midpoint"):
            nodes = started(points, n_nodes, drawn, placement, max_norm=0.8)
            assert nodes.shape == (n_nodes, 3)
            assert nodes.dtype == np.float32
            assert np.isfinite(nodes).all()
            assert (np.linalg.norm(nodes, axis=1) <= 0.8 + 1e-6).all()


def test_order_places_the_jth_merge_at_its_norm() -> None:
    seeds = on_sphere(9, 4)
    merges = seed_merges(seeds)
    nodes = by_order(seeds, merges)
    assert np.linalg.norm(nodes[:9], axis=1) == pytest.approx(1.0)
    under: list[list[int]] = [[seed] for seed in range(9)]
    for j, (a, b) in enumerate(merges.tolist(), 1):
        under.append(under[a] + under[b])
        mean = seeds[under[-1]].mean(axis=0)
        expected = mean / np.linalg.norm(mean) * math.log(9 - j) / math.log(9)
        assert nodes[8 + j] == pytest.approx(expected, abs=1e-12)
    assert (nodes[-1] == 0).all()


def test_a_seed_left_over_is_joined_by_no_merge() -> None:
    seeds = on_sphere(5, 3)
    merges = seed_merges(seeds[:4])
    nodes = by_order(seeds, merges)
    assert nodes[:5] == pytest.approx(seeds / 0.9)
    assert nodes[5:] == pytest.approx(by_order(seeds[:4], merges)[4:])
    assert (n_seeds(8), n_seeds(7), n_seeds(3)) == (4, 4, 2)


def test_the_midpoint_of_two_points_of_one_norm_is_halfway() -> None:
    points = np.array([[0.7, 0.0, 0.0], [0.0, 0.7, 0.0]])
    middle = by_midpoint(points, points[:1], np.empty((0, 2), dtype=np.int64))[0]
    to_first, to_second = (equations.distance(middle, point) for point in points)
    assert to_first == pytest.approx(to_second)
    assert to_first + to_second == pytest.approx(equations.distance(*points))


def test_midpoints_are_those_of_the_points_under_them() -> None:
    rng = np.random.default_rng(1)
    points = on_sphere(40, 3) * rng.uniform(0.2, 1.0, size=(40, 1))
    seeds = points[:4]
    merges = seed_merges(seeds)
    midpoints = by_midpoint(points, seeds, merges)
    nearest = [min(range(4), key=lambda s: np.linalg.norm(p - seeds[s])) for p in points]
    under: list[list[int]] = [[seed] for seed in range(4)]
    for a, b in merges.tolist():
        under.append(under[a] + under[b])
    for node, own in enumerate(under):
        inside = points[[point for point, seed in enumerate(nearest) if seed in own]]
        klein = [2 * x / (1 + x @ x) for x in inside]
        gamma = [1 / math.sqrt(1 - k @ k) for k in klein]
        k = sum(g * one for g, one in zip(gamma, klein, strict=True)) / sum(gamma)
        assert midpoints[node] == pytest.approx(k / (1 + math.sqrt(1 - k @ k)), abs=1e-8)


def test_close_points_have_their_node_further_out() -> None:
    spread = on_sphere(50, 3, seed=2)
    close = spread[:1] + 0.01 * on_sphere(50, 3, seed=3)
    close *= 0.9 / np.linalg.norm(close, axis=1, keepdims=True)
    none = np.empty((0, 2), dtype=np.int64)
    near, far = (by_midpoint(points, points[:1], none)[0] for points in (close, spread))
    assert np.linalg.norm(far) < 0.2 < 0.8 < np.linalg.norm(near) < 0.9


@pytest.mark.parametrize("drawn", ["k-means++", "afk-mc2"])
def test_draws_far_apart_leave_points_nearer_to_a_seed(drawn: str) -> None:
    rng = np.random.default_rng(0)
    middle = np.concatenate([np.zeros((500, 2)), np.repeat(50 * np.eye(2), 5, axis=0)])
    points = middle + rng.normal(size=middle.shape)
    draw = seeding._draw_far_apart if drawn == "k-means++" else seeding._draw_by_chains

    def left(number: np.ndarray) -> float:
        """Sum of squared distances to the nearest seed."""
        assert len(set(number.tolist())) == 6
        apart = points[:, None] - points[number]
        return float((apart**2).sum(axis=2).min(axis=1).sum())

    far = np.mean([left(draw(points, 6, np.random.default_rng(seed))) for seed in range(20)])
    even = np.mean([left(rng.choice(510, 6, replace=False)) for _ in range(20)])
    assert far < 0.2 * even


@pytest.mark.parametrize("drawn", DRAWS)
def test_all_points_may_be_drawn(drawn: str) -> None:
    points = on_sphere(5, 2).astype(np.float32)
    n_nodes = 5 if drawn == "points" else 9
    nodes = started(points, n_nodes, drawn, "order", max_norm=0.95)
    drawn_points = {tuple(row) for row in nodes[:5].round(4).tolist()}
    assert drawn_points == {tuple(row) for row in points.round(4).tolist()}


def test_seeds_of_many_points_come_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeding, "_LEAST_SAMPLE", 30)
    monkeypatch.setattr(seeding, "_MOST_PER_SEED", 2)
    points = on_sphere(500, 3).astype(np.float32)
    nodes = started(points, 9, "k-means++", "midpoint", max_norm=0.95)
    assert np.isfinite(nodes).all()

"""Triples, and the pools that they are drawn from."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from models.errors import UsageError
from models.inputs.rows import ArrayRows
from models.methods.hyperbolic.ball import points
from models.methods.hyperbolic.ball.points import Pools, measure_scaling, most_points
from models.methods.hyperbolic.ball.triples import PoolTriples, draw_triples
from models.running.progress import silent


def pools_of(values: np.ndarray, n_neighbors: int = 3) -> Pools:
    rows = ArrayRows(values)
    return Pools(rows, measure_scaling(rows, "largest", 0.9, silent), n_neighbors, "cpu")


def test_triples_are_a_point_a_neighbour_and_any_other() -> None:
    near = np.array([[1, 2], [0, 3], [3, 0], [2, 1], [2, 3]], dtype=np.int32)
    point, neighbour, third = draw_triples(near, 20_000, np.random.default_rng(0))
    assert ((point != neighbour) & (point != third) & (neighbour != third)).all()
    pairs = {(i, j) for i in range(5) for j in near[i].tolist()}
    counts = dict.fromkeys(pairs, 0)
    for pair in zip(point.tolist(), neighbour.tolist(), strict=True):
        counts[pair] += 1
    assert np.array(list(counts.values())) == pytest.approx(2000, rel=0.1)
    for i, j in pairs:
        of_pair = third[(point == i) & (neighbour == j)]
        assert np.bincount(of_pair, minlength=5)[[i, j]].sum() == 0
        left = [k for k in range(5) if k not in (i, j)]
        assert np.bincount(of_pair, minlength=5)[left] == pytest.approx(2000 / 3, rel=0.15)


@pytest.mark.needs("torch")
def test_the_only_pool_has_all_points_and_their_neighbours() -> None:
    values = np.random.default_rng(0).normal(size=(40, 3))
    pool = pools_of(values).draw(np.random.default_rng(0), 1, silent)
    apart = np.linalg.norm(values[:, None] - values, axis=2)
    np.fill_diagonal(apart, np.inf)
    assert (pool.near == apart.argsort(axis=1)[:, :3]).all()
    assert pool.points.shape == (40, 3)


@pytest.mark.needs("torch")
def test_points_at_one_place_are_no_neighbours_of_each_other() -> None:
    values = np.repeat(np.random.default_rng(0).normal(size=(5, 2)), 4, axis=0)
    pool = pools_of(values).draw(np.random.default_rng(0), 1, silent)
    assert pool.first.tolist() == [0, 4, 8, 12, 16]
    assert (pool.near // 4 != np.arange(20)[:, None] // 4).all()
    few = pools_of(values, n_neighbors=9).draw(np.random.default_rng(0), 1, silent)
    assert few.near.shape == (20, 4)
    alike = pools_of(np.ones((6, 2))).draw(np.random.default_rng(0), 1, silent)
    assert alike.near.shape == (6, 0)


@pytest.mark.needs("torch")
def test_pools_of_a_mapped_file_are_stretches_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("MOST_POINTS", 100), ("_STRETCHES", 10), ("_BLOCK", 16)):
        monkeypatch.setattr(points, name, value)
    np.save(tmp_path / "features.npy", np.random.default_rng(0).normal(size=(1003, 3)))
    values = np.load(tmp_path / "features.npy", mmap_mode="r")
    several = pools_of(values)
    assert not several.is_whole
    pool, same, another_seed = (
        several.draw(np.random.default_rng(seed), 1, silent) for seed in (0, 0, 1)
    )
    assert (pool.points == same.points).all()
    assert (pool.near == same.near).all()
    assert not (pool.points == another_seed.points).all()
    scaled = measure_scaling(ArrayRows(values), "largest", 0.9, silent).apply(values)
    rows = {row.tobytes(): number for number, row in enumerate(scaled)}
    numbers = [rows[row.tobytes()] for row in pool.points.numpy()]
    assert len(numbers) == len(set(numbers)) == 100
    assert sum(b != a + 1 for a, b in pairwise(numbers)) <= 10


def test_pools_hold_no_more_values_than_they_may() -> None:
    assert most_points(10**6, 128) == points.MOST_POINTS
    assert most_points(10**6, 1 << 20) == 64
    assert most_points(50, 3) == 50


@pytest.mark.needs("torch")
def test_a_value_that_is_not_finite_in_a_later_pool_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file may change under a job: all rows were finite when it began."""
    for name, value in (("MOST_POINTS", 90), ("_STRETCHES", 90)):
        monkeypatch.setattr(points, name, value)
    values = np.random.default_rng(0).normal(size=(100, 3))
    several = pools_of(values)
    values[37, 1] = np.nan
    with pytest.raises(UsageError, match="NaN at row 37, column 1"):
        several.draw(np.random.default_rng(0), 1, silent)


@pytest.mark.needs("torch")
def test_a_round_draws_the_same_whatever_came_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "MOST_POINTS", 50)
    values = np.random.default_rng(0).normal(size=(300, 3))

    def source() -> PoolTriples:
        several = pools_of(values)
        return PoolTriples(several, several.draw(np.random.default_rng(9), 1, silent), 7, 2, 5, 1)

    fresh, used = source(), source()
    drawn = []
    for number in range(5):
        fresh.begin_round(number, silent)
        drawn = [fresh.draw() for _ in range(3)]
    used.begin_round(4, silent)
    again = [used.draw() for _ in range(3)]
    assert drawn[0].shape == (3, 7, 3)
    assert all((a == b).all() for a, b in zip(drawn, again, strict=True))
    used.begin_round(2, silent)
    assert not (used.draw() == drawn[0]).all()

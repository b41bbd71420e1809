"""Neighbours of rows that are read block by block, against those among all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.graphs import cells
from models.graphs.cells import nearest_by_rows
from models.graphs.lengths import Neighbours
from models.graphs.neighbours import nearest
from models.inputs.rows import ArrayRows
from models.numerics.distances import DistanceMetric, FlatRows
from models.running.progress import silent

FLAT_METRICS: tuple[DistanceMetric, ...] = ("euclidean", "sqeuclidean", "cosine", "correlation")


def by_rows(
    points: np.ndarray, k: int, metric: DistanceMetric = "euclidean", threads: int = 1
) -> Neighbours:
    return nearest_by_rows(FlatRows(ArrayRows(points), metric), k, metric, threads, silent)


@pytest.fixture
def all_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many cells are read that all neighbours of the sample are found; blocks are small."""
    monkeypatch.setattr(cells, "RECALL", 1.0)
    monkeypatch.setattr(cells, "SAMPLE", 1 << 20)
    monkeypatch.setattr(cells, "AT_ONCE", 300)
    monkeypatch.setattr(cells, "PART", 100)


@pytest.mark.usefixtures("all_found")
@given(
    seed=st.integers(0, 10**6),
    n_points=st.integers(3, 120),
    k=st.integers(1, 12),
    metric=st.sampled_from(FLAT_METRICS),
)
def test_neighbours_are_those_among_all_pairs(
    seed: int, n_points: int, k: int, metric: DistanceMetric
) -> None:
    points = np.random.default_rng(seed).normal(size=(n_points, 4)) + 3
    k = min(k, n_points - 1)
    found, true = by_rows(points, k, metric), nearest(points, k, metric, 1, silent)
    np.testing.assert_array_equal(found.index, true.index)
    np.testing.assert_allclose(found.distance, true.distance, rtol=1e-6)
    assert found.recall == 1.0


@pytest.mark.usefixtures("all_found")
def test_cells_with_too_few_rows_read_further_ones() -> None:
    points = np.concatenate([np.zeros(3), np.full(40, 1e6)]) + np.arange(43)
    found = by_rows(points[:, None], 30)
    assert (found.index >= 0).all()
    assert set(found.index[0, :2].tolist()) == {1, 2}
    assert all(len(set(row)) == 30 for row in found.index.tolist())


@pytest.mark.usefixtures("all_found")
@pytest.mark.parametrize("offset", [0.0, 1e5])
@pytest.mark.parametrize("scale", [1e-36, 1.0, 1e100])
def test_offsets_and_scales_do_not_confuse_them(offset: float, scale: float) -> None:
    points = (np.random.default_rng(0).normal(size=(200, 3)) + offset) * scale
    found, true = by_rows(points, 5), nearest(points / scale, 5, "euclidean", 1, silent)
    np.testing.assert_array_equal(found.index, true.index)


@pytest.mark.usefixtures("all_found")
def test_rows_beside_one_far_away_keep_their_neighbours() -> None:
    points = np.random.default_rng(0).normal(size=(300, 3))
    points[7] = 1e5
    found, true = by_rows(points, 5), nearest(points, 5, "euclidean", 1, silent)
    assert (found.index == true.index).mean() > 0.99


def test_recall_is_measured_and_cells_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(0).normal(size=(3000, 16)).astype(np.float32)
    true = nearest(points, 10, "euclidean", 1, silent).index
    monkeypatch.setattr(cells, "MOST_READ", 100)
    low = by_rows(points, 10)
    monkeypatch.setattr(cells, "MOST_READ", 10_000)
    high = by_rows(points, 10)
    for found in (low, high):
        assert found.recall is not None
        share = np.mean([np.isin(a, b).mean() for a, b in zip(found.index, true, strict=True)])
        assert found.recall == pytest.approx(share, abs=0.06)
    assert low.recall < 0.8 < 0.97 < high.recall  # type: ignore[operator]


def test_threads_change_nothing() -> None:
    points = np.random.default_rng(0).normal(size=(2000, 8)).astype(np.float16)
    one, two = (by_rows(points, 7, threads=threads) for threads in (1, 2))
    np.testing.assert_array_equal(one.index, two.index)
    np.testing.assert_array_equal(one.distance, two.distance)

"""Neighbours against all pairs, sorted."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from models.errors import Cancelled, UsageError
from models.graphs import cells, neighbours
from models.graphs.neighbours import nearest, require_index
from models.numerics.distances import DistanceMetric
from models.running.progress import silent


def clusters(n_points: int, n_columns: int = 8, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(40, n_columns)) * 5
    return centres[rng.integers(40, size=n_points)] + rng.normal(size=(n_points, n_columns))


def expected(points: np.ndarray, k: int, metric: str) -> tuple[np.ndarray, np.ndarray]:
    distances = cdist(points, points, metric)
    np.fill_diagonal(distances, np.inf)
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(distances, order, axis=1)


@pytest.mark.parametrize("metric", get_args(DistanceMetric))
def test_all_pairs_are_exact(metric: DistanceMetric) -> None:
    points = np.random.default_rng(1).random(size=(300, 5))
    result = nearest(points, 7, metric, 1, silent)
    index, distance = expected(points, 7, metric)
    assert result.recall is None
    assert (result.index == index).all()
    assert result.distance == pytest.approx(distance, rel=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_cells_find_nearly_all_and_measure_in_float64(
    metric: DistanceMetric, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbours, "EXACT_POINTS", 1000)
    # Far from the origin, where float32 alone would see nothing.
    points = clusters(3000) + (0.0 if metric == "cosine" else 1e6)
    result = nearest(points, 9, metric, 1, silent)
    index, distance = expected(points, 9, metric)
    share = np.mean([len(set(a) & set(b)) / 9 for a, b in zip(result.index, index, strict=True)])
    assert result.recall is not None
    assert result.recall >= 0.95
    assert share == pytest.approx(result.recall, abs=0.03)
    known = result.index == index
    assert known.mean() > 0.9
    assert result.distance[known] == pytest.approx(distance[known], rel=1e-7)
    assert (np.diff(result.distance, axis=1) >= 0).all()
    assert (result.index != np.arange(3000)[:, None]).all()


def test_cells_give_the_same_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "EXACT_POINTS", 1000)
    points = clusters(5000, 16)
    on_one_thread, on_two_threads = (
        nearest(points, 5, "euclidean", threads, silent) for threads in (1, 2)
    )
    assert (on_one_thread.index == on_two_threads.index).all()
    assert (on_one_thread.distance == on_two_threads.distance).all()


def test_more_neighbours_than_a_cell_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "EXACT_POINTS", 1000)
    monkeypatch.setattr(cells, "MOST_READ", 1)
    points = clusters(1500)
    result = nearest(points, 400, "euclidean", 1, silent)
    assert (result.index >= 0).all()
    assert (np.sort(result.index, axis=1)[:, 1:] != np.sort(result.index, axis=1)[:, :-1]).all()


def test_cancel_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "EXACT_POINTS", 100)

    def cancel(fraction: float, stage: str, message: str = "") -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        nearest(clusters(500), 3, "euclidean", 1, cancel)


def test_metrics_without_an_index_have_a_limit() -> None:
    require_index(50_000, "cityblock")
    require_index(10**9, "cosine")
    with pytest.raises(UsageError, match="at most 50,000 points; there are 50,001"):
        require_index(50_001, "cityblock")

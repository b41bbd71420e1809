"""Distances against SciPy's: condensed ones, and those between rows that `flat` prepares."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform

from models.errors import UsageError
from models.numerics import distances
from models.numerics.distances import FLAT, DistanceMetric, as_metric, condensed, flat, pairwise


@pytest.mark.parametrize("n_points", [1, 2, 3, 4, 5, 9, 17])
@pytest.mark.parametrize("tile", [1, 2, 3, 4, 1024])
def test_tiles_give_scipys_order(n_points: int, tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances, "TILE", tile)
    square = squareform(pdist(np.random.default_rng(n_points).normal(size=(n_points, 3))))
    square = square.reshape(n_points, n_points)
    assert condensed(square) == pytest.approx(squareform(square, checks=False))


def test_both_halves_count_alike() -> None:
    square = np.array([[0.0, 1.0], [1.0 + 1e-9, 0.0]])
    assert condensed(square) == condensed(square.T) == pytest.approx([1.0 + 5e-10], rel=1e-14)


def test_single_precision_may_round_more() -> None:
    square = np.array([[0.0, 1.0], [1.0 + 1e-5, 0.0]])
    with pytest.raises(UsageError, match="symmetric"):
        condensed(square)
    assert condensed(square.astype(np.float32)) == pytest.approx([1.0], abs=1e-4)


@pytest.mark.parametrize("n_points", [2, 3, 6])
def test_an_undefined_distance_is_named_by_its_rows(n_points: int) -> None:
    for first in range(n_points):
        for second in range(first + 1, n_points):
            # Two rows that overflow with each other only.
            features = np.zeros((n_points, 1))
            features[first], features[second] = 1.2e154, -1.2e154
            with pytest.raises(UsageError, match=f"between rows {first} and {second} of"):
                pairwise(features, "sqeuclidean")


def test_whole_numbers_are_distances_too() -> None:
    assert condensed(np.array([[0, 2], [2, 0]], dtype=np.uint8)).tolist() == [2.0]


@pytest.mark.parametrize("metric", FLAT)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_flat_rows_give_the_metric(metric: DistanceMetric, kind: type) -> None:
    points = (np.random.default_rng(0).normal(size=(40, 5)) * 1e3 + 7).astype(kind)
    rows = flat(points, metric)
    assert rows.dtype == kind
    distances = as_metric(cdist(rows.astype(float), rows.astype(float)), metric)
    expected = cdist(points.astype(float), points.astype(float), metric)
    tolerance = 1e-5 if kind is np.float32 else 1e-9
    assert distances == pytest.approx(expected, rel=tolerance, abs=tolerance)


def test_flat_copies_only_where_it_must() -> None:
    points = np.ones((3, 2), dtype=np.float32)
    assert flat(points, "euclidean") is points
    assert flat(points.astype(np.int8), "sqeuclidean").dtype == np.float64
    assert set(FLAT) < set(get_args(DistanceMetric))


@pytest.mark.parametrize(
    ("metric", "row", "part"),
    [("cosine", [0.0, 0.0, 0.0], "all zeros"), ("correlation", [0.1, 0.1, 0.1], "one value")],
)
def test_rows_without_a_direction_are_named(
    metric: DistanceMetric, row: list[float], part: str
) -> None:
    points = np.random.default_rng(0).normal(size=(9, 3))
    points[4] = row
    with pytest.raises(UsageError, match=f"Row 4 .*{part}") as caught:
        flat(points, metric)
    assert caught.value.code == "no-distance"

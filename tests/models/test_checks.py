"""Points: which coincide, where distances are sought, what is refused."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from models.checks import FLAT, as_metric, distinct, flat, require_squares
from models.errors import UsageError
from models.numerics.distances import Metric


def naive_distinct(points: np.ndarray) -> tuple[list[int], list[int]]:
    first: list[int] = []
    place = []
    for row, point in enumerate(points):
        known = [n for n, at in enumerate(first) if (points[at] == point).all()]
        if not known:
            first.append(row)
        place.append(known[0] if known else len(first) - 1)
    return first, place


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 3), st.sampled_from("fdi"))
def test_distinct_is_its_definition(seed: int, n_points: int, n_columns: int, kind: str) -> None:
    points = np.random.default_rng(seed).integers(-2, 3, size=(n_points, n_columns)).astype(kind)
    if kind != "i":
        points[points == 0] *= -1.0
    first, place = distinct(points)
    assert (first.tolist(), place.tolist()) == naive_distinct(points)


def test_sums_that_collide_keep_places_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    class Zeros:
        def integers(self, *args: Any, size: int, dtype: Any) -> np.ndarray:
            return np.full(size, 2**63 - 1, dtype=dtype)

    # The same weight for each column: rows that are permutations of each other share their sum.
    monkeypatch.setattr(np.random, "default_rng", lambda seed: Zeros())
    first, place = distinct(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [3.0, 3.0]]))
    assert len(set(place[[0, 1]])) == 2
    assert place[3] not in place[:3]
    assert (first == sorted(first)).all()


@pytest.mark.parametrize("metric", FLAT)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_flat_rows_give_the_metric(metric: Metric, kind: type) -> None:
    points = (np.random.default_rng(0).normal(size=(40, 5)) * 1e3 + 7).astype(kind)
    rows = flat(points, metric)
    assert rows.dtype == kind
    found = as_metric(cdist(rows.astype(float), rows.astype(float)), metric)
    expected = cdist(points.astype(float), points.astype(float), metric)
    tolerance = 1e-5 if kind is np.float32 else 1e-9
    assert found == pytest.approx(expected, rel=tolerance, abs=tolerance)


def test_flat_copies_only_where_it_must() -> None:
    points = np.ones((3, 2), dtype=np.float32)
    assert flat(points, "euclidean") is points
    assert flat(points.astype(np.int8), "sqeuclidean").dtype == np.float64
    assert set(FLAT) < set(get_args(Metric))


@pytest.mark.parametrize(
    ("metric", "row", "part"),
    [("cosine", [0.0, 0.0, 0.0], "all zeros"), ("correlation", [0.1, 0.1, 0.1], "one value")],
)
def test_rows_without_a_direction_are_named(metric: Metric, row: list[float], part: str) -> None:
    points = np.random.default_rng(0).normal(size=(9, 3))
    points[4] = row
    with pytest.raises(UsageError, match=f"Row 4 .*{part}") as caught:
        flat(points, metric)
    assert caught.value.code == "no-distance"


def test_values_whose_squares_overflow_are_named() -> None:
    points = np.zeros((5, 2), dtype=np.float32)
    points[3, 1] = -1e19
    with pytest.raises(UsageError, match="at row 3") as caught:
        require_squares(points)
    assert caught.value.where["row"] == 3
    require_squares(points.astype(np.float64))

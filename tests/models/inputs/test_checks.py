"""Points: which of them coincide, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from models.errors import UsageError
from models.inputs import checks
from models.inputs.checks import (
    distinct,
    require_points,
    require_squares,
    require_symmetric,
    require_width,
)
from models.inputs.data import Data


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


@pytest.mark.parametrize("shape", [(0, 2), (2, 0)])
def test_an_empty_matrix_is_refused_with_its_size(shape: tuple[int, int]) -> None:
    with pytest.raises(UsageError) as caught:
        require_points(Data({"features": np.empty(shape)}))
    assert (caught.value.code, caught.value.where) == ("wrong-shape", {"role": "features"})
    assert "{} rows and {} columns".format(*shape) in caught.value.detail


def test_another_width_is_refused_with_that_of_the_fit() -> None:
    require_width(np.empty((2, 3)), 3)
    with pytest.raises(UsageError) as caught:
        require_width(np.empty((2, 3)), 4, "similarity")
    assert (caught.value.code, caught.value.where) == ("wrong-shape", {"role": "similarity"})
    assert caught.value.detail == ("Input 'similarity' has 3 columns; the model was fitted on 4.")


def test_values_whose_squares_overflow_are_named() -> None:
    points = np.zeros((5, 2), dtype=np.float32)
    points[3, 1] = -1e19
    with pytest.raises(UsageError, match="at row 3") as caught:
        require_squares(points)
    assert caught.value.where["row"] == 3
    require_squares(points.astype(np.float64))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_what_is_not_symmetric_is_named(
    form: Callable[[np.ndarray], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "TILE", 5)
    matrix = np.random.default_rng(0).normal(size=(12, 12)).round(3)
    matrix += matrix.T
    require_symmetric(form(matrix))
    require_symmetric(form((1000 * matrix).round().astype(np.int32)))
    matrix[3, 8] += 0.1
    with pytest.raises(UsageError, match=r"row 3, column 8.*must be symmetric") as caught:
        require_symmetric(form(matrix), "distances")
    assert caught.value.where == {"role": "distances", "row": 3, "column": 8}
    with pytest.raises(UsageError, match="12 rows and 11 columns"):
        require_symmetric(form(matrix[:, :11]))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rounding_is_no_lack_of_symmetry(form: Callable[[np.ndarray], Any]) -> None:
    values = np.ones((20, 20), dtype=np.float32)
    values[3, 4] += 1e-5
    require_symmetric(form(values))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_of_a_block_are_named_by_their_place_in_all_points(form: Callable[..., Any]) -> None:
    values = np.zeros((4, 3))
    values[1, 2] = 1e153
    with pytest.raises(UsageError, match=r"at row 21, column 2 \(counted from 0\)"):
        require_squares(form(values), n_points=10_000, first_row=20)
    require_squares(form(values[2:]), n_points=10_000, first_row=22)

"""Distances: condensed ones become square, and rounding below zero is forgiven and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

from models.errors import UsageError
from models.inputs.reading import noting
from workers.formats import catalogue, distances, roles
from workers.formats.tables import Lists


def read(table: Any, role: str = "distances") -> tuple[Any, list[str]]:
    with noting() as notes:
        return roles.value(table, role), list(notes)


@given(st.integers(2, 30), st.sampled_from(["float64", "float32", "float16", ">f8", "int64"]))
def test_condensed_distances_are_those_of_squareform(n: int, dtype: str) -> None:
    condensed = np.rint(4 * pdist(np.random.default_rng(n).normal(size=(n, 3)))).astype(dtype)
    for table in (condensed, condensed[:, None], Lists(condensed.tolist())):
        # A single number in a row of a column is the matrix of one point.
        if getattr(table, "shape", ()) == (1, 1):
            continue
        square, notes = read(table)
        np.testing.assert_array_equal(square, squareform(condensed.astype(np.float64)))
        assert [f"{condensed.size:,} distances are taken as the condensed" in t for t in notes] == [
            True
        ]


@pytest.mark.parametrize("suffix", ["npy", "csv", "json"])
def test_files_of_condensed_distances(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "d"
    if suffix == "npy":
        with path.open("wb") as file:
            np.save(file, np.array([1.0, 2.0, 3.0]))
    else:
        path.write_text({"csv": "1.0\n2.0\n3.0\n", "json": "[1.0, 2.0, 3.0]"}[suffix])
    with noting() as notes:
        square = catalogue.load(suffix, path, None, "distances")
    assert np.asarray(square).tolist() == [[0, 1, 2], [1, 0, 3], [2, 3, 0]]
    assert len(notes) == 1


@pytest.mark.parametrize("n", [2, 4, 5, 7, 8, 9, 11])
def test_another_length_is_refused(n: int) -> None:
    for table in (np.ones(n), np.ones((n, 1)), Lists([1.0] * n), Lists([[1]] * n)):
        with pytest.raises(UsageError, match=r"condensed.*squareform") as caught:
            read(table)
        assert caught.value.code == "wrong-shape"


def test_similarities_have_no_condensed_form() -> None:
    for table in (np.ones(3), np.ones((3, 1)), Lists([1, 2, 3])):
        with pytest.raises(UsageError, match="condensed"):
            read(table, "similarity")


def test_a_value_of_condensed_distances_that_is_not_finite_is_named() -> None:
    with pytest.raises(UsageError, match="place 1 of its condensed distances"):
        read(np.array([1.0, np.nan, 2.0]))


def test_too_many_points_are_refused_before_they_are_unfolded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(distances, "MOST_POINTS", 3)
    read(np.ones(3))
    with pytest.raises(UsageError, match="between 4 points; at most 3"):
        read(np.ones(6))


@pytest.mark.parametrize("shape", [(3, 3), (1, 1), (1, 3), (2, 5)])
def test_a_matrix_stays_a_matrix(shape: tuple[int, int]) -> None:
    matrix, notes = read(np.ones(shape))
    assert (matrix.shape, notes) == (shape, [])


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize(
    ("dtype", "below"), [("float64", 2.2e-16), ("float64", 1e-9), ("float32", 1e-7)]
)
def test_rounding_below_zero_is_taken_as_zero_and_counted(
    dtype: str, below: float, scale: float
) -> None:
    given = scale * np.array([[0, -below, 0.7], [-below, 0, 0.7], [0.7, 0.7, -below]])
    given = given.astype(dtype)
    before = given.copy()
    given.flags.writeable = False
    taken, notes = read(given)
    assert taken.dtype == given.dtype
    np.testing.assert_array_equal(taken, np.maximum(before, 0.0))
    assert len(notes) == 1
    assert notes[0].startswith("3 distance(s) below 0")
    if dtype == "float64":
        assert read(Lists(before.tolist()))[1] == notes


def test_condensed_distances_may_be_below_zero_by_rounding() -> None:
    square, notes = read(np.array([-2e-16, 0.7, 0.7]))
    assert (square >= 0).all()
    assert len(notes) == 2


@pytest.mark.parametrize("worst", [-0.7, -1e-3, -1e-6, np.nan, -np.inf, np.inf])
def test_other_values_are_left_for_the_method(worst: float) -> None:
    given = np.array([[0.0, worst, 0.7], [worst, 0.0, -2e-16], [0.7, -2e-16, 0.0]])
    taken, notes = read(given)
    np.testing.assert_array_equal(taken, given)
    assert notes == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([[0, 1, 4], [1, 0, 3], [4, 3, 0]], ["as of distances"]),
        ([[9, 1, 4], [1, 9, 3], [4, 3, 9]], []),
        ([[0, 1, 0], [1, 0, 1], [0, 1, 0]], []),
    ],
)
def test_distances_as_similarities_are_noted(given: list[list[int]], words: list[str]) -> None:
    """A graph of neighbours has zeros beside the diagonal, too."""
    _, notes = read(np.array(given), "similarity")
    assert [word for note in notes for word in words if word in note] == words


def test_similarities_may_be_negative() -> None:
    given = np.array([[1.0, -2e-16], [-2e-16, 1.0]])
    taken, notes = read(given, "similarity")
    np.testing.assert_array_equal(taken, given)
    assert notes == []

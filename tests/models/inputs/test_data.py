"""Inputs by role: values that each accessor accepts, and the place of one that is not finite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import UsageError, listed
from models.inputs.data import Data, doubled, first_odd_row, require_finite
from models.inputs.rows import ArrayRows
from models.tree.build import from_merges

TREE = from_merges([0], [1], [1.0])
BAD = st.sampled_from([np.nan, np.inf, -np.inf])


def test_a_dense_matrix_is_given_as_it_is_stored() -> None:
    for dtype in ("float16", "float32", "float64", "int8", "uint16", "bool"):
        value = np.zeros((2, 3), dtype=dtype)
        assert Data({"logits": value}).dense("logits") is value
        assert Data({"logits": value}).matrix("logits") is value
    assert "logits" in Data({"logits": np.zeros((1, 1))})
    assert "features" not in Data({"logits": np.zeros((1, 1))})


@pytest.mark.parametrize(
    "value",
    [
        np.zeros(3),
        np.zeros((1, 2, 3)),
        np.array([["a"]]),
        np.array([[object()]]),
        np.zeros((1, 1), dtype=complex),
        ["a", "b"],
        TREE,
    ],
    ids=["vector", "cube", "text", "objects", "complex", "names", "tree"],
)
def test_what_is_no_matrix_of_numbers_is_refused(value: Any) -> None:
    data = Data({"features": value})
    for take in (data.dense, data.matrix):
        with pytest.raises(UsageError) as caught:
            take("features")
        assert (caught.value.code, caught.value.where) == ("wrong-input", {"role": "features"})


def test_sparse_rows_are_a_matrix_but_not_dense() -> None:
    value = sp.csr_array(np.eye(3))
    data = Data({"features": value})
    assert data.matrix("features") is value
    with pytest.raises(UsageError, match="must be a dense matrix"):
        data.dense("features")


def test_names() -> None:
    assert Data({}).names() is None
    assert Data({"names": ["a", "b"]}).names() == ["a", "b"]
    assert Data({"names": np.array(["a", "b"], dtype=object)}).names() == ["a", "b"]
    assert Data({"names": np.array([3, 4])}).names() == ["3", "4"]
    for value in (TREE, sp.csr_array(np.eye(2))):
        with pytest.raises(UsageError, match="must be a list of names"):
            Data({"names": value}).names()


def test_leaf_names() -> None:
    assert Data({}).leaf_names(3, "point") == ["0", "1", "2"]
    assert Data({"names": ["a", "b"]}).leaf_names(2, "point") == ["a", "b"]
    with pytest.raises(UsageError, match="2 names; 3 are needed, one for each point") as caught:
        Data({"names": ["a", "b"]}).leaf_names(3, "point")
    assert caught.value.where == {"role": "names"}


def test_doubled_names_make_one_warning() -> None:
    assert doubled(["a", "b"]) == ()
    assert doubled([None, "a", None]) == ()
    assert doubled(["b", "a", "b", "c", "a", "b"]) == (
        "2 name(s) occur more than once: 'b', 'a'; `?labels=id` writes node ids instead.",
    )


def test_long_lists_are_cut() -> None:
    assert listed(["a", "b'"]) == "'a', \"b'\""
    assert listed([*"abcdefg"], most=5) == "'a', 'b', 'c', 'd', 'e' and 2 more"


@settings(deadline=None)
@given(st.data(), st.integers(1, 9), st.integers(1, 5), st.integers(1, 20))
def test_the_first_value_that_is_not_finite_is_named(
    data: st.DataObject, n_rows: int, n_columns: int, block: int
) -> None:
    dtype = data.draw(st.sampled_from(["float16", "float32", "float64"]))
    values = np.zeros((n_rows, n_columns), dtype=dtype)
    cells = st.tuples(st.integers(0, n_rows - 1), st.integers(0, n_columns - 1))
    places = data.draw(st.lists(cells, min_size=1, max_size=3))
    for row, column in places:
        values[row, column] = data.draw(BAD)
    row, column = min(places)
    word = "NaN" if np.isnan(values[row, column]) else "infinite"
    for matrix in (values, np.asfortranarray(values)):
        with pytest.raises(UsageError) as caught:
            require_finite(matrix, "logits", block)
        assert caught.value.code == "not-finite"
        assert caught.value.where == {"role": "logits", "row": row, "column": column}
        assert f"{word} at row {row}, column {column}" in caught.value.detail


@settings(deadline=None)
@given(st.data(), st.integers(1, 6), st.integers(1, 6))
def test_in_sparse_rows_as_well(data: st.DataObject, n_rows: int, n_columns: int) -> None:
    values = np.zeros((n_rows, n_columns))
    for row, column in data.draw(
        st.lists(st.tuples(st.integers(0, n_rows - 1), st.integers(0, n_columns - 1)), max_size=6)
    ):
        values[row, column] = 1.0
    require_finite(sp.csr_array(values), "features")
    row = data.draw(st.integers(0, n_rows - 1))
    column = data.draw(st.integers(0, n_columns - 1))
    values[row, column] = data.draw(BAD)
    with pytest.raises(UsageError) as caught:
        require_finite(sp.csr_array(values), "features")
    assert caught.value.where == {"role": "features", "row": row, "column": column}


@pytest.mark.parametrize(
    "values",
    [
        np.full((40, 40), np.finfo(np.float64).max),
        np.full((40, 40), -np.finfo(np.float64).max),
        np.full((40, 40), np.finfo(np.float16).max, dtype=np.float16),
        np.full((2, 2), 5e-324),
        np.zeros((0, 3)),
        np.zeros((3, 0)),
        np.array([[np.iinfo(np.int64).max]]),
    ],
    ids=["huge", "very negative", "half", "denormal", "no rows", "no columns", "integers"],
)
def test_whatever_is_finite_passes(values: np.ndarray) -> None:
    require_finite(values, "logits")
    require_finite(values, "logits", block=7)


def test_a_mapped_file_is_read_in_blocks(tmp_path: Path) -> None:
    values = np.zeros((1000, 7), dtype=np.float32)
    values[901, 5] = np.nan
    np.save(tmp_path / "values.npy", values)
    mapped = np.load(tmp_path / "values.npy", mmap_mode="r")
    with pytest.raises(UsageError, match="row 901, column 5"):
        require_finite(mapped, "logits", block=64)


def test_what_a_check_and_a_fit_read_alike_is_read_once() -> None:
    made: list[object] = []

    def read() -> object:
        made.append(object())
        return made[-1]

    one, other = Data({"features": np.eye(2)}), Data({"features": np.eye(2)})
    assert one.once("x", read) is one.once("x", read) is made[0]
    assert one.once("y", read) is not one.once("x", read)
    assert other.once("x", read) is made[2]


class Unread(ArrayRows):
    def read(self, start: int, stop: int) -> np.ndarray:
        raise AssertionError("no whole number is NaN")


def test_the_first_row_that_is_not_finite() -> None:
    rows = np.zeros((9, 2))
    rows[[4, 7], [1, 0]] = np.inf, np.nan
    for each in (rows, rows.astype(np.float16), ArrayRows(rows), sp.csr_array(rows)):
        assert first_odd_row(each, block=4) == 4
    assert first_odd_row(np.full((9, 2), 1e308)) is None
    assert first_odd_row(Unread(np.zeros((9, 2), dtype=np.int32))) is None

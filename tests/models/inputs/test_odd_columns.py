"""Warnings of columns that are likely not meant as features, with their names."""

from __future__ import annotations

import numpy as np
import pytest

from models.inputs.oddities import odd_columns
from models.inputs.rows import ArrayRows

ROWS = np.random.default_rng(0).normal(size=(2000, 3))
NAMES = ["a", "b", "c", "d"]


def is_id(name: str) -> bool:
    return name == "d"


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (np.full(2000, 7.0), "1 column(s) have one value: 'd'"),
        (ROWS[:, 1], "1 column(s) equal one before them, and so count twice: 'd'"),
        (np.arange(2000.0) + 17, "1 column(s) look like numbers of the rows"),
        (np.cumsum(np.arange(2000.0) % 7 + 1), "1 column(s) look like numbers of the rows"),
        (ROWS[:, 1] ** 2 * 1e14, "Column 'd' spreads more than 1e+12 times"),
    ],
)
def test_an_odd_column_is_named(column: np.ndarray, words: str) -> None:
    rows = np.column_stack([ROWS, column])
    for given in (rows, ArrayRows(rows)):
        (note,) = odd_columns(given, NAMES, is_id)
        assert note.startswith(words)
        assert "'d'" in note
    (note,) = odd_columns(rows, None, is_id) or ("'3'",)
    assert "'3'" in note


def test_one_row_that_differs_is_enough() -> None:
    for column in (np.full(2000, 7.0), ROWS[:, 1].copy(), np.arange(2000.0)):
        column[1234] = -5.5
        assert odd_columns(np.column_stack([ROWS, column]), NAMES, is_id) == ()


def test_rows_that_do_not_differ_are_a_warning() -> None:
    for rows in (ROWS[:, :1] * 0, np.full((5, 3), 7.0)):
        assert odd_columns(rows, None, is_id) == (
            "No row differs from another: every column has one value.",
        )


def test_ordinary_columns_are_not_named() -> None:
    assert odd_columns(ROWS, NAMES[:3], is_id) == ()
    assert odd_columns(ROWS[:, :1], ["d"], is_id) == ()
    assert odd_columns(np.zeros((1, 3)), None, is_id) == ()
    assert odd_columns(["a", "b"], None, is_id) == ()
    assert odd_columns(np.where(ROWS > 0, np.nan, ROWS), None, is_id) == ()

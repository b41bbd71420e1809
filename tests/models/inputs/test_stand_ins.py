"""Warnings of marks of missing values, of rows of totals and of distances between the rows."""

from __future__ import annotations

import numpy as np
import pytest

from models.inputs.rows import ArrayRows
from models.inputs.stand_ins import stand_ins

DRAW = np.random.default_rng(0)
ROWS = DRAW.normal(size=(200, 3)).round(3)
AMOUNTS = DRAW.gamma(1.0, 5.0, size=(200, 3)).round(2)
NAMES = ["height", "weight", "age"]


@pytest.mark.parametrize("mark", [-999.0, 99.0, -9999.0, 1e30, -3.4028234663852886e38])
def test_a_mark_of_a_missing_value_is_named(mark: float) -> None:
    rows = ROWS.copy()
    rows[[3, 100], 1] = mark
    for given in (rows, rows.astype(np.float32), ArrayRows(rows)):
        (note,) = stand_ins(given, NAMES)
        assert f"{mark:g} in 'weight' (2 row(s))" in note
    rows[7, 0] = np.nan
    assert "'weight'" in stand_ins(rows, NAMES)[0]
    assert "in '1' (2 row(s))" in stand_ins(rows, None)[0]


def test_two_marks_of_one_column() -> None:
    rows = ROWS.copy()
    rows[[3, 4], 2] = -999.0, -888.0
    assert "-999 in 'age' (1 row(s)), -888 in 'age' (1 row(s))" in stand_ins(rows, NAMES)[0]


def test_a_number_among_the_others_is_no_mark() -> None:
    rows = ROWS * 400
    rows[[3, 4], 1] = 999.0, -999.0
    counts = np.zeros((200, 3))
    counts[5, 1] = 99.0
    for given in (rows, counts, ROWS, ROWS[:4], np.full((9, 2), -999.0), ROWS > 0):
        assert stand_ins(given, NAMES) == ()


def test_a_mark_is_counted_in_all_rows_and_compared_with_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = np.repeat(ROWS, 20, axis=0)
    rows[::7, 1] = -999.0
    rows[[0, 2000], 0] = 99.0, 5_000.0
    assert "-999 in '1' (572 row(s))" in stand_ins(ArrayRows(rows), None)[0]
    monkeypatch.setattr("models.inputs.stand_ins._AT_HAND", 100)
    # A sample of them has the 99 without the 5,000, beside which it is no mark.
    for given in (rows, ArrayRows(rows)):
        (note,) = stand_ins(given, None)
        assert ": -999 in '1' (572 row(s)). If" in note
    far = ArrayRows(rows)
    far.far = True
    assert "(37 of 255 rows looked at)" in stand_ins(far, None)[0]


def test_a_rare_mark_of_rows_that_are_read() -> None:
    rows = np.repeat(ROWS, 20, axis=0)
    rows[1_900, 1] = -999.0
    assert "-999 in '1' (1 row(s))" in stand_ins(ArrayRows(rows), None)[0]


def test_marks_that_half_precision_rounds() -> None:
    rows = ROWS.astype(np.float16)
    rows[:2, 1] = -9999.0, 32767.0
    rows[:2, 2] = 1000.0, 100.0
    (note,) = stand_ins(rows, None)
    assert ": -9999 in '1' (1 row(s)), 32767 in '1' (1 row(s)). If" in note


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("rows", "total", "what"),
    [(AMOUNTS, AMOUNTS.sum(0), "sum"), (AMOUNTS, AMOUNTS.mean(0).round(1), "mean"),
     (ROWS, ROWS.mean(0), "mean"), (ROWS + 1, (ROWS + 1).sum(0), "sum"),
     (AMOUNTS[:5], AMOUNTS[:5].sum(0), "sum")],
)  # fmt: skip
def test_a_row_of_totals_is_named(
    rows: np.ndarray, total: np.ndarray, what: str, first: bool
) -> None:
    whole = np.vstack([total, rows] if first else [rows, total])
    row = 0 if first else len(rows)
    for given in (whole, whole.astype(np.float32), ArrayRows(whole)):
        (note,) = stand_ins(given, NAMES)
        assert note.startswith(f"Row {row} (counted from 0)")
        assert f"is the {what} of all others" in note


@pytest.mark.parametrize("word", ["Total", " grand total:", "AVG"])
@pytest.mark.parametrize("first", [True, False])
def test_a_row_that_is_called_a_total_is_named(word: str, first: bool) -> None:
    """Also where it sums up a part of the columns, or of the rows."""
    total = np.where(np.arange(ROWS.shape[1]) == 1, 0.0, ROWS.sum(0))
    ids = [f"r{row}" for row in range(len(ROWS))]
    whole, named = ([total, *ROWS], [word, *ids]) if first else ([*ROWS, total], [*ids, word])
    (note,) = stand_ins(np.array(whole), NAMES, named)
    assert note.startswith(f"Row {0 if first else len(ROWS)} (counted from 0)")
    assert f"has the id '{word}'" in note
    assert stand_ins(ROWS, NAMES, ["r", word, *ids[2:]]) == ()


def test_a_total_that_is_called_so_is_named_once() -> None:
    whole = np.vstack([AMOUNTS, AMOUNTS.sum(0)])
    (note,) = stand_ins(whole, NAMES, [*map(str, range(len(AMOUNTS))), "Total"])
    assert "is the sum of all others" in note


@pytest.mark.parametrize("n_rows", [30, 600])
def test_marks_beside_a_row_of_totals(n_rows: int) -> None:
    """As a sheet with both has them: neither hides the other."""
    rows = np.random.default_rng(1).gamma(1.0, 5.0, size=(n_rows, 8)).round(2)
    rows[[3, 9], 1] = -999.0
    whole = np.vstack([rows, rows.sum(0)])
    for given in (whole, ArrayRows(whole)):
        mark, total = stand_ins(given, None)
        assert "-999 in '1' (2 row(s))" in mark
        assert total.startswith(f"Row {n_rows} (counted from 0), the last, is the sum")


def test_a_row_that_differs_from_a_total_in_one_column_is_a_row() -> None:
    for total in (AMOUNTS.sum(0), AMOUNTS.mean(0)):
        total[1] *= 1.1
        assert stand_ins(np.vstack([AMOUNTS, total]), NAMES) == ()
    # A row of few whole numbers is near the mean by chance; centred rows have the sum 0.
    few = np.repeat([[1, 2, 3], [3, 2, 1], [2, 2, 2]], 50, axis=0)
    assert stand_ins(few, NAMES) == ()
    assert stand_ins(np.vstack([ROWS - ROWS.mean(0), [[0.0, 0.3, 0.0]]]), NAMES) == ()
    assert stand_ins(np.full((9, 3), 1e308), NAMES) == ()


def test_distances_as_features_are_named() -> None:
    apart = np.linalg.norm(ROWS[:, None] - ROWS, axis=2)
    weights = ((apart < 1) & (apart > 0)) * 1.0
    for given in (apart, apart.astype(np.float32), weights, ArrayRows(apart)):
        (note,) = stand_ins(given, None)
        assert "with 0 all along the diagonal, as distances between the rows" in note
    (note,) = stand_ins(np.corrcoef(ROWS), None)
    assert "with 1 all along the diagonal, as similarities of the rows" in note


def test_other_square_matrices_are_features() -> None:
    apart = np.linalg.norm(ROWS[:, None] - ROWS, axis=2)
    for given in (apart[:, ::-1], apart[:-1], np.triu(apart), apart - 1, np.zeros((9, 9))):
        assert stand_ins(given, None) == ()

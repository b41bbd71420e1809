"""Rows that are refused for a value: before, or at the first reading of, their share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.arrays import Arrays
from models.errors import UsageError
from models.inputs.data import require_finite
from models.inputs.rows import ArrayRows
from models.running.progress import silent
from workers.artifacts.results import save_arrays
from workers.work import row_shares
from workers.work.crew import Assignment
from workers.work.row_shares import (
    Division,
    Share,
    else_together,
    in_shares,
    piece_of_shares,
    refuse_early,
    shares,
)


class FarRows(ArrayRows):
    """Rows of which each reading is a download."""

    far = True


class Backwards:
    """A coordinator that wants the last piece first; `helped` are computed elsewhere."""

    def __init__(self, folder: Path, of_share: Any, helped: int) -> None:
        self._folder, self._of_share, self._helped = folder, of_share, helped

    def post(self, pieces: Any, shared: Path | None) -> None:
        self._pieces, self._left = list(pieces), list(range(len(pieces)))

    def next(self, finished: int | None) -> Assignment:
        number = self._left.pop()
        if self._helped == 0:
            return Assignment(number=number)
        self._helped -= 1
        folder = self._folder / str(number)
        folder.mkdir()
        save_arrays(piece_of_shares(self._of_share, self._pieces[number], silent), folder)
        return Assignment(number=number, path=next(folder.iterdir()))

    def keep(self, checkpoint: int) -> None:
        raise AssertionError("nothing is saved")


@pytest.fixture(autouse=True)
def in_crumbs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_shares, "SHARE_ROWS", 10)
    monkeypatch.setattr(row_shares, "PIECE_S", 1e-9)


def sums(rows: FarRows, done: list[Share]) -> Any:
    """What is done for a share; those done are noted."""

    def of_share(share: Share) -> Arrays:
        part = rows.values(*share)
        require_finite(part, "features")
        sum(range(20_000))
        done.append(share)
        return {"sum": part.sum(axis=1)}

    return of_share


@pytest.mark.parametrize("readings", [0.0, 1e9])
def test_rows_far_away_are_scanned_first_where_placing_takes_longer(
    readings: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_shares, "READINGS", readings)
    values = np.ones((95, 2))
    values[91, 1] = values[73, 0] = np.nan
    done: list[Share] = []
    rows = FarRows(values)
    of_share, cut, given = sums(rows, done), shares(95, 0), {"features": rows}

    def placed() -> None:
        refuse_early(given, of_share, cut)
        with else_together(given, of_share):
            list(in_shares(cut, of_share, Division(silent)))

    with pytest.raises(UsageError, match="at row 73, column 0") as caught:
        placed()
    assert caught.value.where == {"role": "features", "row": 73, "column": 0}
    whole = [share for share in done if share in cut]
    assert whole == ([] if readings == 0 else shares(70, 0))


def test_the_first_of_refused_rows_is_named_whichever_share_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_shares, "READINGS", 0.0)
    values = np.ones((95, 2))
    values[71, 1] = values[23, 0] = np.inf
    done: list[Share] = []
    rows = FarRows(values)
    of_share = sums(rows, done)
    cut, whole = shares(95, 0), {"features": rows}
    with pytest.raises(UsageError) as caught, else_together(whole, of_share):
        list(in_shares(cut, of_share, Division(silent, Backwards(tmp_path, of_share, 2))))
    assert caught.value.where["row"] == 23
    assert (20, 30) not in done
    assert (60, 70) not in done


def test_the_first_refused_row_is_named_where_rows_before_it_are_filled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """NaN is filled and infinity refused: what a share takes is tried by the last rows of the first
    one, of which one is refused, but so is one in its middle, which all rows together name."""
    monkeypatch.setattr(row_shares, "TRIED_ROWS", 2)
    values = np.ones((35, 2))
    values[0, 0], values[4, 1], values[9, 0] = np.nan, np.inf, np.inf
    filled = np.where(np.isnan(values), 0.0, values)
    of_share = sums(FarRows(filled), [])
    given = {"features": FarRows(values)}
    with else_together(given, of_share):
        list(in_shares(shares(35, 0), of_share, Division(silent)))
        raise AssertionError("a row is refused")
    with pytest.raises(UsageError, match="at row 4,"):
        of_share((0, 35))


@pytest.mark.parametrize("n_rows", [35, 0])
def test_far_rows_with_another_error_are_left_to_the_shares(n_rows: int) -> None:
    """As of warnings, which number all rows; and no rows have no share."""

    def of_share(share: Share) -> Arrays:
        raise UsageError("There are warnings of these rows.", code="unusable-input")

    refuse_early({"features": FarRows(np.ones((n_rows, 2)))}, of_share, shares(n_rows, 0))

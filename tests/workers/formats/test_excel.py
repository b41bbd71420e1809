"""Excel workbooks: headers, kinds of cells, sheets, and what is refused."""

from __future__ import annotations

import datetime as dt
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest

from tests.workers.formats.files_kit import put, refused, survives
from tests.workers.formats.workbooks_kit import ods, workbook
from workers.formats import catalogue, excel
from workers.formats.facts import Bounds


def book(path: Path, *rows: list[Any], act: Callable[[Any], None] | None = None) -> Path:
    """A workbook of one sheet."""
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    if act is not None:
        act(made)
    made.save(path)
    return path


@pytest.mark.parametrize(
    "rows",
    [
        [["a", "b"], [1, 2.5], [3, 4]],
        [[1, 2.5], [3, 4]],
        [[None] * 3, [None, "a", "b"], [None, 1, 2.5], [None, 3, 4], [None]],
        [["a", 2020], [1, 2.5], [3, 4]],
        [["a", None, "b"], [1, None, 2.5], [3, None, 4]],
    ],
)
def test_a_matrix(rows: list[list[Any]], tmp_path: Path) -> None:
    path = book(tmp_path / "x", *rows)
    for declared in (None, "application/octet-stream", excel.MEDIA_TYPES["xlsx"]):
        assert catalogue.format_of(declared, path.read_bytes()) == "xlsx"
    assert catalogue.inspect("xlsx", path).shape == (2, 2)
    value = catalogue.load("xlsx", path, None, "features")
    assert isinstance(value, np.ndarray)
    assert value.tolist() == [[1, 2.5], [3, 4]]


def test_kinds_of_columns(tmp_path: Path) -> None:
    path = book(
        tmp_path / "x",
        ["name", "n", "ok", "day", "x"],
        ["a", 1, True, dt.date(2020, 1, 1), 0.5],
        ["b", 2, False, dt.datetime(2020, 1, 2, 3), 1.5],
        ["c", 3, True, dt.date(2020, 1, 3), 2.5],
    )
    facts = catalogue.inspect("xlsx", path, None, role="features")
    assert facts.shape == (3, 3)
    found = {column.name: (column.type, column.role) for column in facts.columns}
    assert found == {
        "name": ("text", "id"),
        "n": ("integer", "feature"),
        "ok": ("boolean", "feature"),
        "day": ("date", None),
        "x": ("number", "feature"),
    }
    value = catalogue.load("xlsx", path, None, "features", columns=facts.columns)
    assert isinstance(value, np.ndarray)
    assert value.tolist() == [[1, 1, 0.5], [2, 0, 1.5], [3, 1, 2.5]]
    assert catalogue.texts("xlsx", path, "name") == ["a", "b", "c"]


def test_sheets(tmp_path: Path) -> None:
    def more(workbook: Any) -> None:
        sheet = workbook.create_sheet("other")
        for row in (["u", "label"], [7, "p"], [8, "q"], [9, "p"]):
            sheet.append(row)

    path = book(tmp_path / "x", ["a", "b"], [1, 2], [3, 4], act=more)
    first = catalogue.inspect("xlsx", path, None, role="features")
    assert (first.shape, len(first.warnings)) == ((2, 2), 1)
    assert "?member=" in first.warnings[0]
    other = catalogue.inspect("xlsx", path, "other", role="features")
    assert other.shape == (3, 1)
    value = catalogue.load("xlsx", path, "other", "features", columns=other.columns)
    assert isinstance(value, np.ndarray)
    assert value.tolist() == [[7], [8], [9]]
    labels = catalogue.load("xlsx", path, "other", "labels", columns=other.columns)
    assert isinstance(labels, np.ndarray)
    assert labels.tolist() == ["p", "q", "p"]
    assert catalogue.load("xlsx", path, "b", "labels").tolist() == [2, 4]  # type: ignore[union-attr]
    assert refused(catalogue.load, "xlsx", path, "none", "labels").code == "member-needed"


def test_refusals(tmp_path: Path) -> None:
    def merge(workbook: Any) -> None:
        workbook.active.merge_cells("A1:C1")

    def far(workbook: Any) -> None:
        workbook.active["XFD1048576"] = 1

    x = tmp_path / "x"
    rows: list[list[Any]] = [["T", None, None], ["a", "b", "c"], [1, 2, 3]]
    assert "A1:C1" in refused(excel.inspect, book(x, *rows, act=merge), None).detail
    assert "no name" in refused(excel.inspect, book(x, *rows), None).detail
    assert refused(excel.inspect, book(x, [1, 2], act=far), None).code == "too-large"
    assert refused(excel.inspect, book(x), None).code == "empty"
    assert refused(excel.inspect, book(x, ["a", "b"]), None).code == "empty"
    error = refused(excel.inspect, book(x, [1, 2], [3, 4], [5, "six"]), None)
    assert (error.where["row"], error.where["column"], error.where["line"]) == (2, 1, 3)
    error = refused(excel.inspect, book(x, [1, 2], [3, None]), None)
    assert error.code == "missing-value"
    assert refused(excel.inspect, book(x, [1, 2]), None, Bounds(max_bytes=150)).code


def test_archives_that_are_no_whole_workbook(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for begin in ("[Content_Types].xml", "_rels/.rels", "docProps/app.xml", "xl/workbook.xml"):
        with zipfile.ZipFile(path, "w") as archive:
            for name in dict.fromkeys((begin, "[Content_Types].xml", "xl/workbook.xml")):
                archive.writestr(name, "<x/>")
        for declared in (None, excel.MEDIA_TYPES["xlsx"], "application/octet-stream"):
            assert catalogue.format_of(declared, path.read_bytes()) == "xlsx"
        assert "Excel" in refused(excel.inspect, path, None).detail
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
        archive.writestr("word/document.xml", "<x/>")
    assert "Word" in refused(catalogue.format_of, None, path.read_bytes()).detail
    path.write_bytes(excel.LEGACY + bytes(600))
    assert catalogue.format_of(None, path.read_bytes()) == "xls"
    assert "damaged" in refused(excel.inspect, path, None).detail


def test_damaged_workbooks_are_read_or_refused(tmp_path: Path) -> None:
    whole = book(tmp_path / "x", ["a", "b"], [1, 2.5], [3, 4]).read_bytes()
    path = tmp_path / "y"
    rng = np.random.default_rng(0)
    for _ in range(200):
        damaged = bytearray(whole)
        for at in rng.integers(len(whole), size=3):
            damaged[at] = rng.integers(256)
        path.write_bytes(damaged[: rng.integers(1, len(whole) + 1)])
        survives(excel.inspect, path, None)


def test_a_bomb(tmp_path: Path) -> None:
    path = book(tmp_path / "x", [1, 2])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet2.xml", b"<a>" * (70 << 20))
    assert refused(excel.inspect, path, None).code == "archive-bomb"


def test_an_error_names_the_sheets_that_nobody_chose(tmp_path: Path) -> None:
    table = [["a", "b"], [1.0, 2.0]]
    notes = [["Survey of 2025"], ["as of May"]]
    above = [["Survey", ""], ["a", "b"], ["x", "y"]]
    for number, first in enumerate((notes, above)):
        path = workbook("ods", tmp_path / str(number), {"Notes": first, "Data": table})
        error = refused(catalogue.inspect, "ods", path, None, role="features")
        assert "2 sheets ('Notes', 'Data'); the first is read" in error.detail
    assert catalogue.inspect("ods", path, "Data", role="features").shape == (1, 2)


@pytest.mark.parametrize("format", ["ods", "xls", "xlsb"])
def test_other_workbooks(format: str, tmp_path: Path) -> None:
    """Names, ids and labels; another sheet, with a warning where none is chosen."""
    rows = [["name", "width", "kind"], ["ann", 0.5, "cat"], ["bob", 2.0, "dog"]]
    path = workbook(format, tmp_path / "x", {"Pets": rows, "More": [["x", "y"], [1.0, 2.5]]})
    for declared in (None, excel.MEDIA_TYPES[format], "application/octet-stream"):
        assert catalogue.format_of(declared, path.read_bytes()) == format
    facts = catalogue.inspect(format, path, None, role="features")
    roles = {column.name: column.role for column in facts.columns}
    assert roles == {"name": "id", "width": "feature", "kind": None}
    assert any("2 sheets ('Pets', 'More'); the first is read" in note for note in facts.warnings)
    value = catalogue.load(format, path, None, "features", columns=facts.columns)
    assert np.asarray(value).tolist() == [[0.5], [2.0]]
    assert catalogue.texts(format, path, "name") == ["ann", "bob"]
    other = catalogue.inspect(format, path, "More", role="features")
    value = catalogue.load(format, path, "More", "features", columns=other.columns)
    assert np.asarray(value).tolist() == [[1.0, 2.5]]
    whole = path.read_bytes()
    for size in (len(whole) // 3, len(whole) - 300):
        survives(excel.inspect, put(path, whole[:size]), None)


REPEATED = (
    '<table:table-row table:number-rows-repeated="{}"><table:table-cell{}/></table:table-row>'
)
FILLED = ' office:value-type="float" office:value="1"'


def test_workbooks_that_claim_many_cells(tmp_path: Path) -> None:
    """Rows repeated by a number alone are refused where a reader would make room for them; what is
    blank at the end, as every sheet has it, is not."""
    rows = [["x"], [1.0]]
    path, bounds = tmp_path / "x", Bounds(max_bytes=1 << 20)
    blank = REPEATED.format(1_048_574, ' table:number-columns-repeated="16384"')
    put(path, ods({"A": rows}, blank))
    assert excel.inspect(path, None, bounds).shape == (1, 1)
    for more in (
        REPEATED.format(1_000_000, FILLED),
        blank + REPEATED.format(1, FILLED),
        REPEATED.format(1, f' table:number-columns-repeated="900000"{FILLED}'),
        REPEATED.format("9" * 30, FILLED),
    ):
        assert refused(excel.inspect, put(path, ods({"A": rows}, more)), None, bounds).code == (
            "too-large"
        )
    records = (
        bytes([kind, 16]) + place.to_bytes(4, "little") + bytes(12)
        for kind, place in ((0, 1_000_000), (5, 16_000))
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
        archive.writestr("xl/workbook.bin", b"")
        archive.writestr("xl/worksheets/sheet1.bin", b"".join(records))
    assert refused(excel.inspect, path, None, bounds).code == "too-large"


def test_a_document_type_is_refused(tmp_path: Path) -> None:
    """Where entities could be declared that grow."""
    path = tmp_path / "x"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", excel.MEDIA_TYPES["ods"])
        archive.writestr("content.xml", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')
    assert catalogue.format_of(None, path.read_bytes()) == "ods"
    assert "document type" in refused(excel.inspect, path, None).detail


def test_a_member_that_is_neither_sheet_nor_column_is_refused(tmp_path: Path) -> None:
    path = book(tmp_path / "x", ["a", "b"], [1, 2], [3, 4])
    error = refused(catalogue.inspect, "xlsx", path, "A", role="features")
    assert error.code == "member-needed"
    assert "'Sheet'" in error.detail
    assert "'a', 'b'" in error.detail
    one = catalogue.inspect("xlsx", path, "b", role="features")
    assert one.shape == (2, 1)
    value = catalogue.load("xlsx", path, "b", "features", columns=one.columns)
    assert np.asarray(value).tolist() == [[2], [4]]
    for member in ("b", "Sheet!b"):
        own = catalogue.inspect("xlsx", path, member, role="labels").columns
        labels = catalogue.load("xlsx", path, member, "labels", columns=own)
        assert np.asarray(labels).tolist() == [2, 4]


def test_what_excel_hides_is_named(tmp_path: Path) -> None:
    def hide(workbook: Any) -> None:
        sheet = workbook.active
        sheet.row_dimensions[3].hidden = sheet.row_dimensions[4].hidden = True
        sheet.column_dimensions["B"].hidden = True

    rows = (["a", "b"], [1, 2], [3, 4], [5, 6])
    facts = catalogue.inspect("xlsx", book(tmp_path / "x", *rows, act=hide), None)
    assert facts.shape == (3, 2)
    assert "has 2 rows and 1 column that Excel hides" in " ".join(facts.warnings)
    assert not catalogue.inspect("xlsx", book(tmp_path / "y", *rows), None).warnings


def test_what_excel_hides_behind_the_cells_is_not_named(tmp_path: Path) -> None:
    """As a sheet is made that shows no cells but its own; a comment is read in one pass."""

    def hide(workbook: Any) -> None:
        sheet = workbook.active
        sheet.row_dimensions[9].hidden = True
        spare = sheet.column_dimensions["E"]
        spare.min, spare.max, spare.hidden = 5, 16384, True

    path = book(tmp_path / "x", ["a", "b"], [1, 2], [3, 4], act=hide)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "y", "w") as new:
        for name in old.namelist():
            comment = b"<!--" + b"<row " * 60_000 + b"--><sheetData>"
            new.writestr(name, old.read(name).replace(b"<sheetData>", comment))
    assert not catalogue.inspect("xlsx", path).warnings
    assert not catalogue.inspect("xlsx", tmp_path / "y").warnings


def test_a_first_line_of_years_is_noted(tmp_path: Path) -> None:
    path = book(tmp_path / "x", [2019, 2020, 2021], [1.5, 2, 3], [4, 5.5, 6])
    facts = catalogue.inspect("xlsx", path, None, role="features")
    assert facts.shape == (3, 3)
    assert "2019, 2020, 2021" in facts.warnings[0].replace("'", "")


def test_numbers_as_texts_are_named(tmp_path: Path) -> None:
    path = book(tmp_path / "x", ["width", "e", "y"], ["1", "[1, 2]", 2], ["3", "[3, 4]", 4])
    words = " ".join(catalogue.inspect("xlsx", path, None, role="features").warnings)
    assert "Numbers that are written as texts are no features: 'width'" in words
    assert "Lists of numbers that are written as texts are no features: 'e'" in words


@pytest.mark.parametrize(
    ("first", "column"),
    [
        (["country", 2019, 2020], "2020"),
        ([None, 0, 1], "1"),
        (["country", dt.datetime(2019, 1, 1), dt.datetime(2020, 1, 1)], "2020-01-01"),
        ([None, "low", "high"], "high"),
    ],
)
def test_years_days_and_the_corner_above_an_index_are_a_header(
    first: list[Any], column: str, tmp_path: Path
) -> None:
    path = book(tmp_path / "x", first, ["fr", 1, 7], ["de", 2, 8.5], ["it", 3, 9])
    facts = catalogue.inspect("xlsx", path, None, role="features")
    assert facts.shape == (3, 2)
    assert [own.role for own in facts.columns] == ["id", "feature", "feature"]
    assert facts.columns[2].name == column
    assert catalogue.texts("xlsx", path, facts.columns[0].name) == ["fr", "de", "it"]
    is_noted = "taken as its header, not as a row" in facts.warnings[0]
    assert is_noted == (column != "high")

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

from tests.workers.formats.files_kit import refused, survives
from workers.formats import catalogue, excel
from workers.formats.facts import Bounds


def book(path: Path, *rows: list[Any], act: Callable[[Any], None] | None = None) -> Path:
    """A workbook of one sheet."""
    workbook = openpyxl.Workbook()
    for row in rows:
        workbook.active.append(row)
    if act is not None:
        act(workbook)
    workbook.save(path)
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
    for declared in (None, "application/octet-stream", excel.MEDIA_TYPE):
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
        for declared in (None, excel.MEDIA_TYPE, "application/octet-stream"):
            assert catalogue.format_of(declared, path.read_bytes()) == "xlsx"
        assert "Excel" in refused(excel.inspect, path, None).detail
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
        archive.writestr("word/document.xml", "<x/>")
    assert "Word" in refused(catalogue.format_of, None, path.read_bytes()).detail
    assert ".xlsx" in refused(catalogue.format_of, None, b"\xd0\xcf\x11\xe0" + b"\0" * 20).detail


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

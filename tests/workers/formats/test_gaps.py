"""Empty cells of features: read as NaN in every format of tables, counted, and located."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from models.errors import UsageError
from workers.formats import catalogue, csv
from workers.formats.gaps import Gaps

NAN = float("nan")
ROWS: list[list[float | None]] = [[1, 2.5, 3], [4, None, 6], [7, 8.5, None], [None, 0.5, 9]]
EXPECTED = np.array([[NAN if x is None else x for x in row] for row in ROWS])
NAMES = ["a", "b", "c"]


def table() -> pa.Table:
    columns = [list(column) for column in zip(*ROWS, strict=True)]
    return pa.table({"a": pa.array(columns[0], pa.int64()), "b": columns[1], "c": columns[2]})


def text_csv(empty: str, mark: str = ",", header: bool = True, **_: Any) -> bytes:
    lines = [mark.join(NAMES)] if header else []
    lines += [mark.join(empty if x is None else str(x) for x in row) for row in ROWS]
    return "\n".join(lines).encode()


def stream(path: Path) -> None:
    with pa.ipc.new_stream(path, table().schema) as sink:
        sink.write_table(table(), max_chunksize=1)


def book(path: Path, empty: str | None = None) -> None:
    import openpyxl

    workbook = openpyxl.Workbook()
    workbook.active.append(NAMES)
    for row in ROWS:
        workbook.active.append([empty if x is None else x for x in row])
    workbook.save(path)


def objects() -> list[dict[str, Any]]:
    return [dict(zip(NAMES, row, strict=True)) for row in ROWS]


def bytes_of(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


SPELLINGS = ["", " ", "NA", "na", " NA", "NA ", "N/A", "null", "NULL", "None", "none", "nan", "NaN"]
SPELLINGS += ["-nan", "nil", "  Na  ", "nUlL", '""', '" "', '"NA"']
FILES: dict[str, tuple[str, Callable[[Path], object]]] = {
    **{f"csv {empty!r}": ("csv", bytes_of(text_csv(empty))) for empty in SPELLINGS},
    **{
        f"csv by {mark!r} {empty!r}": ("csv", bytes_of(text_csv(empty, mark)))
        for mark in "\t;|"
        for empty in ("", "NA")
    },
    "csv decimal comma": ("csv", bytes_of(text_csv("NA", ";").replace(b".", b","))),
    "csv lines of DOS": ("csv", bytes_of(text_csv("").replace(b"\n", b"\r\n"))),
    "parquet": ("parquet", lambda path: pq.write_table(table(), path)),
    "parquet in groups": ("parquet", lambda path: pq.write_table(table(), path, row_group_size=1)),
    "arrow": ("arrow-stream", stream),
    "xlsx": ("xlsx", book),
    **{f"xlsx {x}": ("xlsx", lambda path, x=x: book(path, x)) for x in ("NA", " ", "nan")},
    "json": ("json", bytes_of(json.dumps(objects()).encode())),
    "json without members": (
        "json",
        bytes_of(
            json.dumps(
                [{k: v for k, v in each.items() if v is not None} for each in objects()]
            ).encode()
        ),
    ),
    "jsonl": ("jsonl", bytes_of("\n".join(map(json.dumps, objects())).encode())),
}
BARE: dict[str, tuple[str, Callable[[Path], object]]] = {
    **{f"csv {x!r}": ("csv", bytes_of(text_csv(x, header=False))) for x in SPELLINGS},
    "json": ("json", bytes_of(json.dumps(ROWS).encode())),
    "vectors": (
        "parquet",
        lambda path: pq.write_table(pa.table({"v": pa.array(ROWS, pa.list_(pa.float64()))}), path),
    ),
}


def same(found: object, expected: npt.NDArray[Any]) -> None:
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("role", ["features", None])
@pytest.mark.parametrize("name", FILES)
def test_they_are_nan_and_counted_by_name(name: str, role: str | None, tmp_path: Path) -> None:
    kind, write = FILES[name]
    path = tmp_path / "file"
    write(path)
    facts = catalogue.inspect(kind, path, role=role)
    assert facts.shape == (4, 3)
    assert facts.dtype == "float64"
    (warning,) = [text for text in facts.warnings if "empty" in text]
    assert "3 cell(s) of the features are empty: 1 in column 'a', 1 in column 'b', 1" in warning
    assert "at row 1, column 'b'" in warning
    assert '{"step": "missing"}' in warning
    assert ("line 3 of the file" in warning) == (kind in ("csv", "xlsx"))
    same(catalogue.load(kind, path, None, "features", columns=facts.columns), EXPECTED)
    same(catalogue.load(kind, path, None, "features", columns=facts.columns[1:2]), EXPECTED[:, 1:2])


@pytest.mark.parametrize("name", BARE)
def test_without_names_columns_have_numbers(name: str, tmp_path: Path) -> None:
    kind, write = BARE[name]
    path = tmp_path / "file"
    write(path)
    facts = catalogue.inspect(kind, path)
    assert facts.shape == (4, 3)
    (warning,) = facts.warnings
    assert "1 in column 0, 1 in column 1, 1 in column 2" in warning
    assert "at row 1, column 1" in warning
    assert ("line 2 of the file" in warning) == (kind == "csv")
    same(catalogue.load(kind, path, None, "features", columns=facts.columns), EXPECTED)


@pytest.mark.parametrize("role", ["logits", "costs"])
@pytest.mark.parametrize("name", [*FILES, *(f"bare {name}" for name in BARE)])
def test_other_roles_have_none(name: str, role: str, tmp_path: Path) -> None:
    kind, write = FILES[name] if name in FILES else BARE[name.removeprefix("bare ")]
    path = tmp_path / "file"
    write(path)
    columns = catalogue.inspect(kind, path).columns
    for use in (
        lambda: catalogue.inspect(kind, path, role=role),
        lambda: catalogue.load(kind, path, None, role, columns=columns),
    ):
        with pytest.raises(UsageError) as caught:
            use()
        assert caught.value.code == "missing-value"
        assert caught.value.where["row"] in (1, 3)


@pytest.mark.parametrize("at", [0, 1, 7_777, 19_999])
def test_the_first_is_located_across_blocks(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv, "_BLOCK", 10_000)
    path = tmp_path / "file"
    lines = [f"{row}.5,0.25,{row}" for row in range(20_000)]
    lines[at] = f"{at}.5,,{at}"
    for header in ([], ["a,b,c"]):
        path.write_text("\n".join([*header, *lines]))
        facts = catalogue.inspect("csv", path)
        # The third column counts the rows, which another warning says.
        warning = facts.warnings[-1]
        assert f"row {at}," in warning
        assert f"line {at + 1 + len(header)} of" in warning
        value = catalogue.load("csv", path, None, "features", columns=facts.columns)
        assert isinstance(value, np.ndarray)
        assert np.argwhere(np.isnan(value)).tolist() == [[at, 1]]
        assert np.nansum(value) == sum(range(20_000)) * 2 + 10_000 + 0.25 * 19_999


def test_lines_within_quotes_count(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text('id,b,c\n"x\n\ny",1,2\nz,,4\n')
    facts = catalogue.inspect("csv", path)
    assert "row 1, column 'b' (counted from 0; line 5 of the file)" in facts.warnings[-1]
    same(catalogue.load("csv", path, None, "features", columns=facts.columns), [[1, 2], [NAN, 4]])


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        ("1,2\n\n3,4\n", "ragged", {"row": 1, "line": 2}),
        ("1,2\n,3\n\n3,4\n", "ragged", {"row": 2, "line": 3}),
        ("a,b\n\n3,4\n", "ragged", {"row": 0, "line": 2}),
        ("1,2\n,inf\n", "not-finite", {"row": 1, "column": 1, "line": 2}),
        ("1,2\n1e400,\n", "not-finite", {"row": 1, "column": 0, "line": 2}),
        ("1,2\n,nancy\n", "wrong-input", {"row": 1, "column": 1, "line": 2}),
        ("1,2\n,-\n", "wrong-input", {"row": 1, "column": 1, "line": 2}),
        ("1,2\n,\n3\n", "ragged", {"row": 2, "line": 3}),
    ],
)
def test_what_is_no_empty_cell_stays_refused(
    text: str, code: str, where: dict[str, int], tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    for use in (
        lambda: catalogue.inspect("csv", path),
        lambda: catalogue.load("csv", path, None, "features"),
    ):
        with pytest.raises(UsageError) as caught:
            use()
        assert (caught.value.code, caught.value.where) == (code, where)


@pytest.mark.parametrize("text", ["NA,2,3\n4,5,6\n", "1,,3\n4,5,6\n", "nan,2,3\n4,5,6\n"])
def test_the_first_line_may_have_some(text: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    assert catalogue.inspect("csv", path).shape == (2, 3)
    found = catalogue.load("csv", path, None, "features")
    assert isinstance(found, np.ndarray)
    assert np.isnan(found).sum() == 1


def test_a_single_column_has_them_too(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for text in ('1\n""\n3\n', "1\nNA\n3\n", "x\n1\nnan\n3\n"):
        path.write_text(text)
        facts = catalogue.inspect("csv", path)
        assert facts.shape == (3, 1)
        assert "at row 1, column 0" in facts.warnings[0]
        same(catalogue.load("csv", path, None, "features"), [[1], [NAN], [3]])


def test_integers_of_many_groups_become_floats(tmp_path: Path) -> None:
    path = tmp_path / "file"
    values = pa.chunked_array([[1, 2], [None, 4]], pa.int64())
    pq.write_table(pa.table({"a": values, "b": [5, 6, 7, 8]}), path, row_group_size=2)
    facts = catalogue.inspect("parquet", path)
    assert facts.dtype == "float64"
    found = catalogue.load("parquet", path, None, "features", columns=facts.columns)
    same(found, [[1, 5], [2, 6], [NAN, 7], [4, 8]])
    pq.write_table(pa.table({"a": [1, 2], "b": [5, 6]}), path)
    facts = catalogue.inspect("parquet", path)
    assert (facts.dtype, facts.warnings) == ("int64", ())


def test_blocks_are_counted_as_one_matrix() -> None:
    matrix = np.array([[1, 2], [3, NAN], [np.inf, -np.inf], [NAN, NAN]])
    gaps = Gaps()
    for row in matrix:
        gaps.add(row.reshape(1, -1))
    assert gaps.first == (1, 1)
    assert gaps.by_column.tolist() == [1, 2]
    gaps.add(np.ones((2, 2), dtype=np.int64))
    assert gaps.by_column.tolist() == [1, 2]
    assert Gaps().warnings() == ()

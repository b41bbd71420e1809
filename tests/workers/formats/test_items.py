"""Items in every format, and what hostile files of them come to."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from models.errors import UsageError
from models.inputs.items import MOST_COLUMNS, ItemTable
from tests.workers.formats.files_kit import image_bytes, write_images
from workers.formats import image_zip
from workers.formats.catalogue import format_of, inspect, load
from workers.formats.facts import DEFAULT, Bounds


def items(format: str, path: Path) -> ItemTable:
    table = load(format, path, None, "items")
    assert isinstance(table, ItemTable)
    facts = inspect(format, path, None, role="items")
    assert facts.shape == table.shape
    return table


def kinds(table: ItemTable) -> dict[str, str]:
    return {column.name: column.kind for column in table.columns}


def refused(format: str, path: Path, code: str, bounds: Bounds = DEFAULT) -> UsageError:
    with pytest.raises(UsageError) as error:
        load(format, path, None, "items", bounds)
    assert error.value.code == code, error.value.detail
    assert str(path) not in error.value.detail
    return error.value


def test_cells_stand_for_numbers_dates_categories_and_texts(tmp_path: Path) -> None:
    path = tmp_path / "x"
    lines = ["name,size,group,seen,rate,code"]
    for row in range(6):
        rate = ("nan", "-inf", "+1.5", "2e3", ".5", " 7 ")[row]
        lines.append(
            f'"={row}, ""x""",{row}.5,{"ab"[row % 2]},2024-02-2{row}T10:00:00+02:00,{rate},{row}0x'
        )
    path.write_text("\n".join([*lines, "\u202ea\x07,NA,,,null,"]))
    table = items("csv", path)
    assert kinds(table) == {
        "name": "text",
        "size": "number",
        "group": "category",
        "seen": "date",
        "rate": "number",
        "code": "text",
    }
    by_name = {column.name: column for column in table.columns}
    # Text is kept unchanged, whatever it spells.
    assert by_name["name"].values.to_pylist()[::6] == ['=0, "x"', "\u202ea\x07"]
    assert by_name["rate"].values.to_pylist() == [None, None, 1.5, 2000.0, 0.5, 7.0, None]
    assert by_name["rate"].n_not_finite == 2
    assert by_name["seen"].values[0].as_py().isoformat() == "2024-02-20T08:00:00+00:00"
    assert by_name["group"].values.dictionary.to_pylist() == ["a", "b"]
    assert [column.values.null_count for column in table.columns] == [0, 1, 1, 1, 3, 1]


def test_objects(tmp_path: Path) -> None:
    rows = [
        {"name": f"w{row}", "n": 10**400 if row == 1 else row, "on": bool(row % 2)}
        for row in range(5)
    ]
    rows[3].pop("n")
    (tmp_path / "x.json").write_text(json.dumps(rows))
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for format in ("json", "jsonl"):
        table = items(format, tmp_path / f"x.{format}")
        assert kinds(table) == {"name": "text", "n": "number", "on": "category"}
        assert table.columns[1].values.to_pylist() == [0.0, None, 2.0, None, 4.0]
        assert table.columns[1].n_not_finite == 1


@pytest.mark.parametrize("format", ["parquet", "arrow-file", "arrow-stream"])
def test_typed_columns(format: str, tmp_path: Path) -> None:
    table = pa.table(
        {
            "photo": [image_bytes(), None, image_bytes(), image_bytes()],
            "hf": [{"bytes": image_bytes(), "path": "a.png"}] * 4,
            "day": [date(1, 1, 1), None, date(9999, 12, 31), date(2024, 2, 29)],
            "group": pa.array(["a", "b", "a", "b"]).dictionary_encode(),
            "n": pa.array([1, 2, 3, None], pa.int16()),
            "nothing": pa.nulls(4),
        }
    )
    path = tmp_path / "x"
    if format == "parquet":
        pq.write_table(table, path)
    else:
        writer = pa.ipc.new_file if format == "arrow-file" else pa.ipc.new_stream
        with writer(path, table.schema) as sink:
            sink.write_table(table)
    read = items(format, path)
    assert kinds(read) == {
        "photo": "image",
        "hf": "image",
        "day": "date",
        "group": "category",
        "n": "number",
        "nothing": "text",
    }
    assert read.columns[0].values.to_pylist() == [image_bytes(), None, image_bytes(), image_bytes()]


def parquet(path: Path, **columns: Any) -> None:
    pq.write_table(pa.table(columns), path)


def test_columns_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for columns, code, sentence in (
        ({"a": [[1, 2]]}, "unsupported-format", "'a' has type"),
        ({"a": [image_bytes(), b"<svg/>"]}, "unsupported-format", "column 'a', row 1"),
        ({"a": pa.array([2**60], pa.timestamp("ms"))}, "wrong-input", "years 1 to 9999"),
        ({"a": ["x" * 100_001]}, "too-large", "'a' at row 0"),
        ({"a": pa.array([], pa.float64())}, "empty", "no rows"),
        ({f"c{at}": [1] for at in range(MOST_COLUMNS + 1)}, "too-large", "257 columns"),
        ({"a": [{"x": 1}]}, "unsupported-format", "'a'"),
    ):
        parquet(path, **columns)
        assert sentence in refused("parquet", path, code).detail
    writer: list[tuple[str, str, str]] = [
        ("a,a\n1,2", "wrong-input", "two columns of the name 'a'"),
        ("a,1\nx,2", "wrong-input", "must name the columns"),
        ("a,b\nx", "ragged", "row 0"),
        ("a,b\n", "empty", "no rows"),
        (",".join(f"c{at}" for at in range(99_999)) + "\n1", "too-large", "99,999 columns"),
    ]
    for text, code, sentence in writer:
        path.write_text(text)
        assert sentence in refused("csv", path, code).detail
    for value, code, sentence in (
        ([1, 2], "wrong-input", "list of objects"),
        ([{"a": [1]}], "wrong-input", "a list in column 'a' at row 0"),
        ([{"a": "\ud800"}], "wrong-input", "surrogate"),
        ([{f"{row}_{at}": 1 for at in range(200)} for row in range(2)], "too-large", "columns"),
        ([], "empty", "no"),
    ):
        path.write_text(json.dumps(value))
        assert sentence in refused("json", path, code).detail


def test_an_archive_of_images_is_in_natural_order(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    others = {"a/": b"", "__MACOSX/._cat1.png": b"x", "a/.DS_Store": b"x"}
    names = ("cat10.png", "cat2.png", "../../cat1.png", "C:\\cat3.PNG")
    write_images(path, {**others, **{name: image_bytes() for name in names}})
    assert format_of(None, path.read_bytes()) == "zip"
    assert format_of("application/zip", path.read_bytes()) == "zip"
    table = items("zip", path)
    assert kinds(table) == {"file": "text", "image": "image"}
    assert table.columns[0].values.to_pylist() == [
        "../../cat1.png",
        "C:\\cat3.PNG",
        "cat2.png",
        "cat10.png",
    ]
    # Nothing is unpacked, wherever the names point.
    assert [each.name for each in tmp_path.iterdir()] == ["x.zip"]
    with pytest.raises(UsageError, match="read as items"):
        load("zip", path, None, "features")


def holds(content: bytes, *others: str) -> Callable[[Path], None]:
    """An archive of an image, so called, and of other members."""
    return lambda path: write_images(path, {"a.png": content, **dict.fromkeys(others, b"PK")})


def bomb(path: Path) -> None:
    write_images(path, {"a.png": b"\0" * (70 << 20)}, zipfile.ZIP_DEFLATED)


def encrypted(path: Path) -> None:
    write_images(path, {"a.png": image_bytes()})
    content = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + offset] |= 1
    path.write_bytes(content)


def cut_short(path: Path) -> None:
    write_images(path, {"a.png": image_bytes()})
    path.write_bytes(path.read_bytes()[:-30])


@pytest.mark.parametrize(
    ("write", "code"),
    [
        (bomb, "archive-bomb"),
        (encrypted, "unsupported-format"),
        (cut_short, "invalid-file"),
        (
            lambda path: write_images(path, {"a.png": image_bytes(), "b.html": b"x"}),
            "unsupported-format",
        ),
        (lambda path: write_images(path, {"a.png": b"<svg/>"}), "unsupported-format"),
        (
            lambda path: write_images(path, {"a.png": image_bytes(), "b.zip": b"PK"}),
            "unsupported-format",
        ),
        (lambda path: write_images(path, {"__MACOSX/a": b"x"}), "empty"),
        (lambda path: path.write_bytes(b""), "empty"),
    ],
)
def test_archives_that_are_refused(write: Callable[[Path], Any], code: str, tmp_path: Path) -> None:
    write(tmp_path / "x.zip")
    refused("zip", tmp_path / "x.zip", code)


def test_too_many_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_zip, "MOST_IMAGES", 2)
    write_images(tmp_path / "x.zip", {f"{at}.png": image_bytes() for at in range(3)})
    refused("zip", tmp_path / "x.zip", "archive-bomb")


def test_more_than_may_be_held(tmp_path: Path) -> None:
    parquet(tmp_path / "x", a=[image_bytes()] * 400)
    refused("parquet", tmp_path / "x", "too-large", Bounds(max_bytes=16_000))

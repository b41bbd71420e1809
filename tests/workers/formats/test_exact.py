"""Whole numbers beyond 2^53 are refused as features by every reader, with their column, or kept."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from models.errors import UsageError
from models.inputs.data import require_finite
from models.inputs.reading import is_kept
from workers.formats import catalogue, roles
from workers.formats.column_roles import UNCHOSEN, Choice
from workers.formats.tables import Lists

BIG = 2**60 + 1


def table(values: list[Any], kind: Any, name: str) -> pa.Table:
    return pa.table({"a": [0.5, 1.5, 2.5], name: pa.array(values, kind)})


def written(format: str, values: list[Any], kind: Any = None, name: str = "big") -> bytes:
    """A table of a column `a` and a column of these three values."""
    out = io.BytesIO()
    match format:
        case "csv":
            return f"a,{name}\n".encode() + b"".join(b"0.5,%s\n" % str(x).encode() for x in values)
        case "json":
            return json.dumps([{"a": 0.5, name: x} for x in values]).encode()
        case "jsonl":
            return b"".join(json.dumps({"a": 0.5, name: x}).encode() + b"\n" for x in values)
        case "parquet":
            pq.write_table(table(values, kind, name), out)
        case "arrow-file":
            feather.write_feather(table(values, kind, name), out, compression="uncompressed")
    return out.getvalue()


def read(path: Path, format: str, content: bytes, choice: Choice = UNCHOSEN) -> Any:
    path.write_bytes(content)
    columns, _ = catalogue.table_columns(format, path, None, catalogue.DEFAULT, choice)
    return catalogue.load(format, path, None, "features", columns=columns)


def loaded(path: Path, format: str, content: bytes, choice: Choice = UNCHOSEN) -> Any:
    found = read(path, format, content, choice)
    require_finite(found, "features")  # type: ignore[arg-type]
    return found


TABLES = ["csv", "json", "jsonl", "parquet", "arrow-file"]


@pytest.mark.parametrize("format", TABLES)
def test_a_rounded_feature_is_refused_by_name_and_an_id_is_not(format: str, tmp_path: Path) -> None:
    path = tmp_path / "table"
    for big in (BIG, -BIG, 2**63 - 1, 2**53 + 1, -(2**53) - 1):
        with pytest.raises(UsageError, match=f"has {big} at row 1, column 'big'") as caught:
            loaded(path, format, written(format, [1, big, 3]))
        assert caught.value.where["row"] == 1
    # Exact ones, and those in digits that no two doubles share.
    for big in (2**60, 10**18, 2**53):
        assert loaded(path, format, written(format, [1, big, 3]))[1, -1] == big
    ids = written(format, [BIG, BIG + 1, BIG + 2])
    assert loaded(path, format, ids, Choice(id="big")).shape == (3, 1)
    assert loaded(path, format, ids, Choice(features=("a",))).shape == (3, 1)
    # Ids that nobody chose.
    named = written(format, [BIG, BIG + 1, BIG + 2], name="user_id")
    assert loaded(path, format, named).shape == (3, 1)


MIXED: dict[str, Any] = {
    "records": [{"a": 1, "big": 1.5}, {"a": 2, "big": BIG}, {"a": 3, "big": 2}],
    "gaps": [{"a": 1}, {"a": 2, "big": -BIG}, {"a": 3, "big": None}],
    "beyond 64 bits": [{"a": 1, "big": 1}, {"a": 2, "big": 2**70 + 1}, {"a": 3, "big": 2}],
    "by 1": [{"big": 0.5, "a": 1}, {"big": 2**53 + 1, "a": 2}, {"big": 2, "a": 3}],
    "split": {"columns": ["a", "big"], "data": [[0.5, 1], [0.5, BIG], [0.5, 2.5]]},
    "lists": {"a": [0.5, 0.5, 0.5], "big": [1, BIG, 2.5]},
    "objects": {"a": {"0": 0.5, "1": 0.5}, "big": {"0": 1.5, "1": BIG}},
    "vectors": [{"big": [1, 0.5]}, {"big": [BIG, 0.5]}],
    "vectors of integers": [{"big": [1, 2]}, {"big": [BIG, 3]}],
}
"""Values of JSON that stand beside floats, or are more than 64 bits."""


@pytest.mark.parametrize("case", MIXED)
def test_a_rounded_integer_beside_floats_is_refused(case: str, tmp_path: Path) -> None:
    value = MIXED[case]
    content = {"json": json.dumps(value).encode()}
    if isinstance(value, list):
        content["jsonl"] = b"\n".join(json.dumps(row).encode() for row in value)
    for format, document in content.items():
        column = "column 0" if "vectors" in case else "column 'big'"
        with pytest.raises(UsageError, match=rf"has -?\d+ at row 1, {column}") as caught:
            read(tmp_path / "table", format, document)
        assert caught.value.where.get("line") == (2 if format == "jsonl" else None)
        # Exact ones are kept, and columns that are no features are not looked at.
        for big in (BIG, 2**70 + 1, 2**53 + 1):
            document = document.replace(str(big).encode(), str(2**62).encode())
        assert np.nanmax(np.abs(read(tmp_path / "table", format, document))) == 2**62
    if "vectors" not in case:
        only = Choice(features=("a",))
        document = json.dumps(value).encode()
        assert loaded(tmp_path / "table", "json", document, only).shape[1] == 1


def test_inline_columns() -> None:
    for role, rows in (("labels", [1.0, 2**53 + 1]), ("targets", [0.5, BIG])):
        with pytest.raises(UsageError, match=f"has {rows[1]} at row 1"):
            roles.value(Lists(rows), role)
    with pytest.raises(UsageError, match="too large for float64 at row 1"):
        roles.value(Lists([[1], [10**400 + 1]]), "features")


@pytest.mark.parametrize("format", ["parquet", "arrow-file"])
def test_typed_columns(format: str, tmp_path: Path) -> None:
    path = tmp_path / "table"
    for kind, values in (
        (pa.uint64(), [1, 2**64 - 1, 3]),
        (pa.int64(), [None, BIG, 3]),
        (pa.decimal128(30, 2), [Decimal(1), Decimal(BIG) + Decimal("0.25"), Decimal(3)]),
    ):
        with pytest.raises(UsageError, match="at row 1, column 'big'"):
            loaded(path, format, written(format, values, kind))
    whole = pa.table({"a": [1, 2, 3], "big": pa.array([1, BIG, 3], pa.int64())})
    out = io.BytesIO()
    pq.write_table(whole, out)
    with pytest.raises(UsageError, match=f"has {BIG} at row 1, column 1"):
        loaded(path, "parquet", out.getvalue())


@pytest.mark.parametrize("kind", ["int64", "uint64", ">i8"])
def test_arrays(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "array"
    array = np.ones((5, 3), dtype=kind)
    array[3, 2] = BIG
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(UsageError, match=f"has {BIG} at row 3, column 2") as caught:
        loaded(path, "npy", (tmp_path / "a.npy").read_bytes())
    assert caught.value.where == {"role": "features", "row": 3, "column": 2}
    array[3, 2] = 2**60
    np.save(tmp_path / "a.npy", array)
    assert loaded(path, "npy", (tmp_path / "a.npy").read_bytes())[3, 2] == 2**60


def test_lists(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"has {BIG} at row 1, column 0"):
        loaded(tmp_path / "x", "json", json.dumps([[1, 2], [BIG, 3]]).encode())


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("1e300", True),
        ("123456789012345000000000", True),
        ("1152921504606846976.000", True),
        ("1152921504606846977", False),
        ("1152921504606846976.5", False),
    ],
)
def test_written_numbers(text: str, kept: bool) -> None:
    assert is_kept(text) == kept

"""Labels as one-hot or indicator matrices, and label sets that are none."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import UsageError
from models.inputs.label_sets import LabelSets
from models.inputs.reading import noting
from workers.formats import catalogue, roles
from workers.formats.tables import Lists

CODES = [0, 1, 2, 0, 2]
ONE_HOT = np.eye(3, dtype=np.int64)[CODES]


def read(table: Any) -> tuple[Any, list[str]]:
    with noting() as notes:
        return roles.value(table, "labels"), list(notes)


def sets_of(value: Any) -> list[set[str] | None]:
    assert isinstance(value, LabelSets)
    return [
        None
        if value.unlabelled[row]
        else {value.names[code] for code in value.code[value.start[row] : value.start[row + 1]]}
        for row in range(len(value.unlabelled))
    ]


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool", "float32", "float64", "float16"])
@pytest.mark.parametrize("inline", [False, True])
def test_one_hot_rows_are_classes(dtype: str, inline: bool) -> None:
    matrix = ONE_HOT.astype(dtype)
    value, notes = read(Lists(matrix.tolist()) if inline else matrix)
    assert value.tolist() == CODES
    assert len(notes) == 1
    assert "one-hot or indicator matrix of 5 rows x 3 columns" in notes[0]


@given(
    st.integers(3, 6).flatmap(
        lambda width: st.lists(
            st.lists(st.integers(0, 1), min_size=width, max_size=width), min_size=1
        )
    )
)
def test_several_or_no_ones_are_sets(rows: list[list[int]]) -> None:
    if not any(map(any, rows)):
        with pytest.raises(UsageError, match="no label"):
            read(Lists(rows))
        return
    expected = [{str(at) for at, flag in enumerate(row) if flag} for row in rows]
    for table in (Lists(rows), np.array(rows)):
        value, notes = read(table)
        assert "indicator" in notes[0]
        if all(len(own) == 1 for own in expected):
            assert [{str(code)} for code in value.tolist()] == expected
        else:
            assert sets_of(value) == expected
            assert value.names == [str(at) for at in range(len(rows[0]))]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([["a", "b"], ["c", "d"]], [{"a", "b"}, {"c", "d"}]),
        ([["0", "1"], ["1", "0"]], [{"0", "1"}, {"0", "1"}]),
        ([[0, 1], [1, 2]], [{"0", "1"}, {"1", "2"}]),
        ([[1, 2], [2, 1]], [{"1", "2"}, {"1", "2"}]),
        ([[0, 1], [0, 1]], [{"0", "1"}, {"0", "1"}]),
        ([[0, 1]], [{"0", "1"}]),
        ([[0, 1], [1]], [{"0", "1"}, {"1"}]),
        ([[0, 1], 1], [{"0", "1"}, {"1"}]),
        ([[0, 1], []], [{"0", "1"}, set()]),
        ([[0, 1, 2], [0, 0, 1]], [{"0", "1", "2"}, {"0", "1"}]),
    ],
)
def test_label_sets_stay_sets(rows: list[Any], expected: list[set[str]]) -> None:
    value, notes = read(Lists(rows))
    assert sets_of(value) == expected
    assert notes == []


@pytest.mark.parametrize("rows", [[[0], [1], [1]], [0, 1, 1], [[0.0], [1.0], [1.0]]])
def test_a_single_column_stays_labels(rows: list[Any]) -> None:
    value, notes = read(Lists(rows))
    assert (value.tolist(), notes) == ([0, 1, 1], [])


def test_two_columns_may_be_sets_and_the_note_says_so() -> None:
    value, notes = read(Lists([[0, 1], [1, 0], [1, 0]]))
    assert value.tolist() == [1, 0, 0]
    assert "could also be the set" in notes[0]
    assert len(read(Lists([[0, 1], [1, 1]]))[1]) == 1
    assert read(np.array([[0, 1], [0, 1]]))[0].tolist() == [1, 1]


def test_rows_of_unknown_labels_stay_unknown() -> None:
    value, notes = read(Lists([[0, 1, 0], None, [0, 1, 1]]))
    assert sets_of(value) == [{"1"}, None, {"1", "2"}]
    assert len(notes) == 1


@pytest.mark.parametrize("rows", [[[True, 2], [False, 1]], [[True, False], [1]]])
def test_other_booleans_are_refused(rows: list[Any]) -> None:
    with pytest.raises(UsageError, match="true"):
        read(Lists(rows))


@pytest.mark.parametrize("odd", [2.0, -1.0, 0.5, np.nan])
def test_another_value_is_no_indicator(odd: float) -> None:
    matrix = ONE_HOT.astype(np.float64)
    matrix[3, 1] = odd
    with pytest.raises(UsageError, match="one-hot or indicator") as caught:
        read(matrix)
    assert caught.value.code == "wrong-shape"


def csv(header: str) -> bytes:
    return (header + "".join(",".join(map(str, row)) + "\n" for row in ONE_HOT.tolist())).encode()


def arrow(kind: Any, *, as_list: bool, parquet: bool = False) -> bytes:
    if as_list:
        table = pa.table({"labels": pa.array(ONE_HOT.tolist(), pa.list_(kind))})
    else:
        columns = {f"c{at}": pa.array(ONE_HOT[:, at].astype(bool)).cast(kind) for at in range(3)}
        table = pa.table(columns)
    sink = io.BytesIO()
    if parquet:
        pyarrow.parquet.write_table(table, sink)
    else:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    return sink.getvalue()


def npy() -> bytes:
    sink = io.BytesIO()
    np.save(sink, ONE_HOT)
    return sink.getvalue()


def objects(*, lines: bool) -> bytes:
    rows = [dict(zip(("cat", "dog", "fish"), row, strict=True)) for row in ONE_HOT.tolist()]
    text = "".join(json.dumps(row) + "\n" for row in rows) if lines else json.dumps(rows)
    return text.encode()


C, PETS = ("c0", "c1", "c2"), ("cat", "dog", "fish")
BY_IDS = csv("").decode().splitlines()
FILES = {
    "npy": ("npy", npy(), range(3)),
    "csv": ("csv", csv(""), range(3)),
    "csv with a header": ("csv", csv("cat,dog,fish\n"), PETS),
    "csv with ids": (
        "csv",
        "\n".join(
            ["id,cat,dog,fish", *(f"r{at},{line}" for at, line in enumerate(BY_IDS))]
        ).encode(),
        PETS,
    ),
    "csv with an index": (
        "csv",
        "\n".join([",cat,dog,fish", *(f"{at},{line}" for at, line in enumerate(BY_IDS))]).encode(),
        PETS,
    ),
    "truths": (
        "csv",
        csv("cat,dog,fish\n").replace(b"0", b"False").replace(b"1", b"True"),
        PETS,
    ),
    "json": ("json", json.dumps(ONE_HOT.tolist()).encode(), range(3)),
    "jsonl": (
        "jsonl",
        "".join(json.dumps(row) + "\n" for row in ONE_HOT.tolist()).encode(),
        range(3),
    ),
    "objects": ("json", objects(lines=False), PETS),
    "lines of objects": ("jsonl", objects(lines=True), PETS),
    "lists": ("arrow-stream", arrow(pa.int8(), as_list=True), range(3)),
    "columns": ("arrow-stream", arrow(pa.int64(), as_list=False), C),
    "booleans": ("arrow-stream", arrow(pa.bool_(), as_list=False), C),
    "parquet": ("parquet", arrow(pa.int64(), as_list=False, parquet=True), C),
    "parquet lists": ("parquet", arrow(pa.int64(), as_list=True, parquet=True), range(3)),
}


@pytest.mark.parametrize("name", list(FILES))
def test_files_of_one_hot_rows(name: str, tmp_path: Path) -> None:
    kind, content, classes = FILES[name]
    path = tmp_path / "file"
    path.write_bytes(content)
    facts = catalogue.inspect(kind, path, None, role="labels")
    with noting() as notes:
        value = catalogue.load(kind, path, None, "labels", columns=facts.columns)
    assert np.asarray(value).tolist() == [classes[code] for code in CODES]
    (note,) = notes
    assert all(str(own) in note for own in classes) or "named by their numbers" in note
    assert facts.shape[0] == 5


def test_names_of_columns_are_those_of_sets(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("cat,dog,fish\n1,0,1\n0,0,0\n0,1,0\n")
    columns = catalogue.inspect("csv", path, None, role="labels").columns
    value = catalogue.load("csv", path, None, "labels", columns=columns)
    assert sets_of(value) == [{"cat", "fish"}, set(), {"dog"}]


def test_a_column_of_texts_beside_truths_may_be_the_labels(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("kind,big,small\na,1,0\nb,0,1\na,1,0\n")
    with pytest.raises(UsageError) as caught:
        catalogue.inspect("csv", path, None, role="labels")
    assert caught.value.code == "member-needed"


def test_several_columns_of_other_values_need_a_choice(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("a,b\n1,2\n0,1\n")
    with pytest.raises(UsageError) as caught:
        catalogue.load("csv", path, None, "labels")
    assert caught.value.code == "member-needed"

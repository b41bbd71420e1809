"""The table writers: CSV, JSON and Arrow, written in pieces and read back by other libraries."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.formats.table_writers import (
    BATCH_ROWS,
    Piece,
    arrow_chunks,
    csv_chunks,
    guarded,
    json_columns,
    json_list,
    json_rows,
    pieces_of_arrow,
    pieces_of_rows,
    python_values,
    save_arrow,
)

NAMES = ["row", "share", "name"]
PIECES: list[Piece] = [
    [np.array([0, 1]), np.array([0.5, 0.1]), ["rose", None]],
    [[], [], []],
    [(2,), [-1e-05], ['a "b", c']],
]


def test_csv_has_a_header_and_one_chunk_for_each_piece_with_rows() -> None:
    assert list(csv_chunks(NAMES, PIECES)) == [
        b"row,share,name\r\n",
        b"0,0.5,rose\r\n1,0.1,\r\n",
        b'2,-1e-05,"a ""b"", c"\r\n',
    ]
    assert b"".join(csv_chunks(NAMES, [])) == b"row,share,name\r\n"


def test_a_list_fills_a_single_cell() -> None:
    chunks = csv_chunks(["path", "share"], [[[[0, 3], []], [[1.0, 0.25], ["=a"]]]])
    assert b"".join(chunks) == b"path,share\r\n0 3,1.0 0.25\r\n,'=a\r\n"


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_text_that_a_spreadsheet_would_run_is_guarded(begin: str) -> None:
    text = f"{begin}cmd|' /C calc'!A0"
    assert guarded(text) == f"'{text}"
    content = b"".join(csv_chunks([text, "b"], [[["x", text], [-1, -0.5]]])).decode()
    assert list(csv.reader(io.StringIO(content, newline=""))) == [
        [f"'{text}", "b"],
        ["x", "-1"],
        [f"'{text}", "-0.5"],
    ]


def test_only_the_named_columns_are_verbatim() -> None:
    chunks = csv_chunks(["label", "name"], [[["-5"], ["-5"]]], verbatim={"label"})
    assert b"".join(chunks) == b"label,name\r\n-5,'-5\r\n"


def test_json_rows_continue_across_pieces() -> None:
    chunks = list(json_rows(NAMES, PIECES))
    assert len(chunks) == 3
    assert b"".join(chunks) == (
        b'[{"row": 0, "share": 0.5, "name": "rose"}, {"row": 1, "share": 0.1, "name": null}, '
        b'{"row": 2, "share": -1e-05, "name": "a \\"b\\", c"}]'
    )
    assert b"".join(json_rows(NAMES, [])) == b"[]"


def test_json_columns_are_split_as_well() -> None:
    columns = {"a": np.arange(5), "b": [], 'c"': ["x", None]}
    chunks = list(json_columns(columns, piece_rows=2))
    assert b"".join(chunks) == b'{"a": [0, 1, 2, 3, 4], "b": [], "c\\"": ["x", null]}'
    assert max(map(len, chunks)) < 12
    assert b"".join(json_columns({})) == b"{}"


def test_a_number_that_is_not_finite_is_null_in_json() -> None:
    values = np.array([np.nan, 1.5, -np.inf])
    assert json.loads(b"".join(json_columns({"a": values}))) == {"a": [None, 1.5, None]}
    assert json.loads(b"".join(json_rows(["a"], [[values]])))[2] == {"a": None}
    for chunks in (json_list([[math.nan]]), json_rows(["a"], [[[math.inf]]])):
        with pytest.raises(ValueError, match="not JSON compliant"):
            list(chunks)


def test_columns_of_a_piece_must_match_its_names_and_each_other() -> None:
    wrong: list[Piece] = [[[1, 2], [3]], [[1]], [[1], [2], [3]]]
    for piece in wrong:
        for writer in (csv_chunks, json_rows):
            with pytest.raises(ValueError, match="argument"):
                list(writer(["a", "b"], [piece]))


cells = st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@given(st.lists(st.tuples(cells, cells), max_size=9), st.integers(1, 4))
def test_tables_survive_a_round_trip(rows: list[tuple[Any, Any]], n: int) -> None:
    items = json.loads(b"".join(json_rows(["a", "b"], pieces_of_rows(rows, piece_rows=n))))
    assert [tuple(item.values()) for item in items] == rows
    content = b"".join(csv_chunks(["a", "b"], pieces_of_rows(rows, piece_rows=n))).decode()
    _, *lines = csv.reader(io.StringIO(content, newline=""))
    expected = [
        ["" if cell is None else guarded(cell) if isinstance(cell, str) else str(cell)]
        for row in rows
        for cell in row
    ]
    assert [[cell] for line in lines for cell in line] == expected


def test_arrow_is_written_batch_by_batch(tmp_path: Path) -> None:
    n_rows = BATCH_ROWS + 1
    table = pa.table({"a": np.arange(n_rows), "b": pa.nulls(n_rows, pa.string())})
    chunks = list(arrow_chunks(table))
    assert len(chunks) == 3
    for batch_rows, n_batches in ((BATCH_ROWS, 2), (None, 1)):
        save_arrow(table, tmp_path / "x", batch_rows=batch_rows)
        with pa.ipc.open_file(tmp_path / "x") as file:
            assert file.num_record_batches == n_batches
            assert file.read_all() == table
    with pa.ipc.open_file(b"".join(chunks)) as file:
        assert file.num_record_batches == 2
        assert file.read_all() == table
    assert pa.ipc.open_file(b"".join(arrow_chunks(table[:0]))).read_all() == table[:0]


def test_an_arrow_table_in_pieces() -> None:
    table = pa.table({"a": [1, None, 3], "b": [["x"], [], None]})
    assert list(pieces_of_arrow(table, piece_rows=2)) == [
        [[1, None], [["x"], []]],
        [[3], [None]],
    ]
    assert b"".join(csv_chunks(table.column_names, pieces_of_arrow(table))) == (
        b"a,b\r\n1,x\r\n,\r\n3,\r\n"
    )


BEST = pa.struct([("label", pa.dictionary(pa.int32(), pa.string())), ("score", pa.float64())])
ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.sampled_from("abc")),
        st.lists(st.sampled_from(["x", "yy"])),
        st.lists(st.tuples(st.sampled_from("abc"), st.floats(allow_nan=False))),
        st.integers(-5, 5),
    )
)


@given(rows=ROWS, data=st.data())
def test_the_values_of_an_arrow_array_are_those_of_a_list(
    rows: list[tuple[Any, ...]], data: st.DataObject
) -> None:
    labels, texts, best, numbers = ([row[at] for row in rows] for at in range(4))
    members = [[{"label": label, "score": score} for label, score in pairs] for pairs in best]
    arrays = [
        pa.array(labels, pa.string()).dictionary_encode(),
        pa.array(texts, pa.large_list(pa.string())),
        pa.array(members, pa.list_(BEST)),
        pa.array(numbers, pa.int64()),
        pa.array(labels, pa.string()),
    ]
    start = data.draw(st.integers(0, len(rows)))
    stop = data.draw(st.integers(start, len(rows)))
    for array in arrays:
        part = array.slice(start, stop - start)
        assert list(python_values(part)) == part.to_pylist()

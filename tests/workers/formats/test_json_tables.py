"""Data frames in a JSON document: the forms of pandas, and what is no table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.formats.files_kit import put, refused, survives
from workers.formats import catalogue, json_tables

FRAME = pd.DataFrame(
    {"width": [1.5, 2, 3.25], "height": [3, 4, 6], "kind": ["cat", "cat", "dog"]},
    index=["r1", "r2", "r3"],
)
ORIENTS = ["split", "tight", "records", "index", "columns", "table"]


def written(frame: pd.DataFrame, orient: str) -> str:
    if orient in ("tight", "list"):
        return json.dumps(frame.to_dict(orient))  # type: ignore[call-overload]
    return str(frame.to_json(orient=orient))  # type: ignore[call-overload]


def read(path: Path, text: str) -> tuple[Any, np.ndarray]:
    put(path, text)
    facts = catalogue.inspect("json", path, None, role="features")
    return facts, np.asarray(catalogue.load("json", path, None, "features", columns=facts.columns))


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("orient", [*ORIENTS, "list"])
def test_every_form_of_a_data_frame(orient: str, named: bool, tmp_path: Path) -> None:
    frame = FRAME if named else FRAME.reset_index(drop=True)
    facts, value = read(tmp_path / "x", written(frame, orient))
    assert value.tolist() == [[1.5, 3], [2, 4], [3.25, 6]]
    roles = {column.name: column.role for column in facts.columns}
    assert roles.pop("kind") is None
    assert (roles.pop("width"), roles.pop("height")) == ("feature", "feature")
    if named and orient not in ("records", "list"):
        ((index, role),) = roles.items()
        assert role == "id"
        assert catalogue.texts("json", tmp_path / "x", index) == ["r1", "r2", "r3"]
    assert "'kind'" in facts.warnings[-1]


@given(
    st.integers(1, 5),
    st.integers(2, 5),
    st.sampled_from(ORIENTS),
    st.booleans(),
)
def test_a_table_is_never_turned_over_in_silence(
    n_rows: int, n_columns: int, orient: str, with_text: bool
) -> None:
    """Where texts or numbers of rows show what the rows are, they are read so; else a note says
    how."""
    values = np.arange(n_rows * n_columns, dtype=float).reshape(n_rows, n_columns)
    frame = pd.DataFrame(values, columns=[f"c{at}" for at in range(n_columns)])
    if with_text:
        frame["word"] = "a"
    frame.index = pd.Index([f"r{row}" for row in range(n_rows)])
    found, notes = json_tables.rows(json.loads(written(frame, orient)))
    assert isinstance(found, list)
    right = [row["c0"] for row in found if "c0" in row] == values[:, 0].tolist()
    assert right or notes
    assert right or (orient == "index" and not with_text)


def test_an_undecided_table_is_read_by_columns_with_a_note(tmp_path: Path) -> None:
    text = json.dumps({"a": {"x": 1, "y": 2}, "b": {"x": 3, "y": 5}})
    facts, value = read(tmp_path / "x", text)
    assert value.tolist() == [[1, 3], [2, 5]]
    assert "was read as 2 columns of 2 values each" in facts.warnings[0]


def test_lists_and_vectors(tmp_path: Path) -> None:
    _, value = read(tmp_path / "x", '{"a": [1, 2], "b": [3, 4.5]}')
    assert value.tolist() == [[1, 3], [2, 4.5]]
    facts, value = read(
        tmp_path / "x", '{"id": ["a", "b"], "embedding": [[1, 2], [3, 4]], "tags": [["u"], []]}'
    )
    assert value.tolist() == [[1, 2], [3, 4]]
    assert [column.role for column in facts.columns] == ["id", "feature", None]
    assert "'tags'" in facts.warnings[0]
    error = refused(read, tmp_path / "x", '{"embedding": [[1, 2], [3]], "a": [1, 2]}')
    assert (error.code, error.where["row"]) == ("ragged", 1)


def test_integers_may_be_labels(tmp_path: Path) -> None:
    facts, value = read(tmp_path / "x", '[{"x": 0.5, "label": 3}, {"x": 1, "label": 1}]')
    assert value.tolist() == [[0.5], [1]]
    labels = catalogue.load("json", tmp_path / "x", None, "labels", columns=facts.columns)
    assert np.asarray(labels).tolist() == [3, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": [1, 2], "b": [3]}', "column 'a' has 2 values and column 'b' has 1"),
        ('{"columns": ["a"], "data": [[1], [2, 3]]}', "row 1 (counted from 0) has 2 values"),
        ('{"columns": ["a"], "index": [0], "data": [[1], [2]]}', "the index has 1 values"),
        ('{"columns": ["a", "a"], "data": [[1, 2]]}', "two columns of the name 'a'"),
        ('{"name": "root", "children": []}', "must be a list, not an object"),
        ('{"a": {"b": {"c": 1}}}', "must be a list, not an object"),
        ("{}", "must be a list, not an object"),
    ],
)
def test_other_objects_are_refused(text: str, words: str, tmp_path: Path) -> None:
    assert words in refused(read, tmp_path / "x", text).detail


def test_objects_without_common_names_are_refused(tmp_path: Path) -> None:
    rows = [{f"n{at}": 1} for at in range(2000)]
    for document in (rows, {f"c{at}": row for at, row in enumerate(rows)}):
        assert refused(read, tmp_path / "x", json.dumps(document)).code in ("wrong-input", "ragged")


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["columns", "data", "index", "schema", "a", "", "0"]),
                inner,
                max_size=3,
            )
        ),
        max_leaves=12,
    )
)
def test_any_value_is_read_or_refused(value: Any) -> None:
    survives(json_tables.rows, value)

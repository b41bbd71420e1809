"""JSON files and inline lists: what is taken, and what is said of the rest."""

from __future__ import annotations

import json as stdlib
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import UsageError
from tests.workers.formats.conftest import refused, survives
from workers.formats import json


def test_matrices() -> None:
    value = json.parse(b"[[1, 2.5], [3, -4e2]]", "logits")
    assert isinstance(value, np.ndarray)
    assert value.dtype == np.float64
    assert value.tolist() == [[1, 2.5], [3, -400]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("[1, 2]", [1, 2]), ("[3.0, -1]", [3, -1]), ('["a", "é"]', ["a", "é"]), ("[7]", [7])],
)
def test_labels(text: str, expected: list[Any]) -> None:
    value = json.parse(text.encode(), "labels")
    assert isinstance(value, np.ndarray)
    assert value.tolist() == expected


def test_large_integers_stay_exact() -> None:
    exact = 2**62 + 1
    value = json.check([exact], "labels")
    assert isinstance(value, np.ndarray)
    assert value.tolist() == [exact]


def test_names_are_text() -> None:
    assert json.parse(b'["a", "<script>"]', "names") == ["a", "<script>"]
    assert json.parse(b"[0, 1]", "names") == ["0", "1"]


@pytest.mark.parametrize(
    ("value", "code", "place"),
    [
        ([[1, 2], [3]], "ragged", {"row": 1}),
        ([[1], [2, 3]], "ragged", {"row": 1}),
        ([[1, 2], 3], "wrong-input", {"row": 1}),
        ([1, 2], "wrong-input", {"row": 0}),
        ([[1, "2"]], "wrong-input", {"row": 0, "column": 1}),
        ([[1, 2], [3, True]], "wrong-input", {"row": 1, "column": 1}),
        ([[1, None]], "missing-value", {"row": 0, "column": 1}),
        ([[1, [2]]], "wrong-input", {"row": 0, "column": 1}),
        ([[1, {}]], "wrong-input", {"row": 0, "column": 1}),
        ([[1, float("inf")]], "not-finite", {"row": 0, "column": 1}),
        ([[1, 2], [float("nan"), 1]], "not-finite", {"row": 1, "column": 0}),
        ([[10**400, 2]], "not-finite", {"row": 0, "column": 0}),
        ([], "empty", {}),
        ([[]], "empty", {}),
        ([[], [1]], "empty", {}),
        ({}, "wrong-input", {}),
        ("text", "wrong-input", {}),
        (3, "wrong-input", {}),
        (None, "wrong-input", {}),
    ],
)
def test_what_is_no_matrix_is_named(value: Any, code: str, place: dict[str, int]) -> None:
    error = refused(json.check, value, "features")
    assert error.code == code
    assert error.where == {"role": "features", **place}
    for word, number in place.items():
        assert f"{word} {number}" in error.detail


@pytest.mark.parametrize(
    ("value", "code", "row"),
    [
        ([1, "a"], "wrong-input", 1),
        (["a", 1], "wrong-input", 1),
        ([1, None], "missing-value", 1),
        (["a", None], "missing-value", 1),
        ([None], "missing-value", 0),
        (["a", ""], "missing-value", 1),
        ([1, 2.5], "wrong-input", 1),
        ([1, True], "wrong-input", 1),
        ([[1], [2]], "wrong-input", 0),
        (["a", ["b"]], "wrong-input", 1),
        ([1, 10**30], "not-finite", 1),
        ([1, 10**400], "not-finite", 1),
        ([0.5, 10**400], "not-finite", 1),
        ([1, float("nan")], "not-finite", 1),
        (["ok", "\ud800"], "wrong-input", 1),
        ([], "empty", None),
        ({"a": 1}, "wrong-input", None),
    ],
)
def test_what_is_no_column_is_named(value: Any, code: str, row: int | None) -> None:
    error = refused(json.check, value, "labels")
    assert error.code == code
    assert error.where.get("row") == row


@pytest.mark.parametrize(("role", "word"), [("labels", "integers"), ("targets", "numbers")])
def test_what_a_column_takes_is_said_by_its_role(role: str, word: str) -> None:
    assert f"a list of {word} or of text" in refused(json.check, [True], role).detail


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"[[1, 2], [3, 4]", "invalid-file"),
        (b"[[NaN]]", "not-finite"),
        (b"[[Infinity]]", "not-finite"),
        (b"[[-Infinity]]", "not-finite"),
        (b"[[1e400]]", "not-finite"),
        (b"[[-1e400, 1]]", "not-finite"),
        (b"[[" + b"9" * 5000 + b"]]", "invalid-file"),
        (b"[" * 1_000_000, "invalid-file"),
        (b"[" * 100_000 + b"]" * 100_000, "invalid-file"),
        (b'{"a":' * 100_000, "invalid-file"),
        (b"[[1]] x", "invalid-file"),
        (b"\xff\xfe[", "invalid-file"),
        (b"[['a']]", "invalid-file"),
        (b" " * (json.MAX_JSON + 1), "too-large"),
    ],
)
def test_documents_that_cannot_be_read(data: bytes, code: str) -> None:
    assert refused(json.parse, data, "features").code == code
    assert refused(json.facts, data).code == code


def test_a_place_in_broken_json_is_named() -> None:
    error = refused(json.parse, b"[[1, 2],\n [3, x]]", "features")
    assert error.where == {"line": 2, "column": 6}


@pytest.mark.parametrize(
    ("data", "shape", "dtype"),
    [
        (b"[[1, 2], [3, 4], [5, 6]]", (3, 2), "float64"),
        (b"[1, 2]", (2,), "int64"),
        (b"[1.5]", (1,), "float64"),
        (b'\xef\xbb\xbf["a"]', (1,), "str"),
    ],
)
def test_facts(data: bytes, shape: tuple[int, ...], dtype: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    facts = json.inspect(path, None)
    assert (facts.shape, facts.dtype) == (shape, dtype)


def test_a_file_past_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with path.open("wb") as file:
        file.truncate(4 << 30)
    tracemalloc.start()
    error = refused(json.load, path, None, "features")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert error.code == "too-large"
    assert peak < json.MAX_JSON + (1 << 20)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(values, max_size=4), st.sampled_from(["features", "labels", "names", "tasks"]))
def test_any_list_is_taken_or_refused(value: list[Any], role: str) -> None:
    try:
        found = json.check(value, role)
    except UsageError:
        return
    assert len(found) == len(value)  # type: ignore[arg-type]
    assert json.parse(stdlib.dumps(value).encode(), role) is not None


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=40) | st.text(alphabet='[]{}",:0123456789.eE+-aN \n').map(str.encode))
def test_any_bytes_are_taken_or_refused(data: bytes) -> None:
    for role in ("features", "labels"):
        survives(json.parse, data, role)


def test_decoding_a_text_of_any_form() -> None:
    assert json.decode('{"name": "a", "children": [{}]}') == {"name": "a", "children": [{}]}
    for text in ("{", '{"a":' * 100_000, "NaN", "9" * 5000):
        assert refused(json.decode, text).code in {"invalid-file", "not-finite"}

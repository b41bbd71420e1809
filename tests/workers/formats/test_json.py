"""JSON documents: parsed values, and unreadable documents."""

from __future__ import annotations

import tracemalloc
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.inputs.data import Value
from tests.workers.formats.files_kit import refused, survives
from workers.formats import catalogue, json, roles

load = partial(catalogue.load, "json")


def parsed(document: bytes, role: str) -> Value:
    return roles.value(json.parse(document), role)


def test_matrices() -> None:
    matrix = parsed(b"[[1, 2.5], [3, -4e2]]", "logits")
    assert isinstance(matrix, np.ndarray)
    assert matrix.dtype == np.float64
    assert matrix.tolist() == [[1, 2.5], [3, -400]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("[1, 2]", [1, 2]), ("[3.0, -1]", [3, -1]), ('["a", "é"]', ["a", "é"]), ("[7]", [7])],
)
def test_labels(text: str, expected: list[Any]) -> None:
    labels = parsed(text.encode(), "labels")
    assert isinstance(labels, np.ndarray)
    assert labels.tolist() == expected


def test_names_are_text() -> None:
    assert parsed(b'["a", "<script>"]', "names") == ["a", "<script>"]
    assert parsed(b"[0, 1]", "names") == ["0", "1"]


@pytest.mark.parametrize(
    ("document", "code"),
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
def test_unreadable_documents(document: bytes, code: str) -> None:
    assert refused(parsed, document, "features").code == code
    assert refused(json.facts, document).code == code


def test_the_error_locates_broken_json() -> None:
    error = refused(json.parse, b"[[1, 2],\n [3, x]]")
    assert error.where == {"line": 2, "column": 6}


def test_a_name_twice_in_an_object_is_refused() -> None:
    """Each parser takes another of the values: a tree would lose its branch without a word."""
    error = refused(json.parse, b'{"name": "r", "children": [\n {"name": "a", "name": "b"}]}')
    assert "has 'name' twice in the object at '/children/0'" in error.detail
    assert error.where == {"line": 2, "column": 16}


@pytest.mark.parametrize(
    ("document", "shape", "dtype"),
    [
        (b"[[1, 2], [3, 4], [5, 6]]", (3, 2), "float64"),
        (b"[1, 2]", (2,), "int64"),
        (b"[1.5]", (1,), "float64"),
        (b'\xef\xbb\xbf["a"]', (1,), "str"),
    ],
)
def test_facts(document: bytes, shape: tuple[int, ...], dtype: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(document)
    facts = json.inspect(path, None)
    assert (facts.shape, facts.dtype) == (shape, dtype)


def test_a_file_past_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with path.open("wb") as file:
        file.truncate(4 << 30)
    tracemalloc.start()
    error = refused(load, path, None, "features")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert error.code == "too-large"
    assert peak < json.MAX_JSON + (1 << 20)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=40) | st.text(alphabet='[]{}",:0123456789.eE+-aN \n').map(str.encode))
def test_any_bytes_are_accepted_or_refused(document: bytes) -> None:
    for role in ("features", "labels"):
        survives(parsed, document, role)


def test_decoding_text_of_any_kind() -> None:
    assert json.decode('{"name": "a", "children": [{}]}') == {"name": "a", "children": [{}]}
    for text in ("{", '{"a":' * 100_000, "NaN", "9" * 5000):
        assert refused(json.decode, text).code in {"invalid-file", "not-finite"}

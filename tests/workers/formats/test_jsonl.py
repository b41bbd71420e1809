"""JSON lines: one text per line, and errors that locate wrong lines."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workers.formats.files_kit import put, refused, rows_of, survives
from workers.formats import catalogue, jsonl
from workers.formats.catalogue import format_of
from workers.formats.facts import Bounds

load = partial(catalogue.load, "jsonl")

texts = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1)


def test_strings_and_objects_are_texts(tmp_path: Path) -> None:
    text = '"A cat."\n{"id": 7, "text": "Ein \\u0048und\\n"}\r\n {"text":"猫"} \n\n'
    path = put(tmp_path / "x", text)
    facts = jsonl.inspect(path, None)
    assert (facts.shape, facts.dtype) == ((3,), "str")
    assert load(path, None, "documents") == ["A cat.", "Ein Hund\n", "猫"]
    assert load(path, None, "labels").tolist() == ["A cat.", "Ein Hund\n", "猫"]  # type: ignore[union-attr]


def test_the_text_field_can_be_chosen(tmp_path: Path) -> None:
    path = put(tmp_path / "x", '{"text": "no", "body": "yes"}\n"a whole line"')
    assert load(path, "body", "documents") == ["yes", "a whole line"]
    error = refused(load, path, "title", "documents")
    assert (error.where, "'title'" in error.detail) == ({"line": 1}, True)


def test_numbers_are_ids_and_rows(tmp_path: Path) -> None:
    path = put(tmp_path / "x", '{"id": 7, "w": 1, "h": 2}\n{"id": 8, "w": 3, "h": 4.5}\n')
    columns = catalogue.inspect("jsonl", path).columns
    assert [column.role for column in columns] == ["id", "feature", "feature"]
    assert catalogue.texts("jsonl", path, "id") == ["7", "8"]
    lists = put(tmp_path / "y", "[1, 2]\n[3, 4.5]\n")
    assert catalogue.inspect("jsonl", lists, role="features").shape == (2, 2)
    assert np.asarray(load(lists, None, "features")).tolist() == [[1, 2], [3, 4.5]]
    gap = put(tmp_path / "z", "[1, null]\n[3]\n")
    assert "row 1 (counted from 0) has 1 values" in refused(load, gap, None, "features").detail


def test_labels_and_edges(tmp_path: Path) -> None:
    lines = ['["a", "b"]', '"c"', "[]", "null", '{"text": ["b"]}', '{"text": null}']
    path = put(tmp_path / "x", "\n".join(lines) + "\n")
    assert rows_of(load(path, None, "labels")) == [["a", "b"], ["c"], [], None, ["b"], None]
    facts = catalogue.inspect("jsonl", path, None, role="labels")
    assert (facts.shape, facts.dtype) == ((6,), "str")
    error = refused(catalogue.inspect, "jsonl", path)
    assert (error.where, "?role=labels" in error.detail) == ({"line": 1}, True)
    path = put(tmp_path / "x", "[3, 10]\n7\n")
    assert rows_of(load(path, None, "labels")) == [["3", "10"], ["7"]]
    path = put(tmp_path / "x", '["a", "b"]\n["b", "c"]\n')
    edges = load(path, None, "graph")
    assert isinstance(edges, np.ndarray)
    assert edges.tolist() == [["a", "b"], ["b", "c"]]
    path = put(tmp_path / "x", '["a/b"]\n["a/b", "c/d"]\n')
    assert load(path, None, "hierarchy").n_leaves == 2  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("bad", "row"), [("{}", None), ('{"text": {}}', 1), ("true", 1), ('["a", 1]', 1), ('[[""]]', 1)]
)
def test_lines_that_are_no_labels(bad: str, row: int | None, tmp_path: Path) -> None:
    path = put(tmp_path / "x", f'["a", "b"]\n{bad}\n')
    error = refused(load, path, None, "labels")
    assert error.where in ({"line": 2}, {"role": "labels", "row": row})


@pytest.mark.parametrize("ascii_only", [True, False])
def test_lines_written_by_other_tools_are_read(ascii_only: bool, tmp_path: Path) -> None:
    @settings(max_examples=30, deadline=None)
    @given(texts)
    def check(written_texts: list[str]) -> None:
        lines = [json.dumps({"text": text}, ensure_ascii=ascii_only) for text in written_texts]
        path = put(tmp_path / "x", "\n".join(lines))
        assert load(path, None, "documents") == written_texts
        assert jsonl.inspect(path, None).shape == (len(written_texts),)

    check()


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    path = put(tmp_path / "x", b'\xef\xbb\xbf"a"\n"b"\n')
    assert load(path, None, "documents") == ["a", "b"]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (b"hello", "not valid JSON at column 1"),
        (b'"a" "b"', "not valid JSON at column 5"),
        (b'{"text": "a"', "not valid JSON"),
        (b'"caf\xe9"', "not UTF-8"),
        (b"7", "holds no text"),
        (b"null", "holds no text"),
        (b'["a"]', "holds no text"),
        (b'{"text": 7}', "holds no text"),
        (b'{"body": "a"}', "without the field 'text'"),
        (b'{"text": "a", "x": NaN}', "not finite"),
        (b'{"text": "a", "x": ' + b"9" * 5000 + b"}", "too many digits"),
        (b'{"text": "a", "text": "b"}', "has 'text' twice"),
        (b"[" * 100_000, "nested too deeply"),
        (b'"\\ud800"', "lone surrogate"),
        (b"", "is empty"),
        (b"   ", "is empty"),
    ],
)
def test_errors_locate_wrong_lines(bad: bytes, message: str, tmp_path: Path) -> None:
    path = put(tmp_path / "x", b'"first"\n' + bad + b'\n"third"\n')
    for call in (lambda: jsonl.inspect(path, None), lambda: load(path, None, "documents")):
        error = refused(call)
        assert (error.code, error.where) == ("invalid-file", {"line": 2})
        assert "Line 2 of the file" in error.detail
        assert message in error.detail


def test_empty_texts_are_documents_but_no_names(tmp_path: Path) -> None:
    path = put(tmp_path / "x", '"a"\n{"text": ""}\n')
    assert jsonl.inspect(path, None).shape == (2,)
    assert load(path, None, "documents") == ["a", ""]
    error = refused(load, path, None, "names")
    assert (error.code, error.where) == ("missing-value", {"role": "names", "row": 1})


def test_a_file_without_texts_is_empty(tmp_path: Path) -> None:
    for content in ("", "\n \n"):
        assert refused(jsonl.inspect, put(tmp_path / "x", content), None).code == "empty"


def test_lines_and_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "x", '"a"\n"' + 100 * "b" + '"\n')
    assert refused(jsonl.inspect, path, None, Bounds(max_bytes=50)).code == "too-large"
    monkeypatch.setattr(jsonl, "MAX_LINE", 50)
    error = refused(jsonl.inspect, path, None)
    assert (error.code, error.where) == ("too-large", {"line": 2})


def test_texts_are_not_a_matrix(tmp_path: Path) -> None:
    error = refused(load, put(tmp_path / "x", '"a"\n'), None, "features")
    assert error.code == "wrong-shape"


@pytest.mark.parametrize(
    ("content", "format"),
    [
        (b'"a text"\n"another"\n', "jsonl"),
        (b'{"id": 1, "text": "a"}\n', "jsonl"),
        (b'{"text": "a"}\r\n{"text"', "jsonl"),
        (b'["a"]\n', "json"),
        (b'["a"]\n\n', "json"),
        (b'["a"]\n["b", "c"]\n', "jsonl"),
        (b"[]\n[1, 2]\n[3", "jsonl"),
        (b"[[1, 2],\n[3, 4]]", "json"),
        (b'[\n"a"\n]', "json"),
        (b'"a","b"\n1,2\n3,4\n', "csv"),
    ],
)
def test_undeclared_lines_are_recognised_by_the_first(content: bytes, format: str) -> None:
    assert format_of(None, content) == format


def test_media_types() -> None:
    for media_type in ("application/x-ndjson", "application/jsonl", "application/x-jsonlines"):
        assert format_of(f"{media_type}; charset=utf-8", b'{"body": "a"}') == "jsonl"
    assert refused(format_of, None, b'{"body": "a"}\n').code == "unsupported-format"


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_accepted_or_refused(content: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = put(Path(folder) / "x", content)
        survives(jsonl.inspect, path, None)
        for role in ("documents", "labels", "hierarchy", "graph"):
            survives(load, path, None, role)

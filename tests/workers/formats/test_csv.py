"""CSV: headers, separators, and errors that locate each wrong cell."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.tree.tree import Tree
from tests.workers.formats.files_kit import put, refused, survives
from workers.formats import catalogue, csv
from workers.formats.facts import Bounds

load = partial(catalogue.load, "csv")


@pytest.mark.parametrize(
    "text",
    [
        "1,2.5\n3,-4e2\n",
        "1,2.5\r\n3,-4e2\r\n",
        "1,2.5\n3,-4e2",
        "1,2.5\n3,-4e2\n\n\n",
        "a,b\n1,2.5\n3,-4e2\n",
        '"a","b, or\nc"\n1,2.5\n3,-4e2\n',
        '"1","2.5"\n"3","-4e2"\n',
        " 1, 2.5\n 3 ,-4e2 \n",
        "1\t2.5\n3\t-4e2\n",
        "a b\tc\n1\t2.5\n3\t-4e2\n",
        "1;2.5\n3;-4e2\n",
        "\ufeff1,2.5\n3,-4e2\n",
        "\ufeffa,b\n1,2.5\n3,-4e2\n",
        "+1,2.5\n3,-400\n",
    ],
)
def test_ways_to_write_a_matrix(text: str, tmp_path: Path) -> None:
    path = put(tmp_path / "x", text)
    assert csv.inspect(path, None).shape == (2, 2)
    value = load(path, None, "features")
    assert isinstance(value, np.ndarray)
    assert value.dtype == np.float64
    assert value.tolist() == [[1, 2.5], [3, -400]]


@pytest.mark.parametrize(
    ("text", "code", "row", "column", "line"),
    [
        ("1,2\n3,x\n", "wrong-input", 1, 1, 2),
        ("a,b\n1,2\n3,x\n", "wrong-input", 1, 1, 3),
        ('"a\nb",c\n1,2\n3,x\n', "wrong-input", 1, 1, 4),
        ("1,x\n3,4\n", "wrong-input", 0, 1, 1),
        ("x,1\n3,4\n", "wrong-input", 0, 0, 1),
        ("1,1_0\n2,3\n", "wrong-input", 0, 1, 1),
        ("1,2\n0x10,3\n", "wrong-input", 1, 0, 2),
        ("1,2\n3,\n", "missing-value", 1, 1, 2),
        ("1,2\n,3\n", "missing-value", 1, 0, 2),
        ("1,\n2,3\n", "missing-value", 0, 1, 1),
        (",1\n2,3\n", "missing-value", 0, 0, 1),
        ("1,2\n3,nan\n", "missing-value", 1, 1, 2),
        ("1,2\n3,NA\n", "missing-value", 1, 1, 2),
        ("1,2\n3,inf\n", "not-finite", 1, 1, 2),
        ("1,2\n1e400,3\n", "not-finite", 1, 0, 2),
        ("1,2\n3\n", "ragged", 1, None, 2),
        ("1,2\n3,4,5\n", "ragged", 1, None, 2),
        ("a,b\n1,2,3\n", "ragged", 0, None, 2),
        ("1,2\n\n3,4\n", "ragged", 1, None, 2),
        ("\n1,2\n", "ragged", None, None, 1),
    ],
)
def test_errors_locate_the_wrong_cell(
    text: str, code: str, row: int | None, column: int | None, line: int, tmp_path: Path
) -> None:
    path = put(tmp_path / "x", text)
    for call, *rest in ((csv.inspect,), (load, "logits")):
        error = refused(call, path, None, *rest)
        assert error.code == code
        place = [error.where.get(word) for word in ("row", "column", "line")]
        assert place == [row, column, line]


@pytest.mark.parametrize("at", [0, 1, 7_777, 19_999])
def test_errors_locate_cells_across_blocks(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv, "_BLOCK", 10_000)
    lines = ["a,b,c"] + [f"{row},0.25,{row}.5" for row in range(20_000)]
    path = put(tmp_path / "x", "\n".join(lines))
    value = load(path, None, "features")
    assert isinstance(value, np.ndarray)
    assert value.shape == (20_000, 3)
    np.testing.assert_array_equal(value[:, 2], np.arange(20_000) + 0.5)
    for cell, code in (("word", "wrong-input"), ("", "missing-value"), ("inf", "not-finite")):
        lines[at + 1] = f"{at},{cell},0"
        error = refused(load, put(path, "\n".join(lines)), None, "logits")
        assert error.code == code
        assert error.where == {"row": at, "column": 1, "line": at + 2}
        assert f"line {at + 2} " in error.detail


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        ("\n\n", "empty"),
        ("\ufeff", "empty"),
        ("a,b\n", "empty"),
        (b"\xff\xfea\0", "invalid-file"),
        (b"1,2\n3,\xff\n", "wrong-input"),
        (b"1,2\0\n", "invalid-file"),
        ("1,2\r3,4\r", "invalid-file"),
        ("1,2\n3,4\r5,6\n", "invalid-file"),
        (",a,b\n0,1,2\n", "wrong-input"),
        ("1," * 100_000 + "1\n", "too-large"),
        ('"' + "a" * 200_000, "invalid-file"),
    ],
)
def test_unreadable_files(text: str | bytes, code: str, tmp_path: Path) -> None:
    path = put(tmp_path / "x", text)
    assert refused(csv.inspect, path, None).code == code
    assert refused(load, path, None, "features").code == code


def test_an_overlong_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for begin in ("", "1,2\n"):
        with path.open("w") as file:
            file.write(begin)
            for _ in range(34):
                file.write("1" * (1 << 20))
        assert refused(load, path, None, "features").code == "invalid-file"


def test_a_matrix_that_would_be_too_large(tmp_path: Path) -> None:
    path = put(tmp_path / "x", "1,2\n" * 1000)
    assert refused(load, path, None, "features", Bounds(max_bytes=15_000)).code == "too-large"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3\n1\n2\n", [3, 1, 2]),
        ("label\n3\n1\n", [3, 1]),
        ("anything\n3\n1\n", [3, 1]),
        ("3.0\n1.0\n", [3, 1]),
        ("-1\n7\n\n", [-1, 7]),
        ("cat\ndog\ncat\n", ["cat", "dog", "cat"]),
        ("labels\ncat\ndog\n", ["cat", "dog"]),
        ("1\ncat\n", ["1", "cat"]),
        ('"Paris, France"\r\n"a ""b"""\r\n', ["Paris, France", 'a "b"']),
        ('"two\nlines"\nx\n', ["two\nlines", "x"]),
        ("\ufeffé\n日本\n", ["é", "日本"]),
        ("nan\nzho\n", ["nan", "zho"]),
        ("na\nen\n", ["na", "en"]),
    ],
)
def test_labels(text: str, expected: list[object], tmp_path: Path) -> None:
    path = put(tmp_path / "x", text)
    value = load(path, None, "labels")
    assert isinstance(value, np.ndarray)
    assert value.tolist() == expected
    facts = csv.inspect(path, None)
    assert facts.shape[0] == len(expected)
    assert (facts.dtype == "str") == isinstance(expected[0], str)


def test_names_are_kept_verbatim(tmp_path: Path) -> None:
    path = put(tmp_path / "x", "007\n1.50\n<b>\n")
    assert load(path, None, "names") == ["007", "1.50", "<b>"]


@pytest.mark.parametrize(
    ("text", "code", "row"),
    [
        ("1\n2.5\n", "wrong-input", 1),
        ("1\nnan\n", "missing-value", 1),
        ("1\nNA\n3\n", "missing-value", 1),
        ("a\n\nb\n", "ragged", 1),
        ('a\n""\nb\n', "missing-value", 1),
        ("label\n", "empty", None),
        ("1\n1e300\n", "wrong-input", 1),
        ("1\n99999999999999999999\n", "wrong-input", 1),
        ("a\nb,c\n", "ragged", 1),
        (b"a\n\x81\n", "invalid-file", None),
        ('a\n"b\n', "invalid-file", None),
    ],
)
def test_errors_locate_values_that_are_not_labels(
    text: str | bytes, code: str, row: int | None, tmp_path: Path
) -> None:
    error = refused(load, put(tmp_path / "x", text), None, "labels")
    assert error.code == code
    assert error.where.get("row") == row


def test_a_column_is_selected_by_its_header(tmp_path: Path) -> None:
    path = put(tmp_path / "x", "id,class,2020\n1,rose,0.5\n2,oak,0.25\n")
    assert load(path, "class", "labels").tolist() == ["rose", "oak"]  # type: ignore[union-attr]
    assert load(path, "2020", "features").tolist() == [[0.5], [0.25]]  # type: ignore[union-attr]
    assert csv.inspect(path, "class").dtype == "str"
    assert csv.inspect(path, "id").shape == (2, 1)
    assert refused(load, path, None, "labels").code == "member-needed"
    assert "'class'" in refused(load, path, "x", "labels").detail
    error = refused(load, path, "class", "features")
    assert (error.code, error.where["line"]) == ("wrong-input", 2)


@pytest.mark.parametrize(
    "text",
    [
        "id,name\n2,oak\n0,rose\n1,7\n",
        "name;ID\noak;2\nrose;0\n7;1\n",
        "\ufeffid\tname\r\n0\trose\r\n1\t7\r\n2\toak\r\n",
    ],
)
def test_names_by_the_numbers_of_their_rows(text: str, tmp_path: Path) -> None:
    path = put(tmp_path / "x", text)
    assert load(path, None, "names") == ["rose", "7", "oak"]
    assert load(path, None, "labels").tolist() == ["rose", "7", "oak"]  # type: ignore[union-attr]
    facts = csv.inspect(path, None)
    assert (facts.shape, facts.dtype) == ((3,), "str")


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("id,name\n0,a\n3,b\n1,c\n", "wrong-input", "id '3' at line 3.* of 3 names 0 to 2"),
        ("id,name\n1,a\n2,b\n", "wrong-input", "id '2' at line 3.* 0 to 1"),
        ("id,name\n0,a\n1,b\n0,c\n", "wrong-input", "id 0 at line 2 and at line 4"),
        ("id,name\nx,a\n1,b\n", "wrong-input", "id 'x' at line 2"),
        ("id,name\n-1,a\n1,b\n", "wrong-input", "id '-1' at line 2"),
        ("id,name\n٠,a\n1,b\n", "wrong-input", "at line 2"),
        ("id,name\n0,\n1,b\n", "missing-value", "row 0"),
        ("id,name\n0,a\n1\n", "ragged", ""),
        ("id,name\n", "empty", "no rows"),
    ],
)
def test_ids_that_are_not_the_numbers_of_rows(
    text: str, code: str, message: str, tmp_path: Path
) -> None:
    path = put(tmp_path / "x", text)
    for act in (partial(load, path, None, "names"), partial(csv.inspect, path, None)):
        error = refused(act)
        assert error.code == code
        assert re.search(message, error.detail)


def test_a_single_column_of_numbers_is_a_matrix(tmp_path: Path) -> None:
    path = put(tmp_path / "x", "height\n1.5\n2.5\n")
    assert csv.inspect(path, None).shape == (2, 1)
    assert load(path, None, "features").tolist() == [[1.5], [2.5]]  # type: ignore[union-attr]


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.lists(
                st.floats(allow_nan=False, allow_infinity=False), min_size=width, max_size=width
            ),
            min_size=1,
            max_size=5,
        )
    ),
    mark=st.sampled_from([",", "\t", ";"]),
    header=st.booleans(),
)
def test_written_values_are_read_back(
    rows: list[list[float]], mark: str, header: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("csv") / "x"
    lines = [mark.join(f"c{at}" for at in range(len(rows[0])))] if header else []
    put(path, "\n".join(lines + [mark.join(map(repr, row)) for row in rows]))
    value = load(path, None, "features")
    assert isinstance(value, np.ndarray)
    assert value.tolist() == rows


@settings(max_examples=60, deadline=None)
@given(
    content=st.binary(max_size=30)
    | st.text(alphabet='01.e-,;\t\n\r"ab ', max_size=30).map(str.encode)
)
def test_any_bytes_are_accepted_or_refused(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = put(tmp_path_factory.mktemp("csv") / "x", content)
    survives(csv.inspect, path, None)
    for role in ("features", "labels", "names", "timestamps"):
        survives(load, path, None, role)
        survives(load, path, "a", role)


@pytest.mark.parametrize(
    "text",
    [
        "a,b\nb,c d\n",
        "source,target\na,b\nb,c d\n",
        "Node_1;Node_2\na;b\nb;c d\n\n",
        "from\tto\r\na\tb\r\nb\tc d\r\n",
        '"a","b"\n"b","c d"',
    ],
)
def test_ways_to_write_edges(text: str, tmp_path: Path) -> None:
    path = put(tmp_path / "x", text)
    value = load(path, None, "graph")
    assert isinstance(value, np.ndarray)
    assert value.tolist() == [["a", "b"], ["b", "c d"]]
    facts = catalogue.inspect("csv", path, None, role="graph")
    assert (facts.shape, facts.dtype) == ((2, 2), "str")


@pytest.mark.parametrize("text", ["1,2\n2,3\n", "source,target\n1,2\n2,3\n"])
def test_edges_of_numbers_are_a_matrix(text: str, tmp_path: Path) -> None:
    value = load(put(tmp_path / "x", text), None, "graph")
    assert isinstance(value, np.ndarray)
    assert (value.tolist(), value.dtype) == ([[1, 2], [2, 3]], np.float64)


def test_edges_of_numbers_and_text_are_text(tmp_path: Path) -> None:
    value = load(put(tmp_path / "x", "1,2\n2,b\n"), None, "graph")
    assert isinstance(value, np.ndarray)
    assert value.tolist() == [["1", "2"], ["2", "b"]]


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        ("from,to\na,b\nb\n", "ragged", {"row": 2, "line": 3}),
        ("a,b\nb,c,d\n", "ragged", {"row": 1, "line": 2}),
        ("from,to\na,b\nb, \n", "missing-value", {"row": 1, "column": 1, "line": 3}),
        ("from,to\n", "empty", {}),
        ("a,b,c\nd,e,f\n", "wrong-input", {"row": 0, "column": 0, "line": 2}),
    ],
)
def test_errors_locate_wrong_edges(
    text: str, code: str, where: dict[str, int], tmp_path: Path
) -> None:
    error = refused(load, put(tmp_path / "x", text), None, "graph")
    error.where.pop("role", None)
    assert (error.code, error.where) == (code, where)


def test_paths_in_a_column(tmp_path: Path) -> None:
    tree = load(put(tmp_path / "x", "label\na/b\na/c\na/b\n"), None, "hierarchy")
    assert isinstance(tree, Tree)
    assert tree.name.tolist() == ["a", "b", "c"]
    error = refused(load, put(tmp_path / "x", "label\na/b\n/c\n"), None, "hierarchy")
    assert (error.code, error.where) == ("invalid-tree", {"row": 1})
    assert refused(load, put(tmp_path / "x", "1\n2\n"), None, "hierarchy").code == "wrong-input"


@settings(max_examples=60, deadline=None)
@given(text=st.text(alphabet='ab1,;\n\r"\t ', max_size=30))
def test_any_text_is_edges_or_refused(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    survives(load, put(tmp_path_factory.mktemp("csv") / "x", text), None, "graph")


@pytest.mark.parametrize("header", ["a,b\n", ""])
def test_masked_logits(header: str, tmp_path: Path) -> None:
    """-inf is a class that a row cannot have: of logits, or where the role is not known."""
    path = put(tmp_path / "x.csv", f"{header}1.5,-inf\n2.5,0.5\n".encode())
    for role in ("logits", None):
        columns = catalogue.inspect("csv", path, None, role=role).columns
    loaded = catalogue.load("csv", path, None, "logits", columns=columns)
    assert np.asarray(loaded).tolist() == [[1.5, -np.inf], [2.5, 0.5]]
    for role, text in (("features", "-inf"), ("logits", "inf")):
        put(path, f"{header}1.5,{text}\n2.5,0.5\n".encode())
        error = refused(catalogue.inspect, "csv", path, None, role=role)
        assert (error.code, error.where["row"]) == ("not-finite", 0)

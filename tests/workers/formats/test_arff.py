"""ARFF: attributes of every kind, dense and sparse rows, errors that locate the line."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import arff as scipy_arff

from models.tree.tree import Tree
from tests.workers.formats.files_kit import arff_text, put, refused, rows_of, survives
from workers.formats import arff, catalogue
from workers.formats.catalogue import format_of
from workers.formats.facts import DEFAULT, Bounds

load = partial(catalogue.load, "arff")

MIXED = """% A comment, with 'quotes
@RELATION 'two words'

@attribute x NUMERIC
@Attribute 'a b' real   % another one
@attribute "it's" {0, 1}
@attribute kind { cat, 'wild dog', "d,e" , it\\'s}
@DATA
% more
1, -2.5e1 ,0, cat
3,4,1,'wild dog' % trailing

 .5,0,1,"d,e"
"""
HIERARCHICAL = """@relation h
@attribute x integer
@attribute class hierarchical 2,3,2/1,2/1/3,2/4,3/0
@data
1,2@2/1@2/1/3
2,2/4
3,3/0@2/1/3
4,2@3
5,?
"""
SPARSE = """@relation s
@attribute a numeric
@attribute b {0,1}
@attribute c numeric
@attribute class {no, yes}
@data
{0 1.5, 3 yes}
{}
{ 1 1 , 2 -2 }
{2 '3',3 "no"} % quoted
"""


def with_rows(*rows: str, attributes: str = "@attribute x numeric\n@attribute y {a,b}\n") -> str:
    return f"@relation r\n{attributes}@data\n" + "\n".join(rows) + "\n"


def test_features_and_labels_of_the_same_file(tmp_path: Path) -> None:
    path = put(tmp_path / "x", MIXED.replace("it\\'s}", "its}"))
    facts = arff.inspect(path, None)
    assert (facts.shape, facts.dtype, facts.sparse) == ((3, 3), "float64", False)
    features = load(path, None, "features")
    assert isinstance(features, np.ndarray)
    assert features.tolist() == [[1, -25, 0], [3, 4, 1], [0.5, 0, 1]]
    assert load(path, None, "labels").tolist() == ["cat", "wild dog", "d,e"]
    assert load(path, None, "names") == ["cat", "wild dog", "d,e"]
    tree = load(path, None, "hierarchy")
    assert isinstance(tree, Tree)
    assert tree.name.tolist() == [None, "cat", "wild dog", "d,e", "its"]


def test_the_class_may_be_chosen(tmp_path: Path) -> None:
    text = with_rows(
        "1,a,5", "2.5,b,7", attributes="@attribute x real\n@attribute y {a,b}\n@attribute z real\n"
    )
    path = put(tmp_path / "x", text)
    assert load(path, "y", "features").tolist() == [[1, 5], [2.5, 7]]
    assert load(path, "y", "labels").tolist() == ["a", "b"]
    assert load(path, None, "labels").tolist() == [5, 7]
    assert load(path, None, "features").tolist() == [[1, 5], [2.5, 7]]
    assert load(path, "x", "targets").tolist() == [1, 2.5]
    assert refused(load, path, "x", "labels").where["row"] == 1
    error = refused(load, path, "w", "labels")
    assert error.code == "member-needed"
    assert "'x'; 'y'; 'z'" in error.detail
    assert arff.inspect(path, None).shape == (2, 2)


def test_what_is_no_feature_is_in_the_notes(tmp_path: Path) -> None:
    """A last attribute of numbers may be a feature like the others; texts and dates are none."""
    attributes = (
        "@attribute who string\n@attribute x real\n@attribute at date 'yyyy-MM-dd'\n"
        "@attribute y {a,b}\n@attribute z {0,1}\n@attribute last real\n"
    )
    rows = ("'é_1',1,'2024-01-02',a,0,5", "two, 2.5 ,?,b,1,7")
    path = put(tmp_path / "x", with_rows(*rows, attributes=attributes))
    assert load(path, None, "features").tolist() == [[1, 0, 5], [2.5, 1, 7]]
    left, last = arff.notes(path, None)
    assert "left out: 'who', 'at', 'y'." in left
    assert "'last' of the ARFF file, the last, is numeric and among the features" in last
    assert load(path, "last", "features").tolist() == [[1, 0], [2.5, 1]]
    assert len(arff.notes(path, "last")) == 1
    named = put(tmp_path / "y", with_rows(*rows, attributes=attributes.replace("last", "Class")))
    assert load(named, None, "features").tolist() == [[1, 0], [2.5, 1]]
    assert "'Class' of the ARFF file is taken as the class" in arff.notes(named, None)[1]
    long = tmp_path / "long.arff"
    long.write_text(f"@relation r\n@attribute x real\n@attribute {'y' * 9000} real\n@data\n1,2\n")
    assert all(len(note) < 300 for note in arff.notes(long, None))
    sparse = put(tmp_path / "z", with_rows("{0 a,1 3,5 2}", "{}", attributes=attributes))
    features = load(sparse, None, "features")
    assert isinstance(features, sp.csr_array)
    assert features.toarray().tolist() == [[3, 0, 2], [0, 0, 0]]
    texts = put(tmp_path / "t", with_rows("a,b", attributes="@attribute y {a}\n@attribute c {b}\n"))
    assert refused(load, texts, None, "features").code == "wrong-input"


def test_missing_values_may_be_gaps(tmp_path: Path) -> None:
    path = put(tmp_path / "x", with_rows("?,a", "2,b", "3,'b' % é_"))
    assert refused(arff.read, path, None, "matrix").code == "missing-value"
    gaps = replace(DEFAULT, gaps=True)
    read = arff.read(path, None, "matrix", gaps)
    assert np.array_equal(read, [[np.nan], [2], [3]], equal_nan=True)
    assert arff.inspect(path, None, gaps).shape == (3, 1)
    infinite = put(tmp_path / "y", with_rows("?,a", "1e999,b"))
    assert refused(arff.read, infinite, None, "matrix", gaps).code == "not-finite"


def test_hierarchical_classes(tmp_path: Path) -> None:
    path = put(tmp_path / "x", HIERARCHICAL)
    sets = load(path, None, "labels")
    assert rows_of(sets) == [["2/1/3"], ["2/4"], ["2/1/3", "3/0"], ["2", "3"], None]
    tree = load(path, None, "hierarchy")
    assert isinstance(tree, Tree)
    # 2 and 3 are labels of a row, so that they have leaves of their own.
    assert sorted(tree.name[tree.leaf_of_point].tolist()) == ["0", "2", "3", "3", "4"]
    one = put(tmp_path / "y", "\n".join(HIERARCHICAL.split("\n")[:6]))
    assert load(one, None, "labels").tolist() == ["2/1/3", "2/4"]
    tree = load(one, None, "hierarchy")
    assert isinstance(tree, Tree)
    assert tree.name[tree.leaf_of_point].tolist() == ["3", "4", "0"]
    assert tree.n_nodes == 7


def test_sparse_rows(tmp_path: Path) -> None:
    path = put(tmp_path / "x", SPARSE)
    facts = arff.inspect(path, None)
    assert (facts.shape, facts.sparse) == ((4, 3), True)
    features = load(path, None, "features")
    assert isinstance(features, sp.csr_array)
    assert features.toarray().tolist() == [[1.5, 0, 0], [0, 0, 0], [0, 1, -2], [0, 0, 3]]
    assert load(path, None, "labels").tolist() == ["yes", "no", "no", "no"]
    middle = load(path, "b", "labels")
    assert isinstance(middle, np.ndarray)
    assert middle.tolist() == ["0", "0", "1", "0"]
    others = put(tmp_path / "y", SPARSE.replace("{no, yes}", "numeric").replace("yes", "7"))
    others.write_text(others.read_text().replace('"no"', '"8"'))
    assert load(others, None, "labels").tolist() == [7, 0, 0, 8]
    features = load(others, "b", "features")
    assert isinstance(features, sp.csr_array)
    assert features.toarray()[0].tolist() == [1.5, 0, 7]


@pytest.mark.parametrize(
    ("row", "code", "where", "says"),
    [
        ("?,a", "missing-value", {"row": 1, "column": 0}, "missing value"),
        (" ,a", "missing-value", {"row": 1, "column": 0}, "missing value"),
        ("x,a", "wrong-input", {"row": 1, "column": 0}, "'x' as attribute 'x'"),
        ("1_0,a", "wrong-input", {"row": 1, "column": 0}, "not a number"),
        ("'?',a", "missing-value", {"row": 1, "column": 0}, "missing value"),
        ("٣,a", "wrong-input", {"row": 1, "column": 0}, "not a number"),
        ("nan,a", "not-finite", {"row": 1, "column": 0}, "must be a finite number"),
        ("1e400,a", "not-finite", {"row": 1, "column": 0}, "must be a finite number"),
        ("1", "ragged", {"row": 1}, "has 1 values"),
        ("1,a,{5}", "ragged", {"row": 1}, "declares 2 attributes"),
        ("{0 1}", "invalid-file", {}, "is sparse"),
        ("'1,a", "invalid-file", {}, "misplaced quote"),
        ("1,'a'b", "invalid-file", {}, "misplaced quote"),
    ],
)
def test_errors_locate_wrong_rows(
    row: str, code: str, where: dict[str, int], says: str, tmp_path: Path
) -> None:
    path = put(tmp_path / "x", with_rows("1,a", "", "%", row, "2,b"))
    for call in (lambda: arff.read(path, None, "matrix"), lambda: arff.inspect(path, None)):
        error = refused(call)
        error.where.pop("role", None)
        assert (error.code, error.where) == (code, {"line": 8, **where})
        assert says in error.detail
        assert "ine 8" in error.detail


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("{5 1}", "index 5; the ARFF file declares 2 attributes"),
        ("{0 1, 0 2}", "index 0 after 0"),
        ("{1 a, 0 2}", "index 0 after 1"),
        ("{0 1, 5}", "without 'index value' after entry 1"),
        ("{0 1 1 a}", "not a number"),
        ("{0 1,}", "after entry 1"),
        ("{,}", "after entry 0"),
        ("{0 1", "does not end with '}'"),
        ("{0 1} x", "does not end with '}'"),
        ("{0 ?}", "missing value"),
        ("{0 x}", "not a number"),
        ("{0 'x}", "without 'index value'"),
        ("1,a", "is dense, others sparse"),
    ],
)
def test_errors_locate_wrong_sparse_rows(row: str, says: str, tmp_path: Path) -> None:
    path = put(tmp_path / "x", with_rows("{1 a}", row))
    error = refused(arff.read, path, None, "matrix")
    assert error.where["line"] == 6
    assert says in error.detail


@pytest.mark.parametrize(
    ("attributes", "row", "code", "says"),
    [
        ("@attribute y {a,b}", "c", "invalid-file", "class 'c', which attribute 'y' does not"),
        ("@attribute y {a/b}", "a", "invalid-file", "does not declare"),
        ("@attribute y {a,b}", "", "missing-value", "empty class"),
        ("@attribute y hierarchical a/b", "a/c", "invalid-file", "does not declare"),
        ("@attribute y hierarchical a/b", "a@@a/b", "missing-value", "empty class"),
        ("@attribute y numeric", "z", "invalid-file", "not a finite number"),
        ("@attribute y numeric", "1e999", "invalid-file", "not a finite number"),
        ("@attribute y string", "{}", "invalid-file", "leaves out its class"),
        ("@attribute y hierarchical a/b", "{}", "invalid-file", "leaves out its class"),
    ],
)
def test_errors_locate_wrong_classes(
    attributes: str, row: str, code: str, says: str, tmp_path: Path
) -> None:
    row = row if row == "{}" else f"1,{row}"
    text = with_rows(row, attributes=f"@attribute x numeric\n{attributes}\n")
    error = refused(load, put(tmp_path / "x", text), None, "labels")
    assert (error.code, error.where["line"]) == (code, 5)
    assert says in error.detail


@pytest.mark.parametrize(
    ("header", "code", "says", "line"),
    [
        ("@attribute x numeric", "invalid-file", "Line 1 of the ARFF file is not @relation", 1),
        ("@relation r\n@attribute x time", "unsupported-format", "the type 'time'", 2),
        ("@relation r\n@attribute x numeric 5", "unsupported-format", "'numeric 5'", 2),
        ("@relation r\n@attribute x", "invalid-file", "is not '@attribute name type'", 2),
        ("@relation r\n@attribute x {a,?}", "invalid-file", "declares a missing value", 2),
        ("@relation r\n@attribute x {a,}", "invalid-file", "declares a missing value", 2),
        ("@relation r\n@attribute x {a,'b}", "invalid-file", "misplaced quote", 2),
        ("@relation r\n@attribute x hierarchical", "invalid-file", "missing value", 2),
        ("@relation r\n@attribute x hierarchical a//b", "invalid-file", "empty part", 2),
        ("@relation r\nx,y", "invalid-file", "'x,y' where @attribute or @data", 2),
        ("@relation r\n@attribute x real\n@attribute x real", "invalid-file", "same name", None),
        ("@relation r\n@attribute x \xff", "unsupported-format", "'ÿ'", 2),
    ],
)
def test_errors_locate_wrong_declarations(
    header: str, code: str, says: str, line: int | None, tmp_path: Path
) -> None:
    error = refused(load, put(tmp_path / "x", f"{header}\n@data\n1\n"), None, "labels")
    assert (error.code, error.where.get("line")) == (code, line)
    assert says in error.detail


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        ("@relation r\n@data\n1\n", "empty"),
        ("@relation r\n@attribute x real\n@data\n", "empty"),
        ("@relation r\n@attribute x real\n", "invalid-file"),
        ("% nothing\n", "invalid-file"),
        (b"@relation r\n@attribute \xff real\n", "invalid-file"),
    ],
)
def test_files_without_rows(text: str | bytes, code: str, tmp_path: Path) -> None:
    assert refused(load, put(tmp_path / "x", text), None, "labels").code == code


def test_a_file_of_labels_alone(tmp_path: Path) -> None:
    text = with_rows("a/b", "a/c", "a/b", attributes="@attribute y string\n")
    path = put(tmp_path / "x", text)
    assert arff.inspect(path, None).shape == (3,)
    assert load(path, None, "labels").tolist() == ["a/b", "a/c", "a/b"]
    assert load(path, None, "hierarchy").n_leaves == 2
    assert refused(load, path, None, "features").code == "empty"


def test_an_unknown_class(tmp_path: Path) -> None:
    path = put(tmp_path / "x", with_rows("1,?", "2,b"))
    assert rows_of(load(path, None, "labels")) == [None, ["b"]]
    error = refused(load, path, None, "names")
    assert (error.code, error.where["row"]) == ("missing-value", 0)


def test_a_nominal_feature_of_0_and_1_has_no_other_value(tmp_path: Path) -> None:
    for rows in (("1,a", "2,a"), ("{0 1, 1 a}", "{0 2}")):
        text = with_rows(*rows, attributes="@attribute x {0,1}\n@attribute y {a}\n")
        error = refused(load, put(tmp_path / "x", text), None, "features")
        assert (error.code, error.where["line"]) == ("wrong-input", 6)
        assert "must be 0 or 1" in error.detail


@pytest.mark.parametrize(
    "head",
    [
        b"@relation x\n",
        b"%\n\n % a\r\n@RELATION x\n",
        b"  @Relation 'x'\n",
        b"\xef\xbb\xbf@relation x",
    ],
)
def test_undeclared_content_is_recognised(head: bytes) -> None:
    assert format_of(None, head) == "arff"
    assert format_of("text/x-arff; charset=utf-8", b"anything") == "arff"
    assert refused(format_of, None, b"x" + head).code == "unsupported-format"


def test_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "x", with_rows(*["1,a"] * 1000))
    assert refused(arff.inspect, path, None, Bounds(max_bytes=20_000)).code == "too-large"
    texts = [f"1,{number}" for number in range(1000)]
    attributes = "@attribute x numeric\n@attribute y string\n"
    path = put(tmp_path / "y", with_rows(*texts, attributes=attributes))
    bounds = Bounds(max_bytes=100_000)
    assert arff.inspect(path, None, bounds).shape == (1000, 1)
    # Each distinct text takes far more than its characters.
    assert refused(arff.read, path, None, "labels", bounds).code == "too-large"
    monkeypatch.setattr(arff, "MAX_ATTRIBUTES", 1)
    assert refused(arff.inspect, path, None).code == "too-large"
    monkeypatch.setattr(arff, "MAX_LINE", 10)
    error = refused(arff.inspect, path, None)
    assert (error.code, error.where) == ("too-large", {"line": 1})


@pytest.mark.parametrize(
    "text",
    [
        "@relation r\n@attribute x real\n@data\n" + " " * 300_000 + "x",
        "@relation r\n@attribute x real\n@data\n'" + "\\'" * 150_000,
        "@relation r\n@attribute x real\n@data\n{" + " " * 300_000 + "}x",
        "@relation r\n@attribute x real\n@data\n{0" + " " * 300_000 + ",}",
        "@relation r\n@attribute '" + "\\'" * 150_000 + "\n",
        "@relation r\n@attribute x" + " " * 300_000 + "\n",
        "% \n" * 100_000,
    ],
    ids=range(7),
)
def test_hostile_lines_are_refused_in_linear_time(text: str, tmp_path: Path) -> None:
    path = put(tmp_path / "x", text)
    began = time.process_time()
    assert refused(load, path, None, "features").code
    assert time.process_time() - began < 10


def test_deep_classes_take_linear_time(tmp_path: Path) -> None:
    deep = "a/" * 200_000 + "b"
    path = put(
        tmp_path / "x",
        with_rows(
            f"1,a@{deep}",
            "2,a/a",
            attributes=f"@attribute x numeric\n@attribute c hierarchical {deep}\n",
        ),
    )
    began = time.process_time()
    assert load(path, None, "labels").tolist() == [deep, "a/a"]
    assert time.process_time() - began < 10


@settings(max_examples=40)
@given(
    values=st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False),
            st.integers(-5, 5),
            st.sampled_from(["a", "b c", "it's", 'say "x"', "%", "d,e", "{}", "\\", "?"]),
        ),
        min_size=1,
        max_size=6,
    ),
    sparse=st.booleans(),
)
def test_written_values_are_read_back(
    values: list[tuple[float, int, str]],
    sparse: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    def quoted(text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    rows = [
        f"{{0 {x!r}, 1 {n}, 2 {quoted(text)}}}" if sparse else f"{x!r},{n},{quoted(text)}"
        for x, n, text in values
    ]
    attributes = "@attribute x real\n@attribute n integer\n@attribute y string\n"
    path = put(tmp_path_factory.mktemp("arff") / "x", with_rows(*rows, attributes=attributes))
    features = load(path, None, "features")
    dense = features.toarray() if isinstance(features, sp.csr_array) else features
    np.testing.assert_array_equal(dense, [[x, n] for x, n, _ in values])
    labels = load(path, None, "labels")
    assert isinstance(labels, np.ndarray)
    assert labels.tolist() == [text for *_, text in values]


def test_the_same_as_scipy_reads(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    matrix = rng.standard_normal((50, 7))
    classes = rng.choice(["u", "v", "w"], 50).tolist()
    path = put(tmp_path / "x.arff", arff_text(matrix, ["real"] * 7, classes, "{u, v, w}"))
    limit = csv.field_size_limit()
    rows, _ = scipy_arff.loadarff(str(path))
    # It lifts the limit of the whole process.
    csv.field_size_limit(limit)
    np.testing.assert_array_equal(
        load(path, None, "features"),
        np.array([list(row)[:-1] for row in rows.tolist()]),
    )
    expected = [row[-1].decode() for row in rows.tolist()]
    assert load(path, None, "labels").tolist() == expected == classes


@settings(max_examples=150)
@given(
    content=st.binary(max_size=60)
    | st.text(alphabet="01 ,{}?'\"%@\\ab/\n\t.", max_size=40).map(str.encode),
    kind=st.sampled_from(["numeric", "{a, b}", "string", "hierarchical a,a/b,b"]),
)
def test_any_bytes_are_accepted_or_refused(
    content: bytes, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("arff")
    head = f"@relation r\n@attribute x real\n@attribute y {kind}\n@data\n".encode()
    for path in (put(folder / "x", content), put(folder / "y", head + content)):
        survives(arff.inspect, path, None)
        for role in ("features", "labels", "hierarchy", "names"):
            survives(load, path, None, role)
    survives(arff.inspect, put(folder / "z", b"@relation r\n@attribute " + content), None)


@pytest.mark.parametrize(("name", "n_rows"), [("Train", 10_000), ("Test", 1_006)])
def test_medical_images(name: str, n_rows: int, real_data: Callable[[str], Path]) -> None:
    path = real_data(f"ImCLEF07A_{name}.arff")
    assert format_of(None, path.read_bytes()[:65536]) == "arff"
    assert arff.inspect(path, None).shape == (n_rows, 80)
    labels = load(path, None, "labels")
    assert isinstance(labels, np.ndarray)
    assert set(np.char.count(labels.astype(str), "/").tolist()) == {2}
    tree = load(path, None, "hierarchy")
    assert isinstance(tree, Tree)
    # All prefixes of the 63 declared leaves, with the root.
    assert (tree.n_nodes, tree.n_leaves) == (97, 63)

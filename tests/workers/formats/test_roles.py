"""What each role reads from a plain table, and how its errors locate the fault."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import UsageError
from models.inputs.data import Data, Value
from models.roles import ROLES
from models.tree.tree import Tree
from tests.workers.formats.files_kit import refused
from workers.formats import roles
from workers.formats.facts import Facts
from workers.formats.json import parse
from workers.formats.tables import Columns, Lists, WrittenColumn
from workers.work.sources import reading_warnings

MATRIX = {role.name for role in ROLES.values() if role.wants in ("matrix", "edges")}
COLUMN = {role.name for role in ROLES.values() if role.column}


def of_list(items: Any, role: str) -> Value:
    return roles.value(Lists(items), role)


def test_every_role_reads_rows_or_values() -> None:
    assert {roles.wanted(role) for role in MATRIX} == {"matrix", "edges"}
    assert {roles.wanted(role) for role in COLUMN} == {"column", "labels", "paths"}
    error = refused(roles.wanted, "base")
    assert (error.code, error.where) == ("wrong-input", {"role": "base"})
    for role in MATRIX | COLUMN:
        assert role in error.detail


@pytest.mark.parametrize("form", ["list", "float32"])
def test_classes_of_values_are_integers(form: str) -> None:
    def read(rows: Any) -> Value:
        table = Lists(rows) if form == "list" else np.array(rows, dtype=np.float32)
        return roles.value(table, "top_classes")

    classes = read([[2, 0], [1.0, 3]])
    assert isinstance(classes, np.ndarray)
    assert (classes.dtype, classes.tolist()) == (np.int64, [[2, 0], [1, 3]])
    error = refused(read, [[2, 0], [1, 1.5]])
    assert (error.code, error.where["row"], error.where["column"]) == ("wrong-input", 1, 1)
    assert "1.5 at row 1, column 1" in error.detail
    assert refused(read, [[1e30, 2]]).code == "wrong-input"
    if form != "list":
        assert refused(read, [[np.nan, 2]]).code == "wrong-input"


def test_large_integers_stay_exact() -> None:
    exact = 2**62 + 1
    labels = of_list([exact], "labels")
    assert isinstance(labels, np.ndarray)
    assert labels.tolist() == [exact]


@pytest.mark.parametrize(
    ("rows", "code", "place"),
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
def test_errors_locate_what_is_not_a_matrix(rows: Any, code: str, place: dict[str, int]) -> None:
    error = refused(of_list, rows, "logits")
    assert error.code == code
    assert error.where == {"role": "logits", **place}
    for word, number in place.items():
        assert f"{word} {number}" in error.detail


@pytest.mark.parametrize(
    ("items", "code", "row"),
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
def test_errors_locate_what_is_not_a_column(items: Any, code: str, row: int | None) -> None:
    error = refused(of_list, items, "tasks")
    assert error.code == code
    assert error.where.get("row") == row


@pytest.mark.parametrize(("role", "word"), [("labels", "integers"), ("targets", "numbers")])
def test_a_refusal_names_the_numbers_that_the_role_accepts(role: str, word: str) -> None:
    assert f"a list of {word} or of text" in refused(of_list, [{}], role).detail


def test_a_matrix_in_native_byte_order_is_not_copied() -> None:
    matrix = np.arange(6.0).reshape(3, 2)
    for table in (matrix, np.asfortranarray(matrix), sp.csr_array(matrix)):
        assert roles.value(table, "features") is table
    swapped = roles.value(matrix.astype(">f8"), "features")
    assert isinstance(swapped, np.ndarray)
    assert swapped.dtype.isnative
    np.testing.assert_array_equal(swapped, matrix)


def test_values_that_only_a_method_refuses_are_accepted_in_a_matrix() -> None:
    matrix = np.array([[np.nan, np.inf]])
    assert roles.value(matrix, "logits") is matrix


@pytest.mark.parametrize(
    ("table", "code"),
    [
        (np.zeros((3, 2)), "wrong-shape"),
        (sp.csr_array(np.eye(2)), "wrong-shape"),
        (Columns(["a", "b"]), "member-needed"),
        (WrittenColumn(["1", " "], [1, 2]), "missing-value"),
        (np.array([1.5]), "wrong-input"),
        (np.array([1 + 2j]), "wrong-input"),
    ],
)
def test_tables_that_are_not_a_column(table: Any, code: str) -> None:
    error = refused(roles.value, table, "tasks")
    assert (error.code, error.where["role"]) == (code, "tasks")


def test_a_table_without_rows_is_empty() -> None:
    for table, role in ((np.zeros((0, 1)), "labels"), (np.zeros((0, 1)), "features")):
        assert refused(roles.value, table, role).code == "empty"


@pytest.mark.parametrize(
    ("table", "code"),
    [
        (np.zeros(3), "wrong-shape"),
        (np.zeros((1, 1, 1, 1, 1)), "wrong-shape"),
        (np.array([["a"]]), "wrong-input"),
        (sp.csr_array((0, 3)), "empty"),
        (["a", "b"], "wrong-shape"),
    ],
)
def test_tables_that_are_not_a_matrix(table: Any, code: str) -> None:
    assert refused(roles.value, table, "features").code == code


def test_only_features_may_be_images() -> None:
    images = np.zeros((2, 3, 4, 1), np.uint8)
    assert roles.value(images, "features") is images
    for role in ("logits", "distances", "graph", "labels", "hierarchy"):
        assert refused(roles.value, images, role).code == "wrong-shape"


def test_the_error_lists_the_columns() -> None:
    detail = refused(roles.value, Columns([f"c{at}" for at in range(25)]), "labels").detail
    assert "'c0', 'c1'" in detail
    assert "'c19' and 5 more" in detail


def test_cells_are_numbers_where_all_parse_as_numbers() -> None:
    cells = WrittenColumn(["007", "1.50"], [2, 3])
    assert roles.value(cells, "names") == ["007", "1.50"]
    targets = roles.value(cells, "targets")
    assert isinstance(targets, np.ndarray)
    assert targets.tolist() == [7.0, 1.5]
    error = refused(roles.value, cells, "labels")
    assert (error.code, error.where) == ("wrong-input", {"role": "labels", "row": 1})


def test_the_error_locates_a_missing_cell_by_line() -> None:
    cells = WrittenColumn(["a\nb", "", "c"], [2, 4, 5])
    error = refused(roles.value, cells, "labels")
    assert error.where == {"role": "labels", "row": 1, "column": 0, "line": 4}
    assert "line 4 of the file" in error.detail
    error = refused(roles.facts, WrittenColumn(["1", "", "2.5"], [2, 4, 5]))
    assert error.where == {"row": 1, "column": 0, "line": 4}
    assert error.detail.startswith("The file ")


def test_lists_of_text_without_a_role_are_referred_to_their_roles() -> None:
    detail = refused(roles.facts, Lists([["a", "b"], ["c"]])).detail
    assert "?role=labels" in detail or "ragged" in detail
    assert "?role=graph" in refused(roles.facts, Lists([["a", "b"]])).detail


def test_facts_of_tables_with_a_role() -> None:
    sets = Lists([["a/b", "a/c"], [], None, "a/b"])
    assert roles.facts(sets, "labels") == Facts((4,), "str")
    assert roles.facts(sets, "hierarchy") == Facts((4,), "str")
    assert roles.facts(Lists([[3], 1]), "labels") == Facts((2,), "int64")
    assert roles.facts(Lists([["a", "b"]]), "graph") == Facts((1, 2), "str")
    assert roles.facts(Lists([[0, 1]]), "graph") == Facts((1, 2), "float64")


def test_facts_of_tables_without_a_role() -> None:
    assert roles.facts(WrittenColumn(["3", "1"], [1, 2])) == Facts((2, 1), "int64")
    assert roles.facts(WrittenColumn(["3", "x"], [1, 2])) == Facts((2,), "str")
    assert roles.facts(Lists([[1], [2]])) == Facts((2, 1), "float64")
    assert roles.facts(Lists(["a"])) == Facts((1,), "str")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(values, max_size=4), st.sampled_from(sorted(MATRIX | COLUMN)))
def test_any_list_is_accepted_or_refused(items: list[Any], role: str) -> None:
    try:
        value = of_list(items, role)
    except UsageError:
        return
    if isinstance(value, Tree):
        assert value.n_points >= 1
    else:
        shape = (len(value),) if isinstance(value, list) else Data({role: value}).shapes()[role]
        assert shape[0] == len(items)
    assert roles.value(parse(json.dumps(items).encode()), role) is not None


@pytest.mark.parametrize(
    ("value", "names", "warned"),
    [
        ([["news", "World"], ["econ", "Sci/Tech"]], ["World", "Sci/Tech"], "one path"),
        (["news/World", r"econ/Sci\/Tech"], ["World", "Sci/Tech"], None),
        (["news;World", "news;Sports"], ["World", "Sports"], "divided at ';'"),
        (["World", "Arts", "Sci/Tech"], ["World", "Arts", "Tech"], "'Sci/Tech'"),
        ([["x/a", "x/b"], ["y/c"]], ["a", "b", "c"], None),
        ([["a", "b"], ["b", "c"]], ["a", "b", "c"], "several paths each"),
    ],
)
def test_class_paths_are_read_as_they_are_meant_or_warn(
    value: object, names: list[str], warned: str | None
) -> None:
    tree = roles.value(Lists(value), "hierarchy")
    assert isinstance(tree, Tree)
    assert tree.name[tree.leaf_of_point].tolist() == names
    assert len(tree.warnings) == (0 if warned is None else 1)
    assert warned is None or warned in tree.warnings[0]
    assert reading_warnings({"hierarchy": tree}) == list(tree.warnings)


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (["((a,b);"], "never closed"),
        (["#NEXUS begin trees;"], "Nexus"),
        ([{"id": 0}, 3], "row 0"),
        ([["a", ""], ["b", "c"]], "missing value at row 0"),
        ([["a", "\ud800"]], "surrogate"),
    ],
)
def test_what_is_neither_class_paths_nor_a_tree_is_refused(value: object, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        roles.value(Lists(value), "hierarchy")

"""Rows with several labels, one or none, against sets of Python."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from models.inputs.data import Value
from models.inputs.label_sets import LabelSets
from models.inputs.reading import noting
from tests.workers.formats.files_kit import refused, rows_of
from workers.formats import json as json_format
from workers.formats import roles
from workers.formats.tables import Lists, Table, WrittenColumn


def of_list(items: Any, role: str = "labels") -> Value:
    return roles.value(Lists(items), role)


def test_lists_values_and_null_may_be_mixed() -> None:
    sets = of_list(["b", ["a", "b"], [], None, ["a"]])
    assert isinstance(sets, LabelSets)
    assert sets.names == ["a", "b"]
    assert rows_of(sets) == [["b"], ["a", "b"], [], None, ["a"]]
    assert sets.unlabelled.tolist() == [False, False, False, True, False]
    assert sets.code.dtype == sets.start.dtype == np.int64


def test_names_of_numbers_are_their_digits_in_numeric_order() -> None:
    sets = of_list([[10, 9], 3.0, [-5]])
    assert isinstance(sets, LabelSets)
    assert sets.names == ["-5", "3", "9", "10"]
    assert rows_of(sets) == [["9", "10"], ["3"], ["-5"]]


def test_minus_one_alone_is_unknown_among_label_sets() -> None:
    assert rows_of(of_list([-1, [2, 3], [-1]])) == [None, ["2", "3"], None]
    assert rows_of(of_list([[-1, 2], [-1], []])) == [["-1", "2"], None, []]
    assert rows_of(of_list([-1, -2, None])) == [None, ["-2"], None]
    # As text it is a name.
    assert rows_of(of_list(["-1", None])) == [["-1"], None]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([-1, 2, -1], [-1, 2, -1]),
        ([[3], [2]], [3, 2]),
        ([[3, 3], 2], [3, 2]),
        (["a", ["b", "b"]], ["a", "b"]),
        ([2**62 + 1, [2**62]], [2**62 + 1, 2**62]),
    ],
)
def test_one_label_for_each_row_is_a_column(items: list[Any], expected: list[Any]) -> None:
    column = of_list(items)
    assert isinstance(column, np.ndarray)
    assert column.dtype == (object if isinstance(expected[0], str) else np.int64)
    assert column.tolist() == expected


@pytest.mark.parametrize(
    ("items", "code", "row", "says"),
    [
        ([["a"], ["b", 1]], "wrong-input", 1, "all integers or all text"),
        ([["a"], 1], "wrong-input", 1, "a number"),
        ([["a"], ["b", None]], "wrong-input", 1, "is null, not a list with null"),
        ([[1], [True]], "wrong-input", 1, "true"),
        ([["a"], [["b"]]], "wrong-input", 1, "a list"),
        ([["a"], {}], "wrong-input", 1, "an object"),
        ([["a"], ["b", ""]], "missing-value", 1, "row 1"),
        ([["a"], ["ok", "\ud800"]], "wrong-input", 1, "lone surrogate"),
        ([[1], [2, 2.5]], "wrong-input", 1, "2.5"),
        ([[1], [2, 10**30]], "not-finite", 1, "too large"),
        ([[1.5e300], None], "wrong-input", 0, "64-bit"),
        ([[], None, []], "empty", None, "no label in any of its 3 rows"),
        ([-1, None], "empty", None, "no label"),
    ],
)
def test_errors_locate_what_is_no_label(
    items: list[Any], code: str, row: int | None, says: str
) -> None:
    error = refused(of_list, items)
    assert (error.code, error.where.get("row"), error.where["role"]) == (code, row, "labels")
    assert says in error.detail


def test_a_dense_matrix_of_other_values_is_no_indicator() -> None:
    error = refused(roles.value, 2 * np.eye(3), "labels")
    assert error.code == "wrong-shape"
    assert "save_npz" in error.detail


words = st.sampled_from(["a", "b", "B", "é", "10", "9"])
rows_of_text = st.lists(st.none() | words | st.lists(words, max_size=4), max_size=8)
integers = st.integers(-2, 4)
rows_of_numbers = st.lists(st.none() | integers | st.lists(integers, max_size=4), max_size=8)


@given(rows_of_text | rows_of_numbers)
def test_rows_are_read_as_they_are_written(rows: list[Any]) -> None:
    lists = [row for row in rows if row is not None]
    widths = {len(row) if isinstance(row, list) else 0 for row in lists}
    # What is an indicator: test_indicator.py.
    assume(
        len(widths) != 1
        or widths <= {0, 1}
        or any(label not in (0, 1) for row in lists for label in row)
    )
    own = [None if row is None else {row} if not isinstance(row, list) else {*row} for row in rows]
    if all(labels is not None and len(labels) == 1 for labels in own) and rows:
        column = of_list(rows)
        assert isinstance(column, np.ndarray)
        assert column.tolist() == [next(iter(labels)) for labels in own if labels]
        return
    own = [None if labels == {-1} else labels for labels in own]
    if not any(own):
        assert refused(of_list, rows).code == "empty"
        return
    sets = roles.value(json_format.parse(json.dumps(rows).encode()), "labels")
    assert rows_of(sets) == [
        None if labels is None else [str(label) for label in sorted(labels)] for labels in own
    ]
    assert isinstance(sets, LabelSets)
    assert sets.names == [
        str(name) for name in sorted(set().union(*(labels for labels in own if labels)))
    ]


def test_truths_are_the_classes_1_and_0_in_every_form() -> None:
    forms: list[Table] = [Lists([True, False]), Lists([[True], False]), np.array([True, False])]
    for items in forms:
        with noting() as notes:
            assert np.array_equal(roles.value(items, "labels"), [1, 0])
        assert list(notes) == ["The labels are true and false: they are the classes 1 and 0."]
    assert rows_of(of_list([True, None])) == [["1"], None]


def test_codes_of_cells_keep_their_zeros() -> None:
    with noting() as notes:
        codes = roles.value(WrittenColumn(["007", "07", "7"], [1, 2, 3]), "labels")
    assert np.asarray(codes).tolist() == ["007", "07", "7"]
    assert len(notes) == 1
    plain = roles.value(WrittenColumn(["0", "7"], [1, 2]), "labels")
    assert np.asarray(plain).tolist() == [0, 7]


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("other", ["CAT", " cat", "ca\u0301t"])
def test_labels_that_look_alike_are_named(other: str, several: bool) -> None:
    plain = "c\u00e1t" if other.startswith("ca") else "cat"
    items = [[plain, "dog"], [other]] if several else [plain, other]
    with noting() as notes:
        roles.value(Lists(items), "labels")
    (sentence,) = notes
    assert "alone are different classes: " in sentence

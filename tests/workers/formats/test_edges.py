"""Edges between labels, and class paths, of lists; errors locate the row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.inputs.data import Value
from models.tree.tree import Tree
from tests.workers.formats.files_kit import refused
from workers.formats import roles
from workers.formats.tables import LabelRows, Lists


def of_list(items: Any, role: str) -> Value:
    return roles.value(Lists(items), role)


def test_pairs_of_text_are_edges() -> None:
    edges = of_list([["a", "b"], ["b", "b"]], "graph")
    assert isinstance(edges, np.ndarray)
    assert (edges.dtype, edges.tolist()) == (object, [["a", "b"], ["b", "b"]])


def test_pairs_of_numbers_are_a_matrix() -> None:
    edges = of_list([[0, 1], [1, 2]], "graph")
    assert isinstance(edges, np.ndarray)
    assert (edges.dtype, edges.shape) == (np.float64, (2, 2))


@pytest.mark.parametrize(
    ("pairs", "code", "where", "says"),
    [
        ([["a", "b"], ["c"]], "wrong-input", {"row": 1}, "row 1 (counted from 0) has 1 values"),
        ([["a", "b"], ["c", "d", "e"]], "wrong-input", {"row": 1}, "has 3 values"),
        ([["a", "b"], "c"], "wrong-input", {"row": 1}, "is the text 'c'"),
        (["a", "b"], "wrong-input", {"row": 0}, "is the text 'a'"),
        ([["a", "b"], ["c", 1]], "wrong-input", {"row": 1, "column": 1}, "is a number"),
        ([[1, 2], ["c", "d"]], "wrong-input", {"row": 0, "column": 0}, "is a number"),
        ([["a", "b"], ["c", None]], "wrong-input", {"row": 1, "column": 1}, "is null"),
        ([["a", "b"], ["c", ""]], "missing-value", {"row": 1}, "row 1"),
        ([["a", "b"], ["\ud800", "c"]], "wrong-input", {"row": 1}, "lone surrogate"),
        ([], "empty", {}, "no rows"),
        ([[]], "empty", {}, "no columns"),
    ],
)
def test_errors_locate_what_is_no_edge(
    pairs: list[Any], code: str, where: dict[str, int], says: str
) -> None:
    error = refused(of_list, pairs, "graph")
    assert (error.code, error.where) == (code, {"role": "graph", **where})
    assert says in error.detail


def test_the_paths_of_labels_are_their_hierarchy() -> None:
    for rows in (
        ["animal/dog", "plant", "animal/dog", "animal/cat"],
        [["animal/dog", "plant"], [], None, "animal/dog", ["animal/cat"]],
    ):
        tree = of_list(rows, "hierarchy")
        assert isinstance(tree, Tree)
        assert tree.name.tolist() == [None, "animal", "dog", "plant", "cat"]
        assert tree.parent.tolist() == [-1, 0, 1, 0, 1]
        assert tree.n_points == 3


@pytest.mark.parametrize(
    ("items", "code", "row", "says"),
    [
        (["a/b", "a/b", "a//c"], "invalid-tree", 2, "empty part"),
        ([["a/b"], ["a/c", "/d"]], "invalid-tree", 1, "empty part"),
        (["a", ""], "missing-value", 1, "row 1"),
        ([1, 2], "wrong-input", None, "class paths such as 'animal/dog'"),
        ([-1, 0, 0, [1]], "wrong-input", None, "class paths"),
        (["a", 1], "wrong-input", 1, "a number"),
        ([[], None], "empty", None, "no path"),
        ([], "empty", None, ""),
    ],
)
def test_errors_locate_what_is_no_path(
    items: list[Any], code: str, row: int | None, says: str
) -> None:
    error = refused(of_list, items, "hierarchy")
    assert (error.code, error.where.get("row")) == (code, row)
    assert says in error.detail


def test_a_label_may_hold_a_line_break() -> None:
    texts = np.array(["a\nb/c", "d"], dtype=object)
    rows = LabelRows.of(np.array([2, 0]), texts, np.array([False, True]))
    tree = roles.value(rows, "hierarchy")
    assert isinstance(tree, Tree)
    assert tree.name.tolist() == [None, "a\nb", "c", "d"]

"""Class paths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InvalidTree
from models.tree import class_paths, walk
from tests.models.tree.strategies_kit import outline


def test_a_small_hierarchy() -> None:
    #            None
    #           /    \
    #       animal   plant       rows: lion, rose, dog
    #       /   \      |
    #     cat   dog   rose
    #      |
    #     lion
    tree = class_paths.read("animal/cat/lion\nplant/rose\nanimal/dog\n")
    assert outline(tree) == [
        (0, None, 3, 3),
        (1, "animal", 2, 2),
        (2, "cat", 1, 1),
        (3, "lion", 0, 1),
        (2, "dog", 0, 1),
        (1, "plant", 1, 1),
        (2, "rose", 0, 1),
    ]
    assert tree.name[tree.leaf_of_point].tolist() == ["lion", "rose", "dog"]


def test_a_shared_first_part_is_the_root() -> None:
    tree = class_paths.read("entity/a\nentity/b")
    assert tree.name.tolist() == ["entity", "a", "b"]
    assert tree.parent.tolist() == [-1, 0, 0]


def test_a_path_that_continues_gets_its_own_leaf() -> None:
    #      a
    #     / \
    #    b   a     row 0 is the a below
    for text in ("a\na/b", "a/b\na"):
        tree = class_paths.read(text)
        assert outline(tree) == [(0, "a", 1, 2), (1, "b", 0, 1), (1, "a", 0, 1)]
        assert tree.name[tree.leaf_of_point].tolist() == [line[-1] for line in text.split()]


def test_the_same_name_in_two_places_is_two_nodes() -> None:
    tree = class_paths.read("a/x\nb/x")
    assert tree.name.tolist() == [None, "a", "x", "b", "x"]


def test_one_path_is_a_chain() -> None:
    assert class_paths.read("a").n_nodes == 1
    assert outline(class_paths.read("\ufeffa/b/c\r\n\n")) == [
        (0, "a", 2, 1),
        (1, "b", 1, 1),
        (2, "c", 0, 1),
    ]


def test_parts_are_kept_as_they_are() -> None:
    tree = class_paths.read(" a b/<c>\u2028'\r\n x/y ")
    assert tree.name.tolist() == [None, " a b", "<c>\u2028'", " x", "y "]


@pytest.mark.parametrize(
    ("text", "says", "line"),
    [
        ("", "holds no path", 1),
        ("\n\n", "holds no path", 1),
        ("a\n\nb", "Line 2 is blank", 2),
        ("a\n/b", "Line 2 has an empty part", 2),
        ("a/", "Line 1 has an empty part", 1),
        ("a//b", "Line 1 has an empty part", 1),
        ("a/b\nc\na/b", "Line 3 has the same path as line 1", 3),
    ],
)
def test_invalid_lines_are_refused(text: str, says: str, line: int) -> None:
    with pytest.raises(InvalidTree, match=says) as caught:
        class_paths.read(text)
    assert caught.value.where == {"line": line}


part = st.sampled_from(["a", "b", "c"])


@given(st.lists(st.lists(part, min_size=1, max_size=4).map("/".join), min_size=1, unique=True))
def test_each_line_is_the_way_to_its_leaf(lines: list[str]) -> None:
    tree = class_paths.read("\n".join(lines))
    assert np.bincount(tree.leaf_of_point, minlength=tree.n_nodes).max() == 1
    assert tree.n_leaves == tree.n_points == len(lines)
    for line, leaf in zip(lines, tree.leaf_of_point.tolist(), strict=True):
        way = [name for name in tree.name[walk.path(tree, leaf)] if name is not None]
        goes_on = any(other.startswith(line + "/") for other in lines)
        assert way == line.split("/") + ([line.split("/")[-1]] if goes_on else [])
    assert (tree.height[tree.leaves] == 0).all()


def test_a_chain_of_a_hundred_thousand() -> None:
    names = [str(i) for i in range(100_000)]
    tree = class_paths.read("/".join(names))
    assert tree.max_depth == 99_999
    assert tree.name.tolist() == names
    assert tree.height.tolist() == list(range(99_999, -1, -1))


def test_paths_of_rows_may_repeat() -> None:
    tree = class_paths.of_rows(["b/x", "a", "b/x", "a"], range(4))
    assert tree.n_points == 2
    assert tree.name[tree.leaf_of_point].tolist() == ["x", "a"]
    once = class_paths.read("b/x\na")
    assert outline(tree) == outline(once)
    with pytest.raises(InvalidTree, match=r"Row 7 \(counted from 0\) has an empty part") as caught:
        class_paths.of_rows(["a", "a", "a/"], [3, 3, 7])
    assert caught.value.where == {"row": 7}


@given(st.lists(st.lists(part, min_size=1, max_size=4).map("/".join), min_size=1))
def test_repeated_paths_count_once(rows: list[str]) -> None:
    tree = class_paths.of_rows(rows, range(len(rows)))
    once = class_paths.read("\n".join(dict.fromkeys(rows)))
    assert outline(tree) == outline(once)
    assert tree.leaf_of_point.tolist() == once.leaf_of_point.tolist()

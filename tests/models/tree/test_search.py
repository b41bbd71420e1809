"""Nodes by name."""

from __future__ import annotations

import pytest

from models.errors import UsageError
from models.tree.named import search
from tests.models.tree.trees_kit import tree_of

#         0 plants
#       /     \
#      1 Rose  2 rosewood
#    /   \
#   3     4
#  ROSE   prose
TREE = tree_of([-1, 0, 0, 1, 1], ["plants", "Rose", "rosewood", "ROSE", "prose"])


def test_whole_names_first_then_beginnings_then_the_rest() -> None:
    assert search(TREE, "rose") == [
        {"node": 1, "name": "Rose", "path": [0, 1]},
        {"node": 3, "name": "ROSE", "path": [0, 1, 3]},
        {"node": 2, "name": "rosewood", "path": [0, 2]},
        {"node": 4, "name": "prose", "path": [0, 1, 4]},
    ]


def test_limit_and_nothing_found() -> None:
    assert [hit["node"] for hit in search(TREE, " ROSE ", limit=2)] == [1, 3]
    assert search(TREE, "tulip") == []


def test_names_may_be_missing_or_foreign() -> None:
    tree = tree_of([-1, 0, 0], [None, "STRASSE", "ß🌷"])
    assert [hit["node"] for hit in search(tree, "straße")] == [1]
    assert [hit["node"] for hit in search(tree, "🌷")] == [2]


def test_a_space_finds_an_underscore_which_is_drawn_as_one() -> None:
    #   0 -- 1 big_cats_of_prey, 2 big_cats, 3 Big cats, 4 the_big_cats
    names = [None, "big_cats_of_prey", "big_cats", "Big cats", "the_big_cats"]
    tree = tree_of([-1, 0, 0, 0, 0], names)
    assert [hit["node"] for hit in search(tree, "big cats")] == [3, 2, 1, 4]
    assert [hit["node"] for hit in search(tree, "big_cats")] == [2, 1, 4]


@pytest.mark.parametrize(("text", "limit"), [("  ", 5), ("rose", 0)])
def test_bad_requests_are_refused(text: str, limit: int) -> None:
    with pytest.raises(UsageError) as error:
        search(TREE, text, limit)
    assert error.value.code == "wrong-parameter"

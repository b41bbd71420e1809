"""JSON trees of other tools: each is read with names and lengths, or says what it kept apart."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from models.errors import InvalidTree
from models.tree import nested, newick

#    r
#   / \
#  a   b      lengths 0.5 and 2
LENGTHS = "(a:0.5,b:2.0)r;\n"
LEVELS = "(a:1.0,b:1.0)r;\n"


def nodes(key: str) -> dict[str, Any]:
    return {"name": "r", "children": [{"name": "a", key: 0.5}, {"name": "b", key: 2.0}]}


@pytest.mark.parametrize(
    "key",
    [
        *("length", "branch_length", "branchLength", "branch-length", "edge_length", "edgeLength"),
        *("dist", "distance"),
    ],
)
def test_lengths_by_every_name(key: str) -> None:
    document = nodes(key)
    for root_too in (False, True):
        tree = nested.read({**document, key: 0.0} if root_too else document)
        assert "".join(newick.write(tree)) == LENGTHS
        assert tree.extra == {}
        assert tree.warnings == (f"Branch lengths were read from the field {key!r}.",)
    texts = [{**each, key: str(each[key])} for each in document["children"]]
    as_text = {**document, "children": texts}
    assert "".join(newick.write(nested.read(as_text))) == LENGTHS


@pytest.mark.parametrize(
    ("document", "text", "warned"),
    [
        ({"label": "r", "children": [{"label": "a"}, {"label": "b"}]}, LEVELS, "'label'"),
        ({"id": "r", "children": [{"id": "a"}, {"id": "b"}]}, LEVELS, "'id'"),
        ({"key": "r", "values": [{"key": "a"}, {"key": "b"}]}, LEVELS, "'values'"),
        ({"name": "r", "_children": [{"name": "a"}, {"name": "b"}]}, LEVELS, "'_children'"),
        (
            {"name": "r", "children": None, "_children": [{"name": "a"}, {"name": "b"}]},
            LEVELS,
            "'_children'",
        ),
        (
            {"name": "r", "branchset": [{"name": "a", "length": 0.5}, {"name": "b", "length": 2}]},
            LENGTHS,
            "'branchset'",
        ),
        ({"name": "r", "left": {"name": "a", "left": None}, "right": {"name": "b"}}, LEVELS,
         "'left', 'right'"),
        ([{"id": 1, "name": "r"}, {"id": 2, "name": "a", "parent": 1},
          {"id": 3, "name": "b", "parent": 1}], LEVELS, None),
        ([{"id": "r", "parentId": ""}, {"id": "a", "parentId": "r"}, {"id": "b", "parentId": "r"}],
         LEVELS, None),
        ({"data": {"name": "r"}, "depth": 0, "children": [{"data": {"name": "a"}, "depth": 1},
                                                          {"data": {"name": "b"}, "depth": 1}]},
         LEVELS, "'data.name'"),
        ([{"name": "r", "parent": None}, {"name": "a", "parent": "r"},
          {"name": "b", "parent": "r"}], LEVELS, None),
        ([{"id": 0, "label": "r", "parent": -1}, {"id": 1, "label": "a", "parent": 0},
          {"id": 2, "label": "b", "parent": 0}], LEVELS, "'label'"),
        ({"version": "v2", "meta": {}, "tree": nodes("length")}, LENGTHS, "'meta', 'version'"),
        ([nodes("length")], LENGTHS, "'length'"),
        ({"name": "r", "children": [{"name": "a", "value": 3}, {"name": "b", "value": 1}]}, LEVELS,
         "'value'"),
        ({"name": "r", "children": [{"name": "a", "size": 3}, {"name": "b", "size": 1}]}, LEVELS,
         "'size'"),
        ({"name": "r", "children": [{"name": "a", "weight": 3}, {"name": "b"}]}, LEVELS,
         "'weight'"),
        ({"name": "r", "id": "n0", "children": [{"name": "a"}, {"name": "b"}]}, LEVELS, "ids of 1"),
        ({"name": "r", "children": [{"name": "a", "length": 1}, {"name": "b"}]}, LEVELS,
         "1 node(s) have no 'length'; 1 was taken"),
        ({"name": "r", "length": 3, "children": [{"name": "a", "length": 1},
                                                 {"name": "b", "length": 1}]}, LEVELS,
         "The root's 'length', 3, was left out"),
        ({"name": "r", "children": [{"name": "a", "length": -1e-14}, {"name": "b", "length": 1}]},
         "(a:0.0,b:1.0)r;\n", "1 branch length was below 0 by rounding alone"),
        ({"name": "r", "height": 1, "children": [{"name": "a", "height": -1e-14},
                                                 {"name": "b", "height": 0}]}, LEVELS,
         "1 height was below 0 by rounding alone"),
        ({"name": "r", "height": 1.0, "children": [{"name": "a", "height": 1.0 + 2e-16 * 3},
                                                   {"name": "b", "height": 0.0}]},
         "(a:0.0,b:1.0000000000000007)r;\n", "1 branch length was below 0 by rounding alone"),
    ],
)  # fmt: skip
def test_other_tools(document: Any, text: str, warned: str | None) -> None:
    tree = nested.read(document)
    assert "".join(newick.write(tree)) == text
    if warned is None:
        assert tree.warnings == ()
    else:
        assert any(warned in sentence for sentence in tree.warnings), tree.warnings


def test_nodes_of_scipy_have_heights_and_the_numbers_of_rows() -> None:
    #    4 (2)
    #   /  \
    #  2   3 (1)
    #      /  \
    #     1    0
    leaves = [{"id": number, "dist": 0.0, "count": 1} for number in range(3)]
    inner = {"id": 3, "dist": 1.0, "count": 2, "children": [leaves[1], leaves[0]]}
    tree = nested.read({"id": 4, "dist": 2.0, "count": 3, "children": [leaves[2], inner]})
    assert "".join(newick.write(tree)) == "(2:2.0,(1:1.0,0:1.0):1.0);\n"
    assert "The field 'dist' was read as the height" in " ".join(tree.warnings)


def test_several_trees_get_one_root() -> None:
    first = {"key": "x", "values": [{"name": "a"}]}
    tree = nested.read([first, {"key": "y", "values": [{"name": "b"}]}])
    assert tree.name.tolist() == [None, "x", "a", "y", "b"]
    assert tree.warnings[0] == "2 trees of the list were put below one root without a name."


@pytest.mark.parametrize(
    ("values", "shares", "warned"),
    [
        ({"support": 0.98}, 0.98, None),
        ({"support": 98}, 0.98, "as percent"),
        ({"support": "98"}, 0.98, "as percent"),
        ({"bootstrap": 98}, 0.98, "'bootstrap' as percent"),
        ({"Posterior": 0.98}, 0.98, "'Posterior' as shares"),
        ({"confidence": 0.98}, 0.98, "'confidence' as shares"),
        ({"support": 2000}, None, "not read as support"),
    ],
)
def test_support(values: dict[str, Any], shares: float | None, warned: str | None) -> None:
    inner = {"name": "x", "length": 1, **values, "children": [{"name": "a", "length": 1}]}
    tree = nested.read({"name": "r", "children": [inner, {"name": "b", "length": 2}]})
    if shares is None:
        assert "support" not in tree.extra
    else:
        np.testing.assert_array_equal(tree.extra["support"], [math.nan, shares, math.nan, math.nan])
        assert list(tree.extra) == ["support"]
    assert warned is None or any(warned in sentence for sentence in tree.warnings)


def test_the_services_own_form_has_no_warning() -> None:
    document = {
        "id": "tr_1", "job": None, "method": "hac", "n_points": 2, "warnings": [],
        "nodes": [
            {"id": 0, "parent": None, "name": None, "height": 1.0, "size": 2, "support": None},
            {"id": 1, "parent": 0, "name": "a", "height": 0.0, "size": 1, "support": 0.5,
             "confidence": 0.75},
            {"id": 2, "parent": 0, "name": "b", "height": 0.0, "size": 1, "support": None},
        ],
    }  # fmt: skip
    tree = nested.read(document)
    assert tree.warnings == ()
    assert tree.extra["support"].tolist()[1] == 0.5
    assert tree.extra["confidence"].tolist()[1] == 0.75


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"name": "r", "kids": [{"name": "a"}]}, "objects under 'kids'; children are read from"),
        ({"root": {"cat": {}, "dog": {"pug": {}}}}, "objects under 'cat'; children are read from"),
        ({"tree": {"cat": ["tom"]}}, "objects under 'cat'; children are read from"),
        ({"name": "r", "children": [{"name": "a"}], "_children": [{"name": "b"}]}, "under 'child"),
        ({"name": "r", "children": [{"name": "a", "length": -1}, {"name": "b"}]}, "negative"),
        ({"name": "r", "children": [{"name": "a", "length": "x"}, {"name": "b"}]}, "finite number"),
        ({"name": "r", "children": [{"name": "a", "length": {}}, {"name": "b"}]}, "finite number"),
        ({"name": "r", "support": "high", "children": [{"name": "a"}]}, "support of node 0"),
        ({"name": "r", "support": True, "children": [{"name": "a"}]}, "support of node 0"),
        ({"name": "r", "children": "x"}, "not a list"),
        ({"name": "r", "children": [{"name": "a", "length": 1e308}] * 2 + [{"name": "b",
          "length": 1, "children": [{"name": "c", "length": 1e308, "children": [
              {"name": "d", "length": 1e308}]}]}]}, "overflows"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(document: Any, message: str) -> None:
    with pytest.raises(InvalidTree, match=message):
        nested.read(document)


def test_a_chain_of_lengths_and_of_roundings() -> None:
    n = 100_000
    chain = [{"id": 0, "length": 0.0}]
    chain += [{"id": number, "parent": number - 1, "length": 1.0} for number in range(1, n)]
    assert nested.read(chain).height[0] == n - 1
    rounded = [
        {"id": number, "parent": number - 1 if number else None, "height": height}
        for number, height in enumerate((1.0 + 2.3e-16 * (np.arange(n) % 3)).tolist())
    ]
    tree = nested.read(rounded)
    assert tree.monotone
    assert tree.height.max() == tree.height[0]

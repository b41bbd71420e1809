"""JSON: flat and nested, written and read, and refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InvalidTree, UsageError
from models.tree import nested
from models.tree.build import from_parents, from_partition
from models.tree.tree import Tree
from models.tree.walk import leaf_order, part
from tests.models.tree.strategies_kit import any_name, chain, outline, random_tree


def _flat(tree: Tree, **options: Any) -> Any:
    return json.loads("".join(nested.flat_nodes(tree, **options)), parse_constant=_refuse)


def _nested(tree: Tree, **options: Any) -> Any:
    return json.loads("".join(nested.write(tree, **options)), parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


def _by_leaves(tree: Tree) -> Tree:
    """The tree as an import gives it: one point a leaf, left to right."""
    return from_parents(tree.parent, tree.height, tree.name, monotone=tree.monotone)


@pytest.fixture
def tree() -> Tree:
    #     0
    #    / \
    #   1   2 "b"      points 0 and 1 in 3, point 2 in 2
    #   |
    #   3 "a"
    return from_parents([-1, 0, 0, 1], [2, 1.5, 0, 0], [None, None, "b", "a"], [3, 3, 2])


def test_flat_form_of_a_small_tree(tree: Tree) -> None:
    assert _flat(tree) == [
        {"id": 0, "parent": None, "name": None, "height": 2.0, "size": 3},
        {"id": 1, "parent": 0, "name": None, "height": 1.5, "size": 2},
        {"id": 2, "parent": 0, "name": "b", "height": 0.0, "size": 1},
        {"id": 3, "parent": 1, "name": "a", "height": 0.0, "size": 2},
    ]


def test_nested_form_of_a_small_tree(tree: Tree) -> None:
    a = {"id": 3, "name": "a", "height": 0.0, "size": 2}
    b = {"id": 2, "name": "b", "height": 0.0, "size": 1}
    inner = {"id": 1, "name": None, "height": 1.5, "size": 2, "children": [a]}
    assert _nested(tree) == {
        "id": 0, "name": None, "height": 2.0, "size": 3, "children": [inner, b],
    }  # fmt: skip


def test_a_part_keeps_the_ids_of_its_tree(tree: Tree) -> None:
    of = part(tree, 1)
    assert [(node["id"], node["parent"]) for node in _flat(of.tree, ids=of.node)] == [
        (1, None),
        (3, 1),
    ]
    assert _nested(of.tree, ids=of.node)["children"][0]["id"] == 3


def test_extra_fields_are_plain_json(tree: Tree) -> None:
    features = np.empty(4, dtype=object)
    features[:] = [None, [1.0, np.nan], {"x": np.float32(0.5), "y": (1, 2)}, "text"]
    extra = {
        "probability": np.array([1.0, np.nan, np.inf, 0.25]),
        "float32": np.array([0, 1, 2, 3], dtype=np.float32),
        "count": np.array([1, 2, 3, 4], dtype=np.uint8),
        "flag": np.array([True, False, True, False]),
        "text": np.array(["a", 'b"', "c", "d"]),
        "matrix": np.arange(8).reshape(4, 2),
        "100%": np.arange(4),
        "features": features,
    }
    document = _flat(replace(tree, extra=extra))
    assert [node["probability"] for node in document] == [1.0, None, None, 0.25]
    assert [node["float32"] for node in document] == [0, 1, 2, 3]
    assert [node["count"] for node in document] == [1, 2, 3, 4]
    assert [node["flag"] for node in document] == [True, False, True, False]
    assert [node["text"] for node in document] == ["a", 'b"', "c", "d"]
    assert [node["matrix"] for node in document] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert [node["100%"] for node in document] == [0, 1, 2, 3]
    assert [node["features"] for node in document] == [
        None, [1.0, None], {"x": 0.5, "y": [1, 2]}, "text",
    ]  # fmt: skip
    assert _nested(replace(tree, extra=extra))["children"][1]["features"]["x"] == 0.5


@given(random_tree(names=any_name))
def test_fields_of_one_node_are_those_of_the_flat_form(tree: Tree) -> None:
    tree = replace(tree, extra={"x": np.full(tree.n_nodes, np.nan), "y": np.arange(tree.n_nodes)})
    assert [nested.node_fields(tree, node) for node in range(tree.n_nodes)] == _flat(tree)
    with pytest.raises(UsageError, match="no node"):
        nested.node_fields(tree, tree.n_nodes)


def test_extra_fields_with_a_taken_name_are_refused(tree: Tree) -> None:
    for write in (nested.flat_nodes, nested.write):
        with pytest.raises(UsageError, match="extra column 'parent'"):
            write(replace(tree, extra={"parent": np.zeros(4)}))


def test_the_nested_form_has_limits() -> None:
    deep = chain(202)
    assert deep.max_depth == 201
    with pytest.raises(
        UsageError, match=r"up to 200 levels; this tree is 201 deep.*layout=flat"
    ) as e:
        nested.write(deep)
    assert e.value.code == "too-deep"
    assert json.loads("".join(nested.write(chain(201))))["size"] == 201
    with pytest.raises(UsageError, match="up to 50,000 nodes; this tree has 50,001") as e:
        nested.write(from_partition([], 50_000))
    assert e.value.code == "too-many-nodes"
    assert len(_nested(from_partition([], 49_999))["children"]) == 49_999


@given(random_tree(names=any_name))
def test_flat_trees_come_back(tree: Tree) -> None:
    again = nested.read({"nodes": _flat(tree)})
    assert outline(again) == outline(_by_leaves(tree))
    assert again.parent.tolist() == tree.parent.tolist()


@given(random_tree(names=any_name))
def test_nested_trees_come_back(tree: Tree) -> None:
    assert outline(nested.read(_nested(tree))) == outline(_by_leaves(tree))


@given(random_tree(monotone=False))
def test_trees_that_fall_come_back(tree: Tree) -> None:
    tree = replace(tree, monotone=False)
    again = nested.read(_nested(tree))
    assert not again.monotone
    assert outline(again) == outline(_by_leaves(tree))
    assert outline(nested.read({"nodes": _flat(tree), "monotone": False})) == outline(again)


@given(random_tree(names=any_name), st.randoms(use_true_random=False))
def test_nodes_may_come_in_any_order_with_any_ids(tree: Tree, random: Any) -> None:
    nodes = _flat(tree)
    for node in nodes:
        node["id"] = f"n{node['id']}"
        node["parent"] = None if node["parent"] is None else f"n{node['parent']}"
    random.shuffle(nodes)
    assert sorted(outline(nested.read(nodes)), key=str) == sorted(
        outline(_by_leaves(tree)), key=str
    )


def test_partitions_come_back() -> None:
    tree = from_partition([0, 1], 2)
    for document in (
        _nested(tree),
        {"kind": "partition", "nodes": _flat(tree)},
        {"kind": "partition", "root": {"children": [{}, {}]}},
    ):
        again = nested.read(document)
        assert again.kind == "partition"
        assert not again.extra


def test_extra_columns_come_back(tree: Tree) -> None:
    extra = {
        "whole": np.array([1, 2, 3, 4]),
        "number": np.array([0.5, np.nan, 1, 2]),
        "flag": np.array([True, False, True, True]),
        "text": np.array(["a", None, "b", "c"], dtype=object),
    }
    again = nested.read(_flat(replace(tree, extra=extra))).extra
    assert {key: column.dtype.kind for key, column in again.items()} == {
        "whole": "i", "number": "f", "flag": "b", "text": "O",
    }  # fmt: skip
    for key, column in extra.items():
        np.testing.assert_array_equal(again[key], column)


def test_odd_values_of_extra_columns_are_converted() -> None:
    odd = [{"a": 1, "b": 2**70, "c": [1], "d": 1}, {"b": 1, "c": {"x": None}, "d": 0.5}]
    nodes = [{"id": i, "parent": None if i == 0 else 0, **fields} for i, fields in enumerate(odd)]
    extra = nested.read(nodes).extra
    assert extra["a"].tolist() == [1, None]
    assert extra["b"].tolist() == [2**70, 1]
    assert extra["c"].tolist() == [[1], {"x": None}]
    assert extra["d"].dtype == np.float64
    assert extra["d"].tolist() == [1, 0.5]
    huge = [{"id": 0, "x": 10**400}, {"id": 1, "parent": 0, "x": 0.5}]
    assert nested.read(huge).extra["x"].tolist() == [10**400, 0.5]


def test_without_heights_a_node_is_as_high_as_its_longest_way_down() -> None:
    # animal - (cat - lion), dog
    tree = nested.read(
        {
            "name": "animal",
            "children": [{"name": "cat", "children": [{"name": "lion"}]}, {"name": "dog"}],
        }
    )
    assert tree.name.tolist() == ["animal", "cat", "lion", "dog"]
    assert tree.height.tolist() == [2, 1, 0, 0]
    assert tree.leaf_of_point.tolist() == [2, 3]


def test_text_ids_are_names_where_there_is_none() -> None:
    nodes = [
        {"id": "lion", "parent": "cat"},
        {"id": "cat"},
        {"id": 7, "parent": "cat", "name": "x"},
    ]
    tree = nested.read(nodes)
    assert tree.name.tolist() == ["cat", "lion", "x"]
    assert tree.leaf_of_point.tolist() == leaf_order(tree).tolist()


A = {"id": "a", "parent": None, "height": 1}
B = {"id": "b", "parent": "a", "height": 0}


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (None, "A tree as JSON is"),
        ("(a,b);", "A tree as JSON is"),
        ({}, "A tree as JSON is"),
        ({"items": []}, "A tree as JSON is"),
        ({"labels": ["r", "a"], "parents": ["", "r"], "values": [2, 1]}, "A tree as JSON is"),
        ([], "at least one node"),
        ({"nodes": {}}, "'nodes' must be a list"),
        ([A, 5], "Node number 1 of the list is not an object"),
        ([A, {"parent": "a"}], "Node number 1 of the list has no id"),
        ([A, {"id": True, "parent": "a"}], "Node number 1 of the list has no id"),
        ([A, {"id": 1.0, "parent": "a"}], "Node number 1 of the list has no id"),
        ([A, B, B], "Two nodes have the id 'b'"),
        ([A, {**B, "parent": "z"}], "Node 'b' has the parent 'z', which does not exist"),
        ([A, {**B, "parent": ["a"]}], "Node 'b' has the parent of type list"),
        ([A, {**B, "parent": None}], "Nodes 'a' and 'b' both have no parent"),
        ([{**A, "parent": "b"}, B], "No node is a root"),
        ([A, B, {"id": "c", "parent": "c", "height": 0}], "Node 'c' is its own ancestor"),
        ([A, {**B, "name": 5.5}], "name of node 'b' is neither"),
        ([A, {**B, "name": "\ud800"}], "A name holds half a surrogate pair"),
        ([A, {**B, "x": ["\udfff"]}], "'x' holds half a surrogate pair"),
        ([A, {**B, "height": None}], "height of node 'b' is not a finite number"),
        ([A, {**B, "height": "1"}], "height of node 'b' is not a finite number"),
        ([A, {**B, "height": True}], "height of node 'b' is not a finite number"),
        ([A, {**B, "height": float("nan")}], "height of node 'b' is not a finite number"),
        ([A, {**B, "height": 10**400}], "height of node 'b' is not a finite number"),
        ([A, {**B, "height": 2}], "Node 'b' lies higher than its parent"),
        ({"nodes": [A, B], "kind": "forest"}, "'kind' must be"),
        ({"nodes": [A, B], "kind": ["partition"]}, "'kind' must be"),
        ({"nodes": [A, B], "monotone": "no"}, "'monotone' must be"),
        ({"children": 5}, "children of node 0 .* are not a list"),
        ({"children": [{"children": [None]}]}, "A child of node 1 .* is not an object"),
        ({"children": [{"height": 1}]}, "height of node 0 is not a finite number"),
        ([{**A, **{f"x{i}": 1 for i in range(65)}}], "65 different extra fields; up to 64"),
    ],
)
def test_invalid_documents_are_refused(document: Any, says: str) -> None:
    with pytest.raises(InvalidTree, match=says):
        nested.read(document)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats() | st.text("ab", max_size=2),
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "parent", "name", "height", "children", "nodes", "kind", "x"]),
            inside,
            max_size=4,
        )
    ),
)


@given(json_values)
def test_any_json_is_read_or_refused(document: Any) -> None:
    try:
        tree = nested.read(document)
    except InvalidTree:
        return
    tree.validate()
    assert outline(nested.read({"nodes": _flat(tree), "kind": tree.kind})) == outline(tree)


def test_extra_values_nested_too_deep_are_refused() -> None:
    value: Any = 1
    for _ in range(16):
        value = [value]
    assert nested.read([{**A, "x": value}]).extra["x"].tolist() == [value]
    with pytest.raises(InvalidTree, match="'x' is nested past 16 levels"):
        nested.read([{**A, "x": [value]}])
    for _ in range(100_000):
        value = [value]
    with pytest.raises(InvalidTree, match="'x' is nested past 16 levels"):
        nested.read([{**A, "x": value}])


def test_a_chain_of_twenty_thousand() -> None:
    tree = chain(20_000)
    assert outline(nested.read(_flat(tree))) == outline(tree)
    deep: dict[str, Any] = {"name": "leaf"}
    for _ in range(20_000):
        deep = {"children": [deep]}
    assert nested.read(deep).max_depth == 20_000
    # Dismantled from the top, since deleting it whole would recurse.
    while "children" in deep:
        deep = deep["children"].pop()


def test_pieces_are_streamed() -> None:
    pieces = list(nested.flat_nodes(from_partition([], 10_000)))
    assert len(pieces) == 4
    assert max(map(len, pieces)) < 400_000
    assert len(json.loads("".join(pieces))) == 10_001


def test_whole_numbers_are_names() -> None:
    tree = nested.read({"name": 0, "children": [{"name": 10}, {"name": "b"}]})
    assert list(tree.name) == ["0", "10", "b"]

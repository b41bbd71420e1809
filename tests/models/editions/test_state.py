"""What operations refuse, and what editions write into text forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from models.editions.edited import comments, edited
from models.editions.state import MOST_NODES, EditionState, Operation
from models.errors import UsageError
from models.tree import newick, nexus
from models.tree.build import from_parents
from models.tree.cluster_names import DISTINCTIVE
from models.tree.tree import Tree
from models.tree.window import fold

_OPERATION = TypeAdapter(Operation)


@pytest.fixture
def tree() -> Tree:
    """
    0 ── 1 ── 3 rose, 4 tulip, 5 lily
     └── 2 oak
    """
    parent, height = [-1, 0, 0, 1, 1, 1], [4.0, 2.0, 0.0, 0.0, 1.0, 0.0]
    names = [None, None, "oak", "rose", "tulip", "lily"]
    strength = np.arange(6.0)
    return from_parents(parent, height, names, extra={"strength": strength, "rank": np.arange(6)})


def applied(tree: Tree, *operations: dict[str, Any]) -> EditionState:
    state = EditionState(tree)
    state.apply([_OPERATION.validate_python(each) for each in operations])
    return state


@pytest.mark.parametrize(
    ("operation", "field", "what"),
    [
        ({"op": "rename", "node": 6, "name": "x"}, "node", "no node 6"),
        ({"op": "collapse", "node": 3}, "node", "Node 3 has no children"),
        ({"op": "collapse", "node": 0}, "node", "Node 0 is the root"),
        ({"op": "dissolve", "node": 0}, "node", "Node 0 is the root"),
        ({"op": "dissolve", "node": 2}, "node", "Node 2 has no children"),
        ({"op": "reorder", "node": 1, "children": [3, 4]}, "children", "has 3 children"),
        ({"op": "reorder", "node": 1, "children": [3, 4, 4]}, "children", "has 3 children"),
        ({"op": "reorder", "node": 1, "children": [3, 4, 2]}, "children", "2 is none of them"),
        ({"op": "reorder", "node": 2, "children": [3]}, "children", "has 0 children"),
        ({"op": "merge", "nodes": [3, 2]}, "nodes", "Only siblings"),
        ({"op": "merge", "nodes": [0, 1]}, "nodes", "Only siblings"),
        ({"op": "merge", "nodes": [3, 3]}, "nodes", "listed twice"),
        ({"op": "merge", "nodes": [3, 9]}, "nodes", "no node 9"),
        ({"op": "merge", "nodes": [3, 4, 5]}, "nodes", "all children of node 1"),
    ],
)
def test_operations_that_do_not_fit(
    tree: Tree, operation: dict[str, Any], field: str, what: str
) -> None:
    with pytest.raises(UsageError, match=what) as raised:
        applied(tree, {"op": "rename", "node": 0, "name": "first"}, operation)
    assert raised.value.where == {"operation": 1, "field": field}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "rename", "node": 1, "name": "a\nb"},
        {"op": "rename", "node": 1, "name": " "},
        {"op": "rename", "node": 1, "name": "\x7f"},
        {"op": "rename", "node": 1, "name": "x" * 1001},
        {"op": "rename", "node": 1},
        {"op": "rename", "node": "1", "name": "x"},
        {"op": "rename", "node": True, "name": "x"},
        {"op": "rename", "node": -1, "name": "x"},
        {"op": "note", "node": 1, "text": "x" * 4001},
        {"op": "note", "node": 1, "text": "\x00"},
        {"op": "colour", "node": 1, "colour": "red"},
        {"op": "colour", "node": 1, "colour": "#00ff0a\n"},
        {"op": "merge", "nodes": [1]},
        {"op": "reorder", "node": 1, "children": list(range(MOST_NODES + 1))},
        {"op": "move", "node": 1},
    ],
)
def test_operations_of_another_form(operation: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        _OPERATION.validate_python(operation)


def test_dissolved_nodes_are_gone(tree: Tree) -> None:
    with pytest.raises(UsageError, match="was dissolved"):
        applied(tree, {"op": "dissolve", "node": 1}, {"op": "rename", "node": 1, "name": "x"})
    shown = edited(applied(tree, {"op": "dissolve", "node": 1}))
    with pytest.raises(UsageError, match="no node 1"):
        shown.row(1)


def rename(node: int, name: str | None) -> dict[str, Any]:
    return {"op": "rename", "node": node, "name": name}


@pytest.mark.parametrize(
    ("operations", "shared"),
    [
        ([rename(2, "rose")], ["rose"]),
        ([rename(2, "x"), rename(3, "x")], ["x"]),
        # Names of inner nodes, and of leaves that have others now, are free.
        ([rename(1, "rose"), rename(2, "flowers")], []),
        ([rename(3, "tulip"), rename(4, "rose")], []),
        ([rename(2, "rose"), rename(2, None)], []),
        ([rename(3, "x"), rename(2, "rose"), rename(3, None)], ["rose"]),
    ],
)
def test_names_that_several_leaves_have(
    tree: Tree, operations: list[dict[str, Any]], shared: list[str]
) -> None:
    assert applied(tree, *operations).shared_names() == shared


def test_merged_nodes_lie_halfway_and_have_no_other_values(tree: Tree) -> None:
    shown = edited(applied(tree, {"op": "merge", "nodes": [4, 3], "name": "bulbs"}))
    row = shown.row(6)
    assert shown.tree.height[row] == 1.5
    assert shown.tree.name[row] == "bulbs"
    assert np.isnan(shown.tree.extra["strength"][row])
    assert shown.tree.extra["rank"][row] is None
    # Node 1 has the new node where tulip and rose stood, and rose first, as before.
    assert [shown.id(int(each)) for each in np.flatnonzero(shown.tree.parent == shown.row(1))] == [
        6,
        5,
    ]
    assert [shown.id(int(each)) for each in np.flatnonzero(shown.tree.parent == row)] == [3, 4]


def test_merging_in_a_partition_makes_a_hierarchy() -> None:
    tree = from_parents([-1, 0, 0, 0], [1.0, 0, 0, 0], ["", "a", "b", "c"], kind="partition")
    assert edited(applied(tree, {"op": "merge", "nodes": [1, 3]})).tree.kind == "hierarchy"
    assert edited(applied(tree, {"op": "rename", "node": 1, "name": "x"})).tree.kind == "partition"


def test_text_forms_have_names_order_notes_and_colours(tree: Tree) -> None:
    note = 'see [3], "5%"\nor not'
    shown = edited(
        applied(
            tree,
            {"op": "rename", "node": 1, "name": "flowers"},
            {"op": "reorder", "node": 1, "children": [5, 3, 4]},
            {"op": "note", "node": 1, "text": note},
            {"op": "colour", "node": 1, "colour": "#D55E00"},
            {"op": "collapse", "node": 1},
        )
    )
    text = "".join(newick.write(shown.tree, ids=shown.ids, comments=comments(shown.tree)))
    comment = '[&!color=#d55e00,!collapsed=true,note="see %5B3%5D, %225%25%22%0Aor not"]'
    assert text == f"((lily:2.0,rose:2.0,tulip:1.0)flowers{comment}:2.0,oak:4.0);\n"
    back = newick.read(text)
    assert back.name.tolist() == [None, "flowers", "lily", "rose", "tulip", "oak"]
    assert comment in "".join(nexus.write(shown.tree, comments=comments(shown.tree)))
    assert comments(tree) is None


def test_collapsed_nodes_stay_folded(tree: Tree) -> None:
    for closed in ([1], [1, 4]):
        shown = fold(tree, 0, closed=np.array(closed))
        assert shown.node.tolist() == [0, 1, 2]
        assert shown.hidden.tolist() == [0, 3, 0]
    # Whoever asks for it sees what is in it.
    assert fold(tree, 1, closed=np.array([1])).node.tolist() == [1, 3, 4, 5]
    # Below: a chain of only children, the upper of which is closed.
    chain = from_parents([-1, 0, 1, 2, 2], [3.0, 2, 1, 0, 0], [None] * 5)
    assert fold(chain, 0, closed=np.array([2])).node.tolist() == [0, 1, 2]
    assert fold(chain, 0, closed=np.array([1, 2])).node.tolist() == [0, 1]


def test_words_that_compare_siblings_go_where_siblings_are_others() -> None:
    parent = [-1, 0, 0, 1, 1, 1]
    words = [None, *([{"feature": str(node), "side": "high"}] for node in range(1, 6))]
    column = np.empty(6, dtype=object)
    column[:] = words
    tree = from_parents(parent, [2, 1, 0, 0, 0, 0], [None] * 6, extra={DISTINCTIVE: column})

    def kept(*operations: dict[str, Any]) -> set[int]:
        found = edited(applied(tree, *operations))
        given = found.tree.extra[DISTINCTIVE]
        rows = range(6) if found.rows is None else found.rows[:6].tolist()
        return {node for node, row in enumerate(rows) if row >= 0 and given[row]}

    assert kept({"op": "reorder", "node": 1, "children": [5, 4, 3]}) == {1, 2, 3, 4, 5}
    assert kept({"op": "merge", "nodes": [3, 4]}) == {1, 2}
    assert kept({"op": "dissolve", "node": 1}) == set()
    assert tree.extra[DISTINCTIVE].tolist() == words


def test_to_find_a_child_that_does_not_belong_takes_no_look_at_all_for_each() -> None:
    """A node may have a million children, and an operation lists thousands."""
    n = 200
    state = EditionState(from_parents([-1] + [0] * n, [1.0] + [0.0] * n, [None] * (n + 1)))
    looks = 0

    class Children(list[int]):
        def __iter__(self) -> Iterator[int]:
            nonlocal looks
            looks += 1
            return super().__iter__()

    state.children[0] = Children(state.children_of(0))
    twice = {"op": "reorder", "node": 0, "children": [*range(1, n), 1]}
    with pytest.raises(UsageError, match="left out or twice there"):
        state.apply([_OPERATION.validate_python(twice)])
    assert looks < 5

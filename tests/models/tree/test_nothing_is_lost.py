"""What stands in a tree's file is in the tree, or in its warnings, or the file is refused."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from models.errors import InvalidTree
from models.tree import nested, newick, nexus
from models.tree.tree import Tree

MARK = "Zq7marker"
"""A word of no format."""

NOTES = (
    "[{}]",
    "[&{}=1]",
    "[&&NHX:{}=1]",
    "[&&NHX:S={}]",
    "[&prob={}]",
    "[&!name={}]",
    ":1[{}]",
    "[98][{}]",
    "{}",
    "'{}'",
    "#{}",
    "{{{}}}",
)
"""What programs write behind a leaf or a group."""

HOLDERS: tuple[Any, ...] = (MARK, {"a": MARK}, [MARK], 7, 0.5, True, None, {MARK: 1}, [{"b": MARK}])


def kept(tree: Tree) -> bool:
    """Whether the mark is in a name or in a field of the tree."""
    return MARK in "".join(nested.flat_nodes(tree))


@st.composite
def annotated(draw: st.DrawFn) -> str:
    """A Newick of four leaves with a note behind one of its parts."""
    parts = ["((a", ",b", ")", ",(c", ",d", ")", ")"]
    at = draw(st.integers(0, len(parts) - 1))
    parts[at] += draw(st.sampled_from(NOTES)).format(MARK)
    begin = draw(st.sampled_from(["", f"[{MARK}]", "[&R] ", "[&U] "]))
    return begin + "".join(parts) + ";" + draw(st.sampled_from(["", f"[{MARK}]", "\n"]))


@given(text=annotated())
def test_newick(text: str) -> None:
    try:
        tree = newick.read(text)
    except InvalidTree:
        return
    assert MARK not in text or kept(tree) or tree.warnings, text


@given(
    text=annotated(),
    block=st.sampled_from(
        ["", f"begin {MARK}; x y; end;\n", f"begin notes; text t={MARK}; end;\n"]
    ),
    further=st.sampled_from(["", f"tree {MARK} = ((a,b),(c,d));\n", f"title {MARK};\n"]),
    first=st.booleans(),
)
def test_nexus(text: str, block: str, further: str, first: bool) -> None:
    tree_block = f"begin trees;\ntree one = {text}\n{further}end;\n"
    document = "#NEXUS\n" + (block + tree_block if first else tree_block + block)
    try:
        tree = nexus.read(document)
    except InvalidTree:
        return
    assert MARK not in document or kept(tree) or tree.warnings, document


@given(
    place=st.integers(0, 6),
    name=st.sampled_from([MARK, "name", "label", "length", "value", "support", "data", "size"]),
    value=st.sampled_from(HOLDERS),
    flat=st.booleans(),
    beside=st.booleans(),
)
def test_json(place: int, name: str, value: Any, flat: bool, beside: bool) -> None:
    nodes: list[dict[str, Any]] = [
        {"id": node, "parent": parent, "name": f"n{node}"}
        for node, parent in enumerate([None, 0, 0, 1, 1, 2, 2])
    ]
    nodes[place][name] = value
    document: dict[str, Any] = {"nodes": nodes}
    if not flat:
        below = [{key: own for key, own in node.items() if key != "parent"} for node in nodes]
        for node in reversed(nodes[1:]):
            below[node["parent"]].setdefault("children", []).insert(0, below[node["id"]])
        document = below[0]
    if beside:
        document[MARK] = value
    try:
        tree = nested.read(document)
    except InvalidTree:
        return
    assert MARK not in json.dumps(document) or kept(tree) or tree.warnings, document


def test_what_has_nothing_more_is_read_without_a_warning() -> None:
    """So that the properties above are not empty."""
    assert not newick.read("((a,b),(c,d));").warnings
    assert not nexus.read("#NEXUS\nbegin trees;\ntree one = ((a,b),(c,d));\nend;\n").warnings
    assert not nested.read({"name": "a", "children": [{"name": "b"}, {"name": "c"}]}).warnings

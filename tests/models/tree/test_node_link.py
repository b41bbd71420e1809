"""Trees as graphs: what NetworkX, D3 and Cytoscape write."""

from __future__ import annotations

import json
from typing import Any

import networkx
import pytest

from models.errors import InvalidTree
from models.tree import nested
from models.tree.tree import Tree

EDGES = [("root", "x"), ("root", "c"), ("x", "a"), ("x", "b")]


def graph(edges: list[tuple[Any, Any]] = EDGES, key: str = "links", **more: Any) -> dict[str, Any]:
    nodes = dict.fromkeys(end for edge in edges for end in edge)
    return {
        "directed": True,
        "multigraph": False,
        "graph": {},
        "nodes": [{"id": node} for node in nodes],
        key: [{"source": a, "target": b} for a, b in edges],
        **more,
    }


def shape(tree: Tree) -> set[tuple[str | None, ...]]:
    names = tree.name.tolist()
    return {(names[node], names[tree.parent[node]]) for node in range(1, tree.n_nodes)}


EXPECTED = {(b, a) for a, b in EDGES}


@pytest.mark.parametrize("key", ["links", "edges"])
@pytest.mark.parametrize("turned", [False, True])
def test_edges_of_networkx(key: str, turned: bool) -> None:
    edges = [(b, a) for a, b in EDGES] if turned else EDGES
    tree = nested.read(graph(edges, key))
    assert shape(tree) == EXPECTED
    assert any("from child to parent" in note for note in tree.warnings) == turned
    assert any("a graph of 5 nodes and 4 edges" in note for note in tree.warnings)


def test_as_networkx_writes_it() -> None:
    for made in (networkx.DiGraph(EDGES), networkx.bfs_tree(networkx.Graph(EDGES), "root")):
        document = json.loads(json.dumps(networkx.node_link_data(made, edges="links")))
        assert shape(nested.read(document)) == EXPECTED
    document = json.loads(json.dumps(networkx.tree_data(networkx.DiGraph(EDGES), root="root")))
    assert shape(nested.read(document)) == EXPECTED
    document = networkx.cytoscape_data(networkx.DiGraph(EDGES))
    assert shape(nested.read(json.loads(json.dumps(document)))) == EXPECTED


def test_what_edges_and_nodes_have_is_kept() -> None:
    document = graph()
    for number, edge in enumerate(document["links"]):
        edge["length"] = 1.0 + number
    document["nodes"][0]["colour"] = "red"
    document["graph"]["author"] = "me"
    tree = nested.read(document)
    height = dict(zip(tree.name.tolist(), tree.height.tolist(), strict=True))
    assert height == {"root": 5.0, "x": 4.0, "c": 3.0, "a": 1.0, "b": 0.0}
    assert tree.extra["colour"].tolist()[0] == "red"
    (note,) = [note for note in tree.warnings if "left out" in note]
    assert "graph.author" in note


def test_places_as_ends() -> None:
    """D3's older graphs and NetworkX 1 name nodes by their place in the list."""
    document = graph()
    at = {node["id"]: place for place, node in enumerate(document["nodes"])}
    for edge in document["links"]:
        edge["source"], edge["target"] = at[edge["source"]], at[edge["target"]]
    assert shape(nested.read(document)) == EXPECTED
    document["nodes"] = [{"name": node["id"]} for node in document["nodes"]]
    assert shape(nested.read(document)) == EXPECTED


def test_nodes_as_ends() -> None:
    document = graph()
    for edge in document["links"]:
        edge["source"], edge["target"] = {"id": edge["source"]}, {"id": edge["target"]}
    assert shape(nested.read(document)) == EXPECTED


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (
            graph([*EDGES, ("c", "a"), ("root", "d")]),
            "edges lead to node 'a' from 'x' and from 'c'",
        ),
        (graph(directed=False), "undirected graph, of which no node is the root"),
        (graph([("a", "b"), ("b", "a")]), "root"),
        (graph([("a", "b"), ("c", "d")]), "both have no parent; a tree has one root"),
        ({**graph(), "links": [{"source": "root", "target": "zz"}]}, "target 'zz'"),
        ({**graph(), "links": [{"source": "root"}]}, "has no target"),
        ({**graph(), "links": [3]}, "Edge number 0 of the graph is not an object"),
        ({"directed": True, "graph": [], "nodes": [{"id": 1}], "adjacency": [[]]}, "adjacency"),
        ({**graph(), "nodes": [{"id": "root"}, {"id": "root"}]}, "Two nodes of the graph"),
    ],
)
def test_a_graph_that_is_no_tree(document: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidTree, match=words):
        nested.read(document)


def test_a_long_chain_is_no_recursion() -> None:
    tree = nested.read(graph([(node, node + 1) for node in range(20_000)]))
    assert tree.max_depth == 20_000

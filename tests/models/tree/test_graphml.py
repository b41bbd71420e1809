"""GraphML: networkx reads our text."""

from __future__ import annotations

import io
import math

import networkx as nx
import numpy as np
from hypothesis import given

from models.tree import graphml
from models.tree.build import from_parents, from_partition
from models.tree.tree import Tree
from tests.models.tree.strategies_kit import HOSTILE_NAMES, chain, random_tree


def read(tree: Tree, ids: np.ndarray | None = None) -> nx.DiGraph:
    text = "".join(graphml.write(tree, ids=ids))
    graph = nx.read_graphml(io.BytesIO(text.encode()), node_type=int)
    assert isinstance(graph, nx.DiGraph)
    return graph


@given(random_tree(min_leaves=1))
def test_random_trees_are_read_by_networkx(tree: Tree) -> None:
    graph = read(tree)
    assert sorted(graph) == list(range(tree.n_nodes))
    assert sorted(graph.edges) == sorted(
        (parent, node) for node, parent in enumerate(tree.parent.tolist()) if parent >= 0
    )
    for node, data in graph.nodes(data=True):
        assert data["height"] == tree.height[node]
        assert data["size"] == tree.size[node]
        assert data.get("name") == (tree.name[node] or None)


def test_hostile_names_and_other_columns() -> None:
    tree = from_partition([], len(HOSTILE_NAMES), names=[*HOSTILE_NAMES])
    names = [tree.name[leaf] for leaf in tree.leaves.tolist()]
    assert [read(tree).nodes[leaf].get("name", "") for leaf in tree.leaves.tolist()] == names
    #    0
    #   / \
    #  1   2
    extra = {
        "support": np.array([math.nan, 0.5, 1.0]),
        'odd "<key>"': np.array(["a&b", None, "\x00\r]]>"], dtype=object),
        "centre": np.ones((3, 2)),
    }
    small = from_parents([-1, 0, 0], [2, 0, 0], [None, "a", "b"], extra=extra)
    graph = read(small, ids=np.array([7, 8, 9]))
    assert set(graph.edges) == {(7, 8), (7, 9)}
    assert graph.nodes[7] == {"height": 2.0, "size": 2, 'odd "<key>"': "a&b"}
    assert graph.nodes[9]["support"] == 1.0
    assert graph.nodes[9]['odd "<key>"'] == "\ufffd\r]]>"


def test_a_chain_of_ten_thousand_is_written() -> None:
    assert "".join(graphml.write(chain(10_000))).count("<edge ") == 19_998


def test_a_graph_has_ids_and_columns_of_nodes_and_edges() -> None:
    text = "".join(
        graphml.graph(
            "flows",
            np.array([4, 7, 9]),
            {"label": np.array(["a", "<b>", None], dtype=object)},
            np.array([4, 4]),
            np.array([7, 9]),
            {"rows": np.array([3, 5]), "share": np.array([0.5, math.nan])},
        )
    )
    graph = nx.read_graphml(io.BytesIO(text.encode()), node_type=int)
    assert dict(graph.nodes(data=True)) == {4: {"label": "a"}, 7: {"label": "<b>"}, 9: {}}
    assert {(a, b): data for a, b, data in graph.edges(data=True)} == {
        (4, 7): {"rows": 3, "share": 0.5},
        (4, 9): {"rows": 5},
    }

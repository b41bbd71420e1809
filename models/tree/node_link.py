"""Trees written as a graph: nodes, and edges that join them.

NetworkX writes `nodes` and `links` (or `edges`) with the ids of two nodes as `source` and `target`
(`node_link_data`); so does D3, also with places in the list of nodes as their ids, and Cytoscape
within `elements`, each in a field `data`. Edges of a tree lead from parent to child, or all of them
from child to parent. What an edge has beside its ends is of the node below it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from models.errors import InvalidTree, listed, shown
from models.tree.json_fields import PARENTS

EDGES = ("links", "edges")

_ENDS = ("source", "target")
_ABOUT = frozenset({"directed", "multigraph", "graph", "nodes", "data", *EDGES})


def read(document: Mapping[str, Any]) -> tuple[list[dict[str, Any]], tuple[str, ...]] | None:
    """(nodes with `id` and `parent`, warnings) of a graph; None where the document is none.

    Raises InvalidTree for a graph that is no tree, saying where, for one that is undirected, whose
    root is not known, and for adjacency lists. O(nodes + edges).
    """
    inside = document.get("elements")
    in_data = isinstance(inside, dict) and "nodes" in inside
    if isinstance(inside, dict) and in_data:
        document = {key: document[key] for key in document if key != "elements"} | inside
    nodes = document.get("nodes")
    if not isinstance(nodes, list):
        return None
    key = next((key for key in EDGES if isinstance(document.get(key), list)), None)
    if key is None:
        if "adjacency" in document:
            raise InvalidTree(
                "The JSON is a graph as adjacency lists; accepted are nodes with edges "
                "(networkx.node_link_data) and nested nodes (networkx.tree_data)."
            )
        return None
    if any(isinstance(node, dict) and not node.keys().isdisjoint(PARENTS) for node in nodes):
        return None
    nodes, edges = _objects(nodes, "node", in_data), _objects(document[key], "edge", in_data)
    ids = _ids(nodes)
    ends = [_ends_of(edge, number, ids) for number, edge in enumerate(edges)]
    if document.get("directed") is False and edges:
        raise InvalidTree(
            "The JSON is an undirected graph, of which no node is the root. Accepted are edges "
            "from parent to child: in NetworkX the edges of a DiGraph, such as "
            "networkx.bfs_tree(graph, root)."
        )
    above, turned = _parents(ends, list(ids))
    listing = []
    for number, (own, node) in enumerate(zip(ids, nodes, strict=True)):
        parent, at = above.get(number, (None, None))
        edge = {} if at is None else edges[at]
        of_edge = {field: edge[field] for field in edge if field not in (*_ENDS, "id", "key")}
        both = sorted(of_edge.keys() & node.keys())
        if both:
            raise InvalidTree(
                f"Node {shown(own)} and the edge above it both have {listed(both)}; one is "
                "accepted.",
                node=own,
            )
        listing.append({**of_edge, **node, "id": own, "parent": parent})
    warnings = [f"The tree was read from a graph of {len(nodes)} nodes and {len(edges)} edges."]
    if turned:
        warnings.append("Its edges were read as leading from child to parent.")
    unknown = sorted(document.keys() - _ABOUT - {"kind", "monotone"})
    graph = document.get("graph")
    if isinstance(graph, dict) and graph:
        unknown += [f"graph.{field}" for field in sorted(map(str, graph))]
    if unknown:
        warnings.append(f"Fields beside the tree were left out: {listed(unknown)}.")
    return listing, tuple(warnings)


def _objects(items: list[Any], what: str, in_data: bool) -> list[dict[str, Any]]:
    found = []
    for number, item in enumerate(items):
        own = item.get("data") if in_data and isinstance(item, dict) else item
        if not isinstance(own, dict):
            raise InvalidTree(f"{what.capitalize()} number {number} of the graph is not an object.")
        found.append(own)
    return found


def _ids(nodes: list[dict[str, Any]]) -> dict[int | str, int]:
    """The place of each node by its id; its place is its id where no node has one."""
    key = next((key for key in ("id", "key", "name") if any(key in node for node in nodes)), None)
    found: dict[int | str, int] = {}
    for number, node in enumerate(nodes):
        own = number if key is None else node.get(key)
        if type(own) is not int and type(own) is not str:
            raise InvalidTree(
                f"Node number {number} of the graph has no id that is an integer or text.",
                node=number,
            )
        if own in found:
            raise InvalidTree(f"Two nodes of the graph have the id {shown(own)}.", node=own)
        found[own] = number
    return found


def _ends_of(edge: dict[str, Any], number: int, ids: Mapping[int | str, int]) -> tuple[int, int]:
    """The places of the two nodes of an edge, by their ids, else as places in the list."""
    found = []
    for end in _ENDS:
        own = edge.get(end)
        if isinstance(own, dict):
            # D3 puts the node in place of its id when it has drawn a graph.
            own = own.get("id", own.get("index"))
        if isinstance(own, int | str) and own in ids:
            found.append(ids[own])
        elif isinstance(own, int) and 0 <= own < len(ids) and all(type(key) is str for key in ids):
            found.append(own)
        else:
            raise InvalidTree(
                f"Edge number {number} of the graph (counted from 0) has the {end} "
                f"{shown(str(own))}, which is no node."
                if end in edge
                else f"Edge number {number} of the graph (counted from 0) has no {end}."
            )
    return found[0], found[1]


def _parents(
    ends: list[tuple[int, int]], names: list[int | str]
) -> tuple[dict[int, tuple[int | str, int]], bool]:
    """For each node but the root its parent's id and the number of the edge between them; and
    whether edges lead from child to parent."""
    into, out = (Counter(pair[side] for pair in ends) for side in (1, 0))
    turned = max(into.values(), default=0) > 1 and max(out.values(), default=0) <= 1
    child = 0 if turned else 1
    found: dict[int, tuple[int | str, int]] = {}
    for number, pair in enumerate(ends):
        below, over = pair[child], pair[1 - child]
        if below in found:
            raise InvalidTree(
                f"The graph is no tree: edges lead to node {shown(names[below])} from "
                f"{shown(found[below][0])} and from {shown(names[over])}.",
                node=names[below],
            )
        found[below] = names[over], number
    return found, turned

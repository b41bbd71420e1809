r"""The forms in which one tree is sent, rightly and under a wrong word, and what is refused.

      0
     / \
    x   c
   / \
  a   b
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

NEWICK = "((a:1,b:1)x:1,c:2);"
NEXUS = f"#NEXUS\nBEGIN TREES;\nTREE one = {NEWICK}\nEND;\n"
NESTED: dict[str, Any] = {
    "name": None,
    "children": [{"name": "x", "children": [{"name": "a"}, {"name": "b"}]}, {"name": "c"}],
}
FLAT = [
    {"id": 0, "name": "r"},
    {"id": 1, "parent": 0, "name": "x"},
    {"id": 2, "parent": 1, "name": "a"},
    {"id": 3, "parent": 1, "name": "b"},
    {"id": 4, "parent": 0, "name": "c"},
]
HCLUST = {"merge": [[-1, -2], [-3, 1]], "height": [1, 2], "order": [3, 1, 2], "labels": list("abc")}
_EDGES = [("r", "x"), ("x", "a"), ("x", "b"), ("r", "c")]
GRAPH: dict[str, Any] = {
    "directed": True,
    "multigraph": False,
    "graph": {},
    "nodes": [{"id": name} for name in "rxabc"],
    "links": [{"source": over, "target": below} for over, below in _EDGES],
}
GRAPH_UNDIRECTED = json.dumps({**GRAPH, "directed": False}).encode()
JPLACE = {"tree": "((a:1{0},b:1{1})x:1{2},c:2{3}){4};", "placements": [], "version": 3}


@dataclass(frozen=True, slots=True)
class Form:
    """ending : of a file on the command line; "" for one that has no such. media : its type over
    HTTP. warned : what a warning says; None for no warning."""

    name: str
    ending: str
    media: str
    text: str
    warned: str | None = None


FORMS = [
    Form("Newick", ".nwk", "text/x-nh", NEWICK),
    Form("Newick with a mark", ".tre", "text/x-nh", f"\ufeff[&R] {NEWICK}\n"),
    Form("Newick as text", ".txt", "text/plain", NEWICK + "\n", "is Newick"),
    Form("Newick of lines as text", ".txt", "text/plain", NEWICK.replace(",", ",\n"), "is Newick"),
    Form("Newick as text with a comment", ".txt", "text/plain", f"[&R] {NEWICK}", "is Newick"),
    Form("Newick as Nexus", "", "text/x-nexus", NEWICK, "is Newick"),
    Form("Newick as JSON", "", "application/json", NEWICK, "is Newick"),
    Form("Newick in JSON", ".json", "application/json", json.dumps({"newick": NEWICK})),
    Form("Newick as a JSON text", "", "application/json", json.dumps(NEWICK)),
    Form("Nexus", ".nex", "text/x-nexus", NEXUS),
    Form("Nexus after a line", ".nexus", "text/x-nexus", "\n" + NEXUS.lower()),
    Form("Nexus as text", ".txt", "text/plain", NEXUS, "is Nexus"),
    Form("Nexus with a mark as text", ".txt", "text/plain", f"\ufeff{NEXUS}", "is Nexus"),
    Form("Nexus as Newick", ".tree", "text/x-nh", NEXUS, "is Nexus"),
    Form("nested JSON", ".json", "application/json", json.dumps(NESTED)),
    Form("JSON with a mark", ".json", "application/json", "\ufeff" + json.dumps(NESTED)),
    Form("flat JSON", ".json", "application/json", json.dumps(FLAT)),
    Form("JSON as text", ".txt", "text/plain", json.dumps(NESTED, indent=1), "is JSON"),
    Form("JSON as Newick", ".nwk", "text/x-nh", json.dumps(FLAT), "is JSON"),
    Form("graph of NetworkX", ".json", "application/json", json.dumps(GRAPH), "read from a graph"),
    Form("class paths by ->", ".txt", "text/plain", "x -> a\nx -> b\nc\n", "divided at '->'"),
    Form("class paths by →", ".txt", "text/plain", "x → a\nx → b\nc\n", "divided at '→'"),
    Form("hclust", ".hclust.json", "application/vnd.umbel.hclust+json", json.dumps(HCLUST)),
    Form("hclust as JSON", ".json", "application/json", json.dumps(HCLUST)),
    Form("jplace", ".jplace", "application/json", json.dumps(JPLACE), "'placements', 'version'"),
    Form("linkage in JSON", ".json", "application/json", "[[0, 1, 1, 2], [2, 3, 2, 3]]"),
    Form("class paths", ".txt", "text/plain", "x/a\nx/b\nc\n"),
    Form("class paths by >", ".txt", "text/plain", "x > a\nx > b\nc\n", "divided at '>'"),
    Form("class paths by ;", ".txt", "text/plain", "x;a\nx;b\nc\n", "divided at ';'"),
    Form("class paths by |", ".txt", "text/plain", "x|a\nx|b\nc\n", "divided at '|'"),
    Form("class paths by tabs", ".txt", "text/plain", "x\ta\nx\tb\nc\n", "divided at a tab"),
    Form("class paths by \\", ".txt", "text/plain", "x\\a\nx\\b\nc\n", "divided at"),
    Form("class paths in JSON", ".json", "application/json", '["x/a", "x/b", "c"]'),
    Form("lists of names", ".json", "application/json", '[["x", "a"], ["x", "b"], ["c"]]'),
]

REFUSED = [
    ("XML", "text/plain", b"<phyloxml/>", "XML"),
    ("a workbook", "text/plain", b"PK\x03\x04rest", "Excel workbook"),
    ("a workbook", "text/x-nh", b"PK\x03\x04rest", "Excel workbook"),
    ("an array", "text/plain", b"\x93NUMPY\x01", "NumPy array"),
    ("UTF-16", "text/x-nh", "(a,b);".encode("utf-16"), "UTF-16"),
    ("gzip", "application/json", b"\x1f\x8b\x08", "gzip"),
    ("MEGA", "text/plain", b"#mega\n!Title a;\n", "MEGA"),
    ("a linkage as text", "text/plain", b"0 1 1.0 2\n2 3 2.0 3\n", "a linkage as text"),
    ("edges", "text/plain", b"parent,child\nr,a\nr,b\n", "a list of edges"),
    ("edges", "text/plain", b"child\tparent\na\tr\nb\tr\n", "a list of edges"),
    ("DOT", "text/plain", b"digraph G {\n a -> b;\n}", "a graph in DOT"),
    ("DOT", "text/plain", b"digraph { a -> b; a -> c; }", "a graph in DOT"),
    ("GML", "text/plain", b"graph [\n node [ id 1 ]\n]", "a graph in GML"),
    ("merges of an hclust", "text/plain", b"-1 -2\n-3 1\n", "the merges of an hclust"),
    ("an undirected graph", "application/json", GRAPH_UNDIRECTED, "undirected graph"),
    ("a table", "text/plain", b"id,parent,name\n0,,r\n1,0,a\n", "a table of nodes"),
    ("distances in JSON", "application/json", b"[[0, 1], [1, 0]]", "linkage"),
    ("Newick without an end", "text/plain", b"((a,b),c)", "looks like Newick"),
    ("several trees", "text/plain", b"(a,b);\n(a,b);", "one tree is accepted"),
    ("several trees", "text/x-nh", b"(a,b);\n(a,b);", "one tree is accepted"),
    ("a named tree", "text/plain", b"tree one = (a,b);", "looks like Newick"),
    ("broken JSON", "text/plain", b'{"name": "r", ', "not valid JSON"),
]

"""Flows between the clusters of several levels over HTTP."""

from __future__ import annotations

import csv
import io
from typing import Any

import networkx as nx
import pytest

from app.resources.flows import forms
from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import NEWICK, UNKNOWN, fit, get, post

ROWS = [
    {"K2": coarse, "K3": fine}
    for coarse, fine in [(0, 0), (0, 0), (0, 1), (0, 1), (1, 1), (1, 2), (1, None)]
]


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return fit(working, "clustree", {"items": ROWS})


def test_the_graph_of_a_table_is_served(working: Working, tree: dict[str, Any]) -> None:
    body = get(working, tree, "/flows").json()
    assert (body["n_rows"], body["levels"], body["warnings"]) == (7, ["K2", "K3"], [])
    named = {(node["level"], node["cluster"]): node for node in body["nodes"]}
    assert {key: node["size"] for key, node in named.items()} == {
        ("K2", "0"): 4,
        ("K2", "1"): 3,
        ("K3", "0"): 2,
        ("K3", "1"): 3,
        ("K3", "2"): 1,
        ("K3", "noise"): 1,
    }
    assert [key[1] for key, node in named.items() if node["noise"]] == ["noise"]
    # Ids are ids of the tree's nodes.
    nodes = {node["id"]: node for node in tree["nodes"]}
    for node in body["nodes"]:
        assert nodes[node["id"]]["cluster"] == node["cluster"]
        above = nodes[node["id"]]["parent"]
        assert node["parent"] == (above if node["level"] == "K3" else None)
    edge = next(
        edge
        for edge in body["edges"]
        if (edge["source"], edge["target"]) == (named["K2", "0"]["id"], named["K3", "1"]["id"])
    )
    assert (edge["rows"], edge["core"]) == (2, True)
    assert edge["in_proportion"] == pytest.approx(2 / 3)
    assert edge["out_proportion"] == 0.5
    assert named["K2", "0"]["stability"] == pytest.approx((2 / 2 + 2 / 3) / 4 / 2)


def test_csv_graphml_and_pictures(working: Working, tree: dict[str, Any]) -> None:
    body = get(working, tree, "/flows").json()
    answer = get(working, tree, "/flows.csv")
    edges = list(csv.DictReader(io.StringIO(answer.text)))
    assert [int(edge["rows"]) for edge in edges] == [edge["rows"] for edge in body["edges"]]
    nodes = list(csv.DictReader(io.StringIO(get(working, tree, "/flows.csv?table=nodes").text)))
    assert [node["cluster"] for node in nodes] == [node["cluster"] for node in body["nodes"]]
    graph = nx.read_graphml(io.BytesIO(get(working, tree, "/flows.graphml").content), node_type=int)
    assert {(a, b): data["rows"] for a, b, data in graph.edges(data=True)} == {
        (edge["source"], edge["target"]): edge["rows"] for edge in body["edges"]
    }
    assert {node: data["size"] for node, data in graph.nodes(data=True)} == {
        node["id"]: node["size"] for node in body["nodes"]
    }
    drawn = get(working, tree, "/flows.svg?width_mm=85&title=Levels")
    assert drawn.headers["content-type"] == "image/svg+xml"
    assert drawn.text.count("<circle") == 6
    assert get(working, tree, "/flows.png").content.startswith(b"\x89PNG")
    etag = get(working, tree, "/flows").headers["etag"]
    again = get(working, tree, "/flows", headers={"If-None-Match": etag})
    assert again.status_code == 304


def test_cuts_of_one_tree_are_nested_and_of_two_may_cross(working: Working) -> None:
    def grown(values: list[float]) -> dict[str, Any]:
        return fit(working, "hac", {"features": [[value] for value in values]})

    left, right = grown([0, 1, 10, 11.5]), grown([0, 10, 1, 11.5])
    body = get(working, left, "/flows?levels=1,2,4").json()
    assert body["levels"] == ["1 clusters", "2 clusters", "4 clusters"]
    assert all(edge["in_proportion"] == 1.0 for edge in body["edges"])
    both = get(working, left, f"/flows?levels=2&other={right['id']}&other_levels=2").json()
    assert both["levels"] == ["2 clusters", "other: 2 clusters"]
    assert [edge["rows"] for edge in both["edges"]] == [1, 1, 1, 1]
    assert "2 cluster(s) have as many rows" in both["warnings"][0]


def test_what_cannot_be_drawn_or_found_is_refused(
    working: Working, tree: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = post(working, NEWICK)
    assert "give `levels`" in problem_of(get(working, plain, "/flows"), 404, "not-found")["detail"]
    problem_of(get(working, plain, "/flows?levels=2"), 422, "wrong-cut")
    problem_of(get(working, plain, "/flows?levels=2,99"), 422, "wrong-cut")
    for query in ("levels=x", f"other={UNKNOWN}", f"levels=2&other={UNKNOWN}", "table=rows"):
        problem_of(get(working, plain, f"/flows?{query}"), 422, "invalid-request")
    many = ",".join(["2"] * 17)
    problem_of(get(working, plain, f"/flows?levels={many}"), 422, "invalid-request")
    missing = f"/flows?levels=2&other={UNKNOWN}&other_levels=2"
    problem_of(get(working, plain, missing), 404, "not-found")
    wrong = f"/flows?levels=2&other={tree['id']}&other_levels=2"
    assert "3 and 7 rows" in problem_of(get(working, plain, wrong), 422, "wrong-shape")["detail"]
    monkeypatch.setattr(forms, "MOST_NODES", 5)
    problem_of(get(working, tree, "/flows.svg"), 413, "too-large")


def test_an_imported_tree_with_such_columns_is_taken_for_no_graph(
    working: Working, tree: dict[str, Any]
) -> None:
    whole = get(working, tree, ".json").content
    answer = working.client.post(
        "/v1/trees", content=whole, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 201, answer.text
    problem_of(get(working, answer.json(), "/flows"), 404, "not-found")

"""Looking at trees: parts for drawing, nodes by name, single nodes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.conftest import Working, problem_of
from tests.app.test_trees import NEWICK, get, post


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return post(working, NEWICK)


def test_a_view_of_a_small_tree_is_the_whole_tree(working: Working, tree: dict[str, Any]) -> None:
    body = get(working, tree, "/view").json()
    assert (body["root"], body["max_nodes"]) == (0, 500)
    assert [node["id"] for node in body["nodes"]] == [0, 1, 2, 3, 4]
    root = body["nodes"][0]
    assert root["parent"] is None
    assert (root["y"], root["height"], root["size"], root["n_leaves"]) == (0.0, 3.0, 3, 3)
    assert not any(node["folded"] for node in body["nodes"])
    assert all(0 <= node["x"] <= 1 and 0 <= node["y"] <= 1 for node in body["nodes"])
    assert body["nodes"][3]["y"] == 1.0


def test_a_view_folds_what_does_not_fit(working: Working, tree: dict[str, Any]) -> None:
    nodes = get(working, tree, "/view?max_nodes=3").json()["nodes"]
    assert [(node["id"], node["folded"], node["hidden"]) for node in nodes] == [
        (0, False, 0),
        (1, True, 2),
        (4, False, 0),
    ]
    assert nodes[1]["n_leaves"] == 2
    part = get(working, tree, "/view?root=1").json()
    assert part["root"] == 1
    assert [(node["id"], node["parent"]) for node in part["nodes"]] == [(1, None), (2, 1), (3, 1)]
    alone = get(working, tree, "/view?max_nodes=1").json()["nodes"]
    assert [(node["id"], node["folded"]) for node in alone] == [(0, True)]


def test_a_view_by_depth(working: Working, tree: dict[str, Any]) -> None:
    nodes = get(working, tree, "/view?scale=depth").json()["nodes"]
    assert [node["y"] for node in nodes] == [0.0, 0.5, 1.0, 1.0, 0.5]


def test_a_view_never_has_more_nodes_than_asked(working: Working) -> None:
    tree = post(working, "(" * 300 + "a" + ",b)" * 300 + ";")
    for most in (1, 2, 10, 200):
        assert len(get(working, tree, f"/view?max_nodes={most}").json()["nodes"]) <= most


@pytest.mark.parametrize("query", ["max_nodes=0", "max_nodes=20001", "root=-1", "scale=x"])
def test_wrong_views(working: Working, tree: dict[str, Any], query: str) -> None:
    problem_of(get(working, tree, f"/view?{query}"), 422, "invalid-request")


def test_a_view_of_an_unknown_node(working: Working, tree: dict[str, Any]) -> None:
    problem_of(get(working, tree, "/view?root=5"), 422, "unknown-node")


def test_search(working: Working, tree: dict[str, Any]) -> None:
    body = get(working, tree, "/search", params={"q": "O"}).json()
    assert body == {
        "items": [
            {"node": 4, "name": "oak", "path": [0, 4]},
            {"node": 1, "name": "flower", "path": [0, 1]},
            {"node": 2, "name": "rose", "path": [0, 1, 2]},
        ],
        "next_cursor": None,
    }
    assert get(working, tree, "/search", params={"q": "zebra"}).json()["items"] == []
    assert get(working, tree, "/search", params={"q": "ROSE"}).json()["items"][0]["node"] == 2


def test_hits_come_in_pages(working: Working, tree: dict[str, Any]) -> None:
    address = f"/v1/trees/{tree['id']}/search?q=o&limit=2"
    found = []
    while address:
        answer = working.client.get(address)
        found.append([hit["name"] for hit in answer.json()["items"]])
        address = answer.links["next"]["url"] if "next" in answer.links else ""
        assert (answer.json()["next_cursor"] is None) == (not address)
    assert found == [["oak", "flower"], ["rose"]]


@pytest.mark.parametrize(
    "query", ["", "?q=", "?q=a&limit=0", "?q=a&limit=1001", "?q=a&cursor=x", "?q=a&cursor=-1"]
)
def test_wrong_searches(working: Working, tree: dict[str, Any], query: str) -> None:
    problem_of(get(working, tree, f"/search{query}"), 422, "invalid-request")


def test_a_search_for_blanks(working: Working, tree: dict[str, Any]) -> None:
    assert get(working, tree, "/search", params={"q": "  "}).status_code == 422


def test_one_node(working: Working, tree: dict[str, Any]) -> None:
    assert get(working, tree, "/nodes/1").json() == {
        "id": 1,
        "parent": 0,
        "name": "flower",
        "height": 2.0,
        "size": 2,
        "n_leaves": 2,
        "depth": 1,
        "path": [0, 1],
        "children": [2, 3],
    }
    root = get(working, tree, "/nodes/0").json()
    assert (root["parent"], root["path"], root["children"]) == (None, [0], [1, 4])
    assert get(working, tree, "/nodes/4").json()["children"] == []


@pytest.mark.parametrize("node", ["5", "-1", "x", "1.5", str(2**31), "99999999999999999999"])
def test_an_unknown_node(working: Working, tree: dict[str, Any], node: str) -> None:
    problem_of(get(working, tree, f"/nodes/{node}"), 404, "not-found")


def test_a_nodes_extra_fields(working: Working) -> None:
    logits = [[4.0, 1.0, 0.0], [0.5, 3.0, 2.0], [0.0, 2.0, 3.5]]
    body = {"method": "l2h", "inputs": {"logits": logits}}
    job = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=20"}).json()
    tree = {"id": job["result"]["tree"]}
    flat = get(working, tree).json()["nodes"]
    for node in flat:
        whole = get(working, tree, f"/nodes/{node['id']}").json()
        assert {key: whole[key] for key in node} == node

"""Single nodes and the points under them."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import pytest

from app.resources.trees.nodes import routes as nodes
from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import NEWICK, dataset, get, post, rows_tree


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return post(working, NEWICK)


def test_one_node(working: Working, tree: dict[str, Any]) -> None:
    plant = {"id": 0, "name": "plant", "size": 3, "height": 3.0}
    assert get(working, tree, "/nodes/1").json() == {
        "id": 1,
        "parent": 0,
        "name": "flower",
        "height": 2.0,
        "size": 2,
        "n_leaves": 2,
        "points_before": 0,
        "depth": 1,
        "parent_node": plant,
        "ancestors": [plant],
        "child_nodes": [
            {"id": 2, "name": "rose", "size": 1, "height": 1.0, "n_leaves": 1},
            {"id": 3, "name": "tulip", "size": 1, "height": 0.0, "n_leaves": 1},
        ],
        "path": [0, 1],
        "children": [2, 3],
    }
    assert get(working, tree, "/nodes/4").json()["points_before"] == 2
    root = get(working, tree, "/nodes/0").json()
    assert (root["parent"], root["path"], root["children"]) == (None, [0], [1, 4])
    assert (root["parent_node"], root["ancestors"]) == (None, [])
    assert get(working, tree, "/nodes/4").json()["children"] == []


@pytest.mark.parametrize("node", ["5", "-1", "x", "1.5", str(2**31), "99999999999999999999"])
@pytest.mark.parametrize("more", ["", "/members", "/members.csv", "/picture"])
def test_an_unknown_node(working: Working, tree: dict[str, Any], node: str, more: str) -> None:
    problem_of(get(working, tree, f"/nodes/{node}{more}"), 404, "not-found")


def test_a_nodes_extra_fields(working: Working) -> None:
    tree = rows_tree(working)
    flat = get(working, tree).json()["nodes"]
    for node in flat:
        complete = get(working, tree, f"/nodes/{node['id']}").json()
        assert {key: complete[key] for key in node} == node


def test_relatives_are_bounded(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "MOST_RELATIVES", 3)
    wide = post(working, "(a,b,(c,d,e),f,(g,h));")
    root = get(working, wide, "/nodes/0").json()
    assert len(root["children"]) == 5
    # The largest relatives, ties broken by order, from left to right.
    assert [(child["name"], child["n_leaves"]) for child in root["child_nodes"]] == [
        ("a", 1),
        (None, 3),
        (None, 2),
    ]
    deep = post(working, "((((((a,b),c),d),e),f),g);")
    path = get(working, deep, "/search?q=a").json()["items"][0]["path"]
    leaf = get(working, deep, f"/nodes/{path[-1]}").json()
    assert leaf["path"] == path
    assert [node["id"] for node in leaf["ancestors"]] == [0, *path[-3:-1]]


def test_the_labels_under_a_node(working: Working) -> None:
    tree = rows_tree(working)
    labels = dataset(working, ["b", "a", "a", "c", "a"])
    root = get(working, tree, f"/nodes/0?labels={labels}").json()["labels"]
    assert (root["dataset"], root["per"], root["n"], root["n_labels"]) == (labels, "row", 5, 3)
    assert root["purity"] == pytest.approx(0.6)
    assert root["entropy"] == pytest.approx(-0.6 * math.log(0.6) - 0.4 * math.log(0.2))
    assert root["mix"] == [
        {"label": "a", "count": 3, "share": 0.6},
        {"label": "b", "count": 1, "share": 0.2},
        {"label": "c", "count": 1, "share": 0.2},
    ]
    empty = get(working, tree, "/search?q=z").json()["items"][0]["node"]
    none = get(working, tree, f"/nodes/{empty}?labels={labels}").json()["labels"]
    assert none == {
        "dataset": labels,
        "per": "row",
        "n": 0,
        "n_labels": 0,
        "purity": None,
        "entropy": None,
        "mix": [],
    }
    per_leaf = dataset(working, ["u", "u", "v"])
    counted = get(working, tree, f"/nodes/0?labels={per_leaf}").json()["labels"]
    assert (counted["per"], counted["n"], counted["purity"]) == ("leaf", 3, pytest.approx(2 / 3))


@pytest.mark.parametrize("more", ["", "/members", "/members.csv"])
def test_wrong_labels(working: Working, tree: dict[str, Any], more: str) -> None:
    problem_of(get(working, tree, f"/nodes/0{more}?labels=cluster:2"), 422, "invalid-request")
    missing = "ds_" + "0" * 26
    problem_of(get(working, tree, f"/nodes/0{more}?labels={missing}"), 404, "not-found")
    short = dataset(working, [1, 2])
    problem_of(get(working, tree, f"/nodes/0{more}?labels={short}"), 422, "wrong-shape")


def test_labels_disappear_with_their_dataset(working: Working, tree: dict[str, Any]) -> None:
    labels = dataset(working, [1, 2, 3])
    assert get(working, tree, f"/nodes/0?labels={labels}").status_code == 200
    assert working.client.delete(f"/v1/datasets/{labels}").status_code == 204
    problem_of(get(working, tree, f"/nodes/0?labels={labels}"), 404, "not-found")
    problem_of(get(working, tree, f"/view?color_by={labels}"), 404, "not-found")


def test_long_labels_are_shortened(working: Working, tree: dict[str, Any]) -> None:
    labels = dataset(working, ["x" * 5000, "b", "b"])
    label = get(working, tree, f"/nodes/0?labels={labels}").json()["labels"]["mix"][1]["label"]
    assert (len(label), label[-1]) == (1000, "\u2026")
    assert len(get(working, tree, f"/view?color_by={labels}").json()["categories"][1]) == 1000


def members(working: Working, address: str) -> list[dict[str, Any]]:
    """The items of all pages."""
    items: list[dict[str, Any]] = []
    while address:
        answer = working.client.get(address)
        body = answer.json()
        items += body["items"]
        address = answer.links["next"]["url"] if "next" in answer.links else ""
        assert (body["next_cursor"] is None) == (not address)
    return items


def test_members_come_in_pages(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "_ROWS", 2)
    tree = rows_tree(working)
    address = f"/v1/trees/{tree['id']}/nodes"
    leaf = {
        name: get(working, tree, f"/search?q={name}").json()["items"][0]["node"] for name in "xyz"
    }
    expected = [{"row": row, "leaf": leaf[name], "name": name} for row, name in enumerate("xxxyy")]
    for limit in (1, 2, 3, 5, 100):
        assert members(working, f"{address}/0/members?limit={limit}") == expected
        assert members(working, f"{address}/{leaf['y']}/members?limit={limit}") == expected[3:]
    assert members(working, f"{address}/{leaf['z']}/members") == []
    assert get(working, tree, "/nodes/0/members").json()["total"] == 5
    # A cursor beyond the end.
    assert get(working, tree, "/nodes/0/members?cursor=9999999999").json()["items"] == []


def test_members_with_labels(working: Working) -> None:
    tree = rows_tree(working)
    by_row = dataset(working, ["b", "a", "a", "c", "a"])
    items = get(working, tree, f"/nodes/0/members?labels={by_row}").json()["items"]
    assert [item["label"] for item in items] == ["b", "a", "a", "c", "a"]
    by_leaf = dataset(working, ["first", "second", "third"])
    items = get(working, tree, f"/nodes/0/members?labels={by_leaf}").json()["items"]
    nodes_ = get(working, tree).json()["nodes"]
    inner = {node["parent"] for node in nodes_}
    leaves = [node["id"] for node in nodes_ if node["id"] not in inner]
    label_of = dict(zip(leaves, ["first", "second", "third"], strict=True))
    assert [item["label"] for item in items] == [label_of[item["leaf"]] for item in items]


def test_members_as_csv(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "_ROWS", 2)
    tree = post(working, "('=1+1',('a,b','line\nbreak'));")
    labels = dataset(working, ["+x", "y", "z"])
    unpaged = None
    for answer in (
        get(working, tree, f"/nodes/0/members.csv?labels={labels}"),
        get(working, tree, f"/nodes/0/members?labels={labels}", headers={"Accept": "text/csv"}),
    ):
        assert answer.headers["content-type"].startswith("text/csv")
        assert answer.headers["vary"] == "Accept"
        rows = list(csv.reader(io.StringIO(answer.text, newline="")))
        assert rows[0] == ["row", "leaf", "name", "label"]
        assert [row[2] for row in rows[1:]] == ["'=1+1", "a,b", "line\nbreak"]
        assert [row[3] for row in rows[1:]] == ["'+x", "y", "z"]
        assert unpaged in (None, rows)
        unpaged = rows
    assert get(working, tree, "/nodes/0/members.csv").text.startswith("row,leaf,name\r\n")


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1001", "cursor=-1", "cursor=x", "cursor=99999999999"]
)
def test_wrong_pages(working: Working, tree: dict[str, Any], query: str) -> None:
    problem_of(get(working, tree, f"/nodes/0/members?{query}"), 422, "invalid-request")


def test_other_forms_of_members(working: Working, tree: dict[str, Any]) -> None:
    problem_of(get(working, tree, "/nodes/0/members.npy"), 406, "not-acceptable")
    answer = get(working, tree, "/nodes/0/members", headers={"Accept": "image/png"})
    problem_of(answer, 406, "not-acceptable")

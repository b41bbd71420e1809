"""The cluster of every row: cuts and forms."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from app.resources.trees.assignments.forms import FORMS
from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import NEWICK, WIDE, get, post

# Rows rose, tulip, oak; see test_trees: 0 plant, 1 flower, 2 rose, 3 tulip, 4 oak.
TWO = {
    "cut": {"k": 2},
    "clusters": [
        {"id": 0, "node": 1, "size": 2, "name": "flower"},
        {"id": 1, "node": 4, "size": 1, "name": "oak"},
    ],
    "n_noise": 0,
    "assignments": [0, 0, 1],
    "ids": ["rose", "tulip", "oak"],
    "warnings": [],
}
LEAVES = [2, 3, 4]


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return post(working, NEWICK)


def nodes_of(body: dict[str, Any]) -> list[int]:
    return [cluster["node"] for cluster in body["clusters"]]


def test_json(working: Working, tree: dict[str, Any]) -> None:
    answer = get(working, tree, "/assignments?k=2")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == TWO
    assert get(working, tree, "/assignments.json?k=2").json() == TWO


@pytest.mark.parametrize(
    ("query", "nodes", "cut"),
    [
        ("", LEAVES, {}),
        ("?k=1", [0], {"k": 1}),
        ("?k=3", LEAVES, {"k": 3}),
        ("?height=3", [0], {"height": 3.0}),
        ("?height=2.5", [1, 4], {"height": 2.5}),
        ("?height=0", LEAVES, {"height": 0.0}),
        ("?height=-1e3", LEAVES, {"height": -1000.0}),
        ("?level=0", [0], {"level": 0}),
        ("?level=1", [1, 4], {"level": 1}),
        ("?level=99", LEAVES, {"level": 99}),
    ],
)
def test_cuts(
    working: Working, tree: dict[str, Any], query: str, nodes: list[int], cut: dict[str, Any]
) -> None:
    body = get(working, tree, f"/assignments{query}").json()
    assert nodes_of(body) == nodes
    assert body["cut"] == cut
    assert len(body["assignments"]) == 3


def test_each_leaf_and_its_cluster(working: Working, tree: dict[str, Any]) -> None:
    # The leaves from left to right: rose, tulip, oak; the cut has flower and oak.
    answer = get(working, tree, "/assignments?k=2&of=leaves").json()
    assert answer["clusters"] == TWO["clusters"]
    rows = [list(leaf.values()) for leaf in answer["leaves"]]
    assert list(answer["leaves"][0]) == [
        "leaf",
        "leaf_name",
        "leaf_size",
        "cluster",
        "node",
        "name",
    ]
    assert rows == [
        [2, "rose", 1, 0, 1, "flower"],
        [3, "tulip", 1, 0, 1, "flower"],
        [4, "oak", 1, 1, 4, "oak"],
    ]
    lines = get(working, tree, "/assignments.csv?k=2&of=leaves").text.splitlines()
    assert lines[1:] == [",".join(map(str, row)) for row in rows]
    of_leaf = np.load(io.BytesIO(get(working, tree, "/assignments.npy?k=2&of=leaves").content))
    assert of_leaf.tolist() == [0, 0, 1]
    table = pa.ipc.open_file(
        get(working, tree, "/assignments.arrow?k=2&of=leaves").content
    ).read_all()
    assert [list(row.values()) for row in table.to_pylist()] == rows
    answer = working.client.get(f"/v1/trees/{tree['id']}/assignments?levels=1,2&of=leaves")
    assert problem_of(answer, 422, "wrong-cut")["detail"].startswith("The clusters of leaves")


def test_a_cut_that_cannot_be_met_gives_a_warning(working: Working) -> None:
    wide = post(working, WIDE)
    body = get(working, wide, "/assignments?k=2").json()
    assert nodes_of(body) == [0]
    assert "not binary" in body["warnings"][0]
    for form in ("json", "csv", "npy", "arrow"):
        header = get(working, wide, f"/assignments.{form}?k=2").headers["warning"]
        assert header == f'199 - "{body["warnings"][0]}"'
        assert "warning" not in get(working, wide, f"/assignments.{form}").headers


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("k=0", "invalid-request"),
        ("k=4", "wrong-cut"),
        ("k=x", "invalid-request"),
        ("k=1.5", "invalid-request"),
        ("height=nan", "invalid-request"),
        ("height=inf", "invalid-request"),
        ("level=-1", "invalid-request"),
        ("k=2&level=1", "wrong-cut"),
        ("k=2&height=1", "wrong-cut"),
    ],
)
def test_wrong_cuts(working: Working, tree: dict[str, Any], query: str, code: str) -> None:
    problem_of(get(working, tree, f"/assignments?{query}"), 422, code)
    problem_of(get(working, tree, f"/assignments.npy?{query}"), 422, code)


def test_csv(working: Working, tree: dict[str, Any]) -> None:
    answer = get(working, tree, "/assignments.csv?k=2")
    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert rows == [
        {"row": "0", "id": "rose", "cluster": "0", "node": "1", "name": "flower"},
        {"row": "1", "id": "tulip", "cluster": "0", "node": "1", "name": "flower"},
        {"row": "2", "id": "oak", "cluster": "1", "node": "4", "name": "oak"},
    ]


def test_names_in_csv_are_not_formulas(working: Working) -> None:
    names = ["=1+1", "+1", "-1", "@x", 'a,"b"\nc', "plain"]
    nodes = [{"id": 0, "parent": None}]
    nodes += [{"id": i + 1, "parent": 0, "name": name} for i, name in enumerate(names)]
    tree = post(working, json.dumps(nodes), "application/json")
    text = get(working, tree, "/assignments.csv").text
    read = [row["name"] for row in csv.DictReader(io.StringIO(text, newline=""))]
    assert read == ["'=1+1", "'+1", "'-1", "'@x", 'a,"b"\nc', "plain"]


def test_npy_and_arrow(working: Working, tree: dict[str, Any]) -> None:
    answer = get(working, tree, "/assignments", params={"k": 2},
                 headers={"Accept": "application/x-npy"})  # fmt: skip
    clusters = np.load(io.BytesIO(answer.content))
    assert clusters.dtype == np.int64
    assert clusters.tolist() == [0, 0, 1]
    content = get(working, tree, "/assignments.arrow?k=2").content
    table = pa.ipc.open_file(content).read_all()
    assert table.to_pydict() == {
        "id": ["rose", "tulip", "oak"], "cluster": [0, 0, 1], "node": [1, 1, 4]
    }  # fmt: skip


def test_the_refusal_of_other_forms_names_the_available_ones(
    working: Working, tree: dict[str, Any]
) -> None:
    for answer in (
        get(working, tree, "/assignments.nwk"),
        get(working, tree, "/assignments", headers={"Accept": "image/png"}),
    ):
        detail = problem_of(answer, 406, "not-acceptable")["detail"]
        assert all(form.media in detail for form in FORMS)


def test_etags(working: Working, tree: dict[str, Any]) -> None:
    rests = ["", "?k=2", "?level=1", ".csv", ".csv?k=2"]
    tags = [get(working, tree, f"/assignments{rest}").headers["etag"] for rest in rests]
    assert len(set(tags)) == len(tags)
    answer = get(working, tree, "/assignments?k=2", headers={"If-None-Match": tags[1]})
    assert answer.status_code == 304
    assert answer.content == b""


def test_many_rows_are_returned_completely(working: Working) -> None:
    n_rows = 40_000
    tree = post(working, "(" + ",".join(f"leaf{i}" for i in range(n_rows)) + ");")
    body = get(working, tree, "/assignments").json()
    assert body["assignments"] == list(range(n_rows))
    assert [cluster["id"] for cluster in body["clusters"]] == list(range(n_rows))
    assert body["clusters"][-1]["name"] == f"leaf{n_rows - 1}"
    assert len(get(working, tree, "/assignments.csv").text.splitlines()) == n_rows + 1
    assert np.load(io.BytesIO(get(working, tree, "/assignments.npy").content)).size == n_rows


def test_many_points_in_few_leaves(working: Working) -> None:
    features = [[0.0, 0.0], [0.1, 0.0], [9.0, 9.0], [9.1, 9.0]]
    body = {"method": "kmeans", "inputs": {"features": features}, "params": {"n_clusters": 2}}
    job = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    assert job["status"] == "succeeded", job
    tree = {"id": job["result"]["tree"]}
    assert get(working, tree).json()["kind"] == "partition"
    assignments = get(working, tree, "/assignments").json()
    assert [cluster["size"] for cluster in assignments["clusters"]] == [2, 2]
    first, second, third, fourth = assignments["assignments"]
    assert first == second != third == fourth


def test_columns_that_a_method_adds_for_points(working: Working) -> None:
    rng = np.random.default_rng(0)
    points = np.repeat([[0.0, 0.0], [30.0, 0.0]], 20, axis=0) + rng.normal(size=(40, 2))
    points[7] = [15.0, 40.0]
    job = working.client.post(
        "/v1/jobs",
        json={"method": "hdbscan", "inputs": {"features": points.tolist()}},
        headers={"Prefer": "wait=60"},
    ).json()
    assert job["status"] == "succeeded", job
    address = f"/v1/trees/{job['result']['tree']}/assignments"
    body = working.client.get(address).json()
    columns = body["columns"]
    assert set(columns) == {"probability", "outlier_score"}
    assert columns["probability"][7] == 0.0
    assert max(columns["outlier_score"]) == columns["outlier_score"][7]
    rows = list(csv.DictReader(io.StringIO(working.client.get(f"{address}.csv").text)))
    assert [float(row["outlier_score"]) for row in rows] == columns["outlier_score"]
    table = pa.ipc.open_file(working.client.get(f"{address}.arrow").content).read_all()
    assert table.column("probability").to_pylist() == columns["probability"]
    assert body["assignments"][7] == -1


#        root
#      /      \
#     a        b
#    / \      / \
#   c   2    3   d
#  / \          / \
# 0   1        4   5
FOUR = "(((0:1,1:1)c:3,2:4)a:2,(3:3,(4:2,5:2)d:1)b:3)root;"


def test_several_levels_are_nested(working: Working) -> None:
    tree = post(working, FOUR)
    body = get(working, tree, "/assignments?levels=1,2,4").json()
    assert body["cut"] == {"levels": [1, 2, 4]}
    assert [level["k"] for level in body["levels"]] == [1, 2, 4]
    singles = [get(working, tree, f"/assignments?k={k}").json() for k in (1, 2, 4)]
    for number, (level, single) in enumerate(zip(body["levels"], singles, strict=True)):
        parents = [cluster.pop("parent") for cluster in level["clusters"]]
        assert level["clusters"] == single["clusters"]
        column = [row[number] for row in body["assignments"]]
        assert column == single["assignments"]
        if number:
            above = [row[number - 1] for row in body["assignments"]]
            assert {(c, parents[c]) for c in column} == set(zip(column, above, strict=True))
        else:
            assert parents == [None]
    assert body["warnings"] == []


def test_levels_in_every_form(working: Working) -> None:
    tree = post(working, FOUR)
    expected = get(working, tree, "/assignments?levels=2,3").json()["assignments"]
    npy = np.load(io.BytesIO(get(working, tree, "/assignments.npy?levels=2,3").content))
    assert npy.dtype == np.int64
    assert npy.tolist() == expected
    arrow = pa.ipc.open_file(get(working, tree, "/assignments.arrow?levels=2,3").content)
    table = arrow.read_all()
    assert table.column_names == ["cluster_2", "node_2", "cluster_3", "node_3"]
    assert table["cluster_3"].to_pylist() == [row[1] for row in expected]
    rows = list(csv.DictReader(io.StringIO(get(working, tree, "/assignments.csv?levels=2,3").text)))
    assert [(int(row["cluster_2"]), int(row["cluster_3"])) for row in rows] == [
        tuple(row) for row in expected
    ]
    assert rows[0]["name_2"] == "a"


def test_levels_that_a_tree_cannot_have_give_warnings(working: Working) -> None:
    answer = get(working, post(working, WIDE), "/assignments?levels=1,2,3")
    body = answer.json()
    assert [len(level["clusters"]) for level in body["levels"]] == [1, 1, 3]
    assert len(body["warnings"]) == 1
    assert answer.headers["warning"] == f'199 - "{body["warnings"][0]}"'


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("levels=", "invalid-request"),
        ("levels=0,2", "invalid-request"),
        ("levels=2,x", "invalid-request"),
        ("levels=2;3", "invalid-request"),
        ("levels=2,2", "wrong-cut"),
        ("levels=3,2", "wrong-cut"),
        ("levels=2,9", "wrong-cut"),
        ("levels=1,2&k=2", "wrong-cut"),
    ],
)
def test_wrong_levels(working: Working, tree: dict[str, Any], query: str, code: str) -> None:
    problem_of(get(working, tree, f"/assignments?{query}"), 422, code)

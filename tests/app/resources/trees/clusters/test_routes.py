"""Clusters of a cut for a slider."""

from __future__ import annotations

import csv
from typing import Any

import pytest

from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import NEWICK, UNKNOWN, get, post, rows_tree


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return post(working, NEWICK)


def test_a_cut_by_k(working: Working, tree: dict[str, Any]) -> None:
    assert get(working, tree, "/cut?k=2").json() == {
        "cut": {"k": 2},
        "n_clusters": 2,
        "heights": {"from": 2.0, "below": 3.0},
        "n_noise": 0,
        "smallest": 1,
        "median": 1.5,
        "largest": 2,
        "warnings": [],
        "clusters": [
            {
                "id": 0,
                "node": 1,
                "size": 2,
                "name": "flower",
                "category": 0,
                "points_before": 0,
                "support": None,
            },
            {
                "id": 1,
                "node": 4,
                "size": 1,
                "name": "oak",
                "category": 1,
                "points_before": 2,
                "support": None,
            },
        ],
    }


@pytest.mark.parametrize("cut", ["k=1", "k=3", "height=2.5", "height=0", "level=1", "level=9", ""])
def test_clusters_are_those_of_the_assignments(working: Working, cut: str) -> None:
    tree = rows_tree(working)
    body = get(working, tree, f"/cut?{cut}").json()
    assignments = get(working, tree, f"/assignments?{cut}").json()
    assert body["cut"] == assignments["cut"]
    assert body["warnings"] == assignments["warnings"]
    assert body["n_clusters"] == len(assignments["clusters"])
    own = ("category", "points_before", "support")
    plain = [{k: v for k, v in cluster.items() if k not in own} for cluster in body["clusters"]]
    assert sorted(plain, key=lambda cluster: cluster["id"]) == assignments["clusters"]
    sizes = [cluster["size"] for cluster in body["clusters"]]
    assert sizes == sorted(sizes, reverse=True)
    assert (body["largest"], body["smallest"]) == (sizes[0], sizes[-1])


def test_a_cluster_has_the_support_of_its_node(working: Working) -> None:
    trees = [post(working, text)["id"] for text in (*2 * ("((a,b),(c,d));",), "((a,c),(b,d));")]
    agreed = working.client.post("/v1/consensus", json={"trees": trees}).json()
    clusters = working.client.get(f"/v1/trees/{agreed['tree']}/cut?k=2").json()["clusters"]
    assert [cluster["support"] for cluster in clusters] == pytest.approx([2 / 3, 2 / 3])
    leaves = working.client.get(f"/v1/trees/{agreed['tree']}/cut").json()["clusters"]
    assert [cluster["support"] for cluster in leaves] == [None] * 4


def test_categories_are_those_of_the_view(working: Working) -> None:
    tree = post(working, "(((a:1,b:1):1,c:1):1,((d:1,e:1):2,f:1):2);")
    for k in range(1, 7):
        clusters = get(working, tree, f"/cut?k={k}").json()["clusters"]
        view = get(working, tree, f"/view?color_by=cluster:{k}").json()
        category = {node["id"]: node["category"] for node in view["nodes"]}
        assert {cluster["node"]: cluster["category"] for cluster in clusters} == {
            cluster["node"]: category[cluster["node"]] for cluster in clusters
        }
        assert sorted(cluster["category"] for cluster in clusters) == list(range(len(clusters)))
        before = 0
        for cluster in sorted(clusters, key=lambda cluster: cluster["category"]):
            assert cluster["points_before"] == before
            before += cluster["size"]


def test_only_the_largest_clusters_are_listed(working: Working, tree: dict[str, Any]) -> None:
    body = get(working, tree, "/cut?k=2&limit=1").json()
    assert (body["n_clusters"], [cluster["node"] for cluster in body["clusters"]]) == (2, [1])
    assert get(working, tree, "/cut?limit=0").json()["clusters"] == []


def test_a_cut_that_cannot_be_met(working: Working) -> None:
    wide = post(working, "(a,b,c);")
    body = get(working, wide, "/cut?k=2").json()
    assert (body["n_clusters"], body["cut"]) == (1, {"k": 2})
    assert body["heights"] == {"from": 1.0, "below": None}
    assert "k = 2" in body["warnings"][0]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("k=0", "invalid-request"),
        ("k=4", "wrong-cut"),
        ("k=2&height=1", "wrong-cut"),
        ("height=nan", "invalid-request"),
        ("level=-1", "invalid-request"),
        ("limit=-1", "invalid-request"),
        ("limit=10001", "invalid-request"),
        ("k=two", "invalid-request"),
    ],
)
def test_wrong_cuts(working: Working, tree: dict[str, Any], query: str, code: str) -> None:
    problem_of(get(working, tree, f"/cut?{query}"), 422, code)


def test_an_unknown_tree(working: Working) -> None:
    problem_of(working.client.get(f"/v1/trees/{UNKNOWN}/cut?k=2"), 404, "not-found")


def test_a_cluster_without_a_name_has_those_of_its_largest_leaves(working: Working) -> None:
    #          o
    #      /       \
    #     o         o
    #   / | \ \    / \
    #  a  b c  d  e   a
    tree = post(working, "((a:1,b:1,c:1,d:1):4,(e:1,a:1):4);")
    names = ["a, b, c, …", "e, a"]
    cut = get(working, tree, "/cut?k=2").json()
    assert [cluster["name"] for cluster in cut["clusters"]] == names
    assignments = get(working, tree, "/assignments?k=2").json()
    assert [cluster["name"] for cluster in assignments["clusters"]] == names
    nested = get(working, tree, "/assignments?levels=2,5").json()["levels"]
    assert [cluster["name"] for cluster in nested[0]["clusters"]] == names
    rows = list(csv.DictReader(get(working, tree, "/assignments.csv?k=2").text.splitlines()))
    assert [row["name"] for row in rows] == 4 * names[:1] + 2 * names[1:]
    nested_rows = get(working, tree, "/assignments.csv?levels=2,5").text.splitlines()
    assert [row["name_2"] for row in csv.DictReader(nested_rows)] == [row["name"] for row in rows]
    view = get(working, tree, "/view?color_by=cluster:2").json()
    assert view["categories"] == names
    assert get(working, tree, "/levels").json()["levels"] == []

"""Consensus of trees over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import UNKNOWN, get, post

ONE, TWO, THREE = (
    "((a:1,b:1):1,(c:1,d:1):1);",
    "((b:1,a:1):2,(c:1,d:1):2);",
    "(((a:1,c:1):1,b:2):1,d:3);",
)


@pytest.fixture
def trees(working: Working) -> list[str]:
    return [post(working, text)["id"] for text in (ONE, TWO, THREE)]


def agree(working: Working, **body: Any) -> Any:
    return working.client.post("/v1/consensus", json=body, headers={"Prefer": "wait=60"})


def test_the_majority_of_three(working: Working, trees: list[str]) -> None:
    answer = agree(working, trees=trees, name="agreed", expires_at="2099-01-31T00:00:00Z")
    assert answer.status_code == 201, answer.text
    body = answer.json()
    assert answer.headers["location"].endswith(f"/v1/trees/{body['tree']}")
    assert (body["rule"], body["n_trees"], body["n_items"]) == ("majority", 3, 4)
    assert body["matched_by"] == "names"
    assert body["halves"] is None
    assert [each["tree"] for each in body["distances"]] == trees
    assert [each["clusters"] for each in body["distances"]] == [0, 0, 4]
    assert [each["robinson_foulds"] for each in body["distances"]] == [0.0, 0.0, 1.0]

    tree = {"id": body["tree"]}
    facts = get(working, tree).json()
    assert (facts["name"], facts["method"], facts["n_leaves"]) == ("agreed", "consensus", 4)
    assert facts["job"] == body["job"]
    supports = [node["support"] for node in facts["nodes"] if node["size"] == 2]
    assert supports == pytest.approx([2 / 3, 2 / 3])
    assert get(working, tree, ".nwk").text.count(f"){2 / 3}:") == 2
    pair = next(node["id"] for node in facts["nodes"] if node["size"] == 2)
    agreement = get(working, tree, f"/nodes/{pair}/agreement").json()
    assert agreement == {"node": pair, "having": trees[:2], "lacking": trees[2:]}

    job = working.client.get(f"/v1/jobs/{body['job']}").json()
    assert (job["kind"], job["status"]) == ("consensus", "succeeded")
    assert job["expires_at"].startswith("2099-01-31")
    assert job["result"]["tree"] == body["tree"]


def test_the_support_of_a_reference(working: Working, trees: list[str]) -> None:
    body = agree(working, trees=trees[1:], reference=trees[0], support="transfer").json()
    assert body["rule"] == "reference"
    nodes = get(working, {"id": body["tree"]}).json()["nodes"]
    original = get(working, {"id": trees[0]}).json()["nodes"]
    assert [node["height"] for node in nodes] == [node["height"] for node in original]
    pairs = [node["support"] for node in nodes if node["size"] == 2]
    # A split of two and two: the second tree has it, of the third one item has to move.
    assert pairs == [0.5, 0.5]


def test_common_leaves_alone(working: Working, trees: list[str]) -> None:
    other = post(working, "((a,b),(c,x));")["id"]
    refused = agree(working, trees=[trees[0], other])
    assert "lacks 1 ('d')" in problem_of(refused, 422, "wrong-shape")["detail"]
    body = agree(working, trees=[trees[0], other], common=True).json()
    assert body["n_items"] == 3
    assert body["warnings"] == ["2 leaves are not in all trees and were left out."]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"trees": []}, "invalid-request"),
        ({"trees": [UNKNOWN]}, "invalid-request"),
        ({"rule": "best"}, "invalid-request"),
        ({"threshold": 0.4}, "invalid-request"),
        ({"rule": "strict", "threshold": 0.6}, "invalid-request"),
        ({"support": "transfer"}, "invalid-request"),
        ({"reference": "tr_x"}, "unknown-input"),
        ({"unknown": 1}, "invalid-request"),
    ],
)
def test_bad_requests(
    working: Working, trees: list[str], change: dict[str, Any], problem: str
) -> None:
    answer = agree(working, **{"trees": trees, **change})
    problem_of(answer, 422, problem)


def test_trees_that_are_not_there(working: Working, trees: list[str]) -> None:
    for unknown in (UNKNOWN, "ds_x", "job_x", "../x"):
        answer = agree(working, trees=[trees[0], unknown])
        problem_of(answer, 422, "unknown-input")
    answer = get(working, {"id": trees[0]}, "/nodes/0/agreement")
    assert "was not made from others" in problem_of(answer, 404, "not-found")["detail"]

"""Placements over HTTP."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np

from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import fit, post

NAMES = [f"{family}{number}" for family in "abcd" for number in range(5)]
#            0
#      /           \
#     left        right
#    /    \      /    \
#   a      b    c      d     (a1..a4; b0..b4; c0..c4; d0..d4 and a0)
HIERARCHY = [
    "right/d/a0" if name == "a0" else f"{'left' if name[0] in 'ab' else 'right'}/{name[0]}/{name}"
    for name in NAMES
]


def logits(n_each: int = 12) -> list[list[float]]:
    rng = np.random.default_rng(0)
    kind = np.arange(20)
    alike = 1.0 * (kind[:, None] // 5 == kind // 5) + 0.5 * (kind[:, None] // 10 == kind // 10)
    rows = np.repeat(2 * alike + 5 * np.eye(20), n_each, axis=0)
    return (rows + rng.normal(scale=0.5, size=rows.shape)).tolist()


def place(working: Working, tree: str, hierarchy: Any, **body: Any) -> Any:
    return working.client.post(
        f"/v1/trees/{tree}/placements",
        json={"hierarchy": hierarchy, **body},
        headers={"Prefer": "wait=60"},
    )


def test_a_class_out_of_place_is_first_with_its_evidence(working: Working) -> None:
    tree = fit(working, "class-tree", {"logits": logits(), "names": NAMES})
    made = place(working, tree["id"], [*HIERARCHY, "left/odd"], name="week 7")
    assert made.status_code == 201, made.text
    body = made.json()
    result = body["result"]
    assert (result["by"], result["n_shared"], result["level"]) == ("scores", 20, 0.05)
    assert any("'odd'" in warning for warning in body["warnings"])
    first = result["classes"][0]
    assert (first["what"], first["name"], first["under_name"]) == ("class", "a0", "d")
    assert first["place_name"] == "a"
    assert set(first["beside"]) <= {"a1", "a2", "a3", "a4"}
    assert first["odd"] is True
    assert first["p_value"] < first["adjusted"] <= 0.05
    assert {each["name"] for each in first["taken_for"]} <= {"a1", "a2", "a3", "a4"}
    assert set(first["alike"]) <= {"a1", "a2", "a3", "a4"}
    assert all(0 <= row < 12 for row in first["examples"])
    margins = [item["margin"] for item in result["classes"] if item["margin"] is not None]
    assert margins == sorted(margins, reverse=True)

    path = f"/v1/placements/{body['id']}"
    answer = working.client.get(path)
    assert answer.json() == body
    etag = {"If-None-Match": answer.headers["etag"]}
    assert working.client.get(path, headers=etag).status_code == 304
    table = list(csv.DictReader(io.StringIO(working.client.get(f"{path}.csv").text)))
    assert table[0]["name"] == "a0"
    assert json.loads(table[0]["beside"]) == first["beside"]
    assert {row["what"] for row in table} == {"class", "subtree"}
    svg = working.client.get(f"{path}.svg", params={"title": "Odd <7>"}).text
    assert svg.startswith("<svg")
    assert "Odd &lt;7&gt;" in svg
    assert "a0, under d" in svg
    assert working.client.get(f"{path}.png").content.startswith(b"\x89PNG")
    listed = working.client.get(f"/v1/placements?tree={tree['id']}").json()["items"]
    assert [each["id"] for each in listed] == [body["id"]]
    job = working.client.get(f"/v1/jobs/{body['job']}").json()
    assert job["result"] == {"tree": tree["id"], "placement": body["id"]}
    assert working.client.delete(path).status_code == 204
    problem_of(working.client.get(path), 404, "not-found")


def test_a_tree_without_logits_is_compared_by_itself(working: Working) -> None:
    text = ",".join(f"({','.join(n for n in NAMES if n[0] == family)})" for family in "abcd")
    tree = post(working, f"({text});")
    body = place(working, tree["id"], HIERARCHY).json()
    assert body["result"]["by"] == "tree"
    assert body["result"]["classes"][0]["name"] == "a0"
    assert any("no model" in warning for warning in body["warnings"])
    again = place(working, tree["id"], tree["id"]).json()["result"]
    assert again["n_odd"] == 0


def test_logits_that_are_gone_leave_the_tree(working: Working) -> None:
    made = working.client.post("/v1/datasets?role=logits", json=logits())
    dataset = made.json()["id"]
    tree = fit(working, "class-tree", {"logits": dataset, "names": NAMES})
    assert working.client.delete(f"/v1/datasets/{dataset}").status_code == 204
    body = place(working, tree["id"], HIERARCHY).json()
    assert body["result"]["by"] == "tree"
    assert body["result"]["classes"][0]["taken_for"]
    assert body["result"]["classes"][0]["examples"] == []
    assert any("logits of the fit are not there" in warning for warning in body["warnings"])


def test_what_cannot_be_compared_is_refused_with_words(working: Working) -> None:
    tree = fit(working, "class-tree", {"logits": logits(2)})
    refused = place(working, tree["id"], HIERARCHY)
    detail = problem_of(refused, 422, "wrong-input")["detail"]
    assert "share 0 names" in detail
    assert "'0'" in detail
    assert "'a1'" in detail
    problem_of(place(working, tree["id"], "tr_" + "0" * 26), 422, "unknown-input")
    problem_of(place(working, "tr_" + "0" * 26, HIERARCHY), 404, "not-found")
    problem_of(place(working, tree["id"], [["a", "b"]]), 422, "wrong-input")
    assert place(working, tree["id"], HIERARCHY, level=0).status_code == 422

"""Merged classes over HTTP."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import UNKNOWN, get


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    """Rows 0 to 3 lie in rose, 4 to 7 in tulip, 8 to 11 in oak."""
    logits = [[9, 5, 0]] * 4 + [[5, 9, 0]] * 4 + [[0, 1, 9]] * 4
    names = ["rose", "tulip", "oak"]
    body = {"method": "l2h", "inputs": {"logits": logits, "names": names}}
    job = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    return {"id": job["result"]["tree"]}


def labelled(working: Working, labels: list[str]) -> str:
    answer = working.client.post("/v1/datasets?role=labels", json=labels)
    return str(answer.json()["id"])


def test_the_curve_of_labels(working: Working, tree: dict[str, Any]) -> None:
    labels = labelled(working, ["rose", "rose", "tulip", "rose"] + ["tulip"] * 4 + ["oak"] * 4)
    body = get(working, tree, f"/merges?labels={labels}").json()
    assert (body["source"], body["n_rows"], body["warnings"]) == ("labels", 12.0, [])
    assert [step["n_classes"] for step in body["steps"]] == [3, 2, 1]
    assert [step["accuracy"] for step in body["steps"]] == pytest.approx([11 / 12, 1.0, 1.0])
    assert body["steps"][0]["node"] is None
    assert body["steps"][0]["ratio"] is None
    assert body["steps"][1]["ratio"] > body["steps"][2]["ratio"] == 0.0
    pair = body["steps"][1]["node"]
    assert body["nodes"][0]["node"] in (pair, 0)
    assert body["nodes"][0]["gain"] == pytest.approx(1 / 12)
    rows = list(
        csv.DictReader(io.StringIO(get(working, tree, f"/merges.csv?labels={labels}").text))
    )
    assert [row["n_classes"] for row in rows] == ["3", "2", "1"]
    assert rows[0]["node"] == ""
    assert rows[1]["node"] == str(pair)
    assert [row["accuracy_low"] for row in rows] == [row["accuracy"] for row in rows]


def test_by_logits_one_class_is_always_right(working: Working) -> None:
    logits = [[float((row * (c + 3)) % 7) for c in range(12)] for row in range(20)]
    body = {"method": "l2h", "inputs": {"logits": logits}}
    job = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    answer = get(working, {"id": job["result"]["tree"]}, "/merges").json()
    last = answer["steps"][-1]
    assert [last[name] for name in ("n_classes", "accuracy", "accuracy_low")] == [1, 1.0, 1.0]
    assert "Accuracies and gains are estimates" in answer["warnings"][-1]
    assert answer["nodes"][0]["gain_low"] < answer["nodes"][0]["gain_high"]


def test_what_is_not_there(working: Working, tree: dict[str, Any]) -> None:
    problem_of(get(working, tree, f"/merges?labels=ds_{UNKNOWN[3:]}"), 404, "not-found")
    problem_of(get(working, {"id": UNKNOWN}, "/merges"), 404, "not-found")
    problem_of(get(working, tree, "/merges?limit=0"), 422, "invalid-request")
    wrong = labelled(working, ["birch"] * 12)
    problem_of(get(working, tree, f"/merges?labels={wrong}"), 422, "wrong-input")

"""The table of features that distinguish nodes."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

from tests.app.conftest import Working, problem_of


@pytest.fixture
def tree(working: Working) -> str:
    """The id of a tree of four groups, each distinguished by two features."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(4), 15)
    points = rng.normal(size=(60, 3)) * 0.2
    points[:, 0] += np.where(group < 2, -4, 4)
    points[:, 1] += np.where(group % 2, -2, 2)
    inputs: dict[str, Any] = {
        "features": points.tolist(),
        "feature_names": ["engine", "=colour", "noise"],
    }
    job = working.client.post(
        "/v1/jobs",
        json={"method": "hmmc", "params": {"max_leaves": 4, "alpha": 0.01}, "inputs": inputs},
        headers={"Prefer": "wait=60"},
    ).json()
    assert job["status"] == "succeeded", job
    tree_id: str = job["result"]["tree"]
    return tree_id


def test_the_table_agrees_with_the_tree(working: Working, tree: str) -> None:
    items = working.client.get(f"/v1/trees/{tree}/features.json").json()["items"]
    nodes = working.client.get(f"/v1/trees/{tree}.json").json()["nodes"]
    children: dict[int, list[int]] = {}
    for node in nodes:
        children.setdefault(node["parent"], []).append(node["id"])
    expected = []
    for node in nodes:
        for rank, feature in enumerate(node["own_features"] or [], 1):
            expected.append(
                (node["id"], "own_features", rank, feature["feature"], None, feature["weight"])
            )
        for rank, feature in enumerate(node["split_features"] or [], 1):
            for child, weight in zip(children[node["id"]], feature["weights"], strict=True):
                expected.append(
                    (node["id"], "split_features", rank, feature["feature"], child, weight)
                )
    keys = ("node", "column", "rank", "feature", "child", "value")
    weights = [tuple(item[key] for key in keys) for item in items if item["quantity"] == "weight"]
    assert sorted(weights, key=str) == sorted(expected, key=str)
    assert {item["quantity"] for item in items} == {"weight", "penalty", "difference"}
    distinctive = [
        (node["id"], rank, each["feature"], each["difference"])
        for node in nodes
        for rank, each in enumerate(node["distinctive"] or [], 1)
    ]
    keys = ("node", "rank", "feature", "value")
    own = [tuple(item[key] for key in keys) for item in items if item["quantity"] == "difference"]
    assert sorted(own) == sorted(distinctive)
    first = next(item for item in items if item["column"] == "split_features")
    assert (first["node"], first["rank"], first["feature"]) == (0, 1, "engine")


def test_as_csv(working: Working, tree: str) -> None:
    items = working.client.get(f"/v1/trees/{tree}/features.json").json()["items"]
    answer = working.client.get(f"/v1/trees/{tree}/features.csv")
    assert answer.headers["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [float(row["value"]) for row in rows] == [item["value"] for item in items]
    assert "'=colour" in {
        row["feature"] for row in rows
    }  # A spreadsheet must not run it as a formula.


def test_a_method_without_features(working: Working) -> None:
    imported = working.client.post(
        "/v1/trees", content="(a,b,c);", headers={"Content-Type": "text/x-nh"}
    ).json()["id"]
    assert working.client.get(f"/v1/trees/{imported}/features.json").json() == {"items": []}
    assert working.client.get(f"/v1/trees/{imported}/features.csv").text.count("\n") == 1
    problem_of(working.client.get(f"/v1/trees/{imported}/features.xls"), 406, "not-acceptable")
    problem_of(working.client.get("/v1/trees/tr_" + "0" * 26 + "/features.csv"), 404, "not-found")

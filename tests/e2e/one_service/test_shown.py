"""Results on real data, through the API alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.e2e.client import Api, npy


def steps_of(tree: dict[str, Any]) -> list[list[list[int]]]:
    """The merges of a tree over classes whose heights are the merge order: pairs of class sets."""
    nodes = tree["nodes"]
    children: dict[int, list[int]] = {node["id"]: [] for node in nodes}
    for node in nodes[1:]:
        children[node["parent"]].append(node["id"])
    classes: dict[int, list[int]] = {}
    for node in reversed(nodes):
        below = children[node["id"]]
        if below:
            classes[node["id"]] = sorted(c for child in below for c in classes[child])
        else:
            classes[node["id"]] = [int(node["name"])]
    merges = sorted((n["height"], n["id"]) for n in nodes if children[n["id"]])
    assert [height for height, _ in merges] == list(range(1, len(merges) + 1))
    return [sorted(classes[child] for child in children[node_id]) for _, node_id in merges]


@pytest.mark.parametrize("name", ["lang_py3langid_udhr", "tinyimagenet_efflite0"])
def test_l2h_merges_as_the_paper_defines_them(
    api: Api, real_data: Callable[[str], Path], name: str
) -> None:
    dataset = api.upload(real_data(f"{name}_logits.npy").read_bytes(), role="logits")
    job = api.run("l2h", {"logits": dataset})
    assert job["status"] == "succeeded", job["error"]
    tree = api.client.get(f"/v1/trees/{job['result']['tree']}").json()
    expected = json.loads(real_data(f"{name}_l2h_steps.json").read_text())
    assert steps_of(tree) == [sorted(sorted(part) for part in pair) for pair in expected]


@pytest.mark.parametrize(("name", "purity"), [("glass", 0.5006), ("spambase", 0.6279)])
def test_average_linkage_has_the_published_dendrogram_purity(
    api: Api, real_data: Callable[[str], Path], name: str, purity: float
) -> None:
    data = np.load(real_data(f"bench_{name}.npz"), allow_pickle=False)
    features = api.upload(npy(np.asarray(data["X"], dtype=np.float64)), role="features")
    job = api.run("hac", {"features": features}, params={"linkage": "average"})
    assert job["status"] == "succeeded", job["error"]
    answer = api.client.post(
        f"/v1/trees/{job['result']['tree']}/evaluations",
        json={"labels": data["y"].tolist(), "metrics": ["dendrogram_purity"]},
        headers={"Prefer": "wait=60"},
    )
    assert answer.status_code == 200, answer.text
    assert answer.json()["metrics"]["dendrogram_purity"] == pytest.approx(purity, abs=5e-5)


def test_kmeans_then_l2h(api: Api, real_data: Callable[[str], Path]) -> None:
    data = np.load(real_data("bench_pendigits.npz"), allow_pickle=False)
    points = np.asarray(data["X"], dtype=np.float32)
    features = api.upload(npy(points), role="features")
    job = api.run("kmeans", {"features": features}, params={"n_clusters": 20}, then="l2h")
    assert job["status"] == "succeeded", job["error"]
    tree = api.client.get(f"/v1/trees/{job['result']['tree']}").json()
    assert tree["kind"] == "hierarchy"
    assert tree["n_leaves"] == 20
    assert len(tree["nodes"]) == 39
    answer = api.client.post(
        f"/v1/trees/{tree['id']}/evaluations",
        json={"labels": data["y"].tolist()},
        headers={"Prefer": "wait=60"},
    )
    assert answer.json()["metrics"]["dendrogram_purity"] > 0.6
    placed = api.client.post(
        f"/v1/trees/{tree['id']}/predictions",
        json={"inputs": {"features": points[:50].tolist()}},
        headers={"Prefer": "wait=60"},
    ).json()["items"]
    leaves = api.client.get(f"/v1/trees/{tree['id']}/assignments").json()
    node_of = {cluster["id"]: cluster["node"] for cluster in leaves["clusters"]}
    assert [item["leaf"] for item in placed] == [node_of[c] for c in leaves["assignments"][:50]]
    assert all(item["path"][0] == 0 and item["path"][-1] == item["leaf"] for item in placed)
    assert all(item["probabilities"][0] == pytest.approx(1.0) for item in placed)

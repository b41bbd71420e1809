"""Noise over HTTP: the cluster -1 of each form, and in evaluations, predictions and pictures."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import (
    adjusted_rand_score,
    normalized_mutual_info_score,
    silhouette_score,
)

from models import registry
from models.inputs.data import Data
from models.tree.cut import cut
from tests.app.conftest import Working, problem_of

METHOD = registry.method("hdbscan")


def groups(seed: int, n_noise: int, n_groups: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    true = np.repeat(np.arange(n_groups), 25)
    centres = 14 * np.stack([np.cos(np.arange(n_groups)), np.sin(np.arange(n_groups))], axis=1)
    points = centres[true] + rng.normal(size=(true.size, 2)) * (0.5 + 0.2 * true[:, None])
    far = rng.random((n_noise, 2)) * 120 - 60
    order = rng.permutation(true.size + n_noise)
    return np.concatenate([points, far])[order], np.append(true, np.full(n_noise, 7))[order]


def run(working: Working, body: dict[str, Any]) -> dict[str, Any]:
    answer = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    assert answer["status"] == "succeeded", answer
    return answer


def fit(working: Working, points: np.ndarray, **params: Any) -> dict[str, Any]:
    body = {"method": "hdbscan", "inputs": {"features": points.tolist()}, "params": params}
    return run(working, body)


CASES: list[tuple[int, int, int, dict[str, Any]]] = [
    (0, 9, 3, {}),
    (1, 0, 3, {}),
    (2, 14, 2, {"cluster_selection_method": "leaf"}),
    (3, 5, 1, {"allow_single_cluster": True}),
    (4, 12, 3, {"noise": "nearest", "noise_within": 20.0}),
    (5, 30, 4, {"min_samples": 3}),
    (6, 4, 3, {"min_cluster_size": 60}),
]


@pytest.mark.parametrize(("seed", "n_noise", "n_groups", "params"), CASES)
def test_every_form_of_the_assignments(
    working: Working, seed: int, n_noise: int, n_groups: int, params: dict[str, Any]
) -> None:
    points, _ = groups(seed, n_noise, n_groups)
    params = {"min_cluster_size": 8, **params}
    fitted = METHOD.fit(Data({"features": points}), METHOD.Params(**params))
    tree = fit(working, points, **params)["result"]["tree"]
    most = cut(fitted.tree).n_clusters
    for query in ({}, {"level": 9}, {"height": 0.0}, *({"k": k} for k in range(1, most + 1))):
        expected = cut(fitted.tree, **query)
        labels = expected.cluster_of_point.tolist()
        base = f"/v1/trees/{tree}/assignments"
        body = working.client.get(f"{base}.json", params=query).json()
        assert body["assignments"] == labels
        assert body["n_noise"] == labels.count(-1)
        assert [cluster["id"] for cluster in body["clusters"]] == list(range(expected.n_clusters))
        assert sorted(set(labels) - {-1}) == list(range(expected.n_clusters))
        sizes = [labels.count(number) for number in range(expected.n_clusters)]
        assert [cluster["size"] for cluster in body["clusters"]] == sizes
        text = working.client.get(f"{base}.csv", params=query).text
        rows = list(csv.DictReader(io.StringIO(text)))
        assert [int(row["cluster"]) for row in rows] == labels
        noise = {(row["node"], row["name"]) for row in rows if row["cluster"] == "-1"}
        assert len(noise) == bool(labels.count(-1))
        assert {name for _, name in noise} <= {"noise"}
        npy = working.client.get(f"{base}.npy", params=query)
        assert np.load(io.BytesIO(npy.content)).tolist() == labels
        arrow = working.client.get(f"{base}.arrow", params=query)
        table = pa.ipc.open_file(arrow.content).read_all()
        assert table["cluster"].to_pylist() == labels
        assert table["node"].to_pylist() == [int(row["node"]) for row in rows]
        shown = working.client.get(f"/v1/trees/{tree}/cut", params=query).json()
        assert (shown["n_clusters"], shown["n_noise"]) == (expected.n_clusters, labels.count(-1))
        assert {each["id"]: each["size"] for each in shown["clusters"]} == dict(enumerate(sizes))
        assert shown["warnings"] == body["warnings"]
        assert shown["largest"] == max(sizes, default=0)
    problem = working.client.get(f"/v1/trees/{tree}/assignments", params={"k": most + 1})
    problem_of(problem, 422, "wrong-cut")


def test_several_levels(working: Working) -> None:
    points, _ = groups(0, 9)
    tree = fit(working, points, min_cluster_size=8)["result"]["tree"]
    base = f"/v1/trees/{tree}/assignments"
    flat = [working.client.get(base, params={"k": k}).json()["assignments"] for k in (1, 2, 3)]
    answer = working.client.get(base, params={"levels": "1,2,3"})
    body = answer.json()
    assert body["assignments"] == [list(row) for row in zip(*flat, strict=True)]
    n_noise = flat[2].count(-1)
    assert n_noise > 0
    assert flat[1].count(-1) == n_noise
    assert flat[0] == [0] * len(points)
    assert f"{n_noise} row(s) of noise are in the clusters of this cut" in body["warnings"][0]
    assert "row(s) of noise" in answer.headers["warning"]
    for level in body["levels"][1:]:
        assert all(cluster["name"] != "noise" for cluster in level["clusters"])
        assert {cluster["parent"] for cluster in level["clusters"]} <= {0, 1}
    npy = working.client.get(f"{base}.npy", params={"levels": "1,2,3"})
    assert np.load(io.BytesIO(npy.content)).tolist() == body["assignments"]
    rows = list(csv.DictReader(io.StringIO(
        working.client.get(f"{base}.csv", params={"levels": "1,2,3"}).text)))  # fmt: skip
    assert [[int(row[f"cluster_{k}"]) for k in (1, 2, 3)] for row in rows] == body["assignments"]
    assert {row["name_3"] for row in rows if row["cluster_3"] == "-1"} == {"noise"}
    table = pa.ipc.open_file(
        working.client.get(f"{base}.arrow", params={"levels": "1,2,3"}).content
    ).read_all()
    assert table["cluster_2"].to_pylist() == flat[1]


@pytest.mark.parametrize(("seed", "n_noise", "n_groups", "params"), CASES)
def test_new_rows(
    working: Working, seed: int, n_noise: int, n_groups: int, params: dict[str, Any]
) -> None:
    points, _ = groups(seed, n_noise, n_groups)
    rows = np.concatenate([points[:10], [[500.0, 500.0], [-300.0, 0.0]]])
    params = {"min_cluster_size": 8, **params}
    fitted = METHOD.fit(Data({"features": points}), METHOD.Params(**params))
    assert fitted.model is not None
    places = METHOD.predict(fitted.model, fitted.tree, Data({"features": rows}))
    assert places.noise is not None
    assert places.noise[-2:].all()
    tree = fit(working, points, **params)["result"]["tree"]
    leaves = cut(fitted.tree)
    number = {node: cluster for cluster, node in enumerate(leaves.nodes.tolist())}
    expected = [
        -1 if noise else number[leaf]
        for leaf, noise in zip(places.leaf.tolist(), places.noise.tolist(), strict=True)
    ]
    for body in ({}, {"level": 9}):
        answer = working.client.post(
            f"/v1/trees/{tree}/predictions", json={"inputs": {"features": rows.tolist()}, **body}
        )
        items = answer.json()["items"]
        assert [item["cluster"] for item in items] == expected
        for item, cluster, leaf in zip(items, expected, places.leaf.tolist(), strict=True):
            if cluster >= 0:
                assert item["cluster_node"] == leaf
            elif leaf in leaves.noise:
                assert (item["cluster_node"], item["cluster_name"]) == (leaf, "noise")
            else:
                assert (item["cluster_node"], item["cluster_name"]) == (None, "noise")
                assert "their cluster is -1" in answer.headers["warning"]


@pytest.mark.parametrize(("seed", "n_noise"), [(0, 9), (1, 0), (4, 21)])
def test_evaluations_count_noise_as_scikit_learn(working: Working, seed: int, n_noise: int) -> None:
    points, true = groups(seed, n_noise)
    job = fit(working, points, min_cluster_size=8)
    tree = job["result"]["tree"]
    labels = working.client.get(f"/v1/trees/{tree}/assignments").json()["assignments"]
    criteria = {"labels": true.tolist(), "features": points.tolist()}
    body = working.client.post(f"/v1/trees/{tree}/evaluations", json=criteria).json()
    metrics = body["metrics"]
    assert metrics["ari"] == pytest.approx(adjusted_rand_score(true, labels))
    assert metrics["nmi"] == pytest.approx(normalized_mutual_info_score(true, labels))
    assert metrics["silhouette"] == pytest.approx(silhouette_score(points, labels))
    found = labels.count(-1)
    counted = f"{found} of {len(points)} points are noise."
    assert any(counted in warning for warning in body["warnings"]) == (found > 0)
    assert (found > 0) == (n_noise > 0)
    used = {"leaves": True, "n_clusters": 3}
    assert body["cut"] == (used if not found else {**used, "n_noise": found})


def test_pictures_and_views(working: Working) -> None:
    points, _ = groups(0, 9)
    tree = fit(working, points, min_cluster_size=8)["result"]["tree"]
    base = f"/v1/trees/{tree}"
    view = working.client.get(f"{base}/view", params={"color_by": "cluster:3"}).json()
    marked = [node for node in view["nodes"] if node["noise"]]
    assert [(node["name"], node["category"]) for node in marked] == [("noise", None)]
    assert view["n_categories"] == 3
    svg = working.client.get(f"{base}.svg", params={"color_by": "cluster:3"}).text
    for text in ("Cluster 0", "Cluster 1", "Cluster 2", "noise"):
        assert svg.count(f">{text}<") == 2, text
    levels = working.client.get(f"{base}/levels").json()["levels"]
    assert all(cluster["name"] != "noise" for level in levels for cluster in level["clusters"])
    nodes = working.client.get(base).json()["nodes"]
    assert [node["name"] for node in nodes if node["noise"]] == ["noise"]


def test_rows_without_a_value_keep_their_numbers_and_ids(working: Working) -> None:
    """A row of nothing in a table with ids is a leaf of noise with its id, in every form."""
    table = "id,x,y\na,0,0.1\nb,,\nc,0.2,0.3\nd,9,9.5\ne,9.1,\nf,,\n"
    csv_type = {"Content-Type": "text/csv"}
    uploaded = working.client.post("/v1/datasets", content=table, headers=csv_type).json()
    inputs = {"features": uploaded["id"]}
    steps = [{"step": "missing", "fill": "mean"}]
    for method, params in (("hac", {}), ("hdbscan", {"min_cluster_size": 2, "min_samples": 1})):
        job = run(
            working, {"method": method, "inputs": inputs, "params": params, "preprocess": steps}
        )
        assert any("2 row(s)" in note and "1, 5" in note for note in job["warnings"])
        base = f"/v1/trees/{job['result']['tree']}"
        body = working.client.get(f"{base}/assignments", params={"k": 2}).json()
        labels = body["assignments"]
        assert (labels[1], labels[5], body["n_noise"]) == (-1, -1, 2)
        assert labels[0] == labels[2] != labels[3] == labels[4]
        assert body["ids"] == list("abcdef")
        table_of = working.client.get(f"{base}/assignments.csv", params={"k": 2}).text
        rows = list(csv.DictReader(io.StringIO(table_of)))
        assert [row["id"] for row in rows if row["cluster"] == "-1"] == ["b", "f"]
        assert "nan" not in table_of
        members = working.client.get(f"{base}/nodes/0/members").json()["items"]
        assert [each["id"] for each in members] == list("abcdef")
        answer = working.client.post(f"{base}/predictions", json={"inputs": inputs, "k": 2}).json()
        assert [item["cluster"] for item in answer["items"]] == labels
        assert [item["id"] for item in answer["items"]] == list("abcdef")

"""Additional results of `ghhc` over HTTP: confidence, positions of nodes, curves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load

from tests.app.conftest import Working, problem_of

pytestmark = pytest.mark.needs("torch")

RNG = np.random.default_rng(0)
POINTS = np.repeat(20.0 * np.eye(4), 15, axis=0) + RNG.normal(size=(60, 4))
PARAMS = {"n_internal": 11, "max_iter": 200, "n_init": 2, "batch_size": 20}


def fit(working: Working, **changes: Any) -> dict[str, Any]:
    body = {"method": "ghhc", "inputs": {"features": POINTS.tolist()}, "params": PARAMS, **changes}
    answer = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"})
    assert answer.status_code == 201, answer.text
    job: dict[str, Any] = answer.json()
    return job


@pytest.fixture
def fitted(working: Working) -> dict[str, Any]:
    job = fit(working)
    assert job["status"] == "succeeded", job
    return job


def test_the_tree_states_its_confidence(working: Working, fitted: dict[str, Any]) -> None:
    result = fitted["result"]
    assert result["metrics"]["log_probability"] < 0
    assert 0 < result["metrics"]["mean_parent_probability"] <= 1
    tree = working.client.get(f"/v1/trees/{result['tree']}").json()
    for node in tree["nodes"][1:]:
        single = working.client.get(f"/v1/trees/{result['tree']}/nodes/{node['id']}").json()
        assert 0 < single["parent_probability"] <= 1
        if single["alternative_1"] >= 0:
            assert single["alternative_1"] != single["parent"]
            assert single["alternative_1_probability"] <= single["parent_probability"]
        assert {"norm", "alternative_2", "alternative_2_probability"} <= set(single)
    root = working.client.get(f"/v1/trees/{result['tree']}/nodes/0").json()
    assert root["parent_probability"] is None
    points = working.client.get(f"/v1/trees/{result['tree']}/assignments?k=4").json()
    sure = points["columns"]["parent_probability"]
    assert len(sure) == 60
    assert np.mean(sure) == pytest.approx(result["metrics"]["mean_parent_probability"])


def test_the_embedding_is_served_and_places_new_points(
    working: Working, fitted: dict[str, Any]
) -> None:
    result = fitted["result"]
    arrays = load(working.client.get(f"/v1/models/{result['model']}/content").content)
    embedding, leaf_of_node = arrays["0.embedding"], arrays["0.leaf_of_node"]
    assert len(embedding) == result["metrics"]["n_internal_used"]
    norm = [
        working.client.get(f"/v1/trees/{result['tree']}/nodes/{node}").json()["norm"]
        for node in range(len(embedding))
    ]
    radius = np.linalg.norm(embedding.astype(np.float64), axis=1)
    assert 2 * np.arctanh(radius) == pytest.approx(norm)

    new = POINTS[::7] + 0.5
    body = {"inputs": {"features": new.tolist()}}
    placed = working.client.post(f"/v1/models/{result['model']}/predictions", json=body).json()
    moved = new - arrays["0.mean"]
    points = 0.9 * moved / np.linalg.norm(moved, axis=1, keepdims=True)
    with_points = np.flatnonzero(leaf_of_node >= 0)
    for point, placement in zip(points, placed["items"], strict=True):
        nodes = embedding[with_points].astype(np.float64)
        apart = ((point - nodes) ** 2).sum(axis=1)
        apart = np.arccosh(1 + 2 * apart / (1 - 0.81) / (1 - (nodes**2).sum(axis=1)))
        over = 2 * np.arctanh(np.linalg.norm(nodes, axis=1)) - 2 * np.arctanh(0.9)
        nearest = (apart * (1 + np.maximum(over, 0))).argmin()
        assert placement["leaf"] == leaf_of_node[with_points[nearest]]


def test_curves_are_not_over_numbers_of_clusters(working: Working, fitted: dict[str, Any]) -> None:
    result = fitted["result"]
    assert [step for step, _ in result["curves"]["objective"]] == [100, 200]
    assert [step for step, _ in result["curves"]["cost"]] == [0, 100, 200]
    levels = working.client.get(f"/v1/trees/{result['tree']}/levels").json()["levels"]
    assert levels
    assert {level["criterion"] for level in levels} <= {"gap", "silhouette"}


def test_a_job_continues_from_an_earlier_one(working: Working, fitted: dict[str, Any]) -> None:
    inputs = {"features": POINTS.tolist(), "base": fitted["id"]}
    again = fit(working, inputs=inputs, params={**PARAMS, "max_iter": 0})
    assert again["status"] == "succeeded", again
    for name in ("cost", "log_probability"):
        assert again["result"]["metrics"][name] == pytest.approx(fitted["result"]["metrics"][name])
    mismatched = fit(working, inputs=inputs, params={**PARAMS, "n_internal": 13})
    assert mismatched["status"] == "failed"
    assert mismatched["error"]["type"] == "/problems/wrong-parameter"


def test_bad_input_is_a_problem(working: Working) -> None:
    for changes, kind, where in (
        ({"params": {**PARAMS, "scaling": "none"}}, "outside-the-ball", {"row": 0}),
        ({"inputs": {"features": [[1.0, 2.0]]}}, "too-few-points", {"role": "features"}),
        (
            {"params": {**PARAMS, "max_iter": 600, "learning_rate": 1e4, "keep": "last"}},
            "diverged",
            {"parameter": "learning_rate"},
        ),
        ({"params": {**PARAMS, "processes": 21}}, "wrong-parameter", {"parameter": "processes"}),
    ):
        failed = fit(working, **changes)
        assert failed["status"] == "failed", changes
        assert failed["error"]["type"] == f"/problems/{kind}"
        assert where.items() <= failed["error"]["where"].items()
        assert failed["result"] is None
    answer = working.client.post("/v1/jobs", json={"method": "ghhc", "params": {"n_internal": 2}})
    problem_of(answer, 422, "invalid-request")

"""Models: their description, their file, and predictions from them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load

from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import NEWICK, model_of, post

POINTS = np.repeat(10.0 * np.eye(3), 8, axis=0) + np.random.default_rng(0).normal(size=(24, 3))


@pytest.fixture
def fitted(working: Working) -> dict[str, Any]:
    body = {
        "method": "kmeans",
        "inputs": {"features": POINTS.tolist()},
        "params": {"n_clusters": 3},
        "preprocess": [{"step": "standardize"}],
        "then": "l2h",
        "name": "three",
    }
    answer = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"})
    job: dict[str, Any] = answer.json()
    assert job["status"] == "succeeded", job
    return job


def test_the_description(working: Working, fitted: dict[str, Any]) -> None:
    model_id = fitted["result"]["model"]
    answer = working.client.get(f"/v1/models/{model_id}")
    model = answer.json()
    assert (model["id"], model["job"]) == (model_id, fitted["id"])
    assert model["tree"] == fitted["result"]["tree"]
    assert (model["method"], model["name"]) == ("kmeans", "three")
    assert model["preprocess"] == [{"step": "standardize"}]
    assert model["inputs"] == ["features"]
    assert [stage["method"] for stage in model["stages"]] == ["kmeans", "l2h"]
    assert model["arrays"]["0.centers"]["shape"] == [3, 3]
    assert model["arrays"]["preprocess.0.0.mean"] == {"dtype": "F64", "shape": [3]}
    same = working.client.get(
        f"/v1/models/{model_id}", headers={"If-None-Match": answer.headers["etag"]}
    )
    assert same.status_code == 304


def test_the_file(working: Working, fitted: dict[str, Any]) -> None:
    address = f"/v1/models/{fitted['result']['model']}"
    described = working.client.get(address).json()
    answer = working.client.get(f"{address}/content")
    assert len(answer.content) == described["bytes"]
    arrays = load(answer.content)
    assert {name: list(a.shape) for name, a in arrays.items()} == {
        name: array["shape"] for name, array in described["arrays"].items()
    }
    length = int.from_bytes(answer.content[:8], "little")
    header = json.loads(answer.content[8 : 8 + length])
    assert json.loads(header["__metadata__"]["umbel"])["inputs"] == ["features"]
    part = working.client.get(f"{address}/content", headers={"Range": "bytes=0-7"})
    assert part.status_code == 206
    assert part.content == answer.content[:8]


def test_a_model_places_new_rows_like_its_tree(working: Working, fitted: dict[str, Any]) -> None:
    body = {"inputs": {"features": POINTS[::5].tolist()}}
    result = fitted["result"]
    by_model = working.client.post(f"/v1/models/{result['model']}/predictions", json=body)
    by_tree = working.client.post(f"/v1/trees/{result['tree']}/predictions", json=body)
    assert by_model.status_code == 200, by_model.text
    assert by_model.json() == by_tree.json()


def test_deleting_a_model_keeps_its_tree(working: Working, fitted: dict[str, Any]) -> None:
    result = fitted["result"]
    address = f"/v1/models/{result['model']}"
    assert working.client.delete(address).status_code == 204
    for answer in (
        working.client.get(address),
        working.client.get(f"{address}/content"),
        working.client.delete(address),
        working.client.post(f"{address}/predictions", json={"inputs": {}}),
    ):
        problem_of(answer, 404, "not-found")
    assert working.client.get(f"/v1/trees/{result['tree']}").status_code == 200
    body = {"inputs": {"features": POINTS[:1].tolist()}}
    answer = working.client.post(f"/v1/trees/{result['tree']}/predictions", json=body)
    assert answer.status_code == 422


@pytest.mark.parametrize("model_id", ["md_" + "0" * 26, "md_x", "tr_" + "0" * 26])
def test_unknown_models(working: Working, model_id: str) -> None:
    problem_of(working.client.get(f"/v1/models/{model_id}"), 404, "not-found")


def test_an_imported_tree_has_no_model(working: Working) -> None:
    model_id = model_of(post(working, NEWICK))
    problem_of(working.client.get(f"/v1/models/{model_id}"), 404, "not-found")

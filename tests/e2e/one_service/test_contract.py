"""What the service really sends follows its OpenAPI document: results of every kind of job, and the
media type of every form of a tree.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.document_kit import spelled_out
from tests.e2e.client import Api
from tests.needs_kit import lacking

LABELS = ["rose", "cat", "dog"] * 8
_RNG = random.Random(0)
FEATURES = [[3.0 * (n % 3) + _RNG.random(), _RNG.random()] for n in range(24)]
PARTLY = [n % 3 if n < 12 and n % 3 < 2 else None for n in range(24)]


@pytest.fixture
def document(api: Api) -> dict[str, Any]:
    document: dict[str, Any] = spelled_out(api.client.get("/openapi.json").json())
    return document


def ended(api: Api, document: dict[str, Any], path: str, body: dict[str, Any]) -> dict[str, Any]:
    """The job of a request, once it has ended, after a check against the document."""
    answer = api.client.post(path, json=body, headers={"Prefer": "wait=0"})
    assert answer.status_code == 202, answer.text
    accepted = answer.json()
    job = api.ended(accepted.get("job", accepted["id"]))
    assert job["status"] == "succeeded", job["error"]
    schema = {"$ref": "#/components/schemas/JobBody", "components": document["components"]}
    errors = list(Draft202012Validator(schema).iter_errors(job))
    assert not errors, errors[0].message
    # The schema is open for what later versions add; this version documents all that it sends.
    members = document["components"]["schemas"]["JobResult"]["properties"]
    assert set(job["result"]) <= set(members)
    return job


def test_results_of_every_kind_follow_the_document(api: Api, document: dict[str, Any]) -> None:
    def result(path: str, **body: Any) -> dict[str, Any]:
        return dict(ended(api, document, path, body)["result"])

    features = {"features": FEATURES}
    tree = result(
        "/v1/jobs",
        method="kmeans",
        inputs=features,
        params={"n_clusters": 3},
        then="l2h",
        preprocess=[{"step": "standardize"}],
        support={"replicates": 2},
    )
    assert set(tree) >= {"tree", "model", "metrics", "curves"}
    path = f"/v1/trees/{tree['tree']}"
    assert set(result(f"{path}/predictions", inputs=features)) == {"tree", "predictions"}
    measured = result(f"{path}/evaluations", labels=LABELS, per_node=True, cut={"k": 2})
    assert set(measured) == {"tree", "nodes", "evaluation"}
    assert measured["evaluation"]["cut"] == {"k": 2, "n_clusters": 2}

    classifier = result("/v1/jobs", method="mlr", inputs={**features, "labels": LABELS})
    scored = result(f"/v1/models/{classifier['model']}/evaluations", inputs=features, labels=LABELS)
    assert set(scored) == {"tree", "model", "evaluation", "tables"}
    assert scored["evaluation"]["n_rows"] == len(LABELS)

    calibrated = result(
        f"/v1/trees/{classifier['tree']}/calibrations",
        inputs=features,
        labels=LABELS,
        alpha=0.4,
        temperature=1,
    )
    assert set(calibrated) == {"tree", "calibration"}
    sample = {"inputs": features, "labels": LABELS}
    drifted = result(f"/v1/trees/{classifier['tree']}/drifts", reference=sample, batch=sample)
    assert set(drifted) == {"tree", "drift", "n_moves"}
    named = result(
        f"/v1/trees/{classifier['tree']}/namings", by="labels", inputs={"labels": LABELS}
    )
    assert set(named) == {"tree", "naming"}
    assert set(result(f"/v1/trees/{classifier['tree']}/maps", by="pca")) == {"tree", "map"}

    clusters = result("/v1/jobs", method="lmnn", inputs={**features, "labels": PARTLY})
    moved = result(f"/v1/models/{clusters['model']}/transformations", inputs=features)
    assert set(moved) == {"model", "dataset", "shape", "dtype"}

    compared = result("/v1/comparisons", inputs=features, labels=LABELS, runs=[{"method": "hac"}])
    assert set(compared) == {"comparison"}


def test_a_failed_job_has_the_documented_problem(api: Api, document: dict[str, Any]) -> None:
    body = {"method": "kmeans", "inputs": {"features": FEATURES}, "params": {"n_clusters": 99}}
    job = api.ended(api.client.post("/v1/jobs", json=body).json()["id"])
    assert job["status"] == "failed"
    schema = {"$ref": "#/components/schemas/Problem", "components": document["components"]}
    assert Draft202012Validator(schema).is_valid(job["error"])


def test_each_form_of_a_tree_has_its_documented_type(api: Api, document: dict[str, Any]) -> None:
    logits = [[4.0, 1.0, 0.0], [0.5, 3.0, 2.0], [0.0, 2.0, 3.5]]
    tree = api.run("l2h", {"logits": logits})["result"]["tree"]
    prefix = "/v1/trees/{tree_id}."
    paths = [path for path in document["paths"] if path.startswith(prefix)]
    assert len(paths) == 12
    for path in paths:
        if path.endswith(".pdf") and lacking(["typst"]):
            continue
        (media,) = document["paths"][path]["get"]["responses"]["200"]["content"]
        answer = api.client.get(path.replace("{tree_id}", tree))
        assert answer.status_code == 200, path
        assert answer.headers["content-type"].partition(";")[0] == media

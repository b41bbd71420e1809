"""What every POST for work takes and answers, whatever it makes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.app.conftest import Api, new_job, problem_of
from tests.conftest import ROOT
from workers.kinds.registry import kinds

DOCUMENT = json.loads((ROOT / "openapi" / "openapi.json").read_text())
CREATING = {
    operation["operationId"]: operation
    for path in DOCUMENT["paths"].values()
    for operation in path.values()
    if "callbacks" in operation
}
SHARED = {
    "name": "mine",
    "description": "An idea.",
    "tags": ["a", "b"],
    "webhook": "https://example.org/hooks",
    "expires_at": "2099-01-31T00:00:00Z",
}
LOGITS = [[4.0, 1.0, 0.0], [0.5, 3.0, 2.0], [0.0, 2.0, 3.5]]
ROWS = {"inputs": {"logits": LOGITS}}
FEATURES = {"inputs": {"features": LOGITS}}
OF_TREE: dict[str, dict[str, Any]] = {
    "attachments": {},
    "calibrations": {**ROWS, "labels": [0, 1, 2]},
    "drifts": {"reference": ROWS, "batch": ROWS},
    "evaluations": {"labels": [0, 1, 1]},
    "heatmaps": {"what": "distances", "metric": "cophenetic"},
    "maps": {"by": "pca", **FEATURES},
    "namings": {"by": "labels", "inputs": {"labels": [0, 1, 1]}},
    "predictions": ROWS,
}


def body_of(api: Api, path: str) -> dict[str, Any]:
    if path != "attachments":
        return OF_TREE.get(path, {})
    items = api.client.post("/v1/datasets?role=items", json=[{"n": 1}, {"n": 2}, {"n": 3}])
    return {"items": items.json()["id"]}


def schema_of(operation: dict[str, Any]) -> dict[str, Any]:
    (content,) = operation["requestBody"]["content"].values()
    name = content["schema"]["$ref"].rpartition("/")[2]
    schemas: dict[str, Any] = DOCUMENT["components"]["schemas"]
    schema: dict[str, Any] = schemas[name]
    if "oneOf" in schema:
        schema = schemas[schema["oneOf"][0]["$ref"].rpartition("/")[2]]
    return schema


def test_every_kind_that_clients_start_has_a_post() -> None:
    assert len(CREATING) == 15
    assert len({kind.name for kind in kinds()} - {"inspect"}) == 13


@pytest.mark.parametrize("operation_id", CREATING)
def test_the_document_has_what_all_of_them_take(operation_id: str) -> None:
    operation = CREATING[operation_id]
    parameters = {each["name"] for each in operation["parameters"]}
    assert {"prefer", "idempotency-key"} <= {name.lower() for name in parameters}
    if operation_id == "import_tree":
        assert {"name", "description", "tag", "webhook", "expires_at"} <= parameters
    else:
        assert set(SHARED) <= schema_of(operation)["properties"].keys()
    assert {"Location", "Retry-After"} <= operation["responses"]["202"]["headers"].keys()
    done = operation["responses"].get("201") or operation["responses"]["200"]
    assert "Preference-Applied" in done["headers"]
    assert ("Location" in done["headers"]) == ("201" in operation["responses"])


@pytest.mark.parametrize("path", [*OF_TREE, "consensus", "comparisons", "jobs", "trees"])
def test_a_job_has_what_its_request_says_beside_the_work(api: Api, path: str) -> None:
    client = api.client
    made = client.post("/v1/jobs", json=new_job()).json()["id"]
    api.finish(made, tree=_tree(3))
    tree_id = made.replace("job_", "tr_")
    at, wait = f"/v1/{path}", {"Prefer": "wait=0"}
    if path in OF_TREE:
        at = f"/v1/trees/{tree_id}/{path}"
    body = body_of(api, path)
    if path == "jobs":
        body = new_job()
    elif path == "consensus":
        body = {"trees": [tree_id, tree_id]}
    elif path == "comparisons":
        body = {"inputs": {"features": LOGITS}, "runs": [{"method": "hac"}]}
    if path == "trees":
        query = {**SHARED, "tag": SHARED["tags"]}
        query.pop("tags")
        headers = {**wait, "Content-Type": "text/x-nh"}
        answer = client.post(at, params=query, content=b"((a,b),c);", headers=headers)
    else:
        answer = client.post(at, json={**body, **SHARED}, headers=wait)
    assert answer.status_code == 202, answer.text
    assert answer.headers["Retry-After"]
    assert client.get(answer.headers["Location"]).status_code in (200, 404 * (path == "trees"))
    [record] = [
        record
        for job_id in api.service.ledger._records.all_ids()
        if (record := api.service.ledger.get("local", job_id))
        and record.id != made
        and record.kind != "inspect"
    ]
    assert (record.name, record.description, list(record.tags)) == ("mine", "An idea.", ["a", "b"])
    assert record.webhook is not None
    assert record.webhook.url == SHARED["webhook"]
    assert record.expires_at == "2099-01-31T00:00:00.000000Z"


@pytest.mark.parametrize("path", OF_TREE)
def test_a_private_webhook_is_refused_by_all(api: Api, path: str) -> None:
    made = api.client.post("/v1/jobs", json=new_job()).json()["id"]
    api.finish(made, tree=_tree(3))
    at = f"/v1/trees/{made.replace('job_', 'tr_')}/{path}"
    answer = api.client.post(at, json={**body_of(api, path), "webhook": "http://127.0.0.1/"})
    problem = problem_of(answer, 422, "invalid-request")
    assert problem["errors"][0]["pointer"] == ["webhook"]


def _tree(n: int) -> dict[str, Any]:
    return {
        "method": "l2h",
        "kind": "hierarchy",
        "n_points": n,
        "n_nodes": 2 * n - 1,
        "n_leaves": n,
        "max_depth": n - 1,
        "monotone": True,
        "name": None,
    }

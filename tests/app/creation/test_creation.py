"""What every POST for work takes and answers, whatever it makes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.app.conftest import Api, new_job, problem_of
from tests.app.creation.posts_kit import OF_TREE, body_of, post_of
from tests.conftest import ROOT
from tests.document_kit import joined, spelled_out
from workers.kinds.registry import kinds

DOCUMENT = spelled_out(json.loads((ROOT / "openapi" / "openapi.json").read_text()))
CREATING = {
    operation["operationId"]: operation
    for path in DOCUMENT["paths"].values()
    for operation in path.values()
    if "callbacks" in operation
}
KINDS = {kind.name: kind for kind in kinds()}
SHARED = {
    "name": "mine",
    "description": "An idea.",
    "tags": ["a", "b"],
    "webhook": "https://example.org/hooks",
    "expires_at": "2099-01-31T00:00:00Z",
}


def schema_of(operation: dict[str, Any]) -> dict[str, Any]:
    (content,) = operation["requestBody"]["content"].values()
    name = content["schema"]["$ref"].rpartition("/")[2]
    schemas: dict[str, Any] = DOCUMENT["components"]["schemas"]
    schema: dict[str, Any] = schemas[name]
    return joined(DOCUMENT, schema["oneOf"][0] if "oneOf" in schema else schema)


def test_every_kind_that_clients_start_has_a_post() -> None:
    assert len(CREATING) == 17
    assert len(KINDS.keys() - {"inspect"}) == 15


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


@pytest.mark.parametrize(
    "name", [name for name in KINDS if name not in ("inspect", "transform", "embed")]
)
def test_a_job_has_what_its_request_says_beside_the_work(api: Api, name: str) -> None:
    client = api.client
    made = client.post("/v1/jobs", json=new_job()).json()["id"]
    api.finish(made, tree=_tree(3))
    post = post_of(client, name, made.replace("job_", "tr_"))
    answer = post.send(client, SHARED, Prefer="wait=0")
    assert answer.status_code == 202, answer.text
    assert answer.headers["Retry-After"]
    assert client.get(answer.headers["Location"]).status_code in (200, 404 * (name == "import"))
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
    answer = api.client.post(at, json={**body_of(api.client, path), "webhook": "http://127.0.0.1/"})
    problem = problem_of(answer, 422, "invalid-request")
    assert problem["errors"][0]["pointer"] == "/webhook"


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

"""Transformations over HTTP: rows under a model's transformation as a new dataset, and chains."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from safetensors.numpy import load

from app.http.environment_keys import new_key
from app.http.security import LOCAL
from tests.app.conftest import Start, Working, problem_of
from tests.app.labelled_kit import LABELS, ROWS, learn, upload
from tests.app.tree_kit import fit, model_of, predict
from workers.artifacts import results
from workers.model import sibling
from workers.stores.objects import layout


@pytest.fixture
def model(working: Working) -> str:
    return str(learn(working, name="pets")["result"]["model"])


def transform(working: Working, model_id: str, inputs: Any, **fields: Any) -> Any:
    headers = {"Prefer": "wait=60", **fields.pop("headers", {})}
    return working.client.post(
        f"/v1/models/{model_id}/transformations", json={"inputs": inputs, **fields}, headers=headers
    )


def content(working: Working, dataset_id: str) -> np.ndarray:
    answer = working.client.get(f"/v1/datasets/{dataset_id}/content")
    return np.asarray(np.load(io.BytesIO(answer.content), allow_pickle=False))


def expected(working: Working, model_id: str, rows: np.ndarray) -> np.ndarray:
    arrays = load(working.client.get(f"/v1/models/{model_id}/content").content)
    return np.asarray(rows @ arrays["0.projection"] - arrays["0.offset"])


def test_rows_become_a_dataset(working: Working, model: str) -> None:
    answer = transform(working, model, {"features": ROWS[::5].tolist()})
    assert answer.status_code == 201, answer.text
    assert answer.headers["preference-applied"] == "wait=60"
    dataset = answer.json()
    assert answer.headers["location"].endswith(f"/v1/datasets/{dataset['id']}")
    assert (dataset["name"], dataset["role"]) == ("pets, transformed", "features")
    assert (dataset["status"], dataset["format"], dataset["dtype"]) == ("ready", "npy", "float64")
    assert dataset["shape"] == [10, 1]
    assert working.client.get(f"/v1/datasets/{dataset['id']}").json() == dataset
    assert dataset in working.client.get("/v1/datasets?role=features").json()["items"]
    rows = content(working, dataset["id"])
    np.testing.assert_allclose(rows, expected(working, model, ROWS[::5]), rtol=1e-12)
    tree = fit(working, "kmeans", {"features": dataset["id"]}, params={"n_clusters": 2})
    assert tree["n_points"] == 10


def test_single_precision_and_names(working: Working, model: str) -> None:
    rows = ROWS.astype(np.float32)
    dataset = transform(working, model, {"features": upload(working, rows, name="new")}).json()
    assert (dataset["name"], dataset["dtype"]) == ("new, transformed", "float32")
    assert content(working, dataset["id"]).dtype == np.float32
    long = upload(working, rows, name="x" * 1000)
    name = transform(working, model, {"features": long}).json()["name"]
    assert (len(name), name[-15:]) == (1000, "xx, transformed")
    named = transform(working, model, {"features": long}, name="mine").json()
    assert named["name"] == "mine"


def test_rows_are_prepared_as_those_of_the_fit(working: Working) -> None:
    plain = learn(working)["result"]["model"]
    steps = [{"step": "standardize"}]
    model = learn(working, preprocess=steps)["result"]["model"]
    rows = {"features": (ROWS[:4] + 2.0).tolist()}
    dataset = transform(working, model, rows).json()
    assert dataset["name"] is None
    standardized = (ROWS[:4] + 2.0 - ROWS.mean(axis=0)) / ROWS.std(axis=0)
    np.testing.assert_allclose(
        content(working, dataset["id"]), expected(working, model, standardized), rtol=1e-9
    )
    other = content(working, transform(working, plain, rows).json()["id"])
    assert not np.allclose(other, content(working, dataset["id"]))


def test_a_long_transformation_is_a_job_that_names_its_dataset(
    working: Working, model: str
) -> None:
    working.work.held = True
    answer = transform(working, model, {"features": ROWS.tolist()}, headers={"Prefer": "wait=0"})
    assert answer.status_code == 202
    job = answer.json()
    assert (job["kind"], job["status"], job["result"]) == ("transform", "queued", None)
    dataset_id = sibling(job["id"], "ds")
    problem_of(working.client.get(f"/v1/datasets/{dataset_id}"), 404, "not-found")
    working.work.release()
    ended = working.client.get(answer.headers["location"]).json()
    assert ended["result"] == {
        "model": model,
        "dataset": dataset_id,
        "shape": [48, 1],
        "dtype": "float64",
    }
    assert working.client.get(f"/v1/datasets/{dataset_id}").json()["shape"] == [48, 1]
    listed = working.client.get("/v1/jobs").json()["items"]
    assert [item["kind"] for item in listed] == ["transform", "fit"]


def test_the_dataset_stays_when_its_job_and_model_go(working: Working, model: str) -> None:
    dataset = transform(working, model, {"features": ROWS.tolist()}).json()
    job_id = sibling(dataset["id"], "job")
    # It was moved, not copied.
    assert not list(working.service.blobs.keys(layout.attempts(LOCAL, job_id)))
    assert working.client.delete(f"/v1/jobs/{job_id}").status_code == 204
    assert working.client.delete(f"/v1/models/{model}").status_code == 204
    assert content(working, dataset["id"]).shape == (48, 1)
    assert working.client.delete(f"/v1/datasets/{dataset['id']}").status_code == 204
    problem_of(working.client.get(f"/v1/datasets/{dataset['id']}"), 404, "not-found")


def test_the_same_key_makes_one_dataset(working: Working, model: str) -> None:
    n_sent, key = len(working.work.sent), {"Idempotency-Key": "k"}
    rows = {"features": ROWS.tolist()}
    first, second = (transform(working, model, rows, headers=key) for _ in range(2))
    assert (first.status_code, second.json()) == (201, first.json())
    assert second.headers["idempotent-replayed"] == "true"
    assert len(working.work.sent) == n_sent + 1
    changed = transform(working, model, {"features": ROWS[:1].tolist()}, headers=key)
    problem_of(changed, 422, "idempotency-mismatch")


@pytest.mark.parametrize(
    ("inputs", "status", "code"),
    [
        ({}, 422, "wrong-input"),
        ({"features": [[1.0, 2.0]]}, 422, "wrong-shape"),
        ({"features": [[1.0, 2.0, 3.0]], "logits": [[1.0]]}, 422, "wrong-input"),
        ({"features": [[1.0, 2.0, 3.0]], "model": [[1.0]]}, 422, None),
        ({"features": [[1.0, 2.0, 3.0]], "tree": [[1.0]]}, 422, None),
        ({"features": [[1.0, None, 3.0]]}, 422, None),
        ({"features": [[1.0], [1.0, 2.0]]}, 422, None),
        ({"features": [["a", "b", "c"]]}, 422, None),
        ({"features": []}, 422, None),
        ({"features": "ds_" + "0" * 26}, 422, "unknown-input"),
        ({"features": "tr_" + "0" * 26}, 422, "wrong-input"),
        ({"../../x": [[1.0]]}, 422, "invalid-request"),
        ({"features": {}}, 422, "invalid-request"),
        ([], 422, "invalid-request"),
    ],
)
def test_invalid_rows_leave_no_dataset(
    working: Working, model: str, inputs: Any, status: int, code: str | None
) -> None:
    answer = transform(working, model, inputs)
    kind = answer.json()["type"].rpartition("/")[2]
    problem_of(answer, status, code or kind)
    assert kind != "internal"
    assert working.client.get("/v1/datasets").json()["items"] == []
    assert not list(working.service.blobs.keys("datasets/"))


@pytest.mark.parametrize(
    "body", [b"", b"[", b'{"inputs": {"features": [[1e999, 0, 0]]}}', b'{"inputs": {}, "x": 1}']
)
def test_hostile_bodies(working: Working, model: str, body: bytes) -> None:
    answer = working.client.post(f"/v1/models/{model}/transformations", content=body)
    assert answer.status_code in (400, 422), answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_model_without_a_transformation(working: Working) -> None:
    tree = fit(working, "kmeans", {"features": ROWS.tolist()}, params={"n_clusters": 2})
    n_sent = len(working.work.sent)
    answer = transform(working, model_of(tree), {"features": ROWS.tolist()})
    detail = problem_of(answer, 422, "cannot-transform")["detail"]
    assert "'kmeans'" in detail
    assert "bp, fda" in detail
    assert len(working.work.sent) == n_sent


@pytest.mark.parametrize("model_id", ["md_" + "0" * 26, "md_x", "tr_" + "0" * 26])
def test_unknown_models(working: Working, model_id: str) -> None:
    problem_of(transform(working, model_id, {"features": [[1.0]]}), 404, "not-found")


@pytest.mark.parametrize("what", ["datasets", "models"])
def test_what_is_deleted_before_the_job_reads_it(working: Working, model: str, what: str) -> None:
    dataset_id = upload(working, ROWS)
    working.work.held = True
    answer = transform(working, model, {"features": dataset_id}, headers={"Prefer": "wait=0"})
    assert answer.status_code == 202
    deleted = {"datasets": dataset_id, "models": model}[what]
    assert working.client.delete(f"/v1/{what}/{deleted}").status_code == 204
    working.work.release()
    job = working.client.get(answer.headers["location"]).json()
    assert job["error"]["type"] == "/problems/input-deleted"
    n_left = len(working.client.get("/v1/datasets").json()["items"])
    assert n_left == (0 if what == "datasets" else 1)


def test_a_row_that_exceeds_the_range(working: Working) -> None:
    job = learn(working, inputs={"features": (ROWS / 1e6).tolist()})
    answer = transform(working, job["result"]["model"], {"features": [[0, 0, 0], [1e308, 0, 0]]})
    assert "Row 1" in problem_of(answer, 422, "unusable-input")["detail"]


def test_a_tenant_uses_no_other_tenants_model(working: Working, model: str, start: Start) -> None:
    key, line = new_key("other")
    # The same Redis and store, now with keys; the model belongs to the tenant without a key.
    keyed = start(api_keys=(line,))
    path, body = f"/v1/models/{model}/transformations", {"inputs": {"features": ROWS.tolist()}}
    problem_of(keyed.client.post(path, json=body), 401, "unauthenticated")
    headers = {"Authorization": f"Bearer {key}"}
    problem_of(keyed.client.post(path, json=body, headers=headers), 404, "not-found")


def test_then_takes_the_logits_and_the_names_of_known_clusters(working: Working) -> None:
    job = learn(working, then="l2h")
    tree = working.client.get(f"/v1/trees/{job['result']['tree']}").json()
    leaves = {node["id"] for node in tree["nodes"]} - {node["parent"] for node in tree["nodes"]}
    names = sorted(node["name"] for node in tree["nodes"] if node["id"] in leaves)
    assert names == ["cat", "new 1", "new 2", "rose"]
    items = predict(working, tree, {"features": ROWS.tolist()}).json()["items"]
    named = [tree["nodes"][item["leaf"]]["name"] for item in items]
    assert named[:24] == LABELS[:24]


def test_names_say_what_labels_are_called(working: Working) -> None:
    labels = [0] * 12 + [1] * 12 + [-1] * 24
    job = learn(working, inputs={"labels": labels, "names": ["oak", "elm"]}, then="l2h")
    tree = working.client.get(f"/v1/trees/{job['result']['tree']}").json()
    assert {"oak", "elm", "new 1", "new 2"} <= {node["name"] for node in tree["nodes"]}


def test_then_takes_the_transformed_rows_of_all_points(working: Working) -> None:
    job = learn(working, then={"method": "gmm", "params": {"n_clusters": 4}})
    tree = working.client.get(f"/v1/trees/{job['result']['tree']}").json()
    assert tree["n_points"] == 48
    stages = working.client.get(f"/v1/models/{job['result']['model']}").json()["stages"]
    assert [stage["method"] for stage in stages] == ["fda", "gmm"]
    items = predict(working, tree, {"features": ROWS.tolist()}).json()["items"]
    leaves = np.array([item["leaf"] for item in items]).reshape(4, 12)
    assert (leaves == leaves[:, :1]).all()
    assert len(set(leaves[:, 0].tolist())) == 4


def test_a_second_method_places_rows_by_the_transformation(working: Working) -> None:
    result = learn(working, then="hac")["result"]
    answer = transform(working, result["model"], {"features": ROWS[:2].tolist()})
    assert answer.json()["shape"] == [2, 1]
    tree = working.client.get(f"/v1/trees/{result['tree']}").json()
    answer = predict(working, tree, {"features": ROWS.tolist()})
    assert "nearest point" in answer.headers["warning"]
    # Every row is a point of the fit, and each point is a leaf.
    assert len({item["leaf"] for item in answer.json()["items"]}) == 48


@pytest.mark.parametrize(
    "then", ["fda", "mlr", pytest.param("ghhc-glove", marks=pytest.mark.needs("torch"))]
)
def test_then_is_refused_before_the_job_is_accepted(working: Working, then: str) -> None:
    inputs = {"features": ROWS.tolist(), "labels": LABELS}
    body = {"method": "fda", "inputs": inputs, "then": then}
    refused = problem_of(working.client.post("/v1/jobs", json=body), 422, "wrong-input")
    assert refused["errors"][0]["pointer"] == "/then"
    assert then in refused["detail"]
    assert not working.work.sent


def test_a_dataset_half_moved_is_completed_once(working: Working, model: str) -> None:
    """The process that ends the job may die at any step; another settles the end again."""
    service = working.service
    dataset = transform(working, model, {"features": ROWS.tolist()}).json()
    job_id, tenant = sibling(dataset["id"], "job"), LOCAL
    end = service.ledger.end_of(tenant, job_id)
    assert end is not None
    source = layout.attempt(tenant, job_id, end.fence, results.TRANSFORMED)
    whole = service.blobs.get(service.datasets.content_key(tenant, dataset["id"]))
    record = service.datasets.get(tenant, dataset["id"])
    assert record is not None

    # Died before the dataset was created, or before the file of the attempt was removed.
    for remains in (False, True):
        service.blobs.put(source, whole)
        if not remains:
            service.datasets.discard(tenant, dataset["id"])
        service.datasets.adopt(record, source)
        assert content(working, dataset["id"]).shape == (48, 1)
        assert service.blobs.size(source) is None

    # All is done: what the user deleted since does not come back.
    assert service.datasets.delete(tenant, dataset["id"])
    service.datasets.adopt(record, source)
    assert service.datasets.get(tenant, dataset["id"]) is None
    assert not list(service.blobs.keys("datasets/"))
    service.redis.flushdb()
    service.ledger.rebuild()
    problem_of(working.client.get(f"/v1/datasets/{dataset['id']}"), 404, "not-found")
    assert working.client.get(f"/v1/jobs/{job_id}").json()["status"] == "succeeded"


def test_rows_with_ids_keep_them(working: Working, model: str) -> None:
    names = [f"pet, {row}" for row in range(len(ROWS))]
    columns = ",".join(f"x{at}" for at in range(ROWS.shape[1]))
    lines = [
        f'"{name}",' + ",".join(map(repr, row))
        for name, row in zip(names, ROWS.tolist(), strict=True)
    ]
    table = "\n".join([f"id,{columns}", *lines]).encode()
    given = working.client.post(
        "/v1/datasets?role=features", content=table, headers={"Content-Type": "text/csv"}
    ).json()
    dataset = transform(working, model, {"features": given["id"]}).json()
    assert (dataset["format"], dataset["shape"]) == ("arrow-file", [48, 1])
    assert [(own["name"], own["role"]) for own in dataset["columns"]] == [
        ("id", "id"),
        ("features", "feature"),
    ]
    raw = working.client.get(f"/v1/datasets/{dataset['id']}/content").content
    found = pa.ipc.open_file(pa.BufferReader(raw)).read_all()
    assert found["id"].to_pylist() == names
    plain = transform(working, model, {"features": ROWS.tolist()}).json()
    rows = content(working, plain["id"])
    np.testing.assert_allclose(found["features"].to_pylist(), rows, rtol=1e-9)

    trees = [
        fit(working, "kmeans", {"features": own["id"]}, params={"n_clusters": 2})
        for own in (dataset, plain)
    ]
    places = [
        predict(working, trees[0], {"features": own["id"]}).json()["items"]
        for own in (dataset, plain)
    ]
    assert [item["id"] for item in places[0]] == names
    assert [item["leaf"] for item in places[0]] == [item["leaf"] for item in places[1]]

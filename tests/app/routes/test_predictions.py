"""Predictions over HTTP."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from app.routes.predictions import FORMS
from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import NEWICK, fit, npy, post, predict

LOGITS = [[4.0, 1.0, 0.0], [0.5, 3.0, 2.0], [0.0, 2.0, 3.5]]


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return fit(working, "l2h", {"logits": LOGITS})


def test_each_row_has_its_leaf_path_and_probabilities(
    working: Working, tree: dict[str, Any]
) -> None:
    answer = predict(working, tree, {"logits": LOGITS})
    assert answer.status_code == 200, answer.text
    assert answer.headers["preference-applied"] == "wait=30"
    parent = [node["parent"] for node in tree["nodes"]]
    items = answer.json()["items"]
    assert [tree["nodes"][item["leaf"]]["name"] for item in items] == ["0", "1", "2"]
    for item in items:
        assert item["path"][0] == 0
        assert item["path"][-1] == item["leaf"]
        assert [parent[node] for node in item["path"]] == [None, *item["path"][:-1]]
        assert item["probabilities"][0] == pytest.approx(1.0)
        assert item["probabilities"] == sorted(item["probabilities"], reverse=True)
        assert len(item["probabilities"]) == len(item["path"])


def test_csv_and_arrow(working: Working, tree: dict[str, Any]) -> None:
    items = predict(working, tree, {"logits": LOGITS}).json()["items"]
    text = predict(working, tree, {"logits": LOGITS}, Accept="text/csv").text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [int(row["row"]) for row in rows] == [0, 1, 2]
    assert [int(row["leaf"]) for row in rows] == [item["leaf"] for item in items]
    assert [list(map(int, row["path"].split())) for row in rows] == [i["path"] for i in items]
    assert [list(map(float, row["probabilities"].split())) for row in rows] == [
        item["probabilities"] for item in items
    ]
    media = "application/vnd.apache.arrow.file"
    answer = predict(working, tree, {"logits": LOGITS}, Accept=media)
    assert answer.headers["content-type"] == media
    assert pa.ipc.open_file(answer.content).read_all().to_pylist() == items


def test_an_unknown_form_is_refused_before_any_work(working: Working, tree: dict[str, Any]) -> None:
    n_sent = len(working.work.sent)
    answer = predict(working, tree, {"logits": LOGITS}, Accept="image/png")
    detail = problem_of(answer, 406, "not-acceptable")["detail"]
    assert all(form.media in detail for form in FORMS)
    assert len(working.work.sent) == n_sent


def test_a_partition_places_rows_by_features(working: Working) -> None:
    features = [[0.0, 0.0], [0.1, 0.0], [9.0, 9.0], [9.1, 9.0]]
    tree = fit(working, "kmeans", {"features": features}, params={"n_clusters": 2})
    dataset = working.client.post(
        "/v1/datasets",
        content=npy(np.array(features)),
        headers={"Content-Type": "application/x-npy"},
    ).json()
    items = predict(working, tree, {"features": dataset["id"]}).json()["items"]
    first, second, third, fourth = (item["leaf"] for item in items)
    assert first == second != third == fourth


@pytest.mark.parametrize(
    ("inputs", "status", "code"),
    [
        ({"logits": [[1.0, 2.0]]}, 422, None),
        ({"logits": [[1.0, 2.0, None]]}, 422, None),
        ({"logits": [[1.0], [1.0, 2.0]]}, 422, None),
        ({"logits": []}, 422, None),
        ({}, 422, None),
        ({"features": [[1.0, 2.0, 3.0]]}, 422, None),
        ({"logits": "ds_" + "0" * 26}, 422, "unknown-input"),
        ({"logits": 3}, 422, "invalid-request"),
        ([], 422, "invalid-request"),
    ],
)
def test_invalid_rows(
    working: Working, tree: dict[str, Any], inputs: Any, status: int, code: str | None
) -> None:
    answer = predict(working, tree, inputs)
    kind = answer.json()["type"].rpartition("/")[2]
    problem_of(answer, status, code or kind)
    assert kind != "internal"


def test_a_tree_without_a_model_places_nothing(working: Working) -> None:
    tree = post(working, NEWICK)
    answer = predict(working, tree, {"logits": LOGITS})
    assert "no model" in problem_of(answer, 422, "cannot-predict")["detail"]


def test_the_same_key_returns_the_same_answer(working: Working, tree: dict[str, Any]) -> None:
    n_sent = len(working.work.sent)
    first, second = (
        predict(working, tree, {"logits": LOGITS}, **{"Idempotency-Key": "k"}) for _ in range(2)
    )
    assert second.json() == first.json()
    assert second.headers["idempotent-replayed"] == "true"
    assert len(working.work.sent) == n_sent + 1
    changed = predict(working, tree, {"logits": LOGITS[:1]}, **{"Idempotency-Key": "k"})
    problem_of(changed, 422, "idempotency-mismatch")


def test_a_long_prediction_is_a_job_that_links_to_its_answer(
    working: Working, tree: dict[str, Any]
) -> None:
    expected = predict(working, tree, {"logits": LOGITS}).json()
    working.work.held = True
    answer = predict(working, tree, {"logits": LOGITS}, Prefer="wait=0")
    assert answer.status_code == 202
    job = answer.json()
    assert (job["kind"], job["status"], job["result"]) == ("predict", "queued", None)
    address = f"/v1/jobs/{job['id']}/predictions"
    problem_of(working.client.get(address), 409, "conflict")
    working.work.release()
    ended = working.client.get(answer.headers["location"]).json()
    assert ended["result"] == {"tree": tree["id"], "predictions": address}
    assert working.client.get(address).json() == expected
    text = working.client.get(address, headers={"Accept": "text/csv"}).text
    assert len(text.splitlines()) == 4
    problem_of(working.client.get(address, headers={"Accept": "x/y"}), 406, "not-acceptable")


def test_other_jobs_have_no_predictions(working: Working, tree: dict[str, Any]) -> None:
    problem_of(working.client.get(f"/v1/jobs/{tree['job']}/predictions"), 404, "not-found")
    for job_id in ("job_" + "0" * 26, "job_x"):
        problem_of(working.client.get(f"/v1/jobs/{job_id}/predictions"), 404, "not-found")


def test_many_rows_are_returned_completely(working: Working, tree: dict[str, Any]) -> None:
    rows = np.random.default_rng(0).normal(size=(10_000, 3))
    dataset = working.client.post(
        "/v1/datasets", content=npy(rows), headers={"Content-Type": "application/x-npy"}
    ).json()
    body = predict(working, tree, {"logits": dataset["id"]}).json()
    assert len(body["items"]) == 10_000
    names = [tree["nodes"][item["leaf"]]["name"] for item in body["items"]]
    assert names == [str(column) for column in rows.argmax(axis=1)]


def test_predictions_are_deleted_with_their_job(working: Working, tree: dict[str, Any]) -> None:
    working.work.held = True
    answer = predict(working, tree, {"logits": LOGITS}, Prefer="wait=0")
    working.work.release()
    path = answer.headers["location"]
    assert working.client.get(f"{path}/predictions").status_code == 200
    assert working.client.delete(path).status_code == 204
    problem_of(working.client.get(f"{path}/predictions"), 404, "not-found")

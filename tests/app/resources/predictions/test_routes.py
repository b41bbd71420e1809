"""Predictions over HTTP."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from app.resources.predictions.routes import FORMS
from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import CLASS_ROWS, NEWICK, classifier, fit, npy, post, predict

LOGITS = [[4.0, 1.0, 0.0], [0.5, 3.0, 2.0], [0.0, 2.0, 3.5]]


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return fit(working, "l2h", {"logits": LOGITS})


def test_each_row_has_its_leaf_path_and_probabilities(
    working: Working, tree: dict[str, Any]
) -> None:
    answer = predict(working, tree, {"logits": LOGITS})
    assert answer.status_code == 200, answer.text
    assert answer.headers["preference-applied"] == "wait=60"
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


POINTS = [[0.0, 1.0, 9.0], [0.0, 2.0, 8.0], [9.0, 0.0, 1.0], [8.0, 2.0, 1.0], [1.0, 9.0, 0.0]]
NAMED = ["rose", "=oak", "élan"]


@pytest.mark.parametrize(
    ("method", "role", "names", "params"),
    [
        ("l2h", "logits", NAMED, {}),
        ("kmeans", "features", NAMED, {"n_clusters": 3}),
        ("gmm", "features", NAMED, {"n_clusters": 3, "covariance": "spherical"}),
        ("multinomial", "features", NAMED, {"n_clusters": 3}),
        ("bisecting-kmeans", "features", NAMED, {"n_clusters": 3}),
    ],
)
def test_rows_have_the_name_of_their_leaf_and_their_cluster(
    working: Working, method: str, role: str, names: list[str], params: dict[str, Any]
) -> None:
    tree = fit(working, method, {role: POINTS, "names": names}, params=params)
    name = {node["id"]: node["name"] for node in tree["nodes"]}
    base = f"/v1/trees/{tree['id']}/assignments"
    for cut in ({"k": 2}, {"level": 1}, {"height": 0.0}, {"k": 1}):
        assigned = working.client.get(base, params=cut).json()
        items = predict(working, tree, {role: POINTS}, cut).json()["items"]
        node = {cluster["id"]: cluster["node"] for cluster in assigned["clusters"]}
        text = {cluster["id"]: cluster["name"] for cluster in assigned["clusters"]}
        # The rows of the fit fall into the clusters that they are in.
        assert [item["cluster"] for item in items] == assigned["assignments"]
        for item in items:
            assert item["label"] == name[item["leaf"]]
            assert item["cluster_node"] == node[item["cluster"]]
            assert item["cluster_node"] in item["path"]
            assert item["cluster_name"] == text[item["cluster"]]


def test_leaves_called_by_numbers_give_no_labels(working: Working, tree: dict[str, Any]) -> None:
    items = predict(working, tree, {"logits": LOGITS}, {"k": 2}).json()["items"]
    assert all("label" not in item for item in items)
    assert [item["cluster_name"] for item in items].count(None) == 2


def test_a_path_that_ends_above_the_cut_has_no_cluster(working: Working) -> None:
    tree = classifier(working)
    body = {"level": 2, "confidence": 1.0}
    items = predict(working, tree, {"features": CLASS_ROWS}, body).json()["items"]
    assert {len(item["path"]) for item in items} == {1}
    for key in ("cluster", "cluster_node", "cluster_name"):
        assert [item[key] for item in items] == [None] * 6
    text = predict(working, tree, {"features": CLASS_ROWS}, body, Accept="text/csv").text
    assert {row["cluster"] for row in csv.DictReader(io.StringIO(text))} == {""}
    items = predict(working, tree, {"features": CLASS_ROWS}, {"level": 1}).json()["items"]
    assert [item["cluster_node"] for item in items] == [item["path"][1] for item in items]


def test_cuts_that_cannot_be(working: Working, tree: dict[str, Any]) -> None:
    for cut in ({"k": 4}, {"k": 2, "level": 1}):
        problem_of(predict(working, tree, {"logits": LOGITS}, cut), 422, "wrong-cut")
    for cut in ({"k": 0}, {"k": True}, {"level": -1}, {"height": "1"}):
        problem_of(predict(working, tree, {"logits": LOGITS}, cut), 422, "invalid-request")


def test_a_cut_with_fewer_clusters_is_warned_of(working: Working) -> None:
    features = [[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]]
    tree = fit(working, "kmeans", {"features": features}, params={"n_clusters": 3})
    answer = predict(working, tree, {"features": features}, {"k": 2})
    assert "not binary" in answer.headers["warning"]
    assert {item["cluster"] for item in answer.json()["items"]} == {0}

"""Evaluations over HTTP."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.app.conftest import Start, Working, problem_of
from tests.app.test_imports import npy
from tests.app.test_trees import NEWICK, get, post


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    """Rows rose, tulip, oak; single points at the leaves."""
    return post(working, NEWICK)


def evaluate(working: Working, tree: dict[str, Any], body: Any, **headers: str) -> Any:
    headers = {"Prefer": "wait=30", **headers}
    return working.client.post(f"/v1/trees/{tree['id']}/evaluations", json=body, headers=headers)


def test_all_metrics_that_labels_allow(working: Working, tree: dict[str, Any]) -> None:
    answer = evaluate(working, tree, {"labels": ["soft", "soft", "wood"]})
    assert answer.status_code == 200, answer.text
    assert answer.headers["preference-applied"] == "wait=30"
    body = answer.json()
    assert body["metrics"]["dendrogram_purity"] == 1.0
    assert body["metrics"]["nmi"] == 1.0
    assert set(body) == {"metrics", "standard_errors", "cut", "warnings"}


def test_the_answer_says_which_cut(working: Working, tree: dict[str, Any]) -> None:
    labels = ["soft", "soft", "wood"]
    # Leaves are single points: as many clusters as there are labels.
    body = evaluate(working, tree, {"labels": labels, "metrics": ["purity"]}).json()
    assert body["cut"] == {"k": 2, "n_clusters": 2}
    assert body["metrics"] == {"purity": 1.0}
    for cut, n_clusters in (({"k": 1}, 1), ({"level": 1}, 2), ({"height": 0}, 3)):
        asked = {"labels": labels, "metrics": ["purity"], "cut": cut}
        body = evaluate(working, tree, asked).json()
        assert body["cut"] == {**cut, "n_clusters": n_clusters}
        assert body["metrics"]["purity"] == pytest.approx(2 / 3 if n_clusters == 1 else 1)


def test_leaves_of_many_points_are_the_cut(working: Working) -> None:
    features = [[0.0], [0.1], [9.0], [9.1]]
    body = {"method": "kmeans", "inputs": {"features": features}, "params": {"n_clusters": 2}}
    job = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    tree = {"id": job["result"]["tree"]}
    asked = {"labels": [0, 0, 1, 1], "metrics": ["ari"]}
    found = evaluate(working, tree, asked).json()
    assert found["cut"] == {"leaves": True, "n_clusters": 2}
    assert found["metrics"] == {"ari": 1.0}


def test_labels_and_features_from_datasets(working: Working, tree: dict[str, Any]) -> None:
    def upload(array: np.ndarray, role: str) -> str:
        answer = working.client.post(
            f"/v1/datasets?role={role}",
            content=npy(array),
            headers={"Content-Type": "application/x-npy"},
        )
        return str(answer.json()["id"])

    asked = {
        "labels": upload(np.array([1, 1, 2]), "labels"),
        "features": upload(np.array([[0.0], [1.0], [5.0]]), "features"),
    }
    body = evaluate(working, tree, asked).json()
    assert body["metrics"]["dendrogram_purity"] == 1.0
    assert body["metrics"]["cophenetic_correlation"] is not None


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ({"labels": [0, 1]}, "wrong-length", "3"),
        ({"labels": [0, 1, 1], "metrics": ["nope"]}, "unknown-metric", "dendrogram_purity"),
        ({"metrics": ["nmi"]}, "wrong-input", "labels"),
        ({}, "wrong-input", "labels"),
        ({"labels": [0, 1, 1], "cut": {"k": 9}}, "wrong-cut", "1 to 3"),
        ({"labels": [0, 1, 1], "cut": {"k": 1, "level": 1}}, "invalid-request", "exactly one"),
        ({"labels": [0, 1, 1], "cut": {}}, "invalid-request", "exactly one"),
        ({"labels": [0, 1, 1], "cut": {"k": 0}}, "invalid-request", "cut.k"),
        ({"labels": [0, 1, 1], "colour": 1}, "invalid-request", "colour"),
        ({"labels": "ds_" + "0" * 26}, "unknown-input", "ds_"),
        ({"labels": "x"}, "unknown-input", "x"),
        ({"labels": [0, 1, 1], "hierarchy": "tr_" + "0" * 26}, "unknown-input", "tr_"),
        ({"features": [[0.0], [1.0]]}, "wrong-length", "3"),
        ([], "invalid-request", ""),
    ],
)
def test_what_cannot_be_evaluated(
    working: Working, tree: dict[str, Any], body: Any, code: str, said: str
) -> None:
    assert said in problem_of(evaluate(working, tree, body), 422, code)["detail"]


@pytest.mark.parametrize("content", [b"{", b"", b"\xff", b"[" * 100_000])
def test_what_is_no_json(working: Working, tree: dict[str, Any], content: bytes) -> None:
    answer = working.client.post(
        f"/v1/trees/{tree['id']}/evaluations",
        content=content,
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code in (400, 422), answer.text


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e400"])
def test_numbers_that_are_none(working: Working, tree: dict[str, Any], number: str) -> None:
    for body in (f'{{"labels": [{number}, 1, 1]}}', f'{{"cut": {{"height": {number}}}}}'):
        answer = working.client.post(
            f"/v1/trees/{tree['id']}/evaluations",
            content=body,
            headers={"Content-Type": "application/json"},
        )
        assert answer.status_code == 422, answer.text


def test_a_true_hierarchy_is_taken_with_a_warning(working: Working, tree: dict[str, Any]) -> None:
    asked = {"labels": [0, 0, 1], "hierarchy": tree["id"], "metrics": ["nmi"]}
    body = evaluate(working, tree, asked).json()
    assert "not used" in body["warnings"][0]


def test_the_same_key_gives_the_same_answer(working: Working, tree: dict[str, Any]) -> None:
    asked = {"labels": [0, 0, 1]}
    first = evaluate(working, tree, asked, **{"Idempotency-Key": "k"})
    second = evaluate(working, tree, asked, **{"Idempotency-Key": "k"})
    assert second.json() == first.json()
    assert second.headers["idempotent-replayed"] == "true"
    jobs = [kind for kind, _ in working.work.sent]
    assert len(jobs) == 2  # the import and one evaluation
    other = evaluate(working, tree, {"labels": [1, 0, 1]}, **{"Idempotency-Key": "k"})
    problem_of(other, 422, "idempotency-mismatch")


def test_a_long_one_is_a_job_with_the_evaluation_as_its_result(
    working: Working, tree: dict[str, Any]
) -> None:
    working.work.held = True
    answer = evaluate(working, tree, {"labels": [0, 0, 1]}, Prefer="wait=0")
    assert answer.status_code == 202
    assert answer.headers["preference-applied"] == "wait=0"
    job = answer.json()
    assert (job["kind"], job["status"]) == ("evaluate", "queued")
    working.work.release()
    ended = working.client.get(answer.headers["location"]).json()
    assert ended["result"]["tree"] == tree["id"]
    assert ended["result"]["evaluation"]["metrics"]["nmi"] == 1.0
    assert ended["id"] in [item["id"] for item in working.client.get("/v1/jobs").json()["items"]]


def test_without_a_preference_it_is_waited_for_a_little(start: Start, working: Working) -> None:
    tree = post(working, NEWICK)
    slow = start(default_wait_s=0.2)
    answer = slow.client.post(f"/v1/trees/{tree['id']}/evaluations", json={"labels": [0, 0, 1]})
    assert answer.status_code == 202
    assert "preference-applied" not in answer.headers


def test_a_tree_deleted_meanwhile(working: Working, tree: dict[str, Any]) -> None:
    working.work.held = True
    answer = evaluate(working, tree, {"labels": [0, 0, 1]}, Prefer="wait=0")
    assert working.client.delete(f"/v1/trees/{tree['id']}").status_code == 204
    working.work.release()
    job = working.client.get(answer.headers["location"]).json()
    assert job["status"] == "failed"
    assert job["error"]["type"] == "/problems/input-deleted"


def test_an_evaluation_adds_no_tree(working: Working, tree: dict[str, Any]) -> None:
    evaluate(working, tree, {"labels": [0, 0, 1]})
    items = working.client.get("/v1/trees").json()["items"]
    assert [item["id"] for item in items] == [tree["id"]]
    assert get(working, tree).status_code == 200

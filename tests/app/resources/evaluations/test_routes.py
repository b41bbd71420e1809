"""Evaluations over HTTP."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.app.conftest import Start, Working, problem_of
from tests.app.tree_kit import NEWICK, fit, get, npy, post


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    """Rows rose, tulip, oak; single points at the leaves."""
    return post(working, NEWICK)


def evaluate(working: Working, tree: dict[str, Any], body: Any, **headers: str) -> Any:
    headers = {"Prefer": "wait=60", **headers}
    return working.client.post(f"/v1/trees/{tree['id']}/evaluations", json=body, headers=headers)


def test_all_metrics_that_labels_allow(working: Working, tree: dict[str, Any]) -> None:
    answer = evaluate(working, tree, {"labels": ["soft", "soft", "wood"]})
    assert answer.status_code == 200, answer.text
    assert answer.headers["preference-applied"] == "wait=60"
    body = answer.json()
    assert body["metrics"]["dendrogram_purity"] == 1.0
    assert body["metrics"]["nmi"] == 1.0
    facts = {"id", "metrics", "standard_errors", "cut", "placed", "nodes", "warnings"}
    assert set(body) == facts
    assert answer.headers["location"] == f"/v1/jobs/{body['id']}"
    assert working.client.get(f"/v1/jobs/{body['id']}").json()["kind"] == "evaluate"
    assert body["nodes"] is None
    assert body["placed"] is None


def test_a_repeat_says_which_job_the_first_request_made(
    working: Working, tree: dict[str, Any]
) -> None:
    labels = {"labels": ["soft", "soft", "wood"]}
    key = {"Idempotency-Key": "again"}
    first = evaluate(working, tree, labels, **key)
    again = evaluate(working, tree, labels, **key)
    # As where the first answer was lost before it was kept: made of the job anew.
    redis, prefix = working.service.redis, working.service.settings.key_prefix
    (place,) = redis.scan_iter(f"{prefix}once:*")
    kept = json.loads(redis.get(place))
    redis.set(place, json.dumps({**kept, "answer": None}))
    anew = evaluate(working, tree, labels, **key)
    for repeat in (again, anew):
        assert repeat.headers["idempotent-replayed"] == "true"
        assert repeat.headers["location"] == first.headers["location"]
        assert repeat.json() == first.json()


def test_the_answer_describes_the_cut(working: Working, tree: dict[str, Any]) -> None:
    labels = ["soft", "soft", "wood"]
    # Leaves are single points, so the cut has as many clusters as there are labels.
    body = evaluate(working, tree, {"labels": labels, "metrics": ["purity"]}).json()
    assert body["cut"] == {"k": 2, "n_clusters": 2}
    assert body["metrics"] == {"purity": 1.0}
    for cut, n_clusters in (({"k": 1}, 1), ({"level": 1}, 2), ({"height": 0}, 3)):
        criteria = {"labels": labels, "metrics": ["purity"], "cut": cut}
        body = evaluate(working, tree, criteria).json()
        assert body["cut"] == {**cut, "n_clusters": n_clusters}
        assert body["metrics"]["purity"] == pytest.approx(2 / 3 if n_clusters == 1 else 1)


def test_leaves_of_many_points_are_the_cut(working: Working) -> None:
    features = [[0.0], [0.1], [9.0], [9.1]]
    body = {"method": "kmeans", "inputs": {"features": features}, "params": {"n_clusters": 2}}
    job = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    tree = {"id": job["result"]["tree"]}
    criteria = {"labels": [0, 0, 1, 1], "metrics": ["ari"]}
    evaluation = evaluate(working, tree, criteria).json()
    assert evaluation["cut"] == {"leaves": True, "n_clusters": 2}
    assert evaluation["metrics"] == {"ari": 1.0}


def test_labels_and_features_from_datasets(working: Working, tree: dict[str, Any]) -> None:
    def upload(array: np.ndarray, role: str) -> str:
        answer = working.client.post(
            f"/v1/datasets?role={role}",
            content=npy(array),
            headers={"Content-Type": "application/x-npy"},
        )
        return str(answer.json()["id"])

    criteria = {
        "labels": upload(np.array([1, 1, 2]), "labels"),
        "features": upload(np.array([[0.0], [1.0], [5.0]]), "features"),
    }
    body = evaluate(working, tree, criteria).json()
    assert body["metrics"]["dendrogram_purity"] == 1.0
    assert body["metrics"]["cophenetic_correlation"] is not None


@pytest.mark.parametrize(
    ("body", "code", "message"),
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
        ({"features": [[0.0], [1.0], [5.0]], "metrics": ["silhouette"]}, "wrong-cut", "cut"),
        ({"labels": [0, 1, 1], "metrics": ["explained_variance"]}, "wrong-input", "nothing"),
        ({"labels": [0, 1, 1], "sample": 1}, "invalid-request", "sample"),
        ({"labels": [0, 1, 1], "kernel": "linear"}, "invalid-request", "kernel"),
        ({"labels": [0, 1, 1], "per_node": True, "n_exemplars": 0}, "invalid-request", "n_exem"),
        ([], "invalid-request", ""),
    ],
)
def test_invalid_evaluations(
    working: Working, tree: dict[str, Any], body: Any, code: str, message: str
) -> None:
    assert message in problem_of(evaluate(working, tree, body), 422, code)["detail"]


@pytest.mark.parametrize("content", [b"{", b"", b"\xff", b"[" * 100_000])
def test_bodies_that_are_not_json(working: Working, tree: dict[str, Any], content: bytes) -> None:
    answer = working.client.post(
        f"/v1/trees/{tree['id']}/evaluations",
        content=content,
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code in (400, 422), answer.text


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e400"])
def test_numbers_that_are_not_finite(working: Working, tree: dict[str, Any], number: str) -> None:
    for body in (f'{{"labels": [{number}, 1, 1]}}', f'{{"cut": {{"height": {number}}}}}'):
        answer = working.client.post(
            f"/v1/trees/{tree['id']}/evaluations",
            content=body,
            headers={"Content-Type": "application/json"},
        )
        assert answer.status_code == 422, answer.text


def imported(working: Working, content: bytes, media: str = "text/x-nh") -> str:
    answer = working.client.post("/v1/trees", content=content, headers={"Content-Type": media})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


AGREEMENT = {
    "shortest_path_similarity",
    "path_sharing_similarity",
    "cophenetic_agreement",
    "robinson_foulds",
}


def test_a_hierarchy_as_the_only_reference(working: Working, tree: dict[str, Any]) -> None:
    body = evaluate(working, tree, {"hierarchy": tree["id"]}).json()
    assert set(body["metrics"]) == AGREEMENT
    assert body["metrics"]["shortest_path_similarity"] == 1.0
    assert body["metrics"]["robinson_foulds"] == 0.0
    reference = imported(working, b"(a:2,(c:1,b:1):1);")
    body = evaluate(working, tree, {"hierarchy": reference}).json()
    assert body["metrics"]["robinson_foulds"] == 1.0
    assert body["metrics"]["cophenetic_agreement"] == pytest.approx(-0.5)
    criteria = {"labels": [0, 0, 1], "hierarchy": reference}
    body = evaluate(working, tree, criteria).json()
    assert set(body["metrics"]) > AGREEMENT
    assert any("rows are taken" in text for text in body["warnings"])
    larger = imported(working, b"(a:1,b:1,c:1,d:1);")
    answer = evaluate(working, tree, {"hierarchy": larger})
    assert "4 rows" in problem_of(answer, 422, "wrong-length")["detail"]


def test_a_true_hierarchy_of_classes(working: Working, tree: dict[str, Any]) -> None:
    truth = imported(working, b"plant/flower/rose\nplant/flower/tulip\nplant/tree/oak\nstone",
                     "text/plain")  # fmt: skip
    for labels in (["rose", "tulip", "oak"], ["rose", "tulip", "plant/tree/oak"]):
        body = evaluate(working, tree, {"labels": labels, "hierarchy": truth}).json()
        assert body["metrics"]["robinson_foulds"] == 0.0
        # Nodes shared: 2 of 3, 1, 1 of 3 in the tree; 3 of 4, 2, 2 of 4 in the hierarchy.
        gap = ((2 / 3 - 3 / 4) ** 2 + 2 * (1 / 3 - 2 / 4) ** 2) / 3
        assert body["metrics"]["path_sharing_similarity"] == pytest.approx(1 - gap)
        assert not any("hierarchy" in text for text in body["warnings"])
    answer = evaluate(working, tree, {"labels": ["rose", "rose", "dog"], "hierarchy": truth})
    assert "'dog' names no leaf" in problem_of(answer, 422, "wrong-input")["detail"]


def test_sampled_pairs_have_a_standard_error(working: Working, tree: dict[str, Any]) -> None:
    criteria = {"labels": [0, 1, 1], "metrics": ["dendrogram_purity"]}
    body = evaluate(working, tree, criteria).json()
    assert body["metrics"]["dendrogram_purity"] == pytest.approx(2 / 3)
    assert body["standard_errors"] == {}
    body = evaluate(working, tree, {**criteria, "sample": 50}).json()
    assert body["metrics"]["dendrogram_purity"] == pytest.approx(2 / 3)
    assert set(body["standard_errors"]) == {"dendrogram_purity"}


def test_the_kernel_of_features(working: Working, tree: dict[str, Any]) -> None:
    criteria = {"features": [[0.0, 1.0], [1.0, 1.0], [3.0, 0.0]], "metrics": ["triplet_cost"]}
    costs = [
        evaluate(working, tree, {**criteria, "kernel": kernel}).json()["metrics"]["triplet_cost"]
        for kernel in ("cosine", "gaussian")
    ]
    default = evaluate(working, tree, criteria).json()["metrics"]["triplet_cost"]
    assert default == costs[0] != costs[1]


def test_metrics_of_the_method(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"method": "kmeans", "inputs": {"features": [[0.0], [9.0]]}, "params": {"n_clusters": 2}}
    job = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    tree = {"id": job["result"]["tree"]}
    criteria = {"metrics": ["explained_variance"], "labels": [0, 1]}
    detail = problem_of(evaluate(working, tree, criteria), 422, "wrong-input")["detail"]
    assert "inertia" in detail
    monkeypatch.setattr(
        "app.resources.evaluations.routes._measured",
        lambda *_: {"explained_variance": 0.25, "inertia": 1.0},
    )
    body = evaluate(working, tree, {"metrics": ["explained_variance"]}).json()
    assert body["metrics"] == {"explained_variance": 0.25}


PER_NODE = {
    "labels": ["=soft", "=soft", "wood"],
    "features": [[0.0], [1.0], [5.0]],
    "per_node": True,
    "n_exemplars": 2,
    "metrics": [],
}


def nodes_of(working: Working, where: str, **headers: str) -> Any:
    return working.client.get(where, headers=headers)


def test_a_report_on_every_node(working: Working, tree: dict[str, Any]) -> None:
    body = evaluate(working, tree, PER_NODE).json()
    assert body["metrics"] == {}
    answer = nodes_of(working, body["nodes"])
    assert answer.status_code == 200, answer.text
    items = answer.json()["items"]
    nodes = get(working, tree).json()["nodes"]
    assert [item["node"] for item in items] == [node["id"] for node in nodes]
    assert [item["size"] for item in items] == [node["size"] for node in nodes]
    root = items[0]
    assert root["purity"] == pytest.approx(2 / 3)
    assert root["entropy"] == pytest.approx(0.6365141682948128)
    assert (root["n_classes"], root["majority"]) == (2, "=soft")
    # The mean is 2.
    assert root["exemplars"] == [1, 0]
    leaves = {node["name"]: node["id"] for node in nodes if node["name"]}
    assert items[leaves["oak"]] == {
        "node": leaves["oak"],
        "size": 1,
        "purity": 1.0,
        "entropy": 0.0,
        "n_classes": 1,
        "majority": "wood",
        "exemplars": [2],
    }


def test_nodes_as_csv_and_arrow(working: Working, tree: dict[str, Any]) -> None:
    where = evaluate(working, tree, PER_NODE).json()["nodes"]
    items = nodes_of(working, where).json()["items"]
    rows = list(csv.DictReader(io.StringIO(nodes_of(working, where, Accept="text/csv").text)))
    assert [int(row["node"]) for row in rows] == [item["node"] for item in items]
    assert rows[0]["majority"] == "'=soft"
    assert rows[0]["exemplars"] == "1 0"
    assert float(rows[0]["entropy"]) == items[0]["entropy"]
    media = "application/vnd.apache.arrow.file"
    answer = nodes_of(working, where, Accept=media)
    assert answer.headers["content-type"] == media
    assert pa.ipc.open_file(answer.content).read_all().to_pylist() == items
    refused = nodes_of(working, where, Accept="image/png")
    assert "text/csv" in problem_of(refused, 406, "not-acceptable")["detail"]


def test_nodes_by_labels_or_features_alone(working: Working, tree: dict[str, Any]) -> None:
    criteria = {"labels": [1, 1, 2], "per_node": True}
    body = evaluate(working, tree, criteria).json()
    assert body["metrics"]["purity"] == 1.0
    root = nodes_of(working, body["nodes"]).json()["items"][0]
    assert (root["majority"], root["exemplars"]) == (1, None)
    criteria = {"features": [[0.0], [1.0], [5.0]], "per_node": True}
    body = evaluate(working, tree, criteria).json()
    root = nodes_of(working, body["nodes"]).json()["items"][0]
    assert root == {
        "node": 0,
        "size": 3,
        "purity": None,
        "entropy": None,
        "n_classes": None,
        "majority": None,
        "exemplars": [1, 0, 2],
    }
    answer = evaluate(working, tree, {"hierarchy": tree["id"], "per_node": True})
    assert "labels or features" in problem_of(answer, 422, "wrong-input")["detail"]


def test_missing_node_reports(working: Working, tree: dict[str, Any]) -> None:
    plain = evaluate(working, tree, {"labels": [0, 0, 1]}, Prefer="wait=60")
    assert plain.json()["nodes"] is None
    jobs = [item["id"] for item in working.client.get("/v1/jobs").json()["items"]]
    problem_of(nodes_of(working, f"/v1/jobs/{jobs[0]}/nodes"), 404, "not-found")
    problem_of(nodes_of(working, f"/v1/jobs/job_{'0' * 26}/nodes"), 404, "not-found")
    working.work.held = True
    waiting = evaluate(working, tree, PER_NODE, Prefer="wait=0").json()
    where = f"/v1/jobs/{waiting['id']}/nodes"
    problem_of(nodes_of(working, where), 409, "conflict")
    working.work.release()
    assert len(nodes_of(working, where).json()["items"]) == 5
    assert working.client.delete(f"/v1/jobs/{waiting['id']}").status_code == 204
    problem_of(nodes_of(working, where), 404, "not-found")


def test_the_same_key_gives_the_same_answer(working: Working, tree: dict[str, Any]) -> None:
    criteria = {"labels": [0, 0, 1]}
    first = evaluate(working, tree, criteria, **{"Idempotency-Key": "k"})
    second = evaluate(working, tree, criteria, **{"Idempotency-Key": "k"})
    assert second.json() == first.json()
    assert second.headers["idempotent-replayed"] == "true"
    jobs = [kind for kind, _ in working.work.sent]
    assert len(jobs) == 2  # the import and one evaluation
    changed = evaluate(working, tree, {"labels": [1, 0, 1]}, **{"Idempotency-Key": "k"})
    problem_of(changed, 422, "idempotency-mismatch")


def test_a_long_evaluation_is_a_job_with_the_evaluation_as_its_result(
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


def test_without_a_preference_the_wait_is_short(start: Start, working: Working) -> None:
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


def test_new_rows_are_placed_and_measured(working: Working) -> None:
    #      0
    #    /   \
    #  0,1   2,3    the leaves of the training rows
    train = [[0.0], [1.0], [9.0], [10.0]]
    tree = fit(working, "hkm", {"features": train}, params={"branching": 2, "max_leaves": 2})
    new = [[0.2], [0.4], [9.5], [8.0], [0.1]]
    criteria = {"inputs": {"features": new}, "labels": ["a", "a", "b", "b", "b"]}
    metrics = ["purity", "leaf_purity", "silhouette"]
    body = evaluate(working, tree, {**criteria, "metrics": metrics}).json()
    assert body["placed"] == {
        "n_rows": 5,
        "method": "hkm",
        "rule": "the leaf reached by following the nearest centre at each split",
    }
    assert body["cut"] == {"leaves": True, "n_clusters": 2}
    # a, a, b below 0; b, b below 1.
    assert body["metrics"]["purity"] == pytest.approx(4 / 5)
    assert body["metrics"]["leaf_purity"] == pytest.approx(4 / 5)
    assert body["metrics"]["silhouette"] > 0.5
    training = evaluate(working, tree, {"labels": list("aabb"), "metrics": ["purity"]}).json()
    assert (training["placed"], training["metrics"]) == (None, {"purity": 1.0})


def test_a_report_on_nodes_of_new_rows(working: Working) -> None:
    tree = fit(working, "l2h", {"logits": [[2.0, 0.0, 0.1], [0.0, 2.0, 0.1], [0.1, 0.0, 2.0]]})
    criteria = {"inputs": {"logits": [[3.0, 0.0, 0.0]] * 4}, "labels": [0, 0, 1, 1]}
    body = evaluate(working, tree, {**criteria, "per_node": True}).json()
    nodes = working.client.get(body["nodes"]).json()["items"]
    assert [node["size"] for node in nodes].count(4) >= 2
    assert [node["purity"] for node in nodes if node["size"] == 0] == [None, None]
    assert nodes[0]["purity"] == 0.5


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ({"labels": [0]}, "wrong-length", "'labels' has 1 rows; input 'features' has 2"),
        ({"labels": [0, 1], "inputs": {"features": [[0.0, 1.0]] * 2}}, "wrong-shape", "2 columns"),
        ({"labels": [0, 1], "features": [[0.0], [1.0]]}, "wrong-input", "given twice"),
        ({"inputs": {"labels": [0, 1]}, "labels": [0, 1]}, "wrong-input", "beside `inputs`"),
        ({"inputs": {"logits": [[0.0], [1.0]]}, "labels": [0, 1]}, "wrong-input", "features"),
        ({"labels": [0, 1], "metrics": ["explained_variance"]}, "wrong-input", "nothing"),
    ],
)
def test_new_rows_that_cannot_be_measured(
    working: Working, body: Any, code: str, message: str
) -> None:
    tree = fit(working, "hkm", {"features": [[0.0], [1.0], [9.0]]}, params={"max_leaves": 2})
    answer = evaluate(working, tree, {"inputs": {"features": [[0.0], [1.0]]}, **body})
    assert message in problem_of(answer, 422, code)["detail"]


def test_a_tree_without_a_model_measures_no_new_rows(
    working: Working, tree: dict[str, Any]
) -> None:
    criteria = {"inputs": {"features": [[0.0]]}, "labels": [0]}
    problem_of(evaluate(working, tree, criteria), 422, "cannot-predict")


def test_labels_are_judged_by_a_mixture(working: Working) -> None:
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(20, 2)) + np.repeat([[0.0], [8.0]], 10, axis=0)).tolist()
    tree = fit(working, "gmm", {"features": rows}, params={"n_clusters": 2})
    body = {"inputs": {"features": rows}, "labels": [0, 1] * 10}
    answer = evaluate(working, tree, body).json()
    found, labels = (answer["metrics"][f"{of}_log_likelihood"] for of in ("found", "labels"))
    assert found > labels + 0.5
    assert "more runs will not find them" in answer["warnings"][-1]
    names = ["labels_log_likelihood"]
    assert evaluate(working, tree, {**body, "metrics": names}).json()["metrics"] == {
        names[0]: labels
    }
    without = evaluate(working, tree, {"labels": [0, 1] * 10, "metrics": names})
    assert "'gmm' or 'vmf'" in problem_of(without, 422, "wrong-input")["detail"]

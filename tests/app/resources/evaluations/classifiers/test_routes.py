"""Evaluations of classifiers over HTTP."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.app.conftest import Api, Working, problem_of
from tests.app.tree_kit import CLASS_LABELS, CLASS_ROWS, UNKNOWN, classifier, fit, model_of, npy

INPUTS = {"features": CLASS_ROWS}
# The last two are not as the model has them: a dog for =rose, and an unknown label.
LABELS = ["cat", "cat", "animal/dog", "dog", "dog", "kangaroo"]


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return classifier(working)


def evaluate(working: Working, tree: dict[str, Any], body: Any, **headers: str) -> Any:
    headers = {"Prefer": "wait=60", **headers}
    return working.client.post(
        f"/v1/models/{model_of(tree)}/evaluations", json=body, headers=headers
    )


def test_metrics_intervals_and_tables(working: Working, tree: dict[str, Any]) -> None:
    criteria = {"inputs": INPUTS, "labels": LABELS, "bootstrap": 50, "top_k": 2}
    answer = evaluate(working, tree, criteria)
    assert answer.status_code == 200, answer.text
    assert answer.headers["preference-applied"] == "wait=60"
    body = answer.json()
    members = {"id", "metrics", "standard_errors", "intervals", "n_rows", "tables", "warnings"}
    assert set(body) == members | {"versus"}
    assert body["versus"] is None
    assert body["n_rows"] == 6
    assert body["metrics"]["accuracy"] == pytest.approx(4 / 6)
    # cat 1, dog 4/5, =rose 0, kangaroo 0.
    assert body["metrics"]["macro_f1"] == pytest.approx(1.8 / 4)
    # dog, animal, root, plant, =rose; kangaroo, root, plant, =rose.
    assert body["metrics"]["hierarchical_loss"] == pytest.approx((4 + 3) / 6)
    assert body["metrics"]["top_k_accuracy"] == pytest.approx(5 / 6)
    assert set(body["intervals"]) == set(body["standard_errors"]) == set(body["metrics"])
    low, high = body["intervals"]["accuracy"]
    assert 0.0 <= low < 4 / 6 < high <= 1.0
    assert ["'kangaroo'" in text for text in body["warnings"]] == [True]
    tables = body["tables"]
    assert list(tables) == ["level", "class_size", "class", "confusions"]
    assert [row["n_nodes"] for row in tables["level"]] == [1, 2, 3]
    assert tables["level"][1]["micro_f1"] == pytest.approx(8 / 12)
    assert [row["training_examples"] for row in tables["class"]] == [2, 2, 2, 0]
    nodes = {node["name"]: node["id"] for node in tree["nodes"]}
    assert sorted(tables["confusions"], key=lambda row: row["true"]) == [
        {
            "true": true,
            "true_node": nodes.get(true),
            "predicted": "=rose",
            "predicted_node": nodes["=rose"],
            "count": 1,
        }
        for true in ("dog", "kangaroo")
    ]


def test_only_what_was_requested(working: Working, tree: dict[str, Any]) -> None:
    criteria = {
        "inputs": INPUTS,
        "labels": CLASS_LABELS,
        "metrics": ["micro_f1", "accuracy"],
        "by": ["level"],
        "bootstrap": 0,
    }
    body = evaluate(working, tree, criteria).json()
    assert body["metrics"] == {"micro_f1": 1.0, "accuracy": 1.0}
    assert (body["standard_errors"], body["intervals"], body["warnings"]) == ({}, {}, [])
    assert list(body["tables"]) == ["level"]
    strict = evaluate(working, tree, {**criteria, "threshold": 1, "by": []}).json()
    assert strict["metrics"] == {"micro_f1": 0.0, "accuracy": 0.0}
    assert strict["tables"] == {}


def test_labels_and_features_from_datasets(working: Working, tree: dict[str, Any]) -> None:
    headers = {"Content-Type": "application/x-npy"}
    content = npy(np.array(CLASS_ROWS))
    features = working.client.post("/v1/datasets", content=content, headers=headers).json()
    labels = working.client.post("/v1/datasets?role=labels", json=CLASS_LABELS).json()
    criteria = {"inputs": {"features": features["id"]}, "labels": labels["id"]}
    assert evaluate(working, tree, criteria).json()["metrics"]["accuracy"] == 1.0


def test_numbers_as_labels_and_what_they_are_called(working: Working) -> None:
    names = ["cat", "dog"]
    inputs = {"features": CLASS_ROWS[:4], "labels": [0, 0, 1, 1], "names": names}
    preprocess = [{"step": "standardize"}]
    tree = fit(working, "mlr", inputs, preprocess=preprocess)
    rows = {"features": CLASS_ROWS[:4]}
    for inputs, labels in (
        ({**rows, "names": names}, [0, 0, 1, -1]),
        (rows, ["cat", "cat", "dog", "dog"]),
    ):
        body = evaluate(working, tree, {"inputs": inputs, "labels": labels}).json()
        assert body["metrics"]["accuracy"] == 1.0
        assert len(body["warnings"]) == labels.count(-1)
        assert body["n_rows"] == 4 - labels.count(-1)


def test_a_long_evaluation_is_a_job(working: Working, tree: dict[str, Any]) -> None:
    criteria = {"inputs": INPUTS, "labels": LABELS, "bootstrap": 20}
    expected = evaluate(working, tree, criteria).json()
    working.work.held = True
    answer = evaluate(working, tree, criteria, Prefer="wait=0")
    assert answer.status_code == 202
    job = answer.json()
    assert (job["kind"], job["status"]) == ("evaluate", "queued")
    address = f"/v1/jobs/{job['id']}/tables"
    problem_of(working.client.get(address), 409, "conflict")
    working.work.release()
    ended = working.client.get(answer.headers["location"]).json()
    tables = expected.pop("tables")
    assert expected.pop("id") != job["id"]
    assert ended["result"] == {
        "tree": tree["id"],
        "model": model_of(tree),
        "evaluation": expected,
        "tables": address,
    }
    assert ended["warnings"] == expected["warnings"]
    assert working.client.get(address).json() == tables
    problem_of(working.client.get(f"/v1/jobs/{job['id']}/nodes"), 404, "not-found")
    assert working.client.delete(f"/v1/jobs/{job['id']}").status_code == 204
    problem_of(working.client.get(address), 404, "not-found")


def test_other_jobs_have_no_tables(working: Working, tree: dict[str, Any]) -> None:
    problem_of(working.client.get(f"/v1/jobs/{tree['job']}/tables"), 404, "not-found")
    problem_of(working.client.get(f"/v1/jobs/job_{'0' * 26}/tables"), 404, "not-found")
    answer = working.client.post(
        f"/v1/trees/{tree['id']}/evaluations",
        json={"labels": CLASS_LABELS},
        headers={"Prefer": "wait=60", "Idempotency-Key": "k"},
    )
    assert answer.status_code == 200
    job = working.client.get("/v1/jobs").json()["items"][0]
    assert job["kind"] == "evaluate"
    problem_of(working.client.get(f"/v1/jobs/{job['id']}/tables"), 404, "not-found")


def test_beside_another_model(working: Working, tree: dict[str, Any]) -> None:
    worse = ["dog", "dog", "cat", "cat", "=rose", "=rose"]
    inputs = {"features": CLASS_ROWS, "labels": worse}
    rival = fit(working, "mlr", inputs)
    right = ["cat", "cat", "dog", "dog", "=rose", "=rose"]
    criteria = {"inputs": INPUTS, "labels": right, "bootstrap": 20, "by": []}
    body = evaluate(working, tree, {**criteria, "against": model_of(rival)}).json()
    own = evaluate(working, tree, criteria).json()
    found = body.pop("versus")
    assert body["metrics"] == own["metrics"]
    assert body["intervals"] == own["intervals"]
    its = evaluate(working, rival, criteria).json()["metrics"]
    assert found["model"] == model_of(rival)
    assert found["metrics"] == {name: its[name] for name in found["metrics"]}
    assert "hierarchical_f1" not in found["metrics"]
    assert body["warnings"][-1].startswith("Not compared, since the two models' trees")
    # Four rows of six are wrong by the other one, all right by this one.
    assert found["rows"] == {"n_better": 4, "n_worse": 0, "p_value": 0.125}
    assert found["classes"] == {"n_better": 2, "n_worse": 0, "p_value": 0.5}
    gain = found["differences"]["accuracy"]
    assert gain["value"] == pytest.approx(4 / 6)
    low, high = gain["interval"]
    assert low <= 4 / 6 <= high
    working.client.put("/v1/aliases/champion", json={"tree": rival["id"]})
    by_alias = evaluate(working, tree, {**criteria, "against": "@champion"}).json()
    assert by_alias["versus"] == found


def test_rivals_that_cannot_be_compared(working: Working, tree: dict[str, Any]) -> None:
    criteria = {"inputs": INPUTS, "labels": CLASS_LABELS}
    for against in ("md_" + "0" * 26, "../etc", "", tree["id"], "@nobody"):
        body = problem_of(
            evaluate(working, tree, {**criteria, "against": against}), 422, "unknown-input"
        )
        assert body["errors"][0]["pointer"] == "/against"
    logits = fit(working, "l2h", {"logits": [[4.0, 1.0], [0.5, 3.0]]})
    answer = evaluate(working, tree, {**criteria, "against": model_of(logits)})
    assert "'l2h'" in problem_of(answer, 422, "cannot-classify")["detail"]
    inputs = {"features": [[row[0]] for row in CLASS_ROWS], "labels": CLASS_LABELS}
    narrow = fit(working, "mlr", inputs)
    answer = evaluate(working, tree, {**criteria, "against": model_of(narrow)})
    detail = problem_of(answer, 422, "wrong-shape")["detail"]
    assert detail.startswith(
        f"The other model, '{model_of(narrow)}': Input 'features' has 2 columns"
    )


def test_what_holds_of_the_other_model_alone_is_a_warning(
    working: Working, tree: dict[str, Any]
) -> None:
    flat = fit(working, "mlr", {"features": CLASS_ROWS, "labels": [*LABELS[:5], "=rose"]})
    labels = ["cat", "cat", "dog", "dog", "=rose", "plant/=rose"]
    criteria = {"inputs": INPUTS, "labels": labels, "against": model_of(flat), "by": []}
    warnings = evaluate(working, tree, criteria).json()["warnings"]
    assert warnings[-1] == (
        "The other model: 1 label(s) of 1 row(s) are no class of the model: 'plant/=rose'; they "
        "count as errors."
    )
    assert not [text for text in warnings[:-1] if "plant/=rose" in text]


def test_the_same_key_gives_the_same_answer(working: Working, tree: dict[str, Any]) -> None:
    criteria = {"inputs": INPUTS, "labels": LABELS, "bootstrap": 20}
    first, second = (
        evaluate(working, tree, criteria, **{"Idempotency-Key": "k"}) for _ in range(2)
    )
    assert second.json() == first.json()
    assert second.headers["idempotent-replayed"] == "true"


def test_a_method_that_does_not_classify(working: Working) -> None:
    tree = fit(working, "l2h", {"logits": [[4.0, 1.0], [0.5, 3.0]]})
    n_sent = len(working.work.sent)
    answer = evaluate(working, tree, {"inputs": {"logits": [[1.0, 2.0]]}, "labels": ["0"]})
    detail = problem_of(answer, 422, "cannot-classify")["detail"]
    assert "'l2h'" in detail
    assert "mlr" in detail
    assert len(working.work.sent) == n_sent


def test_unknown_and_deleted_models(working: Working, tree: dict[str, Any]) -> None:
    body = {"inputs": INPUTS, "labels": LABELS}
    problem_of(evaluate(working, {"id": "tr_" + "0" * 26}, body), 404, "not-found")
    working.work.held = True
    answer = evaluate(working, tree, body, Prefer="wait=0")
    assert working.client.delete(f"/v1/models/{model_of(tree)}").status_code == 204
    working.work.release()
    job = working.client.get(answer.headers["location"]).json()
    assert (job["status"], job["error"]["type"]) == ("failed", "/problems/cannot-predict")
    problem_of(evaluate(working, tree, body), 404, "not-found")


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"labels": LABELS[:5]}, "wrong-shape", "5 labels for 6 rows"),
    ({"labels": [-1] * 6}, "wrong-input", "No row is labelled"),
    ({"labels": "ds_" + "0" * 26}, "unknown-input", "ds_"),
    ({"inputs": {}}, "wrong-input", "'features'"),
    ({"inputs": {**INPUTS, "labels": LABELS}}, "wrong-input", "beside"),
    ({"inputs": {**INPUTS, "logits": CLASS_ROWS}}, "wrong-input", "'logits'"),
    ({"inputs": {"features": [[1.0]] * 6}}, "wrong-shape", "1 columns"),
    ({"metrics": ["top_k_accuracy"], "top_k": 0}, "wrong-input", "top_k"),
]


def test_unusable_inputs(working: Working, tree: dict[str, Any]) -> None:
    for changes, code, message in REFUSED:
        answer = evaluate(working, tree, {"inputs": INPUTS, "labels": LABELS, **changes})
        assert message in problem_of(answer, 422, code)["detail"], changes


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": None},
        {"metrics": ["nmi"]},
        {"by": ["depth"]},
        {"top_k": 1001},
        {"top_k": True},
        {"threshold": 1.5},
        {"bootstrap": 5},
        {"bootstrap": 10_001},
        {"bootstrap": True},
        {"seed": -1},
        {"colour": 1},
    ],
)
def test_invalid_requests(api: Api, changes: Any) -> None:
    answer = api.client.post(
        f"/v1/models/{model_of({'id': UNKNOWN})}/evaluations",
        json={"inputs": INPUTS, "labels": LABELS, **changes},
    )
    assert next(iter(changes)) in problem_of(answer, 422, "invalid-request")["detail"]

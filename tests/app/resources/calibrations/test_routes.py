"""Calibrations over HTTP, and predictions that name one."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from app.http.problems import Refused
from app.resources.calibrations.routes import CALIBRATIONS
from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import NEWICK, UNKNOWN, classifier, fit, post, predict
from workers.stores.objects.job_files import read_request

NAMES = ["cat", "dog", "rose", "oak"]
PROBABILITY = np.array(
    [[0.6, 0.3, 0.05, 0.05], [0.3, 0.6, 0.05, 0.05], [0.05, 0.05, 0.7, 0.2], [0.04, 0.06, 0.3, 0.6]]
)
#         0
#       /   \
#    animal plant
#    /  \    /  \
#  cat  dog rose oak


def drawn(n_rows: int, seed: int = 0) -> tuple[list[list[float]], list[str]]:
    """Logits whose softmax is the probability of each class, and classes drawn from it."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(4, size=n_rows)
    label = [int(rng.choice(4, p=PROBABILITY[each])) for each in kind]
    logits = np.log(PROBABILITY[kind]) + rng.normal(size=(n_rows, 1))
    return logits.tolist(), [NAMES[each] for each in label]


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return fit(working, "l2h", {"logits": np.log(PROBABILITY).tolist(), "names": NAMES})


def calibrate(
    working: Working, tree: dict[str, Any], n_rows: int = 100, wait: int = 30, **body: Any
) -> Any:
    logits, labels = drawn(n_rows)
    return working.client.post(
        f"/v1/trees/{tree['id']}/calibrations",
        json={"inputs": {"logits": logits}, "labels": labels, **body},
        headers={"Prefer": f"wait={wait}"},
    )


def above(tree: dict[str, Any], node: int) -> list[int]:
    """The path from a node up to the root."""
    parent = {each["id"]: each["parent"] for each in tree["nodes"]}
    path = [node]
    while parent[path[-1]] is not None:
        path.append(parent[path[-1]])
    return path


def share_held(tree: dict[str, Any], items: list[dict[str, Any]], labels: list[str]) -> float:
    leaf = {each["name"]: each["id"] for each in tree["nodes"] if each["height"] == 0}
    held = [
        bool(set(item["nodes"]) & set(above(tree, leaf[label])))
        for item, label in zip(items, labels, strict=True)
    ]
    return sum(held) / len(held)


def test_rows_that_taught_the_model_are_named(working: Working) -> None:
    """Else a promise is made that nobody keeps."""
    rows, labels = drawn(60)
    taught = fit(working, "mlr", {"features": rows, "labels": labels})

    def warnings(rows: list[list[float]]) -> str:
        made = working.client.post(
            f"/v1/trees/{taught['id']}/calibrations",
            json={"inputs": {"features": rows}, "labels": labels},
            headers={"Prefer": "wait=30"},
        )
        return " ".join(made.json()["warnings"])

    assert "learned its classes from these very rows" in warnings(rows)
    assert "learned its classes" not in warnings(drawn(60, seed=1)[0])


def test_a_calibration_and_the_answers_that_it_gives(
    working: Working, tree: dict[str, Any]
) -> None:
    made = calibrate(working, tree, name="sure", expires_at="2099-01-31T00:00:00Z")
    assert made.status_code == 201, made.text
    body = made.json()
    assert body["id"].startswith("cal_")
    assert made.headers["location"].endswith(f"/v1/calibrations/{body['id']}")
    assert (body["status"], body["tree"], body["name"]) == ("succeeded", tree["id"], "sure")
    assert body["expires_at"].startswith("2099-01-31")
    result = body["result"]
    assert (result["n_rows"], result["n_temperature"], result["n_promised"]) == (80, 20, 1)
    assert result["likelihood"]["after"] >= result["likelihood"]["before"]
    assert 0.2 < result["error"] < 0.6

    path = f"/v1/calibrations/{body['id']}"
    assert working.client.get(path).json() == body
    listed = working.client.get("/v1/calibrations", params={"name": "sure"}).json()["items"]
    assert [each["id"] for each in listed] == [body["id"]]
    other = fit(working, "l2h", {"logits": np.eye(4).tolist()})
    for of, ids in ((tree, [body["id"]]), (other, [])):
        listed = working.client.get("/v1/calibrations", params={"tree": of["id"]}).json()["items"]
        assert [each["id"] for each in listed] == ids
    for wrong in ("", "x", body["id"], tree["id"] + "0"):
        answer = working.client.get("/v1/calibrations", params={"tree": wrong})
        problem_of(answer, 422, "invalid-request")
    problem_of(working.client.get("/v1/comparisons?tree=x"), 422, "invalid-request")
    job = working.client.get(f"/v1/jobs/{body['job']}").json()
    assert (job["kind"], job["result"]["calibration"]) == ("calibrate", body["id"])

    logits, labels = drawn(400, seed=1)
    named = {"calibration": body["id"]}
    items = predict(working, tree, {"logits": logits}, named).json()["items"]
    assert share_held(tree, items, labels) > 0.8
    plain = predict(working, tree, {"logits": logits}).json()["items"]
    name = {each["id"]: each["name"] for each in tree["nodes"]}
    for item, other in zip(items, plain, strict=True):
        (node,) = item["nodes"]
        assert {key: item[key] for key in other} == other
        assert node in item["path"]
        assert item["depth"] == item["path"].index(node)
        assert item["n_classes"] == {0: 4, 1: 2, 2: 1}[item["depth"]]
        assert item["mass"] == pytest.approx(1.0) or item["mass"] < 1
        if name[node] is not None:
            assert item["node_names"] == [name[node]]
    deeper = predict(working, tree, {"logits": logits}, {**named, "alpha": 0.5}).json()["items"]
    assert sum(item["depth"] for item in deeper) > sum(item["depth"] for item in items)
    text = predict(working, tree, {"logits": logits}, named, Accept="text/csv").text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [int(row["nodes"]) for row in rows] == [item["nodes"][0] for item in items]

    assert working.client.delete(path).status_code == 204
    problem_of(working.client.get(path), 404, "not-found")
    problem_of(predict(working, tree, {"logits": logits}, named), 422, "unknown-input")


@pytest.mark.parametrize(
    ("terms", "n_groups"),
    [
        ({"answer": "set"}, 1),
        ({"answer": "set", "score": "aps"}, 1),
        ({"per": "class"}, 4),
        ({"per": "class", "answer": "set", "most_nodes": 2, "abstains": True, "relearn": True}, 4),
        ({"per": "subtree"}, 2),
        ({"per": "subtree", "cut": {"k": 3}, "answer": "set"}, 3),
        ({"temperature": 1}, 1),
        ({"loss": "distance", "alpha": 0.5}, 1),
        ({"loss": "cost", "alpha": 0.5, "costs": (5 * (1 - np.eye(4))).tolist()}, 1),
    ],
)
def test_every_promise(
    working: Working, tree: dict[str, Any], terms: dict[str, Any], n_groups: int
) -> None:
    made = calibrate(working, tree, 200, **terms)
    assert made.status_code == 201, made.text
    body = made.json()
    assert body["result"]["n_groups"] == n_groups
    assert (body["result"]["threshold"] is None) == (n_groups > 1)
    groups = f"/v1/calibrations/{body['id']}/groups"
    items = working.client.get(groups).json()["items"]
    assert len(items) == n_groups
    assert sum(item["n_rows"] for item in items) == body["result"]["n_rows"]
    loss = terms.get("loss", "miss")
    assert body["result"]["promise"].startswith("Holds the" if loss == "miss" else "At most 0.5")
    assert body["result"]["sizes"]["n_classes"] <= 4
    assert all((item.get("held") is None) == (loss != "miss") for item in items)
    if terms.get("per") == "class":
        assert sorted(item["name"] for item in items) == sorted(NAMES)
    if n_groups == 1:
        assert [(item["node"], item["threshold"]) for item in items] == [
            (0, body["result"]["threshold"])
        ]
    text = working.client.get(f"{groups}.csv").text
    assert len(text.splitlines()) == n_groups + 1
    arrow = working.client.get(f"{groups}.arrow").content
    assert pa.ipc.open_file(arrow).read_all().to_pylist() == items
    logits, labels = drawn(300, seed=2)
    answered = predict(working, tree, {"logits": logits}, {"calibration": body["id"]})
    assert answered.status_code == 200, answered.text
    if "loss" not in terms:
        assert share_held(tree, answered.json()["items"], labels) > 0.8


def test_the_curve_as_numbers_and_pictures(working: Working, tree: dict[str, Any]) -> None:
    body = calibrate(working, tree).json()
    base = f"/v1/calibrations/{body['id']}/curve"
    answer = working.client.get(base)
    curve = answer.json()
    assert (curve["area"], curve["threshold"]) == (
        body["result"]["area"],
        body["result"]["threshold"],
    )
    errors = [step["error"] for step in curve["steps"]]
    assert errors == sorted(errors, reverse=True)
    assert (errors[0], errors[-1]) == (body["result"]["error"], 0.0)
    assert curve["steps"][0]["coverage"] == 1.0
    rows = list(csv.DictReader(io.StringIO(working.client.get(f"{base}.csv").text)))
    assert [float(row["error"]) for row in rows] == errors
    svg = working.client.get(f"{base}.svg", params={"title": "Pets <3", "theme": "dark"}).text
    assert svg.startswith("<svg") and "Pets &lt;3" in svg and "% wrong" in svg  # noqa: PT018
    assert working.client.get(f"{base}.png").content.startswith(b"\x89PNG")
    etag = {"If-None-Match": answer.headers["etag"]}
    assert working.client.get(base, headers=etag).status_code == 304
    problem_of(working.client.get(f"{base}.gif"), 406, "not-acceptable")


def test_labels_that_look_wrong(working: Working, tree: dict[str, Any]) -> None:
    logits = 8.0 * np.eye(4)[np.arange(80) % 4] + np.arange(80)[:, None] / 1000
    logits[4, NAMES.index("oak")] -= 2.0
    labels = [NAMES[row % 4] for row in range(80)]
    labels[4], labels[9] = "oak", "cat"
    body = {"inputs": {"logits": logits.tolist()}, "labels": labels, "temperature": 1}
    path = f"/v1/trees/{tree['id']}/calibrations"
    made = working.client.post(path, json=body, headers={"Prefer": "wait=60"}).json()
    base = f"/v1/calibrations/{made['id']}/suspects"
    items = working.client.get(base).json()["items"]
    found = [(item["row"], item["label_name"], item["likely_name"]) for item in items]
    # Row 4 is a cat labelled oak; row 9, a dog labelled cat, is between siblings, and less sure.
    assert found == [(4, "oak", "cat"), (9, "cat", "dog")]
    assert [item["n_classes"] for item in items] == [4, 2]
    assert items[0]["meet"] == 0
    assert made["result"]["n_suspects"] == 2
    rows = list(csv.DictReader(io.StringIO(working.client.get(f"{base}.csv").text)))
    assert [int(row["row"]) for row in rows] == [4, 9]


def test_pairs_that_need_more_data(working: Working, tree: dict[str, Any]) -> None:
    # Cats and dogs are as often taken for each other as the model expects; of roses, which it is
    # sure of, half are oaks.
    even, sure = np.log([0.5, 0.4, 0.05, 0.05]), np.log([0.01, 0.01, 0.97, 0.01])
    logits = [even.tolist()] * 40 + [sure.tolist()] * 20
    labels = ["cat"] * 20 + ["dog"] * 20 + ["rose", "oak"] * 10
    body = {"inputs": {"logits": logits}, "labels": labels, "temperature": 1}
    path = f"/v1/trees/{tree['id']}/calibrations"
    made = working.client.post(path, json=body, headers={"Prefer": "wait=60"}).json()
    base = f"/v1/calibrations/{made['id']}/pairs"
    items = working.client.get(base).json()["items"]
    assert made["result"]["n_pairs"] == len(items) == 2
    found = [({item["node_name"], item["other_name"]}, item["n_confused"]) for item in items]
    assert found == [({"rose", "oak"}, 10), ({"cat", "dog"}, 20)]
    assert [item["of"] for item in items] == ["classes", "classes"]
    assert [item["rate"] for item in items] == [0.5, 0.5]
    assert [item["expected"] for item in items] == pytest.approx([0.01, 0.4])
    # Rows of a class do not differ, so that nothing is learned from them.
    assert [item["learned"] for item in items] == [None, None]
    assert items[0]["gain"] > 0.4 > 0.2 > items[1]["gain"]
    assert all(item["low"] < 0.5 < item["high"] for item in items)
    text = working.client.get(f"{base}.csv").text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [float(row["gain"]) for row in rows] == [item["gain"] for item in items]
    arrow = working.client.get(f"{base}.arrow").content
    assert pa.ipc.open_file(arrow).read_all().to_pylist() == items
    made = calibrate(working, tree, 200).json()
    items = working.client.get(f"/v1/calibrations/{made['id']}/pairs").json()["items"]
    assert {item["of"] for item in items} == {"classes", "subtrees"}
    assert all(0 <= item["learned"] <= 1 for item in items)
    gains = [item["gain"] for item in items]
    assert gains == sorted(gains, reverse=True)


def test_a_classifier_and_a_partition_are_calibrated(working: Working) -> None:
    tree = classifier(working)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 2)) + np.array([[8.5, 0.5]])
    body = {"inputs": {"features": rows.tolist()}, "labels": ["cat"] * 40, "alpha": 0.2}
    path = f"/v1/trees/{tree['id']}/calibrations"
    made = working.client.post(path, json=body, headers={"Prefer": "wait=60"})
    assert made.status_code == 201, made.text
    assert any("2 of 3 classes have no row" in each for each in made.json()["warnings"])
    options = {"calibration": made.json()["id"], "confidence": 0.9}
    items = predict(working, tree, {"features": rows.tolist()}, options).json()["items"]
    assert all(len(item["nodes"]) == 1 for item in items)
    features = [[0.0, 0.0], [0.1, 0.0], [9.0, 9.0], [9.1, 9.0]]
    tree = fit(working, "kmeans", {"features": features}, params={"n_clusters": 2})
    body = {"inputs": {"features": features * 5}, "labels": [0, 0, 1, 1] * 5, "temperature": 1}
    path = f"/v1/trees/{tree['id']}/calibrations"
    made = working.client.post(path, json=body, headers={"Prefer": "wait=60"})
    assert made.status_code == 201, made.text


@pytest.mark.parametrize(
    ("body", "code", "detail"),
    [
        ({"alpha": 0.001}, "too-few-rows", "at least 999 labelled rows beside the 250"),
        ({"labels": ["cat"] * 99 + ["lion"]}, "unknown-label", "'lion' at row 99"),
        ({"labels": ["cat"] * 99 + ["a"]}, "unknown-label", "is no node"),
        ({"labels": ["cat"] * 99}, "wrong-shape", "99 labels for 100 rows"),
        ({"labels": [None] * 100}, "empty", "no label in any of its 100 rows"),
        ({"labels": [None] * 95 + ["cat"] * 5}, "too-few-rows", "11 in all; there are 5"),
        ({"per": "subtree", "cut": {"k": 9}}, "wrong-cut", "9"),
        ({"per": "subtree", "alpha": 0.02}, "too-few-rows", "in a subtree; the largest has"),
        ({"loss": "distance", "alpha": 0.001}, "too-few-rows", "1999 labelled rows"),
        ({"loss": "cost", "costs": [[0, 1], [1, 0]]}, "", "Costs are 4 x 4"),
        ({"loss": "cost"}, "invalid-request", "costs are for the loss cost alone"),
        ({"alpha": 1.5}, "invalid-request", "below 1"),
        ({"score": "aps"}, "invalid-request", "score is that of sets"),
        ({"cut": {"k": 2}}, "invalid-request", "cut is that of"),
        ({"loss": "distance", "per": "class"}, "invalid-request", "over all rows"),
        ({"temperature": 0}, "invalid-request", "1/1024"),
        ({"unknown": 1}, "invalid-request", ""),
        ({"inputs": {}}, "wrong-input", "needs the input 'logits'"),
        ({"inputs": {"logits": [[1.0]]}}, "wrong-shape", "4 classes"),
    ],
)
def test_what_cannot_be_calibrated(
    working: Working, tree: dict[str, Any], body: dict[str, Any], code: str, detail: str
) -> None:
    answer = calibrate(working, tree, **body)
    kind = answer.json()["type"].rpartition("/")[2]
    assert detail in problem_of(answer, 422, code or kind)["detail"]
    assert kind != "internal"


def test_predictions_with_a_calibration_that_does_not_fit(
    working: Working, tree: dict[str, Any]
) -> None:
    logits, _ = drawn(3)
    made = calibrate(working, tree).json()
    other = fit(working, "l2h", {"logits": np.log(PROBABILITY).tolist()})
    named = {"calibration": made["id"]}
    answer = predict(working, other, {"logits": logits}, named)
    assert f"is of tree '{tree['id']}'" in problem_of(answer, 422, "wrong-input")["detail"]
    answer = predict(working, tree, {"logits": logits}, {**named, "alpha": 0.001})
    assert "at least 999" in problem_of(answer, 422, "too-few-rows")["detail"]
    answer = predict(working, tree, {"logits": logits}, {**named, "alpha": 2.0})
    problem_of(answer, 422, "invalid-parameter")
    answer = predict(working, tree, {"logits": logits}, {"alpha": 0.1})
    problem_of(answer, 422, "invalid-request")
    for unknown in ("cal_" + "0" * 26, made["job"], tree["id"], "cal_x"):
        answer = predict(working, tree, {"logits": logits}, {"calibration": unknown})
        problem_of(answer, 422, "unknown-input")
    failed = calibrate(working, tree, alpha=0.001)
    assert failed.status_code == 422
    (newest, *_) = working.client.get("/v1/calibrations").json()["items"]
    assert (newest["status"], newest["result"]) == ("failed", None)
    answer = predict(working, tree, {"logits": logits}, {"calibration": newest["id"]})
    assert "is failed" in problem_of(answer, 422, "wrong-input")["detail"]
    for rest in ("curve", "groups", "suspects", "pairs"):
        path = f"/v1/calibrations/{newest['id']}/{rest}"
        problem_of(working.client.get(path), 409, "conflict")


def test_trees_and_calibrations_that_are_not_there(working: Working) -> None:
    imported = post(working, NEWICK)
    answer = calibrate(working, imported)
    problem_of(answer, 422, "cannot-predict")
    answer = calibrate(working, {"id": UNKNOWN})
    problem_of(answer, 404, "not-found")
    for unknown in ("cal_" + "0" * 26, "cal_x", imported["id"]):
        for rest in ("", "/curve", "/groups", "/suspects", "/pairs", "/curve.svg"):
            path = f"/v1/calibrations/{unknown}{rest}"
            problem_of(working.client.get(path), 404, "not-found")


def test_a_long_calibration_is_followed(working: Working, tree: dict[str, Any]) -> None:
    working.work.held = True
    made = calibrate(working, tree, wait=0)
    assert made.status_code == 202
    body = made.json()
    assert (body["status"], body["result"], body["tree"]) == ("queued", None, None)
    working.work.release()
    again = working.client.get(made.headers["location"]).json()
    assert again["status"] == "succeeded"


def test_a_calibration_belongs_to_its_tenant(working: Working, tree: dict[str, Any]) -> None:
    made = calibrate(working, tree).json()
    record = CALIBRATIONS.record(working.service, "local", made["id"])
    assert record is not None
    assert CALIBRATIONS.record(working.service, "bob", made["id"]) is None
    with pytest.raises(Refused, match="There is no calibration"):
        CALIBRATIONS.require_of_tree(working.service, "bob", made["id"], tree["id"])


def test_a_calibration_in_use_is_kept(working: Working, tree: dict[str, Any]) -> None:
    made = calibrate(working, tree).json()
    logits, _ = drawn(3)
    working.work.held = True
    answer = predict(
        working, tree, {"logits": logits}, {"calibration": made["id"]}, Prefer="wait=0"
    )
    request = read_request(working.service.blobs, "local", answer.json()["id"])
    assert set(request.needs) == {tree["job"], made["job"]}
    assert working.client.delete(f"/v1/calibrations/{made['id']}").status_code == 204
    working.work.release()
    job = working.client.get(answer.headers["location"]).json()
    assert job["error"]["type"] == "/problems/input-deleted"
    assert "'calibration'" in job["error"]["detail"]


def test_shares_that_moved_and_rows_that_come(working: Working, tree: dict[str, Any]) -> None:
    """By a drift, then by the classes of what was answered, counted exactly."""
    logits, _ = drawn(400, seed=3)
    plants = [row for row in logits if max(row[2:]) > max(row[:2])]
    waits = {"Prefer": "wait=30"}
    made = working.client.post(
        f"/v1/trees/{tree['id']}/drifts",
        json={"reference": {"inputs": {"logits": logits}}, "batch": {"inputs": {"logits": plants}}},
        headers=waits,
    )
    drift = made.json()["id"]
    assert made.json()["result"]["n_moves"]
    for shift in ("rows", "classes"):
        body = calibrate(working, tree, 300, drift=drift, shift=shift).json()
        assert body["result"]["n_groups"] > 1
        assert "in the drift's batch" in body["result"]["promise"]
        items = working.client.get(f"/v1/calibrations/{body['id']}/groups").json()["items"]
        assert sum(item["n_rows"] for item in items) == body["result"]["n_rows"]
    path = f"/v1/trees/{tree['id']}/calibrations"
    n_rows = n_missed = 0
    for seed in (4, 5):
        given, labels = drawn(50, seed=seed)
        named = {"calibration": body["id"]}
        answered = predict(working, tree, {"logits": given}, named).json()["items"]
        n_rows, n_missed = (
            n_rows + 50,
            n_missed + round(50 * (1 - share_held(tree, answered, labels))),
        )
        send = {"inputs": {"logits": given}, "labels": labels, "after": body["id"]}
        body = working.client.post(path, json=send, headers=waits).json()
        followed = body["result"]["following"]
        assert (followed["n_rows"], followed["n_missed"]) == (n_rows, n_missed)
    answered = predict(working, tree, {"logits": given}, {"calibration": body["id"]}).json()
    assert f"{n_missed} of {n_rows} missed" in answered["items"][0]["promise"]
    named = {"calibration": body["id"], "alpha": 0.3}
    problem_of(predict(working, tree, {"logits": given}, named), 422, "invalid-parameter")
    for wrong in ({"alpha": 0.2}, {"cut": {"k": 2}}, {"drift": drift}):
        problem_of(working.client.post(path, json=send | wrong), 422, "invalid-request")
    del send["after"]
    for wrong in ({"drift": drift}, {"shift": "rows"}, {"prices": {}}):
        problem_of(working.client.post(path, json=send | wrong), 422, "invalid-request")
    for wrong in ({"after": drift}, {"drift": UNKNOWN, "shift": "rows"}):
        problem_of(working.client.post(path, json=send | wrong), 422, "unknown-input")


def test_answers_at_prices(working: Working, tree: dict[str, Any]) -> None:
    prices = {"wrong": 1, "level": 0.1, "abstain": 0.25}
    body = calibrate(working, tree, 300, loss="price", prices=prices).json()
    assert body["result"]["promise"].startswith("Costs ")
    logits, _ = drawn(100, seed=6)
    named = {"calibration": body["id"]}
    items = predict(working, tree, {"logits": logits}, named).json()["items"]
    assert {len(item["nodes"]) for item in items} <= {0, 1}
    problem_of(
        predict(working, tree, {"logits": logits}, named | {"alpha": 0.2}), 422, "invalid-parameter"
    )

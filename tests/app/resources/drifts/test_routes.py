"""Drifts over HTTP."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import NEWICK, UNKNOWN, classifier, fit, npy, post
from workers.stores.objects.job_files import read_request

NAMES = ["cat", "dog", "rose", "oak"]
#         0
#       /   \
#    animal plant
#    /  \    /  \
#  cat  dog rose oak
CENTRES = np.array([[6.0, 4.0, 0, 0], [4.0, 6.0, 0, 0], [0, 0, 6.0, 4.0], [0, 0, 4.0, 6.0]])


def rows(n_each: list[int], sure: float = 1.0) -> list[list[float]]:
    """Logits of so many rows of each class; the larger `sure`, the surer."""
    rng = np.random.default_rng(sum(n_each))
    kind = np.repeat(np.arange(4), n_each)
    return (sure * CENTRES[kind] + rng.normal(scale=0.05, size=(kind.size, 4))).tolist()


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return fit(working, "l2h", {"logits": CENTRES.tolist(), "names": NAMES})


def drift(
    working: Working, tree: dict[str, Any], before: Any, after: Any, wait: int = 30, **body: Any
) -> Any:
    return working.client.post(
        f"/v1/trees/{tree['id']}/drifts",
        json={"reference": before, "batch": after, **body},
        headers={"Prefer": f"wait={wait}"},
    )


def sample(logits: Any, **rest: Any) -> dict[str, Any]:
    return {"inputs": {"logits": logits}, **rest}


def test_rows_that_move_between_siblings_are_found_at_their_split(
    working: Working, tree: dict[str, Any]
) -> None:
    before, after = sample(rows([40, 40, 40, 40])), sample(rows([40, 40, 70, 10]))
    made = drift(working, tree, before, after, name="week 7", level=0.01)
    assert made.status_code == 201, made.text
    body = made.json()
    assert body["id"].startswith("dr_")
    assert made.headers["location"].endswith(f"/v1/drifts/{body['id']}")
    result = body["result"]
    assert (result["n_reference"], result["n_batch"], result["level"]) == (160, 160, 0.01)
    moved = {each["aspect"]: each["moved"] for each in result["aspects"]}
    assert moved["mass"]
    found = {
        move["name"]: (move["direction"], move["before"], move["after"])
        for move in result["moves"]
        if move["aspect"] == "mass"
    }
    assert found == {"rose": ("gained", 0.5, 0.875), "oak": ("lost", 0.5, 0.125)}
    (rose,) = (move for move in result["moves"] if move["name"] == "rose")
    assert rose["low"] < 0.375 < rose["high"]
    assert (rose["n_before"], rose["n_after"], rose["label"]) == (40, 70, None)

    path = f"/v1/drifts/{body['id']}"
    answer = working.client.get(path)
    assert answer.json() == body
    etag = {"If-None-Match": answer.headers["etag"]}
    assert working.client.get(path, headers=etag).status_code == 304
    table = list(csv.DictReader(io.StringIO(working.client.get(f"{path}.csv").text)))
    assert [row["name"] for row in table] == [move["name"] for move in result["moves"]]
    svg = working.client.get(f"{path}.svg", params={"title": "Week <7>"}).text
    assert svg.startswith("<svg") and "Week &lt;7&gt;" in svg and "rose" in svg  # noqa: PT018
    assert working.client.get(f"{path}.png").content.startswith(b"\x89PNG")
    problem_of(working.client.get(f"{path}.gif"), 406, "not-acceptable")

    items = working.client.get(f"{path}/nodes").json()["items"]
    assert [item["node"] for item in items] == [node["id"] for node in tree["nodes"]]
    assert items[0]["mass_before"] == items[0]["mass_after"] == 1.0
    assert {item["name"] for item in items if item["share_moved"]} == {"rose", "oak"}
    parent = {node["id"]: node["parent"] for node in tree["nodes"]}
    for item in items:
        assert item["parent"] == parent[item["node"]]
        if item["parent"] is not None:
            above = items[item["parent"]]
            assert item["share_after"] == pytest.approx(item["n_after"] / above["n_after"])
    arrow = working.client.get(f"{path}/nodes.arrow").content
    assert pa.ipc.open_file(arrow).read_all().to_pylist() == items

    listed = working.client.get(f"/v1/drifts?tree={tree['id']}", params={"name": "week 7"})
    listed = listed.json()["items"]
    assert [each["id"] for each in listed] == [body["id"]]
    job = working.client.get(f"/v1/jobs/{body['job']}").json()
    assert job["result"] == {
        "tree": tree["id"], "drift": body["id"], "n_moves": result["n_moves"],
    }  # fmt: skip
    assert job["inputs"] == {"reference.logits": "inline", "batch.logits": "inline"}
    assert working.client.delete(path).status_code == 204
    problem_of(working.client.get(path), 404, "not-found")


def test_confidence_and_purity(working: Working, tree: dict[str, Any]) -> None:
    labels = [name for name in NAMES for _ in range(30)]
    mixed = [*labels[:60], *(["rose", "fern"] * 15), *labels[90:]]
    before = sample(rows([30] * 4), labels=labels)
    # Cats and dogs alone are as sure as before.
    unsure = rows([30, 30, 0, 0]) + rows([0, 0, 30, 30], sure=0.5)
    body = drift(working, tree, before, sample(unsure, labels=mixed)).json()
    assert body["warnings"] == ["Labels that only the batch has: 'fern'."]
    found = {(move["aspect"], move["name"]): move for move in body["result"]["moves"]}
    assert set(found) == {("confidence", "rose, oak"), ("purity", "rose")}
    purity = found["purity", "rose"]
    assert (purity["before"], purity["after"]) == (1.0, 0.5)
    assert (purity["direction"], purity["label"]) == ("lost", "rose")
    assert found["confidence", "rose, oak"]["direction"] == "lost"
    items = working.client.get(f"/v1/drifts/{body['id']}/nodes").json()["items"]
    moved = {item["name"] for item in items if item["confidence_moved"]}
    assert moved & set(NAMES) == {"rose", "oak"}


def test_the_same_rows_have_not_moved(working: Working, tree: dict[str, Any]) -> None:
    same = npy(np.array(rows([20, 30, 25, 25])))
    ids = [
        working.client.post(
            "/v1/datasets", content=same, headers={"Content-Type": "application/x-npy"}
        ).json()["id"]
        for _ in range(2)
    ]
    body = drift(working, tree, sample(ids[0]), sample(ids[1])).json()
    assert (body["result"]["n_moves"], body["result"]["moves"]) == (0, [])
    assert "Nothing moved" in working.client.get(f"/v1/drifts/{body['id']}.svg").text
    text = working.client.get(f"/v1/drifts/{body['id']}.csv").text
    assert len(text.splitlines()) == 1


def test_methods_that_place_rows_without_probabilities(working: Working) -> None:
    tree = classifier(working)
    shifted = [[9.0, 0.0], [8.0, 1.0], [8.0, 6.0]] * 12
    first = {"inputs": {"features": [[9.0, 0.0], [-9.0, 0.0]] * 18}}
    body = drift(working, tree, first, {"inputs": {"features": shifted}}).json()
    assert any(move["aspect"] == "mass" for move in body["result"]["moves"])
    features = [[0.0, 0.0], [0.1, 0.0], [9.0, 9.0], [9.1, 9.0]]
    tree = fit(working, "kmeans", {"features": features}, params={"n_clusters": 2})
    before, after = (
        {"inputs": {"features": some * 20}} for some in (features, features[:1] + features[2:3])
    )
    made = drift(working, tree, before, after)
    assert made.status_code == 201, made.text
    assert made.json()["result"]["n_moves"] == 0


FEW = sample(rows([1, 1, 0, 0]))


CANNOT: list[tuple[Any, Any, str, str]] = [
    (FEW, sample([[1.0, 2.0]]), "wrong-shape", "In the batch: "),
    (sample([[1.0, 2.0]]), FEW, "wrong-shape", "In the reference: "),
    (FEW, sample([]), "", "In the batch: "),
    (FEW, sample([[1.0, 0, 0, "x"]]), "", "In the batch: "),
    (FEW, sample("ds_" + "0" * 26), "unknown-input", "In the batch: "),
    (FEW, sample(rows([2, 0, 0, 0]), labels=["cat", "cat"]), "invalid-request", "one sample"),
    (
        sample(rows([2, 0, 0, 0]), labels=["cat"]),
        sample(rows([1, 0, 0, 0]), labels=["cat"]),
        "wrong-shape",
        "The reference has 1 labels for 2 rows",
    ),
    (
        sample(rows([1, 0, 0, 0]), labels=[None]),
        sample(rows([1, 0, 0, 0]), labels=[None]),
        "",
        "In the reference: Input 'labels' has no label",
    ),
    (
        sample(rows([1, 0, 0, 0]), labels=[["cat", "dog"]]),
        sample(rows([1, 0, 0, 0]), labels=["cat"]),
        "wrong-input",
        "In the reference: Input 'labels' has 2 labels at row 0",
    ),
    (FEW, {"inputs": {"logits": [[1.0] * 4], "labels": [1]}}, "wrong-input", "beside"),
    (FEW, {"inputs": {}}, "wrong-input", "In the batch: "),
    (FEW, {"rows": []}, "invalid-request", "batch"),
]


def test_samples_that_cannot_be_compared(working: Working, tree: dict[str, Any]) -> None:
    for before, after, code, detail in CANNOT:
        answer = drift(working, tree, before, after)
        kind = answer.json()["type"].rpartition("/")[2]
        problem = problem_of(answer, 422, code or kind)
        assert detail in problem["detail"]
        assert kind != "internal"
        for error in problem.get("errors", ()):
            assert code == "invalid-request" or error["pointer"].split("/")[1] in (
                "reference",
                "batch",
            )


def test_too_few_rows_are_a_warning(working: Working, tree: dict[str, Any]) -> None:
    body = drift(working, tree, FEW, FEW).json()
    assert body["status"] == "succeeded"
    assert "not even a total change of mass" in " ".join(body["warnings"])
    assert body["result"]["n_moves"] == 0


def test_levels_and_trees_that_cannot_be(working: Working, tree: dict[str, Any]) -> None:
    for level in (0, 0.6, "0.1", True):
        problem_of(drift(working, tree, FEW, FEW, level=level), 422, "invalid-request")
    problem_of(drift(working, {"id": UNKNOWN}, FEW, FEW), 404, "not-found")
    problem_of(drift(working, post(working, NEWICK), FEW, FEW), 422, "cannot-predict")
    inside = drift(working, tree, FEW, FEW, webhook="http://127.0.0.1/")
    assert "public addresses" in problem_of(inside, 422, "invalid-request")["detail"]
    for unknown in ("dr_" + "0" * 26, "dr_x", tree["id"]):
        for rest in ("", ".csv", "/nodes"):
            problem_of(working.client.get(f"/v1/drifts/{unknown}{rest}"), 404, "not-found")


def test_a_long_drift_is_followed_and_sent_to_a_webhook(
    working: Working, tree: dict[str, Any]
) -> None:
    working.work.held = True
    address = "https://example.org/drift"
    made = drift(working, tree, FEW, FEW, wait=0, webhook=address)
    assert made.status_code == 202
    assert (made.json()["status"], made.json()["result"]) == ("queued", None)
    problem_of(working.client.get(f"/v1/drifts/{made.json()['id']}.svg"), 409, "conflict")
    request = read_request(working.service.blobs, "local", made.json()["job"])
    assert (request.webhook, request.kind, request.options["level"]) == (address, "drift", 0.05)
    assert request.needs == (f"job_{tree['id'].partition('_')[2]}",)
    working.work.release()
    assert working.client.get(made.headers["location"]).json()["status"] == "succeeded"


def test_many_rows_in_the_body(working: Working, tree: dict[str, Any]) -> None:
    many = rows([1750] * 4)
    made = drift(working, tree, sample(many), sample(many, labels=None))
    assert made.status_code == 201, made.text
    assert made.json()["result"]["n_batch"] == 7000
    ragged = [*many, [1.0]]
    answer = drift(working, tree, sample(many), sample(ragged))
    assert "In the batch" in problem_of(answer, 422, "ragged")["detail"]
    few = sample([[0.0] * 4], labels=[0])
    answer = drift(working, tree, sample(many), {**few, "extra": [0] * 20_000})
    assert "10000 values" in problem_of(answer, 422, "invalid-request")["detail"]

"""Predictions of classifiers over HTTP: labels, best classes, and paths that stop early."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pyarrow as pa
import pytest

from tests.app.conftest import Api, Working, problem_of
from tests.app.tree_kit import CLASS_ROWS, UNKNOWN, classifier, fit, model_of, predict

NEW_ROWS = {"features": [*CLASS_ROWS, [8.5, 3.4]]}
"""The last one lies between cat and dog."""


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return classifier(working)


def items_of(working: Working, tree: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    answer = predict(working, tree, NEW_ROWS, options)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["items"])


def test_each_row_has_its_label(working: Working, tree: dict[str, Any]) -> None:
    items = items_of(working, tree)
    name = [node["name"] for node in tree["nodes"]]
    labels = [item["label"] for item in items]
    assert labels[:6] == ["cat", "cat", "dog", "dog", "=rose", "=rose"]
    for item in items:
        assert set(item) == {"leaf", "path", "probabilities", "node", "label", "labels"}
        assert item["node"] == item["leaf"] == item["path"][-1]
        assert item["label"] == name[item["node"]]
        assert item["labels"] == [item["label"]]


def test_the_best_classes(working: Working, tree: dict[str, Any]) -> None:
    for item in items_of(working, tree, top_k=2):
        first, second = item["top"]
        assert (first["label"], first["node"]) == (item["label"], item["leaf"])
        assert first["score"] > second["score"]
        assert first["probability"] == pytest.approx(item["probabilities"][-1])
    everything = items_of(working, tree, top_k=1000)
    for item in everything:
        assert sorted(best["label"] for best in item["top"]) == ["=rose", "cat", "dog"]
        assert sum(best["probability"] for best in item["top"]) == pytest.approx(1.0)


def test_a_path_ends_where_the_confidence_ends(working: Working, tree: dict[str, Any]) -> None:
    *sure, between = items_of(working, tree, confidence=0.75)
    assert all(item["node"] == item["leaf"] for item in sure)
    assert (between["label"], between["path"]) == ("animal", [0, between["node"]])
    assert between["probabilities"][-1] >= 0.75
    assert between["leaf"] not in between["path"]
    # No name at the root.
    assert [item["label"] for item in items_of(working, tree, confidence=1.0)] == [None] * 7


def test_labels_by_a_threshold(working: Working, tree: dict[str, Any]) -> None:
    *sure, between = items_of(working, tree, threshold=0.2)
    assert all(item["labels"] == [item["label"]] for item in sure)
    assert sorted(between["labels"]) == ["cat", "dog"]
    assert all(item["labels"] == [] for item in items_of(working, tree, threshold=1))


def test_the_model_answers_as_its_tree(working: Working, tree: dict[str, Any]) -> None:
    body = {"inputs": NEW_ROWS, "top_k": 1, "threshold": 0.2, "confidence": 0.75}
    answer = working.client.post(f"/v1/models/{model_of(tree)}/predictions", json=body)
    options = {name: value for name, value in body.items() if name != "inputs"}
    assert answer.json()["items"] == items_of(working, tree, **options)


def test_csv_and_arrow(working: Working, tree: dict[str, Any]) -> None:
    options = {"top_k": 2, "threshold": 0.2, "confidence": 0.75}
    items = items_of(working, tree, **options)
    media = "application/vnd.apache.arrow.file"
    answer = predict(working, tree, NEW_ROWS, options, Accept=media)
    assert pa.ipc.open_file(answer.content).read_all().to_pylist() == items
    text = predict(working, tree, NEW_ROWS, options, Accept="text/csv").text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0])[:4] == ["row", "leaf", "path", "probabilities"]
    assert [row["label"].lstrip("'") for row in rows] == [item["label"] for item in items]
    assert rows[4]["label"] == "'=rose"
    for name in ("labels", "top"):
        assert [json.loads(row[name]) for row in rows] == [item[name] for item in items]


@pytest.mark.parametrize(
    "options",
    [
        {"top_k": -1},
        {"top_k": 1001},
        {"top_k": 1.5},
        {"top_k": True},
        {"top_k": "2"},
        {"threshold": 1.01},
        {"threshold": -0.1},
        {"confidence": "high"},
        {"confidence": 2},
        {"depth": 1},
    ],
)
def test_invalid_options(api: Api, options: Any) -> None:
    body = {"inputs": NEW_ROWS, **options}
    answer = api.client.post(f"/v1/trees/{UNKNOWN}/predictions", json=body)
    assert next(iter(options)) in problem_of(answer, 422, "invalid-request")["detail"]


@pytest.mark.parametrize("options", [{"top_k": 1}, {"threshold": 0.5}, {"confidence": 0.5}])
def test_other_methods_take_no_options(working: Working, options: Any) -> None:
    logits = [[4.0, 1.0, 0.0], [0.5, 3.0, 2.0], [0.0, 2.0, 3.5]]
    tree = fit(working, "l2h", {"logits": logits})
    answer = predict(working, tree, {"logits": logits}, options)
    assert "'l2h' gives no labels" in problem_of(answer, 422, "cannot-predict")["detail"]
    plain = predict(working, tree, {"logits": logits}).json()["items"]
    assert [set(item) for item in plain] == [{"leaf", "path", "probabilities"}] * 3

"""Documents over HTTP: uploaded as JSON lines or sent inline, clustered by their words."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.app.conftest import Working
from tests.app.tree_kit import fit, predict

LINES = {"Content-Type": "application/x-ndjson"}
N_TOPICS, PER_TOPIC = 8, 12
PARAMS = {
    "min_count": 1,
    "n_dimensions": 20,
    "n_internal": 31,
    "n_init": 2,
    "max_iter": 0,
    "n_passes": 10,
}


def planted(n_documents: int) -> list[str]:
    """Texts of 40 words, most of a single topic: the word "t3w5" belongs to topic 3."""
    rng = np.random.default_rng(0)
    texts = []
    for document in range(n_documents):
        own = rng.random(40) < 0.6
        topic = np.where(own, document % N_TOPICS, rng.integers(N_TOPICS, size=40))
        word = rng.integers(PER_TOPIC, size=40)
        texts.append(" ".join(f"t{t}w{w}" for t, w in zip(topic, word, strict=True)))
    return texts


TEXTS = planted(60)


def upload(working: Working, content: str) -> dict[str, Any]:
    answer = working.client.post(
        "/v1/datasets?role=documents", content=content.encode(), headers=LINES
    )
    assert answer.status_code == 201, answer.text
    working.work.join()
    return dict(working.client.get(answer.headers["location"]).json())


@pytest.fixture
def dataset(working: Working) -> dict[str, Any]:
    return upload(working, "\n".join(json.dumps({"text": text}) for text in TEXTS))


def inputs_of(working: Working, tree: dict[str, Any]) -> list[str]:
    """The inputs of predictions, as the model lists them."""
    model = tree["id"].replace("tr_", "md_")
    return list(working.client.get(f"/v1/models/{model}").json()["inputs"])


def leaves(tree: dict[str, Any]) -> list[str]:
    parents = {node["parent"] for node in tree["nodes"]}
    return sorted(node["name"] for node in tree["nodes"] if node["id"] not in parents)


@pytest.mark.needs("torch")
def test_uploaded_and_inline_documents_make_one_tree(
    working: Working, dataset: dict[str, Any]
) -> None:
    assert (dataset["status"], dataset["shape"], dataset["dtype"]) == ("ready", [60], "str")
    uploaded = fit(working, "ghhc-glove", {"documents": dataset["id"]}, params=PARAMS)
    inline = fit(working, "ghhc-glove", {"documents": TEXTS}, params=PARAMS)
    assert leaves(uploaded) == sorted(
        f"t{topic}w{word}" for topic in range(N_TOPICS) for word in range(PER_TOPIC)
    )
    assert [(node["parent"], node["name"]) for node in uploaded["nodes"]] == [
        (node["parent"], node["name"]) for node in inline["nodes"]
    ]
    assert inputs_of(working, inline) == ["documents"]
    answer = predict(working, inline, {"documents": ["t3w0 t3w1 t3w0", "t5w2"]})
    assert answer.status_code == 200, answer.text
    names = [inline["nodes"][item["leaf"]]["name"] for item in answer.json()["items"]]
    assert names[1] == "t5w2"


def test_an_invalid_line_makes_the_dataset_invalid(working: Working) -> None:
    uploaded = upload(working, '"fine"\n{"body": "no text"}\n')
    assert uploaded["status"] == "invalid"
    assert "Line 2 of the file" in uploaded["problem"]["detail"]


def test_documents_are_not_features(working: Working, dataset: dict[str, Any]) -> None:
    body = {"method": "hac", "inputs": {"features": dataset["id"]}}
    answer = working.client.post("/v1/jobs", json=body)
    assert answer.status_code == 422
    assert answer.json()["type"].endswith("wrong-role")


@pytest.mark.needs("torch")
def test_documents_come_without_a_graph(working: Working, dataset: dict[str, Any]) -> None:
    body = {"method": "ghhc-glove", "inputs": {"documents": dataset["id"], "graph": [[1.0]]}}
    assert working.client.post("/v1/jobs", json=body).status_code == 422


@pytest.mark.needs("torch")
def test_support_requires_counts_not_documents(working: Working) -> None:
    counts = np.random.default_rng(0).exponential(40, size=(20, 20))
    body = {
        "method": "ghhc-glove",
        "params": {**PARAMS, "n_internal": 5},
        "support": {"replicates": 2},
    }
    wait = {"Prefer": "wait=60"}
    for inputs, status in (
        ({"graph": (counts + counts.T).tolist()}, "succeeded"),
        ({"documents": TEXTS}, "failed"),
    ):
        job = working.client.post("/v1/jobs", json={**body, "inputs": inputs}, headers=wait).json()
        assert job["status"] == status, job
    assert "given as 'graph' or" in job["error"]["detail"]


WORDS = [{"step": "words", "min_count": 1}, {"step": "tfidf"}]


def test_documents_become_features_by_their_words(
    working: Working, dataset: dict[str, Any]
) -> None:
    tree = fit(
        working,
        "kmeans",
        {"documents": dataset["id"]},
        params={"n_clusters": 8},
        preprocess=WORDS,
    )
    assert tree["n_points"] == 60
    # New texts are prepared as before, so equal texts reach the same leaves.
    answer = predict(working, tree, {"documents": TEXTS[:5]})
    assert answer.status_code == 200, answer.text
    again = predict(working, tree, {"documents": dataset["id"]})
    placed = [item["leaf"] for item in again.json()["items"]]
    assert [item["leaf"] for item in answer.json()["items"]] == placed[:5]
    size = {node["id"]: node["size"] for node in tree["nodes"]}
    assert all(placed.count(leaf) == size[leaf] for leaf in set(placed))
    assert inputs_of(working, tree) == ["documents"]
    refused = predict(working, tree, {"features": [[1.0, 2.0]]})
    assert refused.status_code == 422
    assert "give the input 'documents'" in refused.json()["detail"]


def test_clusters_of_documents_are_named_by_their_words(working: Working) -> None:
    """By a method that takes names of columns, and by `name_by` for other methods."""
    inputs, cosine = {"documents": TEXTS}, [*WORDS, {"step": "l2"}]
    own = fit(working, "vmf", inputs, params={"n_clusters": 6}, preprocess=cosine)
    inferred = fit(
        working,
        "kmeans",
        inputs,
        params={"n_clusters": 6},
        preprocess=cosine,
        name_by="feature_names",
    )
    for tree in (own, inferred):
        texts = [text.split() for text in TEXTS]
        answer = working.client.get(f"/v1/trees/{tree['id']}/assignments").json()
        node_of = {cluster["id"]: cluster["node"] for cluster in answer["clusters"]}
        own_node = np.array([node_of[cluster] for cluster in answer["assignments"]])
        for node in tree["nodes"][1:]:
            terms = node["name"].split(", ")
            inside = own_node == node["id"]
            for term in terms:
                present = np.array([term in text for text in texts])
                # A term names a cluster in which it is more frequent than in the others.
                assert present[inside].mean() > present[~inside].mean(), (node, term)


def test_columns_that_are_not_words_name_no_clusters(working: Working) -> None:
    body = {
        "method": "kmeans",
        "inputs": {"documents": TEXTS},
        "preprocess": [*WORDS, {"step": "svd", "n": 3}],
        "name_by": "feature_names",
    }
    answer = working.client.post("/v1/jobs", json=body)
    assert answer.status_code == 422
    assert "`name_by` needs the input 'feature_names'" in answer.json()["detail"]


def test_documents_require_the_step_words(working: Working) -> None:
    for inputs, preprocess, message in (
        ({"documents": TEXTS}, [], "takes no input 'documents'"),
        ({"documents": TEXTS}, [{"step": "tfidf"}], "begins with the step 'words'"),
    ):
        body = {"method": "kmeans", "inputs": inputs, "preprocess": preprocess}
        answer = working.client.post("/v1/jobs", json=body)
        assert answer.status_code == 422, answer.text
        assert message in answer.json()["detail"]
    wait = {"Prefer": "wait=60"}
    for steps in (WORDS, [{"step": "l2"}, {"step": "words"}]):
        body = {
            "method": "kmeans",
            "params": {"n_clusters": 2},
            "inputs": {"features": [[1.0, 2.0], [3.0, 4.0]]},
            "preprocess": steps,
        }
        job = working.client.post("/v1/jobs", json=body, headers=wait).json()
        assert job["status"] == "failed", job
        assert "'documents'" in job["error"]["detail"]

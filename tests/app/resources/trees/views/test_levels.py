"""Levels of a tree and bootstrap support, over HTTP."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.app.conftest import Working, new_job, problem_of

RNG = np.random.default_rng(0)
POINTS = np.repeat(40.0 * np.eye(4), 15, axis=0) + RNG.normal(size=(60, 4))


def fit(working: Working, **changes: Any) -> dict[str, Any]:
    body = {"method": "hac", "inputs": {"features": POINTS.tolist()}, **changes}
    answer = working.client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"})
    assert answer.status_code == 201, answer.text
    job: dict[str, Any] = answer.json()
    return job


def test_levels_of_points(working: Working) -> None:
    tree = fit(working)["result"]["tree"]
    answer = working.client.get(f"/v1/trees/{tree}/levels")
    assert answer.status_code == 200
    suggested = answer.json()["levels"]
    assert answer.json()["reason"] is None
    four = next(level for level in suggested if level["k"] == 4)
    assert four["p_value"] <= 0.05
    for level in suggested:
        assert dict(map(tuple, level["curve"]))[level["k"]] == level["score"]
        cut = working.client.get(
            f"/v1/trees/{tree}/assignments", params={"height": level["height"]}
        ).json()
        assert len(cut["clusters"]) == level["k"]


def test_layers_of_points(working: Working) -> None:
    tree = fit(working)["result"]["tree"]
    found = working.client.get(f"/v1/trees/{tree}/layers").json()
    assert found["reason"] is None
    (layer,) = [layer for layer in found["layers"] if layer["k"] == 4]
    assert layer["p_value"] <= 0.05
    assert layer["n_noise"] == 0
    cut = working.client.get(f"/v1/trees/{tree}/assignments?k=4").json()
    assert {c["node"] for c in layer["clusters"]} == {c["node"] for c in cut["clusters"]}


def test_a_tree_with_few_rows_has_no_layer(working: Working) -> None:
    tree = fit(working)["result"]["tree"]
    found = working.client.get(f"/v1/trees/{tree}/layers?min_size=31").json()
    assert found["layers"] == []
    assert "31 points each; the tree has 60 points" in found["reason"]
    refused = working.client.get(f"/v1/trees/{tree}/layers?min_size=1")
    assert refused.status_code == 422


def test_levels_of_an_imported_tree(working: Working) -> None:
    # Three combs of eight leaves, each as deep as the others, below long edges.
    groups = []
    for group in range(3):
        comb, step = f"a{group}:1", 1 + 0.01 * group
        for leaf in range(7):
            comb = f"({comb},b{group}{leaf}:{1 + leaf * step}):{step}"
        groups.append(comb.rsplit(":", 1)[0] + f":{500 - 8 * step}")
    answer = working.client.post(
        "/v1/trees",
        content=f"({','.join(groups)});".encode(),
        headers={"Content-Type": "text/x-nh"},
    )
    tree = answer.json()["id"]
    suggested = working.client.get(f"/v1/trees/{tree}/levels").json()["levels"]
    assert [(level["k"], level["criterion"]) for level in suggested] == [(3, "gap")]
    assert 0 < suggested[0]["p_value"] < 0.01
    assignments = working.client.get(f"/v1/trees/{tree}/assignments?k=3").json()
    assert suggested[0]["clusters"] == assignments["clusters"]
    assert len(suggested[0]["clusters"][0]["name"].split(", ")) > 1


def test_no_level_stands_out_of_points_without_structure(working: Working) -> None:
    points = np.random.default_rng(1).normal(size=(120, 3))
    for method in ("hac", "kmeans"):
        job = fit(working, method=method, inputs={"features": points.tolist()})
        assert job["status"] == "succeeded", job
        body = working.client.get(f"/v1/trees/{job['result']['tree']}/levels").json()
        assert body["levels"] == []
        assert body["reason"].endswith("nothing else stands out.")


def test_an_unknown_tree(working: Working) -> None:
    problem_of(working.client.get(f"/v1/trees/tr_{'0' * 26}/levels"), 404, "not-found")


def test_support_in_json_and_newick(working: Working) -> None:
    job = fit(working, support={"replicates": 20, "resample": "rows"})
    tree = working.client.get(f"/v1/trees/{job['result']['tree']}").json()
    inner = {node["parent"] for node in tree["nodes"]} - {None}
    groups = [node for node in tree["nodes"] if node["size"] == 15]
    assert len(groups) == 4
    assert all(node["support"] == 1.0 for node in groups)
    assert tree["nodes"][0]["support"] is None
    supports = [n["support"] for n in tree["nodes"] if n["id"] in inner and n["id"]]
    assert min(supports) < 0.9
    text = working.client.get(f"/v1/trees/{job['result']['tree']}.nwk").text
    assert text.count(")1:") >= 4
    levels = working.client.get(f"/v1/trees/{job['result']['tree']}/levels").json()["levels"]
    assert 4 in [level["k"] for level in levels]


@pytest.mark.parametrize(
    "changes",
    [
        {"support": {"replicates": 5, "resample": "columns"}},
        {"method": "kmeans", "params": {"n_clusters": 4, "n_init": 1},
         "support": {"replicates": 5, "resample": "seeds"}},
        {"method": "kmeans", "params": {"n_clusters": 4, "n_init": 1}, "then": "l2h",
         "preprocess": [{"step": "standardize"}], "support": {"replicates": 5}},
        {"support": {"replicates": 5, "resample": "noise", "noise": 0.2, "measure": "transfer"}},
        {"support": {"replicates": 5, "resample": "subsamples", "share": 0.8, "stop": True}},
    ],
)  # fmt: skip
def test_support_of_further_fits(working: Working, changes: dict[str, Any]) -> None:
    job = fit(working, **changes)
    assert job["status"] == "succeeded", job
    assert changes["support"].items() <= job["support"].items()
    nodes = working.client.get(f"/v1/trees/{job['result']['tree']}").json()["nodes"]
    assert all(node["support"] is None or 0.0 <= node["support"] <= 1.0 for node in nodes)
    assert any(node["support"] is not None for node in nodes)
    assert job["result"]["support"]["replicates"] == 5


def test_classes_have_support_by_rows(working: Working) -> None:
    logits = RNG.normal(size=(300, 6)) + 5 * np.repeat(np.eye(6), 50, axis=0)
    logits[:, 1] += logits[:, 0]
    job = working.client.post(
        "/v1/jobs",
        json={"method": "l2h", "inputs": {"logits": logits.tolist()}, "support": {}},
        headers={"Prefer": "wait=60"},
    ).json()
    assert job["status"] == "succeeded", job
    nodes = working.client.get(f"/v1/trees/{job['result']['tree']}").json()["nodes"]
    assert any(node["support"] is not None for node in nodes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"support": {"resample": "seeds"}}, "draws nothing"),
        ({"method": "l2h", "inputs": {"logits": [[1.0, 0.0], [0.0, 1.0]]},
          "support": {"resample": "columns"}}, "Columns"),
    ],
)  # fmt: skip
def test_impossible_support(working: Working, changes: dict[str, Any], message: str) -> None:
    job = fit(working, **changes)
    assert job["status"] == "failed"
    assert message in job["error"]["detail"]


@pytest.mark.parametrize(
    "support", [{"replicates": 0}, {"resample": "jackknife"}, {"noise": 0.2}, {"x": 1}, 5]
)
def test_invalid_support(working: Working, support: Any) -> None:
    answer = working.client.post("/v1/jobs", json=new_job(support=support))
    problem_of(answer, 422, "invalid-request")


def test_nodes_are_named_by_labels(working: Working) -> None:
    labels = np.repeat(["a", "b", "c", "d"], 15).tolist()
    job = fit(working, inputs={"features": POINTS.tolist(), "labels": labels}, name_by="labels")
    nodes = working.client.get(f"/v1/trees/{job['result']['tree']}").json()["nodes"]
    groups = [node for node in nodes if node["size"] == 15]
    assert sorted(node["name"] for node in groups) == ["a", "b", "c", "d"]
    assert nodes[0]["name"] == "a (25%)"
    assert (nodes[0]["label"], nodes[0]["label_share"]) == ("a", 0.25)
    search = working.client.get(f"/v1/trees/{job['result']['tree']}/search", params={"q": "a ("})
    assert search.json()["items"][0]["node"] == 0


def test_nodes_are_named_by_terms(working: Working) -> None:
    counts = np.abs(np.rint(POINTS))
    job = fit(
        working,
        method="kmeans",
        params={"n_clusters": 4},
        inputs={"features": counts.tolist(), "feature_names": ["ash", "oak", "elm", "fir"]},
        preprocess=[{"step": "tfidf", "scheme": "lnc"}],
        name_by="feature_names",
        support={"replicates": 3},
    )
    assert job["status"] == "succeeded", job
    nodes = working.client.get(f"/v1/trees/{job['result']['tree']}").json()["nodes"]
    assert sorted(node["terms"][0] for node in nodes[1:]) == ["ash", "elm", "fir", "oak"]
    assert any(node["support"] is not None for node in nodes)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"name_by": "labels"}, "wrong-input"),
        ({"name_by": "beauty"}, "invalid-request"),
    ],
)
def test_invalid_names_are_refused(working: Working, changes: dict[str, Any], code: str) -> None:
    answer = working.client.post("/v1/jobs", json=new_job(**changes))
    problem_of(answer, 422, code)


def test_replicates_that_failed_are_reported_with_a_reason(working: Working) -> None:
    job = fit(
        working,
        method="kmeans",
        inputs={"features": np.arange(7.0).reshape(7, 1).tolist()},
        params={"n_clusters": 6, "n_init": 1},
        support={"replicates": 4},
    )
    assert job["status"] == "succeeded", job
    facts = job["result"]["support"]
    assert facts["failed"] > 0
    assert facts["replicates"] + facts["failed"] == 4
    (warning,) = (each for each in job["warnings"] if "could not be fitted" in each)
    assert warning.startswith(f"{facts['failed']} of 4 replicates")
    assert "6" in warning.partition(": ")[2]


def test_support_of_a_job_that_grows_is_that_of_all_rows(working: Working) -> None:
    logits = (RNG.normal(size=(120, 6)) + 3 * np.repeat(np.eye(6), 20, axis=0)).tolist()

    def run(rows: list[list[float]], **changes: Any) -> dict[str, Any]:
        job = fit(
            working, method="l2h", inputs={"logits": rows, **changes.pop("more", {})}, **changes
        )
        assert job["status"] == "succeeded", job
        return job

    def supports(job: dict[str, Any]) -> list[float | None]:
        nodes = working.client.get(f"/v1/trees/{job['result']['tree']}").json()["nodes"]
        return [node["support"] for node in nodes]

    support = {"replicates": 6}
    whole = run(logits, support=support)
    first = run(logits[:70], params={"growable": True})
    grown = run(logits[70:], more={"base": first["id"]}, support=support)
    assert supports(grown) == supports(whole)
    assert any(each is not None for each in supports(grown))

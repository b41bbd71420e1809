"""Comparisons: submitted, followed, read as JSON and CSV."""

from __future__ import annotations

import csv
import io
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.app.conftest import Api, Start, Working, problem_of
from workers.errors import StoreUnavailable

POINTS = np.random.default_rng(0).normal(size=(60, 3)) + np.repeat(8.0 * np.eye(3), 20, axis=0)
LABELS = np.repeat(["a", "b", "c"], 20).tolist()
RUNS: list[dict[str, Any]] = [
    {"method": "hac", "params": {"linkage": "ward"}},
    {"method": "kmeans", "params": {"n_clusters": 3, "n_init": 1, "seed": 7}},
    {"method": "kmeans", "params": {"n_clusters": 2, "n_init": 1}, "then": "l2h"},
    {"method": "hac", "preprocess": [{"step": "pca", "n": 1}]},
]


def body(**changes: Any) -> dict[str, Any]:
    return {
        "inputs": {"features": POINTS.tolist()},
        "labels": LABELS,
        "runs": RUNS,
        "seeds": 3,
        **changes,
    }


def compare(working: Working, **changes: Any) -> Any:
    headers = {"Prefer": "wait=60"}
    return working.client.post("/v1/comparisons", json=body(**changes), headers=headers)


def test_one_row_for_each_run(working: Working) -> None:
    answer = compare(working)
    assert answer.status_code == 201, answer.text
    comparison = answer.json()
    assert answer.headers["location"] == f"/v1/comparisons/{comparison['id']}"
    assert comparison["status"] == "succeeded"
    assert comparison["id"].partition("_")[2] == comparison["job"].partition("_")[2]
    table = comparison["table"]
    assert [row["method"] for row in table] == ["hac", "kmeans", "kmeans", "hac"]
    # Agglomeration is deterministic.
    assert [row["seeds"] for row in table] == [1, 3, 3, 1]
    assert table[1]["params"]["max_iter"] == 300
    assert table[2]["then"]["method"] == "l2h"
    assert table[3]["preprocess"] == [{"step": "pca", "n": 1}]
    for row in table:
        assert row["error"] is None
        assert row["seconds"]["mean"] > 0
        for name, spread in row["metrics"].items():
            values = row["values"][name]
            assert len(values) == row["seeds"]
            assert spread["mean"] == pytest.approx(np.mean(values))
            assert spread["std"] == pytest.approx(np.std(values, ddof=1) if len(values) > 1 else 0)
    assert table[0]["metrics"]["nmi"]["mean"] == pytest.approx(1.0)
    assert table[2]["metrics"]["nmi"]["mean"] < 0.9
    assert comparison["best"]["nmi"] in (0, 1)
    assert comparison["best"]["dendrogram_purity"] in (0, 1)


def test_runs_are_tested_on_the_same_rows_against_the_purest(working: Working) -> None:
    differences = compare(working).json()["differences"]
    purest = differences[0]["than"]
    assert purest in (0, 1)
    assert sorted([purest, *(one["run"] for one in differences)]) == [0, 1, 2, 3]
    by_run = {one["run"]: one for one in differences}
    # One column of three mixes two of the classes.
    assert by_run[3]["rows"]["n_worse"] >= 40 > by_run[3]["rows"]["n_better"]
    assert by_run[3]["rows"]["p_value"] < 1e-6
    for one in differences:
        assert one["rows"]["n_better"] + one["rows"]["n_worse"] <= 60
        assert one["classes"]["n_better"] + one["classes"]["n_worse"] <= 3
        assert 0.0 <= one["classes"]["p_value"] <= 1.0
    assert compare(working, labels=None).json()["differences"] == []


def test_the_same_seeds_give_the_same_figures(working: Working) -> None:
    a, b = (compare(working).json()["table"] for _ in range(2))
    assert [row["values"] for row in a] == [row["values"] for row in b]


def test_metrics_and_cut_are_chosen(working: Working) -> None:
    comparison = compare(working, metrics=["nmi", "ari"], cut={"k": 2}, runs=RUNS[:1]).json()
    assert list(comparison["table"][0]["metrics"]) == ["nmi", "ari"]
    assert comparison["table"][0]["metrics"]["nmi"]["mean"] < 0.9


def test_all_metrics_are_measured_by_default(working: Working) -> None:
    empty, omitted = (compare(working, runs=RUNS[:1], **of).json() for of in ({"metrics": []}, {}))
    assert list(empty["table"][0]["metrics"]) == list(omitted["table"][0]["metrics"]) != []


def test_no_run_is_best_by_lhd_among_trees_of_unlike_size(working: Working) -> None:
    def partition(n_clusters: int) -> dict[str, Any]:
        return {"method": "kmeans", "params": {"n_clusters": n_clusters, "n_init": 1}}

    metrics = ["lhd", "nmi"]
    unlike = compare(working, metrics=metrics, runs=[partition(3), partition(6)], seeds=1).json()
    assert list(unlike["best"]) == ["nmi"]
    for row in unlike["table"]:
        assert any("3 to 6 among the runs" in warning for warning in row["warnings"])
    alike = compare(working, metrics=metrics, runs=[partition(5), RUNS[0]], cut={"k": 5}, seeds=1)
    assert set(alike.json()["best"]) == {"lhd", "nmi"}
    assert not any("lhd" in text for row in alike.json()["table"] for text in row["warnings"])
    without = compare(working, metrics=["nmi"], runs=[partition(3), partition(6)], seeds=1).json()
    assert not any("lhd" in text for row in without["table"] for text in row["warnings"])


def test_without_labels_metrics_of_features_are_measured(working: Working) -> None:
    comparison = compare(working, labels=None, runs=RUNS[:2]).json()
    assert "dasgupta_cost" in comparison["table"][0]["metrics"]
    assert comparison["best"]["dasgupta_cost"] in (0, 1)


def test_a_run_that_fails_does_not_stop_the_others(working: Working) -> None:
    runs = [{"method": "kmeans", "params": {"n_clusters": 1000}}, RUNS[0]]
    comparison = compare(working, runs=runs).json()
    assert comparison["status"] == "succeeded"
    bad, good = comparison["table"]
    assert "1000" in bad["error"]["detail"]
    assert (bad["metrics"], bad["seconds"]) == ({}, None)
    assert good["error"] is None
    assert set(comparison["best"].values()) == {1}


def test_the_table_as_csv(working: Working) -> None:
    comparison = compare(working, metrics=["nmi"]).json()
    address = f"/v1/comparisons/{comparison['id']}"
    as_csv = working.client.get(f"{address}.csv")
    assert as_csv.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(as_csv.text)))
    assert [row["method"] for row in rows] == [row["method"] for row in comparison["table"]]
    assert float(rows[2]["nmi_mean"]) == comparison["table"][2]["metrics"]["nmi"]["mean"]
    assert [int(i) for i, row in enumerate(rows) if row["best"] == "nmi"] == [
        comparison["best"]["nmi"]
    ]
    by_accept = working.client.get(address, headers={"Accept": "text/csv"})
    assert by_accept.text == as_csv.text
    again = working.client.get(address)
    assert again.json() == comparison
    same = working.client.get(address, headers={"If-None-Match": again.headers["etag"]})
    assert same.status_code == 304
    assert working.client.get(f"{address}.nwk").status_code == 406


def test_a_comparison_is_listed_as_a_job_and_removed_with_it(working: Working) -> None:
    comparison = compare(working, runs=RUNS[:1]).json()
    job = working.client.get(f"/v1/jobs/{comparison['job']}").json()
    assert job["kind"] == "compare"
    assert working.client.delete(f"/v1/comparisons/{comparison['id']}").status_code == 204
    assert working.client.get(f"/v1/comparisons/{comparison['id']}").status_code == 404
    assert working.client.get(f"/v1/jobs/{comparison['job']}").status_code == 404


def test_the_id_of_another_job_is_not_a_comparison(working: Working) -> None:
    job = working.client.post(
        "/v1/jobs", json={"method": "hac", "inputs": {"features": POINTS.tolist()}}
    ).json()
    suffix = job["id"].partition("_")[2]
    problem_of(working.client.get(f"/v1/comparisons/cmp_{suffix}"), 404, "not-found")
    problem_of(working.client.delete(f"/v1/comparisons/cmp_{suffix}"), 404, "not-found")


def test_a_key_returns_the_same_comparison_again(api: Api) -> None:
    headers = {"Idempotency-Key": "k"}
    first, second = (
        api.client.post("/v1/comparisons", json=body(), headers=headers) for _ in range(2)
    )
    assert first.status_code == second.status_code == 202
    assert first.json()["id"] == second.json()["id"]
    assert first.json()["table"] is None
    changed = api.client.post("/v1/comparisons", json=body(seeds=2), headers=headers)
    problem_of(changed, 422, "idempotency-mismatch")


@pytest.mark.parametrize(
    ("changes", "code", "pointer"),
    [
        ({"runs": []}, "invalid-request", "/runs"),
        ({"runs": [{"method": "nothing"}]}, "unknown-method", "/runs/0/method"),
        (
            {"runs": [RUNS[0], {"method": "hac", "params": {"linkage": "x"}}]},
            "invalid-request",
            "/runs/1/params/linkage",
        ),
        ({"runs": [{"method": "l2h"}]}, "wrong-input", "/inputs/logits"),
        ({"runs": [{"method": "hac", "then": "l2h"}]}, "wrong-input", "/runs/0/then"),
        ({"metrics": ["beauty"]}, "unknown-metric", "/metrics"),
        ({"inputs": {"features": [[1.0]], "targets": [[1.0]]}}, "wrong-input",
         "/inputs/targets"),
        ({"inputs": {"features": [[1.0]], "labels": [1]}}, "wrong-input", "/inputs/labels"),
        ({"seeds": 0}, "invalid-request", "/seeds"),
        ({"seeds": True}, "invalid-request", "/seeds"),
        ({"seeds": "2"}, "invalid-request", "/seeds"),
        (
            {"runs": [{"method": "hac", "preprocess": [{"step": "pca", "n": "2"}]}]},
            "invalid-request",
            "/runs/0/preprocess/0/n",
        ),
        ({"cut": {"k": 1, "level": 2}}, "invalid-request", "/cut"),
    ],
)  # fmt: skip
def test_invalid_comparisons(api: Api, changes: dict[str, Any], code: str, pointer: str) -> None:
    problem = problem_of(api.client.post("/v1/comparisons", json=body(**changes)), 422, code)
    assert problem["errors"][0]["pointer"] == pointer
    assert not api.sent


def test_too_many_fits_are_refused(api: Api) -> None:
    runs = [RUNS[1]] * 11
    answer = api.client.post("/v1/comparisons", json=body(runs=runs, seeds=100))
    assert "1100 fits" in problem_of(answer, 422, "invalid-request")["detail"]


def test_a_run_too_large_for_a_job_is_refused_at_once(start: Start) -> None:
    api = start(job_memory_bytes=1 << 10)
    problem_of(api.client.post("/v1/comparisons", json=body()), 413, "too-large")


def test_comparisons_are_listed_newest_first(working: Working) -> None:
    made = [compare(working, runs=RUNS[:1], metrics=["nmi"]).json()["id"] for _ in range(3)]
    # Other jobs are not in the list.
    job = {"method": "hac", "inputs": {"features": POINTS.tolist()}}
    working.client.post("/v1/jobs", json=job, headers={"Prefer": "wait=60"})
    page = working.client.get("/v1/comparisons?limit=2").json()
    assert [item["id"] for item in page["items"]] == made[:0:-1]
    assert page["items"][0]["table"][0]["metrics"]["nmi"]["mean"] > 0
    rest = working.client.get(f"/v1/comparisons?limit=2&cursor={page['next_cursor']}").json()
    assert [item["id"] for item in rest["items"]] == made[:1]
    assert rest["next_cursor"] is None
    assert working.client.get("/v1/comparisons?status=failed").json()["items"] == []
    working.client.delete(f"/v1/comparisons/{made[2]}")
    left = working.client.get("/v1/comparisons").json()["items"]
    assert [item["id"] for item in left] == made[1::-1]
    problem_of(working.client.get("/v1/comparisons?status=done"), 422, "invalid-request")


def test_trees_of_runs_are_kept_on_request(working: Working) -> None:
    plain = compare(working).json()
    assert {row["tree"] for row in plain["table"]} == {None}
    failing = {"method": "kmeans", "params": {"n_clusters": 61}}
    comparison = compare(working, keep_trees=True, runs=[*RUNS, failing], name="kept").json()
    *rows, failed = comparison["table"]
    assert failed["error"] is not None
    assert (failed["job"], failed["tree"]) == (None, None)
    assert len({row["tree"] for row in rows}) == 4
    listed = working.client.get("/v1/jobs?name=kept").json()["items"]
    jobs = {row["job"] for row in rows}
    assert {job["id"] for job in listed} == {comparison["job"], *jobs}
    for row in rows:
        job = working.client.get(f"/v1/jobs/{row['job']}").json()
        assert (job["status"], job["kind"], job["method"]) == ("succeeded", "fit", row["method"])
        assert job["result"]["tree"] == row["tree"]
        assert (job["params"], job["preprocess"]) == (row["params"], row["preprocess"])
        # The same fit by itself gives the same tree and the same figures.
        fields = {key: row[key] for key in ("method", "params", "preprocess", "then") if row[key]}
        alone = working.client.post(
            "/v1/jobs",
            json={"inputs": {"features": POINTS.tolist()}, **fields},
            headers={"Prefer": "wait=60"},
        ).json()
        trees = [f"/v1/trees/{tree}.nwk" for tree in (row["tree"], alone["result"]["tree"])]
        kept, again = (working.client.get(tree).text for tree in trees)
        assert kept == again
        evaluation = working.client.post(
            f"/v1/trees/{row['tree']}/evaluations", json={"labels": LABELS, "metrics": ["nmi"]}
        ).json()
        assert evaluation["metrics"]["nmi"] == pytest.approx(row["values"]["nmi"][0])
    model = "md_" + rows[1]["job"][4:]
    placed = working.client.post(
        f"/v1/models/{model}/predictions", json={"inputs": {"features": POINTS[:2].tolist()}}
    )
    assert placed.status_code == 200, placed.text
    table = list(
        csv.DictReader(
            io.StringIO(working.client.get(f"/v1/comparisons/{comparison['id']}.csv").text)
        )
    )
    assert [row["tree"] for row in table] == [*(row["tree"] for row in rows), ""]


def test_kept_trees_stay_without_their_comparison_and_are_not_made_again(
    working: Working,
) -> None:
    def used() -> int:
        return int(working.client.get("/v1/usage").json()["tenant"]["bytes"]["used"])

    comparison = compare(working, keep_trees=True, runs=RUNS[:2]).json()
    first, second = (row["job"] for row in comparison["table"])
    tenant, ledger, redis = "local", working.service.ledger, working.service.redis
    before = used()
    assert working.client.delete(f"/v1/jobs/{first}").status_code == 204
    assert used() < before
    before = used()
    redis.flushdb()
    ledger.rebuild()
    assert ledger.get(tenant, first) is None
    kept = ledger.get(tenant, second)
    assert kept is not None
    assert kept.status == "succeeded"
    assert used() == before
    keys = [key for key in working.service.blobs.keys("attempts/") if "/runs/" in key]
    assert keys == []
    path = f"/v1/comparisons/{comparison['id']}"
    assert working.client.get(path).json()["table"][1]["job"] == second
    assert working.client.delete(path).status_code == 204
    assert working.client.get(f"/v1/trees/tr_{second[4:]}").status_code == 200


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_runs_whose_settling_was_interrupted_are_kept_later(
    working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that settles the end dies at each of the writes of the runs."""
    blobs = type(working.service.blobs)
    put_file, left = blobs.put_file, [0]

    def dying(self: Any, key: str, path: Path) -> None:
        if left[0] == 0:
            raise StoreUnavailable("away")
        left[0] -= 1
        put_file(self, key, path)

    monkeypatch.setattr(blobs, "put_file", dying)
    job = working.client.post("/v1/comparisons", json=body(keep_trees=True, runs=RUNS[:2])).json()
    working.work.join()
    path = f"/v1/comparisons/{job['id']}"
    assert working.client.get(path).json()["status"] == "running"
    for allowed in (1, 3, 100):
        left[0] = allowed
        working.service.redis.flushdb()
        with suppress(StoreUnavailable):
            working.service.ledger.rebuild()
    deadline = time.monotonic() + 30.0  # The application sweeps, too: it may be at it.
    while (comparison := working.client.get(path).json())["status"] != "succeeded":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    for row in comparison["table"]:
        assert working.client.get(f"/v1/trees/{row['tree']}").status_code == 200
    assert len(working.client.get("/v1/jobs").json()["items"]) == 3


def test_lists_of_comparisons_are_filtered(working: Working) -> None:
    a, b = (compare(working, runs=RUNS[:1], name=name).json() for name in ("a", "b"))
    working.client.patch(f"/v1/jobs/{b['job']}", json={"tags": ["mine"]})

    def listed(query: str) -> list[str]:
        answer = working.client.get(f"/v1/comparisons?{query}")
        assert answer.status_code == 200, answer.text
        return [item["id"] for item in answer.json()["items"]]

    assert listed("name=a") == [a["id"]]
    assert listed("tag=mine") == [b["id"]]
    assert listed("tag=mine&status=succeeded") == [b["id"]]
    assert listed("tag=mine&name=a") == []
    assert listed("status=failed") == []
    assert working.client.get(f"/v1/comparisons/{b['id']}").json()["tags"] == ["mine"]

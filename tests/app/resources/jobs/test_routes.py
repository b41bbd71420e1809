"""Submitting, listing, polling, cancelling and removing jobs."""

from __future__ import annotations

import io
import json
import threading
import time
from typing import Any

import numpy as np
import pytest

from app.http import bodies
from tests.app.conftest import LOGITS, Api, Start, new_job, problem_of
from workers.formats import strict_json
from workers.kinds.registry import kinds

DEFAULTS = {
    "aggregation": "mean-sum",
    "input": "logits",
    "temperature": 1.0,
    "device": "cpu",
    "growable": False,
    "n_classes": None,
}

UNKNOWN = "job_" + "0" * 26


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def upload(api: Api, array: np.ndarray, query: str = "") -> str:
    answer = api.client.post(
        f"/v1/datasets{query}", content=npy(array), headers={"Content-Type": "application/x-npy"}
    )
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def test_the_lane_of_a_job_is_by_what_it_is_expected_to_take(api: Api) -> None:
    rows = np.random.default_rng(0).normal(size=(30, 4)).round(2).tolist()
    labels = ["a", "b"] * 15
    features = upload(api, np.array(rows))
    many = upload(api, np.zeros((40_000, 80), np.float32))
    of_labels = {"features": features, "labels": labels}
    for lane, fields in (
        ("short", new_job()),
        ("short", {"method": "kmeans", "inputs": {"features": rows}}),
        ("short", {"method": "kmeans", "inputs": {"features": features}, "then": "l2h"}),
        ("short", {"method": "mlr", "inputs": of_labels}),
        ("fit", {"method": "kmeans", "inputs": {"features": features},
                 "params": {"choose": "bic"}}),
        ("fit", {"method": "hac", "inputs": {"features": many}}),
        ("short", {"method": "hac", "inputs": {"features": many},
                   "preprocess": [{"step": "pca", "n": 1}]}),
        ("fit", {"method": "corrmnl", "inputs": of_labels}),
        ("fit", {**new_job(), "support": {"replicates": 500}}),
    ):  # fmt: skip
        job = api.client.post("/v1/jobs", json=fields)
        assert job.status_code == 202, job.text
        assert api.claim(job.json()["id"]).lane == lane, fields
    runs = [{"method": "kmeans"}, {"method": "hac"}]
    comparison = {"runs": runs, "inputs": {"features": features}, "seeds": 2}
    job = api.client.post("/v1/comparisons", json=comparison)
    assert api.claim(job.json()["job"]).lane == "short"


def test_how_a_job_is_tried_again(api: Api) -> None:
    policy = {"attempts": 2, "backoff": 0.5, "retry_on": ["full"]}
    job = api.client.post("/v1/jobs", json=new_job(**policy)).json()
    assert {name: job[name] for name in policy} == policy
    for wrong in (
        {"attempts": 0},
        {"attempts": 21},
        {"backoff": -1},
        {"backoff": 3601},
        {"retry_on": ["unusable-input"]},
        {"retry_on": "full"},
    ):
        answer = api.client.post("/v1/jobs", json=new_job(**wrong))
        assert answer.status_code == 422, wrong
        assert next(iter(wrong)) in answer.json()["detail"]
    queries = {"attempts": 2, "retry_on": ["full", "internal"], "backoff": 1}
    headers = {"Content-Type": "text/x-nh", "Prefer": "wait=0"}
    made = api.client.post("/v1/trees", params=queries, content="(a,b);", headers=headers)
    assert made.status_code == 202, made.text
    retrying = api.claim(made.json()["id"]).request.retrying
    assert retrying.model_dump() == {**queries, "retry_on": ("full", "internal")}


def test_a_failed_job_is_tried_again_by_hand(api: Api) -> None:
    job = api.client.post("/v1/jobs", json=new_job(attempts=4)).json()
    address = f"/v1/jobs/{job['id']}/retry"
    problem_of(api.client.post(address), 409, "conflict")
    assert api.client.post(f"/v1/jobs/{UNKNOWN}/retry").status_code == 404
    why = {"type": "/problems/internal", "title": "No", "status": 500, "detail": "Ours."}
    api.finish(job["id"], status="failed", result=None, error=why)
    first, again = api.client.post(address), api.client.post(address)
    assert first.status_code == again.status_code == 202
    repeat = first.json()
    assert first.headers["location"] == f"/v1/jobs/{repeat['id']}"
    assert again.json() == repeat
    assert (repeat["retry_of"], repeat["attempts"], repeat["status"]) == (job["id"], 4, "queued")
    assert repeat["inputs"] == {"logits": "inline"}
    for reason, found in (("internal", [job["id"]]), ("worker-lost", [])):
        query = {"status": "failed", "reason": reason, "method": "l2h"}
        listed = api.client.get("/v1/jobs", params=query).json()["items"]
        assert [each["id"] for each in listed] == found
    assert api.client.get("/v1/jobs", params={"reason": "No!"}).status_code == 422


def test_a_job_is_accepted_with_defaults_filled_in(api: Api) -> None:
    answer = api.client.post("/v1/jobs", json=new_job(name='<b>"x"'))
    assert answer.status_code == 202, answer.text
    job = answer.json()
    assert answer.headers["location"] == f"/v1/jobs/{job['id']}"
    assert answer.headers["retry-after"] == "1"
    assert job["status"] == "queued"
    assert job["params"] == DEFAULTS
    assert job["inputs"] == {"logits": "inline"}
    assert job["name"] == '<b>"x"'
    assert api.sent == [("cpu", job["id"])]
    claim = api.claim(job["id"])
    assert claim.request.params == DEFAULTS
    assert claim.request.request_id == answer.headers["x-request-id"]


@pytest.mark.parametrize(
    ("dataset", "given", "name"),
    [
        ("irises.csv", None, "irises, l2h"),
        ("numbers.npy.gz", None, "numbers, l2h"),
        ("v1.0", None, "v1.0, l2h"),
        (".npy", None, ".npy, l2h"),
        ("  ", None, None),
        ("Fish & chips <b>", "lunch", "lunch"),
        ("n" * 999, None, f"{'n' * 200}, l2h"),
    ],
)
def test_a_fit_is_called_after_its_data_and_method(
    api: Api, dataset: str, given: str | None, name: str | None
) -> None:
    answer = api.client.post(
        "/v1/datasets",
        params={"name": dataset},
        content=npy(np.eye(4)),
        headers={"Content-Type": "application/x-npy"},
    )
    inputs = {"names": list("abcd"), "logits": answer.json()["id"]}
    answer = api.client.post("/v1/jobs", json=new_job(inputs=inputs, name=given))
    assert answer.status_code == 202, answer.text
    assert answer.json()["name"] == name


def test_wait_returns_the_finished_job(api: Api) -> None:
    def work() -> None:
        while not api.sent:
            time.sleep(0.005)
        api.finish(api.sent[0][1])

    thread = threading.Thread(target=work)
    thread.start()
    answer = api.client.post("/v1/jobs", json=new_job(), headers={"Prefer": "wait=90"})
    thread.join()
    assert answer.status_code == 201
    assert answer.headers["preference-applied"] == "wait=60"
    job = answer.json()
    assert answer.headers["location"] == f"/v1/jobs/{job['id']}"
    assert job["status"] == "succeeded"
    assert job["result"]["tree"] == "tr_" + job["id"][4:]


def test_wait_times_out(api: Api) -> None:
    began = time.monotonic()
    answer = api.client.post("/v1/jobs", json=new_job(), headers={"Prefer": "wait=1"})
    assert 1.0 <= time.monotonic() - began < 30, "not the minute that it may wait"
    assert answer.status_code == 202
    assert answer.json()["status"] == "queued"


@pytest.mark.parametrize("prefer", ["wait=x", "wait=-1", "respond-async", "wait", "", ",;="])
def test_an_invalid_preference_is_ignored(api: Api, prefer: str) -> None:
    answer = api.client.post("/v1/jobs", json=new_job(), headers={"Prefer": prefer})
    assert answer.status_code == 202
    assert "preference-applied" not in answer.headers


def test_the_error_for_an_unknown_method_lists_all(api: Api) -> None:
    body = problem_of(
        api.client.post("/v1/jobs", json=new_job(method="nope")), 422, "unknown-method"
    )
    for method in ("l2h", "hac", "kmeans"):
        assert method in body["detail"]
    assert body["errors"][0]["pointer"] == "/method"


def test_the_problem_points_at_each_wrong_parameter(api: Api) -> None:
    body = problem_of(
        api.client.post("/v1/jobs", json=new_job(params={"aggregation": "x", "no": 1})),
        422,
        "invalid-request",
    )
    pointers = {error["pointer"] for error in body["errors"]}
    assert pointers == {"/params/aggregation", "/params/no"}
    assert "aggregation" in body["detail"]


@pytest.mark.parametrize(
    ("momentum", "part"),
    [("fast", "a valid number"), (1.0, "less than 1"), ({"a": 1}, "a valid number")],
)
def test_alternatives_of_a_parameter_are_one_error(api: Api, momentum: object, part: str) -> None:
    job = {"method": "temi", "inputs": {"features": LOGITS}, "params": {"momentum": momentum}}
    body = problem_of(api.client.post("/v1/jobs", json=job), 422, "invalid-request")
    (error,) = body["errors"]
    assert error["pointer"] == "/params/momentum"
    assert part in error["detail"]
    assert error["detail"].endswith(" Or: Input should be 'auto'.")
    assert body["detail"].startswith(f"params.momentum: {error['detail']} Method 'temi'")


def test_the_problem_points_at_parameters_of_then(api: Api) -> None:
    job = {
        "method": "kmeans",
        "inputs": {"features": LOGITS},
        "params": {"n_clusters": 2},
        "then": {"method": "l2h", "params": {"aggregation": "x"}},
    }
    body = problem_of(api.client.post("/v1/jobs", json=job), 422, "invalid-request")
    assert body["errors"][0]["pointer"] == "/then/params/aggregation"


def test_then_may_be_an_id_and_takes_names(api: Api) -> None:
    job = {
        "method": "kmeans",
        "inputs": {"features": LOGITS, "names": ["a", "b"]},
        "params": {"n_clusters": 2},
        "then": "l2h",
    }
    answer = api.client.post("/v1/jobs", json=job)
    assert answer.status_code == 202, answer.text
    assert answer.json()["then"] == {"method": "l2h", "params": DEFAULTS}


def test_then_needs_what_the_first_method_gives(api: Api) -> None:
    problem_of(api.client.post("/v1/jobs", json=new_job(then="hac")), 422, "wrong-input")
    job = {"method": "hac", "inputs": {"features": LOGITS}, "then": "l2h"}
    body = problem_of(api.client.post("/v1/jobs", json=job), 422, "wrong-input")
    assert body["errors"][0]["pointer"] == "/then"


@pytest.mark.parametrize(
    "inputs", [{}, {"features": LOGITS, "distances": [[0.0, 1.0], [1.0, 0.0]]}]
)
def test_exactly_one_of_several_inputs_is_required(api: Api, inputs: dict[str, object]) -> None:
    job = {"method": "hac", "inputs": inputs}
    body = problem_of(api.client.post("/v1/jobs", json=job), 422, "wrong-input")
    assert "exactly one of the inputs 'features', 'distances'" in body["detail"]
    assert body["errors"][0]["pointer"] == "/inputs/features"


@pytest.mark.parametrize("value", [None, 1, {}, True])
def test_an_input_is_an_id_or_a_list(api: Api, value: object) -> None:
    body = problem_of(
        api.client.post("/v1/jobs", json=new_job(inputs={"logits": value})), 422, "invalid-request"
    )
    assert body["errors"][0]["pointer"] == "/inputs/logits"
    assert "an id or a list" in body["errors"][0]["detail"]


@pytest.mark.parametrize(
    ("inputs", "code", "message"),
    [
        ({}, "wrong-input", "needs the input 'logits'"),
        ({"logits": LOGITS, "labels": [1, 2, 3]}, "wrong-input", "takes no input 'labels'"),
        ({"logits": "ds_" + "0" * 26}, "unknown-input", "there is no dataset"),
        ({"logits": "nonsense"}, "unknown-input", "there is no dataset 'nonsense'"),
        ({"logits": "tr_" + "0" * 26}, "wrong-input", "takes a dataset"),
        ({"logits": ["ds_" + "0" * 26]}, "wrong-input", "one dataset"),
        ({"logits": [[1.0, 2.0], [3.0]]}, "ragged", "row 1"),
        ({"logits": []}, "empty", "no rows"),
        ({"logits": [1.0, 2.0]}, "wrong-input", "row 0"),
        ({"logits": [[1.0, "x"]]}, "wrong-input", "column 1"),
        ({"logits": [[1.0, None]]}, "missing-value", "column 1"),
    ],
)
def test_invalid_inputs(api: Api, inputs: dict[str, object], code: str, message: str) -> None:
    body = problem_of(api.client.post("/v1/jobs", json=new_job(inputs=inputs)), 422, code)
    assert message in body["detail"]
    assert api.sent == []


def test_a_dataset_of_another_role_or_shape(api: Api) -> None:
    labels = upload(api, np.arange(3), "?role=labels")
    problem_of(
        api.client.post("/v1/jobs", json=new_job(inputs={"logits": labels})), 422, "wrong-role"
    )
    column = upload(api, np.arange(3.0))
    problem_of(
        api.client.post("/v1/jobs", json=new_job(inputs={"logits": column})), 422, "wrong-shape"
    )
    matrix = upload(api, np.array(LOGITS), "?role=logits")
    assert api.client.post("/v1/jobs", json=new_job(inputs={"logits": matrix})).status_code == 202


@pytest.mark.parametrize(
    ("method", "role", "values", "sentence"),
    [
        ("l2h", "names", ["a", "b", "c"], "has 3 values; 4 are needed, one for each column"),
        ("hac", "names", ["a", "b"], "has 2 values; 6 are needed, one for each row"),
        ("hdbscan", "names", ["a", "b"], "has 2 values; 6 are needed, one for each row"),
        ("l2h", "top_classes", [[0, 1]] * 6, "shape (6, 2), input 'logits' (6, 4)"),
        ("bsvm", "labels", [0, 1, 1], "has 3 values; 6 are needed, one for each row"),
        ("tvmf", "timestamps", [1, 2], "has 2 values; 6 are needed, one for each row"),
    ],
)
@pytest.mark.parametrize("inline", [True, False])
def test_lengths_are_checked_before_the_job_is_accepted(
    api: Api, method: str, role: str, values: list[object], sentence: str, inline: bool
) -> None:
    main = "logits" if method == "l2h" else "features"
    given: object = values
    if not inline:
        hint = {} if role == "top_classes" else {"role": role}
        given = api.client.post("/v1/datasets", params=hint, json=values).json()["id"]
    inputs = {main: upload(api, np.eye(6, 4), f"?role={main}"), role: given}
    answer = api.client.post("/v1/jobs", json={"method": method, "inputs": inputs})
    problem = problem_of(answer, 422, "wrong-shape")
    assert sentence in problem["detail"]
    assert problem["errors"][0]["pointer"] == f"/inputs/{role}"
    assert api.sent == []
    if role != "labels":
        runs = {"runs": [{"method": method}], "inputs": inputs}
        problem_of(api.client.post("/v1/comparisons", json=runs), 422, "wrong-shape")


@pytest.mark.parametrize(
    "extra", [{"preprocess": 1}, {"webhooks": "https://a"}, {"x": 1}, {"name": 3}, {"params": []}]
)
def test_unknown_fields_are_refused(api: Api, extra: dict[str, object]) -> None:
    body = problem_of(api.client.post("/v1/jobs", json=new_job(**extra)), 422, "invalid-request")
    assert body["errors"][0]["pointer"].split("/")[1] == next(iter(extra))


def test_a_parameter_beside_params_is_named_as_one(api: Api) -> None:
    body = problem_of(
        api.client.post("/v1/jobs", json=new_job(temperature=2.0)), 422, "invalid-request"
    )
    assert body["detail"] == (
        "temperature: There is no such field: it is a parameter of 'l2h', give it in 'params'."
    )


def test_polling_with_an_etag(api: Api) -> None:
    job_id = api.client.post("/v1/jobs", json=new_job()).json()["id"]
    first = api.client.get(f"/v1/jobs/{job_id}")
    assert first.headers["retry-after"] == "1"
    etag = first.headers["etag"]
    same = api.client.get(f"/v1/jobs/{job_id}", headers={"If-None-Match": f'"x", W/{etag}'})
    assert same.status_code == 304
    assert same.content == b""
    assert same.headers["etag"] == etag
    api.finish(job_id)
    ended = api.client.get(f"/v1/jobs/{job_id}", headers={"If-None-Match": etag})
    assert ended.status_code == 200
    assert ended.json()["status"] == "succeeded"
    assert "retry-after" not in ended.headers


def test_pages(api: Api) -> None:
    ids = [api.client.post("/v1/jobs", json=new_job()).json()["id"] for _ in range(5)]
    listed: list[str] = []
    address = "/v1/jobs?limit=2&method=l2h"
    while True:
        page = api.client.get(address)
        assert page.status_code == 200
        listed += [job["id"] for job in page.json()["items"]]
        if page.json()["next_cursor"] is None:
            assert "link" not in page.headers
            break
        address = page.headers["link"].removeprefix("<").partition(">")[0]
        assert page.headers["link"].endswith('rel="next"')
        assert page.json()["next_cursor"] in address
        assert "method=l2h" in address
    assert listed == sorted(ids, reverse=True)
    assert api.client.get("/v1/jobs?status=failed").json() == {
        "items": [],
        "next_cursor": None,
        "count": None,
    }
    assert api.client.get("/v1/jobs?method=hac").json()["items"] == []


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=201", "limit=x", "status=gone", "cursor=%00", "cursor=!"]
)
def test_invalid_pages(api: Api, query: str) -> None:
    assert api.client.get(f"/v1/jobs?{query}").status_code == 422


def test_cancel_and_delete(api: Api) -> None:
    job_id = api.client.post("/v1/jobs", json=new_job()).json()["id"]
    cancelled = api.client.post(f"/v1/jobs/{job_id}/cancel")
    assert cancelled.status_code == 200
    assert cancelled.json()["status"] == "cancelled"
    assert api.client.post(f"/v1/jobs/{job_id}/cancel").json()["status"] == "cancelled"
    running = api.client.post("/v1/jobs", json=new_job()).json()["id"]
    claim = api.claim(running)
    assert api.client.post(f"/v1/jobs/{running}/cancel").json()["status"] == "cancelling"
    assert api.service.ledger.beat(claim) == "cancel"
    for deleted in (job_id, running):
        assert api.client.delete(f"/v1/jobs/{deleted}").status_code == 204
        problem_of(api.client.get(f"/v1/jobs/{deleted}"), 404, "not-found")
        problem_of(api.client.delete(f"/v1/jobs/{deleted}"), 404, "not-found")


@pytest.mark.parametrize("job_id", [UNKNOWN, "x", "job_" + "u" * 26, "ds_" + "0" * 26, "%F0%9F"])
def test_unknown_jobs(api: Api, job_id: str) -> None:
    problem_of(api.client.get(f"/v1/jobs/{job_id}"), 404, "not-found")
    problem_of(api.client.get(f"/v1/jobs/{job_id}/events"), 404, "not-found")
    problem_of(api.client.post(f"/v1/jobs/{job_id}/cancel"), 404, "not-found")
    problem_of(api.client.delete(f"/v1/jobs/{job_id}"), 404, "not-found")


def test_a_failed_job_shows_its_problem(api: Api) -> None:
    job_id = api.client.post("/v1/jobs", json=new_job()).json()["id"]
    error = {"type": "/problems/not-finite", "title": "T", "status": 422, "detail": "D"}
    api.finish(job_id, status="failed", result=None, error=error)
    job = api.client.get(f"/v1/jobs/{job_id}").json()
    assert job["status"] == "failed"
    assert job["error"] == error
    assert job["result"] is None


def test_the_listed_kinds() -> None:
    shown = {"map", "heatmap"}
    of_trees = {"predict", "evaluate", "consensus", "calibrate", "drift", "name", "place", *shown}
    listed = {kind.name for kind in kinds() if kind.listed}
    assert {"fit", "transform", "embed", "compare", "attach", *of_trees} == listed


def test_features_are_prepared_by_steps_with_defaults_filled_in(api: Api) -> None:
    body = {
        "method": "kmeans",
        "inputs": {"features": [[1.0, 2.0], [3.0, 1.0]]},
        "params": {"n_clusters": 2},
        "preprocess": [{"step": "tfidf"}, {"step": "pca", "n": 1}],
    }
    answer = api.client.post("/v1/jobs", json=body)
    assert answer.status_code == 202, answer.text
    steps = [{"step": "tfidf", "scheme": "ltc"}, {"step": "pca", "n": 1}]
    assert answer.json()["preprocess"] == steps
    assert list(api.claim(answer.json()["id"]).request.preprocess) == steps


@pytest.mark.parametrize("steps", [[{"step": "umap"}], [{"step": "pca"}], [{"step": "l2"}] * 9])
def test_unknown_steps(api: Api, steps: list[dict[str, object]]) -> None:
    body = {"method": "kmeans", "inputs": {"features": [[1.0]]}, "preprocess": steps}
    problem_of(api.client.post("/v1/jobs", json=body), 422, "invalid-request")


@pytest.mark.parametrize("method", ["hac", "hdbscan", "kmeans"])
def test_empty_values_are_left_out_by_methods_of_distances_alone(api: Api, method: str) -> None:
    body = {
        "method": method,
        "inputs": {"features": [[1.0, None], [3.0, 1.0]]},
        "preprocess": [{"step": "missing", "fill": "pairwise"}],
    }
    answer = api.client.post("/v1/jobs", json=body)
    if method == "kmeans":
        body["params"] = {"n_clusters": 2}
        problem = problem_of(api.client.post("/v1/jobs", json=body), 422, "wrong-input")
        assert "'pairwise' is for 'hac', 'hdbscan'" in problem["detail"]
    else:
        assert answer.status_code == 202, answer.text


def test_preparation_requires_features(api: Api) -> None:
    answer = api.client.post("/v1/jobs", json=new_job(preprocess=[{"step": "l2"}]))
    assert "features" in problem_of(answer, 422, "wrong-input")["detail"]


def test_an_input_takes_a_single_dataset(api: Api) -> None:
    dataset = upload(api, np.ones((4, 2)))
    body = {"method": "kmeans", "inputs": {"features": [dataset, dataset]}}
    assert (
        "one dataset"
        in problem_of(api.client.post("/v1/jobs", json=body), 422, "wrong-input")["detail"]
    )


def test_a_job_beyond_its_memory_limit_is_refused_at_once(start: Start) -> None:
    api = start(job_memory_bytes=1 << 20)
    dataset = upload(api, np.ones((2000, 3)))
    given = {"inputs": {"features": dataset}, "params": {"linkage": "average"}}
    body = {"method": "hac", **given}
    problem = problem_of(api.client.post("/v1/jobs", json=body), 413, "too-large")
    assert "GiB" in problem["detail"]
    assert not api.sent
    small = {**body, "params": {"linkage": "single"}}
    assert api.client.post("/v1/jobs", json=small).status_code == 202


def test_a_long_body_is_parsed_in_a_process_of_its_own(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lists never come into this process as values; the job and the errors are the same."""
    parsed_here: list[int] = []

    def parse(body: bytes) -> Any:
        parsed_here.append(len(body))
        return parse_json(body)

    parse_json = strict_json.parse_json
    monkeypatch.setattr(strict_json, "parse_json", parse)
    monkeypatch.setattr("workers.child.json_body.parse_json", parse)
    n_rows = bodies.APART_BYTES // 4
    rows = b"[" + b",".join([b"[1.5]"] * n_rows) + b"]"
    long = b'{"method": "kmeans", "inputs": {"features": %s}}' % rows
    answer = api.client.post("/v1/jobs", content=long, headers={"Content-Type": "application/json"})
    assert answer.status_code == 202, answer.text
    assert answer.json()["inputs"] == {"features": "inline"}
    (key,) = [key for key in api.service.blobs.keys("jobs/") if key.endswith("input.features")]
    assert json.loads(api.service.blobs.get(key)) == [[1.5]] * n_rows
    assert max(parsed_here) < 1000
    ragged = api.client.post("/v1/jobs", content=long.replace(b"[1.5]]", b"[1.5, 2]]"))
    assert problem_of(ragged, 422, "ragged")["where"] == {"role": "features", "row": n_rows - 1}
    wrong = api.client.post("/v1/jobs", content=long.replace(b"features", b"base"))
    assert "takes no input 'base'" in problem_of(wrong, 422, "wrong-input")["detail"]
    few = json.dumps({"method": "kmeans", "inputs": {"features": [[1.5], [1.5, 2]]}})
    short = api.client.post("/v1/jobs", content=few)
    assert (
        problem_of(short, 422, "ragged")["detail"].split("row")[0]
        == (ragged.json()["detail"].split("row")[0])
    )

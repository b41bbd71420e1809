"""Bad input over HTTP: it gives a problem and leaves nothing half-written; the service works on."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest

from tests.e2e.client import Api, npy
from tests.e2e.conftest import PATIENCE_S


@pytest.fixture(autouse=True)
def still_works(api: Api) -> Iterator[None]:
    """The service still works after every bad input."""
    yield
    job = api.run("l2h", {"logits": [[2.0, 0.0, 1.0], [0.0, 2.0, 1.0], [0.5, 1.0, 2.0]]})
    assert job["status"] == "succeeded"


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["type"] == f"/problems/{code}"
    assert body["status"] == status
    assert body["request_id"] == answer.headers["x-request-id"]
    return dict(body)


def failed(api: Api, job: dict[str, Any], code: str) -> str:
    assert job["status"] == "failed", job
    assert job["result"] is None
    assert job["error"]["type"] == f"/problems/{code}"
    assert "Traceback" not in json.dumps(job)
    assert "/tmp" not in job["error"]["detail"]
    return str(job["error"]["detail"])


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinite")])
def test_the_error_locates_logits_that_are_not_finite(api: Api, value: float, word: str) -> None:
    logits = np.zeros((50, 4), dtype=np.float32)
    logits[37, 2] = value
    detail = failed(api, api.run("l2h", {"logits": api.upload(npy(logits))}), "not-finite")
    assert word in detail
    assert "row 37" in detail
    assert "column 2" in detail


def test_one_column(api: Api) -> None:
    dataset = api.upload(npy(np.zeros((5, 1), dtype=np.float32)), role="logits")
    detail = failed(api, api.run("l2h", {"logits": dataset}), "wrong-shape")
    assert "column" in detail


def test_zero_rows(api: Api) -> None:
    answer = api.post_dataset(npy(np.zeros((0, 5), dtype=np.float32)), role="logits")
    if answer.status_code == 201:
        failed(api, api.run("l2h", {"logits": answer.json()["id"]}), "unusable-input")
    else:
        problem(answer, 422, answer.json()["type"].rpartition("/")[2])


def test_the_error_names_the_row_of_a_ragged_list(api: Api) -> None:
    body = {"method": "l2h", "inputs": {"logits": [[1.0, 2.0], [1.0], [3.0, 4.0]]}}
    answer = api.client.post("/v1/jobs", json=body)
    assert answer.status_code == 422
    assert "row 1" in answer.json()["detail"].lower()


def test_the_error_names_the_cell_of_text_in_csv(api: Api) -> None:
    content = b"a,b,c\n1,2,3\n4,five,6\n"
    dataset = api.inspected(api.post_dataset(content, media="text/csv", role="features").json())
    if dataset["status"] == "invalid":
        detail = dataset["problem"]["detail"]
    else:
        detail = failed(api, api.run("hac", {"features": dataset["id"]}), "invalid-file")
    assert "five" in detail
    assert "3" in detail


def test_truncated_npy(api: Api) -> None:
    before = api.count("datasets")
    answer = api.post_dataset(npy(np.zeros((100, 10)))[:-17])
    detail = problem(answer, 422, "truncated")["detail"]
    assert "8000" in detail
    assert api.count("datasets") == before


def test_a_header_that_claims_more_than_the_file_holds(api: Api) -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }"
    header += b" " * (117 - len(header)) + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\0" * 64
    before = api.count("datasets")
    problem(api.post_dataset(content), 422, "truncated")
    assert api.count("datasets") == before


def test_an_object_array(api: Api) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"a": 1}, "x"], dtype=object), allow_pickle=True)
    detail = problem(api.post_dataset(buffer.getvalue()), 415, "unsupported-format")["detail"]
    assert "object" in detail


def test_a_pickle(api: Api) -> None:
    content = pickle.dumps([[1.0, 2.0]])
    answer = api.post_dataset(content, media="application/octet-stream")
    problem(answer, 415, "unsupported-format")


def test_an_archive_that_unpacks_to_a_thousand_times_its_size(api: Api) -> None:
    rows, columns = 1 << 17, 128
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    npy_header = header.encode() + b" " * (117 - len(header)) + b"\n"
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
        archive.open("x.npy", "w", force_zip64=True) as member,
    ):
        member.write(b"\x93NUMPY\x01\x00" + len(npy_header).to_bytes(2, "little") + npy_header)
        block = bytes(1 << 20)
        for _ in range(rows * columns * 8 >> 20):
            member.write(block)
    content = buffer.getvalue()
    assert len(content) < 2 << 20
    answer = api.post_dataset(content, media="application/x-npz", role="features")
    assert answer.status_code == 201
    dataset = api.inspected(answer.json())
    assert dataset["status"] == "invalid"
    assert dataset["problem"]["type"] == "/problems/archive-bomb"
    answer = api.client.post(
        "/v1/jobs", json={"method": "hac", "inputs": {"features": dataset["id"]}}
    )
    assert answer.status_code == 409


def test_the_error_for_an_unknown_method_lists_all(api: Api) -> None:
    answer = api.client.post("/v1/jobs", json={"method": "nope", "inputs": {}})
    assert "l2h" in problem(answer, 422, "unknown-method")["detail"]


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"aggregation": "median"}, "aggregation"),
        ({"linkage": "average"}, "linkage"),
        ({"aggregation": None}, "aggregation"),
    ],
)
def test_unknown_or_out_of_range_parameter(api: Api, params: dict[str, Any], name: str) -> None:
    body = {"method": "l2h", "inputs": {"logits": [[1.0, 2.0], [2.0, 1.0]]}, "params": params}
    answer = api.client.post("/v1/jobs", json=body)
    errors = problem(answer, 422, "invalid-request")["errors"]
    assert errors[0]["pointer"].startswith(f"/params/{name}")


def test_wrong_role(api: Api) -> None:
    labels = api.upload(npy(np.arange(6)), role="labels")
    answer = api.client.post("/v1/jobs", json={"method": "l2h", "inputs": {"logits": labels}})
    assert problem(answer, 422, "wrong-role")
    answer = api.client.post(
        "/v1/jobs", json={"method": "l2h", "inputs": {"features": [[1.0, 2.0]]}}
    )
    assert "logits" in problem(answer, 422, "wrong-input")["detail"]


def test_a_dataset_deleted_while_the_job_waits(api: Api) -> None:
    slow = [
        api.client.post("/v1/jobs", json=body).json()["id"]
        for body in [api.long_job()] * (2 * api.workers)
    ]
    # A short fit would pass the long ones.
    rows = np.random.default_rng(1).normal(size=(12_000, 64))
    dataset = api.upload(npy(rows), role="features")
    body = {**api.long_job(), "inputs": {"features": dataset}}
    job = api.client.post("/v1/jobs", json=body).json()
    assert api.client.delete(f"/v1/datasets/{dataset}").status_code == 204
    for job_id in slow:
        api.client.post(f"/v1/jobs/{job_id}/cancel")
    failed(api, api.ended(job["id"]), "input-deleted")


def test_an_upload_past_the_limit(api: Api) -> None:
    before = api.count("datasets")
    # With a Content-Length it is refused before anything is read.
    address = urlsplit(str(api.client.base_url))
    with closing(HTTPConnection(address.netloc, timeout=PATIENCE_S)) as connection:
        connection.putrequest("POST", "/v1/datasets")
        connection.putheader("Content-Type", "application/x-npy")
        connection.putheader("Content-Length", str((8 << 30) + 1))
        connection.endheaders(b"\x93NUMPY")
        answer = connection.getresponse()
        body = json.loads(answer.read())
    assert answer.status == 413
    assert body["type"] == "/problems/too-large"
    assert str(8 << 30) in body["detail"]
    assert api.count("datasets") == before


HOSTILE = "a 'quoted' \"name\" [x](y){z}\n<script>alert(1)</script>; drop, \\ \x07"


def test_a_hostile_name_is_text_everywhere(api: Api) -> None:
    names = [HOSTILE, "plain", "tab\there"]
    job = api.run(
        "l2h",
        {"logits": [[2.0, 0.0, 1.0], [0.0, 2.0, 1.0], [0.5, 1.0, 2.0]], "names": names},
        name=HOSTILE,
    )
    assert job["name"] == HOSTILE
    tree_id = job["result"]["tree"]
    tree = api.client.get(f"/v1/trees/{tree_id}.json").json()
    assert {node["name"] for node in tree["nodes"]} == {*names, None}
    newick = api.client.get(f"/v1/trees/{tree_id}.nwk").text
    assert "'a ''quoted''" in newick
    svg = api.client.get(f"/v1/trees/{tree_id}.svg").text
    assert "<script" not in svg
    assert "&lt;script&gt;" in svg
    assert api.client.get(f"/v1/trees/{tree_id}.png").content.startswith(b"\x89PNG")
    hits = api.client.get(f"/v1/trees/{tree_id}/search", params={"q": "<script>"}).json()
    assert [item["name"] for item in hits["items"]] == [HOSTILE]

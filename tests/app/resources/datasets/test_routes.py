"""Uploading, downloading and removing datasets."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import socket
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest

from app.http import contents
from app.resources.datasets import submission as uploads
from tests.app.conftest import Api, Live, Start, new_job, problem_of
from workers.formats import json as json_format
from workers.formats.facts import Facts
from workers.model import now
from workers.stores.objects import layout

NPY = {"Content-Type": "application/x-npy"}
JSON = {"Content-Type": "application/json"}
CSV = {"Content-Type": "text/csv"}


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def stored(api: Api | Live) -> list[str]:
    return list(api.service.blobs.keys("datasets"))


def test_npy_is_ready_at_once(api: Api) -> None:
    content = npy(np.zeros((3, 4), np.float32))
    name = "a'\"<script>\n\u202e\u0000"
    answer = api.client.post(
        "/v1/datasets", params={"name": name, "role": "logits"}, content=content, headers=NPY
    )
    assert answer.status_code == 201, answer.text
    dataset = answer.json()
    assert answer.headers["location"] == f"/v1/datasets/{dataset['id']}"
    assert dataset == {
        "id": dataset["id"],
        "name": name,
        "role": "logits",
        "status": "ready",
        "format": "npy",
        "member": None,
        "shape": [3, 4],
        "dtype": "float32",
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "created_at": dataset["created_at"],
        "problem": None,
        "tree": None,
        "columns": None,
        "warnings": [],
        "expires_at": None,
        "description": None,
        "tags": [],
    }
    assert api.client.get(answer.headers["location"]).json() == dataset
    assert api.client.get("/v1/datasets").json()["items"] == [dataset]
    assert api.client.get("/v1/datasets?role=labels").json()["items"] == []
    assert api.sent == []


def test_npy_of_text_is_ready_once_all_of_it_was_read(api: Api) -> None:
    texts = np.array([f"naïve {n}" for n in range(5_000)])
    bad = texts[:9].copy()
    bad.view(np.uint32)[-1] = 0xD800
    answer = api.client.post("/v1/datasets", content=npy(bad), headers=NPY)
    problem_of(answer, 422, "invalid-file")
    assert "row 8 (counted from 0) has the code point U+D800" in answer.json()["detail"]
    assert stored(api) == []
    for n_texts, status in ((9, "ready"), (5_000, "inspecting")):
        answer = api.client.post("/v1/datasets", content=npy(texts[:n_texts]), headers=NPY)
        assert answer.json()["status"] == status


def test_long_json_is_parsed_in_a_process_of_its_own(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is ready at once all the same, and errors are the same."""
    parsed_here: list[int] = []

    def parsed(document: bytes, role: str | None = None) -> Facts:
        parsed_here.append(len(document))
        return facts(document, role)

    facts = json_format.facts
    monkeypatch.setattr(json_format, "facts", parsed)
    n_rows = uploads.PARSED_HERE_BYTES // 4
    long = b"[" + b",".join([b"[1]"] * n_rows) + b"]"
    assert len(long) > uploads.PARSED_HERE_BYTES
    dataset = api.client.post("/v1/datasets", content=long, headers=JSON).json()
    assert (dataset["status"], dataset["shape"]) == ("ready", [n_rows, 1])
    ragged = long.replace(b"[1]]", b"[1,2]]")
    answer = api.client.post("/v1/datasets", content=ragged, headers=JSON)
    problem = problem_of(answer, 422, "ragged")
    assert problem["where"]["row"] == n_rows - 1
    assert parsed_here == []
    assert api.client.post("/v1/datasets", content=b"[[1]]", headers=JSON).status_code == 201
    assert parsed_here == [5]


def test_small_json_is_ready_at_once(api: Api) -> None:
    answer = api.client.post("/v1/datasets", content=b"[[1, 2], [3, 4]]", headers=JSON)
    assert answer.status_code == 201
    assert answer.json()["status"] == "ready"
    assert answer.json()["shape"] == [2, 2]
    text = api.client.post("/v1/datasets", content=b'["a", "b"]', headers=JSON)
    assert (text.json()["shape"], text.json()["dtype"]) == ([2], "str")


def test_other_formats_wait_for_a_worker(api: Api) -> None:
    answer = api.client.post("/v1/datasets?member=x", content=b"a,b\n1,2\n", headers=CSV)
    assert answer.status_code == 201
    dataset = answer.json()
    assert dataset["status"] == "inspecting"
    assert dataset["member"] == "x"
    assert dataset["shape"] is None
    [(queue, job_id)] = api.sent
    assert queue == "cpu"
    claim = api.claim(job_id)
    assert claim.request.kind == "inspect"
    assert claim.request.options == {"dataset": dataset["id"]}
    assert api.client.get("/v1/jobs").json()["items"] == []
    job = {"method": "kmeans", "inputs": {"features": dataset["id"]}}
    assert api.client.post("/v1/jobs", json=job).status_code == 202


def test_an_invalid_dataset_is_refused(api: Api) -> None:
    answer = api.client.post("/v1/datasets", content=b"a,b\n1,2\n", headers=CSV)
    dataset_id = answer.json()["id"]
    why = {"type": "/problems/ragged", "title": "T", "status": 422, "detail": "Row 1 is short."}
    api.service.datasets.inspected("local", dataset_id, shape=None, dtype=None, problem=why)
    assert api.client.get(f"/v1/datasets/{dataset_id}").json()["problem"] == why
    job = {"method": "kmeans", "inputs": {"features": dataset_id}}
    body = problem_of(api.client.post("/v1/jobs", json=job), 409, "invalid-dataset")
    assert "Row 1 is short." in body["detail"]


@pytest.mark.parametrize(
    ("content", "media", "status", "code"),
    [
        (b"", "application/x-npy", 422, "empty"),
        (npy(np.zeros((3, 4)))[:-5], "application/x-npy", 422, "truncated"),
        (npy(np.zeros((3, 4)))[:20], "application/x-npy", 422, "truncated"),
        (npy(np.zeros((0, 4))), "application/x-npy", 422, "empty"),
        (npy(np.array([{}], dtype=object)), "application/x-npy", 415, "unsupported-format"),
        (pickle.dumps([1]), "application/octet-stream", 415, "unsupported-format"),
        (b"%PDF-1.4", "application/pdf", 415, "unsupported-format"),
        (b"\x89PNG\r\n", "application/x-npy", 415, "unsupported-format"),
        (b"[[1, 2], [3]]", "application/json", 422, "ragged"),
        (b"[[1, NaN]]", "application/json", 422, "not-finite"),
        (b"[[1, 1e400]]", "application/json", 422, "not-finite"),
        (b"[" * 100_000, "application/json", 422, "invalid-file"),
    ],
)
def test_unusable_content_leaves_nothing(
    api: Api, content: bytes, media: str, status: int, code: str
) -> None:
    answer = api.client.post("/v1/datasets", content=content, headers={"Content-Type": media})
    problem_of(answer, status, code)
    assert stored(api) == []
    assert api.client.get("/v1/datasets").json()["items"] == []


def test_an_upload_that_is_too_large_is_refused_early(start: Start) -> None:
    api = start(max_upload_bytes=1000)
    content = npy(np.zeros(200))
    stated = api.client.post("/v1/datasets", content=content, headers=NPY)
    assert "1000 bytes" in problem_of(stated, 413, "too-large")["detail"]
    streamed = api.client.post(
        "/v1/datasets", content=(content[i : i + 100] for i in range(0, 2000, 100)), headers=NPY
    )
    assert problem_of(streamed, 413, "too-large")["limit"] == 1000
    assert stored(api) == []


def test_a_full_store(start: Start) -> None:
    api = start(min_free_bytes=1 << 60)
    answer = api.client.post("/v1/datasets", content=npy(np.zeros(2)), headers=NPY)
    problem_of(answer, 507, "full")
    assert stored(api) == []


def test_a_large_json_is_left_to_a_worker(start: Start) -> None:
    api = start(max_parsed_json_bytes=10)
    answer = api.client.post("/v1/datasets", content=b"[[1, 2], [3, 4]]", headers=JSON)
    assert answer.json()["status"] == "inspecting"


def test_a_json_beyond_any_workers_limit_is_refused(api: Api) -> None:
    content = b"[1]" + b" " * json_format.MAX_JSON
    for body in (content, iter([content])):
        answer = api.client.post("/v1/datasets", content=body, headers=JSON)
        problem = problem_of(answer, 413, "too-large")
        assert str(json_format.MAX_JSON) in problem["detail"]
    assert stored(api) == []


@pytest.mark.parametrize("query", ["role=x", "role=", "name=" + "a" * 1001])
def test_hints_are_checked(api: Api, query: str) -> None:
    answer = api.client.post(f"/v1/datasets?{query}", content=npy(np.zeros(2)), headers=NPY)
    problem_of(answer, 422, "invalid-request")


@pytest.mark.parametrize(
    ("requested", "start_", "end"),
    [("bytes=0-9", 0, 10), ("bytes=5-", 5, 144), ("bytes=-10", 134, 144),
     ("bytes=100-9999", 100, 144), ("bytes=-9999", 0, 144)],
)  # fmt: skip
def test_ranges_of_the_content(api: Api, requested: str, start_: int, end: int) -> None:
    content = npy(np.arange(2.0))
    assert len(content) == 144
    address = api.client.post("/v1/datasets", content=content, headers=NPY).headers["location"]
    answer = api.client.get(f"{address}/content", headers={"Range": requested})
    assert answer.status_code == 206
    assert answer.content == content[start_:end]
    assert answer.headers["content-range"] == f"bytes {start_}-{end - 1}/144"


def test_the_whole_content(api: Api) -> None:
    content = npy(np.arange(1_000_000.0))
    address = api.client.post("/v1/datasets", content=content, headers=NPY).headers["location"]
    answer = api.client.get(f"{address}/content")
    assert answer.status_code == 200
    assert answer.content == content
    etag = answer.headers["etag"]
    assert etag == f'"{hashlib.sha256(content).hexdigest()}"'
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["content-length"] == str(len(content))

    def get(**headers: str) -> int:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return api.client.get(f"{address}/content", headers=named).status_code

    assert get(If_None_Match=etag) == 304
    assert get(Range="bytes=0-1", If_Range=etag) == 206
    assert get(Range="bytes=0-1", If_Range='"other"') == 200
    assert get(Range="bytes=0-1", If_Range=f"W/{etag}") == 200
    assert get(Range="bytes=0-1,4-5") == 200
    assert get(Range="rows=0-1") == 200
    assert get(Range="bytes=9-5") == 200
    outside = api.client.get(f"{address}/content", headers={"Range": f"bytes={len(content)}-"})
    problem_of(outside, 416, "range-not-satisfiable")
    assert outside.headers["content-range"] == f"bytes */{len(content)}"


def test_delete(api: Api) -> None:
    address = api.client.post("/v1/datasets", content=npy(np.arange(2)), headers=NPY).headers[
        "location"
    ]
    assert api.client.delete(address).status_code == 204
    assert stored(api) == []
    for answer in (
        api.client.get(address),
        api.client.get(f"{address}/content"),
        api.client.delete(address),
    ):
        problem_of(answer, 404, "not-found")


def test_etag_of_a_dataset(api: Api) -> None:
    address = api.client.post("/v1/datasets", content=npy(np.arange(2)), headers=NPY).headers[
        "location"
    ]
    etag = api.client.get(address).headers["etag"]
    assert api.client.get(address, headers={"If-None-Match": etag}).status_code == 304


def test_pages(api: Api) -> None:
    ids = [
        api.client.post("/v1/datasets", content=npy(np.arange(2)), headers=NPY).json()["id"]
        for _ in range(3)
    ]
    first = api.client.get("/v1/datasets?limit=2")
    rest = api.client.get(first.headers["link"].removeprefix("<").partition(">")[0])
    listed = [item["id"] for item in first.json()["items"] + rest.json()["items"]]
    assert listed == sorted(ids, reverse=True)
    assert rest.json()["next_cursor"] is None


def test_a_disconnected_upload_leaves_nothing(live: Live) -> None:
    with socket.create_connection(("127.0.0.1", live.port)) as connection:
        connection.sendall(
            b"POST /v1/datasets HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000000\r\n"
            b"Content-Type: text/csv\r\n\r\n" + b"1,2\n" * 100_000
        )
        deadline = time.monotonic() + 60
        temporary = Path(unquote(urlsplit(live.service.blobs.place).path)) / ".tmp"
        while not any(temporary.iterdir()):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    while any(temporary.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert stored(live) == []


def test_a_job_still_shows_its_deleted_dataset(api: Api) -> None:
    dataset_id = api.client.post("/v1/datasets", content=npy(np.eye(3)), headers=NPY).json()["id"]
    job = new_job(inputs={"logits": dataset_id})
    job_id = api.client.post("/v1/jobs", json=job).json()["id"]
    assert api.client.delete(f"/v1/datasets/{dataset_id}").status_code == 204
    public = api.client.get(f"/v1/jobs/{job_id}").json()
    assert public["inputs"] == {"logits": dataset_id}
    again = api.client.post("/v1/jobs", json=job)
    problem_of(again, 422, "unknown-input")
    assert json.loads(
        api.service.blobs.get(layout.job("local", job_id, "request.json"))
    )["created_at"] <= now()  # fmt: skip


def test_documents_are_json_lines(api: Api) -> None:
    content = b'{"text": "A cat."}\n"A dog."\n'
    for headers in ({"Content-Type": "application/x-ndjson"}, {}):
        answer = api.client.post("/v1/datasets?role=documents", content=content, headers=headers)
        assert answer.status_code == 201, answer.text
        dataset = answer.json()
        assert (dataset["format"], dataset["role"]) == ("jsonl", "documents")
        assert dataset["status"] == "inspecting"


def test_a_content_that_is_not_what_was_uploaded_is_not_served(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = []
    for rows in ("1,2", "3,4"):
        made = api.client.post("/v1/datasets", content=f"x,y\n{rows}\n".encode(), headers=CSV)
        paths.append(f"/v1/datasets/{made.json()['id']}/content")
    key = layout.dataset("local", paths[0].split("/")[3], "content")
    assert api.client.get(paths[0]).content == b"x,y\n1,2\n"
    api.service.blobs.put(key, b"x,y\n1,3\n")
    for headers in ({}, {"Range": "bytes=0-2"}):
        shown = problem_of(api.client.get(paths[0], headers=headers), 500, "damaged")
        assert key in shown["detail"]
    assert api.client.get(paths[1]).content == b"x,y\n3,4\n"
    place = api.service.blobs.local_path(key)
    place.rename(place.with_name("away"))
    place.symlink_to(place.with_name("away"))
    shown = problem_of(api.client.get(paths[0]), 500, "damaged")
    assert "a link" in shown["detail"]
    assert key in shown["detail"]
    place.unlink()
    assert key in problem_of(api.client.get(paths[0]), 404, "not-found")["detail"]
    place.with_name("away").rename(place)
    # A long one is broken off before its end.
    monkeypatch.setattr(contents, "CHECKED_FIRST", 0)
    assert api.client.get(paths[0]).content == b""
    assert api.client.get(paths[1]).content == b"x,y\n3,4\n"

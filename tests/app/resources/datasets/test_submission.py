"""Datasets uploaded in parts."""

from __future__ import annotations

import base64
import hashlib
import io
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import numpy as np
import pytest

from app.resources.datasets import submission as uploads
from tests.app.conftest import Api, Live, Start, problem_of
from workers.errors import StoreUnavailable

CONTENT = b"".join(b"%d,%d\n" % (i, i * i) for i in range(1000))
SIZE = 3000
PIECES = [CONTENT[at : at + SIZE] for at in range(0, len(CONTENT), SIZE)]


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def begun(api: Api, **query: str) -> str:
    answer = api.client.post("/v1/uploads", params=query)
    assert answer.status_code == 201, answer.text
    dataset = answer.json()
    assert answer.headers["location"] == f"/v1/uploads/{dataset['id']}"
    assert api.client.get(answer.headers["location"]).json() == dataset
    address: str = answer.headers["location"]
    return address


def put(api: Api, address: str, number: int, content: bytes, **query: str) -> Any:
    return api.client.put(f"{address}/parts/{number}", params=query, content=content)


def filled(api: Api, **query: str) -> str:
    address = begun(api, media_type="text/csv", **query)
    for number, piece in reversed(list(enumerate(PIECES, 1))):
        assert put(api, address, number, piece, sha256=sha256(piece)).status_code == 204
    return address


def left(api: Api) -> list[str]:
    return [key for name in ("datasets", "uploads") for key in api.service.blobs.keys(name)]


def test_an_upload_from_start_to_dataset(api: Api) -> None:
    address = filled(api, name="squares", role="features")
    described = api.client.get(address).json()
    assert described["bytes"] == len(CONTENT)
    assert described["parts"] == [
        {"number": number, "bytes": len(piece), "sha256": sha256(piece)}
        for number, piece in enumerate(PIECES, 1)
    ]
    stated = [{"number": part["number"], "sha256": part["sha256"]} for part in described["parts"]]
    body = {"parts": stated, "sha256": sha256(CONTENT)}
    answer = api.client.post(f"{address}/complete", json=body)
    assert answer.status_code == 201, answer.text
    dataset = answer.json()
    assert answer.headers["location"] == f"/v1/datasets/{dataset['id']}"
    assert dataset["sha256"] == sha256(CONTENT)
    assert (dataset["name"], dataset["role"]) == ("squares", "features")
    assert (dataset["status"], dataset["format"]) == ("inspecting", "csv")
    assert len(api.sent) == 1
    assert api.client.get(f"{answer.headers['location']}/content").content == CONTENT
    assert api.client.get("/v1/datasets").json()["items"] == [dataset]
    again = api.client.post(f"{address}/complete")
    assert (again.status_code, again.json()) == (201, dataset)
    assert len(api.sent) == 1
    done = api.client.get(address).json()
    assert (done["dataset"], done["parts"]) == (dataset["id"], [])
    problem_of(put(api, address, 1, b"x"), 409, "conflict")
    assert api.client.delete(address).status_code == 204
    assert api.client.get(f"/v1/datasets/{dataset['id']}").status_code == 200
    problem_of(api.client.get(address), 404, "not-found")
    problem_of(api.client.post(f"{address}/complete"), 404, "not-found")


def test_npy_is_ready_at_once_and_parts_may_begin_at_0(api: Api) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.arange(6.0).reshape(3, 2))
    content, address = buffer.getvalue(), begun(api)
    put(api, address, 0, content[:50])
    put(api, address, 1, content[50:])
    dataset = api.client.post(f"{address}/complete").json()
    assert (dataset["status"], dataset["shape"], dataset["format"]) == ("ready", [3, 2], "npy")


def test_a_part_with_a_wrong_checksum_or_length(api: Api) -> None:
    address = filled(api)
    before = api.client.get(address).json()
    keys = left(api)
    refused = put(api, address, 1, b"else", sha256=sha256(PIECES[0]))
    assert sha256(b"else") in problem_of(refused, 422, "digest-mismatch")["detail"]
    wrong = base64.b64encode(hashlib.sha256(b"x").digest()).decode()
    for digest, status, code in (
        (f"sha-256=:{wrong}:", 422, "digest-mismatch"),
        ("sha-256=:AA==:", 400, "malformed"),
        ("sha-256=:!:", 400, "malformed"),
        ("md5=:AA==:", 400, "malformed"),
    ):
        response = api.client.put(
            f"{address}/parts/1", content=b"else", headers={"Content-Digest": digest}
        )
        problem_of(response, status, code)
    problem_of(put(api, address, 1, b""), 422, "empty")
    problem_of(put(api, address, 1, b"x", sha256="no"), 422, "invalid-request")
    contradictory = api.client.put(
        f"{address}/parts/1",
        content=b"else",
        params={"sha256": sha256(b"else")},
        headers={"Content-Digest": f"sha-256=:{wrong}:"},
    )
    problem_of(contradictory, 422, "digest-mismatch")
    assert api.client.get(address).json() == before
    assert left(api) == keys
    right = base64.b64encode(hashlib.sha256(b"else").digest()).decode()
    response = api.client.put(
        f"{address}/parts/1",
        content=b"else",
        headers={"Content-Digest": f"md5=:AA==:, sha-256=:{right}:"},
    )
    assert response.status_code == 204
    assert response.headers["etag"] == f'"{sha256(b"else")}"'


@pytest.mark.parametrize("number", [-1, 10_000, "x", 10**30])
def test_invalid_part_numbers(api: Api, number: object) -> None:
    answer = api.client.put(f"{begun(api)}/parts/{number}", content=b"x")
    problem_of(answer, 404, "not-found")


def test_the_error_names_missing_parts(api: Api) -> None:
    address = begun(api, media_type="text/csv")
    complete = f"{address}/complete"
    assert "No part" in problem_of(api.client.post(complete), 409, "conflict")["detail"]
    for number in (3, 6):
        put(api, address, number, b"x")
    assert problem_of(api.client.post(complete), 409, "conflict")["parts"] == [1, 2, 4, 5]
    for number in (1, 2, 4, 5):
        put(api, address, number, b"x")
    for parts, word, numbers in (
        ([1, 2, 3, 4, 5, 6, 7], "not been sent", [7]),
        ([1, 2, 3, 4, 5], "not stated", [6]),
    ):
        body = {"parts": [{"number": number} for number in parts]}
        problem = problem_of(api.client.post(complete, json=body), 409, "conflict")
        assert word in problem["detail"]
        assert problem["parts"] == numbers
    body = {"parts": [{"number": n, "sha256": sha256(b"xy"[: n // 6 + 1])} for n in range(1, 7)]}
    assert problem_of(api.client.post(complete, json=body), 409, "conflict")["parts"] == [6]
    wrong = {"sha256": "0" * 64}
    assert (
        sha256(b"xxxxxx")
        in problem_of(api.client.post(complete, json=wrong), 422, "digest-mismatch")["detail"]
    )
    assert not list(api.service.blobs.keys("datasets"))
    assert len(api.client.get(address).json()["parts"]) == 6


def test_unreadable_content_is_refused_and_can_be_corrected(api: Api) -> None:
    address = begun(api, media_type="application/x-npy")
    put(api, address, 1, b"no npy at all" * 10)
    assert api.client.post(f"{address}/complete").status_code in (415, 422)
    assert not list(api.service.blobs.keys("datasets"))
    buffer = io.BytesIO()
    np.save(buffer, np.ones((2, 2)))
    put(api, address, 1, buffer.getvalue())
    assert api.client.post(f"{address}/complete").json()["status"] == "ready"


def test_limits(start: Start) -> None:
    api = start(max_upload_bytes=1000, max_dataset_bytes=2500)
    address = begun(api, media_type="text/csv")
    problem_of(put(api, address, 1, bytes(1001)), 413, "too-large")
    for number in (1, 2, 3):
        assert put(api, address, number, b"1\n" * 500).status_code == 204
    problem = problem_of(api.client.post(f"{address}/complete"), 413, "too-large")
    assert problem["limit"] == 2500
    put(api, address, 3, b"1\n" * 250)
    assert api.client.post(f"{address}/complete").json()["bytes"] == 2500


def test_a_full_store(start: Start) -> None:
    problem_of(start(min_free_bytes=1 << 60).client.post("/v1/uploads"), 507, "full")


def test_other_tenants(start: Start) -> None:
    keys = {tenant: f"{tenant}-key" for tenant in ("ada", "bob")}
    api = start(api_keys=tuple(f"{name}:{sha256(key.encode())}" for name, key in keys.items()))
    api.client.headers["Authorization"] = f"Bearer {keys['ada']}"
    address = filled(api)
    api.client.headers["Authorization"] = f"Bearer {keys['bob']}"
    for answer in (
        api.client.get(address),
        put(api, address, 1, b"x"),
        api.client.post(f"{address}/complete"),
        api.client.delete(address),
    ):
        problem_of(answer, 404, "not-found")


def test_concurrent_completions_make_a_single_dataset(api: Api) -> None:
    address = filled(api)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: api.client.post(f"{address}/complete"), range(8)))
    assert {answer.status_code for answer in answers} <= {201, 409}
    ids = {answer.json()["id"] for answer in answers if answer.status_code == 201}
    assert len(ids) == 1
    assert [dataset["id"] for dataset in api.client.get("/v1/datasets").json()["items"]] == list(
        ids
    )
    assert api.client.get(f"/v1/datasets/{ids.pop()}/content").content == CONTENT
    assert len(list(api.service.blobs.keys("datasets"))) == 2


def test_a_store_that_fails_during_completion(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """After any failure, completing again makes the dataset exactly once."""
    address = filled(api)
    datasets = type(api.service.datasets)
    for failing in ("receive", "create"):

        def away(*args: object, **options: object) -> None:
            raise StoreUnavailable("no store")

        with monkeypatch.context() as patched:
            patched.setattr(datasets, failing, away)
            problem_of(api.client.post(f"{address}/complete"), 503, "unavailable")
        assert api.client.get("/v1/datasets").json()["items"] == []
    # Also where its content has gone since.
    reserved = api.client.get(address).json()["dataset"]
    assert reserved is not None
    api.service.datasets.discard("local", reserved)
    answer = api.client.post(f"{address}/complete")
    assert answer.status_code == 201, answer.text
    assert api.client.get(f"{answer.headers['location']}/content").content == CONTENT
    assert len(api.client.get("/v1/datasets").json()["items"]) == 1


def test_a_deleted_dataset_is_not_created_again(api: Api) -> None:
    address = filled(api)
    dataset = api.client.post(f"{address}/complete").headers["location"]
    assert api.client.delete(dataset).status_code == 204
    problem_of(api.client.post(f"{address}/complete"), 404, "not-found")


def test_a_part_replaced_during_completion(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    address = filled(api)
    store = uploads.store

    async def slow(*args: Any) -> Any:
        upload_id = address.rpartition("/")[2]
        upload = api.service.parts.get("local", upload_id)
        assert upload is not None
        api.service.parts.drop(upload, api.service.parts.list(upload)[-1])
        return await store(*args)

    with monkeypatch.context() as patched:
        patched.setattr(uploads, "store", slow)
        problem_of(api.client.post(f"{address}/complete"), 409, "conflict")
    assert not list(api.service.blobs.keys("datasets"))
    put(api, address, len(PIECES), PIECES[-1])
    assert api.client.post(f"{address}/complete").json()["sha256"] == sha256(CONTENT)


def test_the_same_key_begins_a_single_upload(api: Api) -> None:
    ids = {
        api.client.post("/v1/uploads", headers={"Idempotency-Key": "k"}).json()["id"]
        for _ in range(2)
    }
    assert len(ids) == 1


def test_old_uploads_make_room_for_new_ones(start: Start) -> None:
    api = start(upload_keep_s=0.2)
    old = begun(api)
    time.sleep(0.3)
    begun(api)
    problem_of(api.client.get(old), 404, "not-found")


def test_a_lost_connection(live: Live) -> None:
    with httpx.Client(base_url=live.url) as client:
        address = client.post("/v1/uploads").headers["location"]
        path = "/" + address.split("/", 3)[3] if address.startswith("http") else address
        with socket.create_connection(("127.0.0.1", live.port)) as cut:
            cut.sendall(
                f"PUT {path}/parts/1 HTTP/1.1\r\nHost: 127.0.0.1:{live.port}\r\n"
                "Content-Length: 1000000\r\n\r\n".encode()
            )
            cut.sendall(bytes(300_000))
        deadline = time.monotonic() + 60
        while len(list(live.service.blobs.keys("uploads"))) > 1:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert client.get(path).json()["parts"] == []


def test_a_tenant_has_so_many_uploads_open(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is an object in the store, of which no quota counts anything."""
    monkeypatch.setattr("app.resources.datasets.uploads.routes.MOST_OPEN", 2)
    first, _ = begun(api, media_type="text/csv"), begun(api)
    problem = problem_of(api.client.post("/v1/uploads"), 409, "conflict")
    assert "2 uploads that are not complete" in problem["detail"]
    assert put(api, first, 0, b"1,2\n").status_code == 204
    assert api.client.post(f"{first}/complete").status_code == 201
    api.client.delete(begun(api))
    begun(api)

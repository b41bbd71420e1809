"""Compressed responses: which, their ETags, and bodies that are compressed."""

from __future__ import annotations

import gzip
import http.client
import json
import zlib
from typing import Any

import pytest

from tests.app.conftest import Api, Live, Working, new_job, problem_of
from tests.app.tree_kit import post

GZIP = {"Accept-Encoding": "br, gzip;q=0.8"}
PLAIN = {"Accept-Encoding": "identity"}


@pytest.fixture
def path(working: Working) -> str:
    """A tree whose JSON has about a megabyte, and is streamed."""
    newick = f"({','.join(f'leaf{k}:1' for k in range(20_000))});"
    return f"/v1/trees/{post(working, newick)['id']}"


def test_json_is_compressed_for_those_who_accept_it(working: Working, path: str) -> None:
    plain = working.client.get(path, headers=PLAIN)
    with working.client.stream("GET", path, headers=GZIP) as packed:
        content = b"".join(packed.iter_raw())
    assert len(plain.content) > 1_000_000
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(content) == plain.content
    assert len(content) < len(plain.content) / 5
    assert "content-length" not in packed.headers
    assert "Accept-Encoding" in packed.headers["vary"]
    assert "Accept-Encoding" in plain.headers["vary"]
    assert "Accept" in packed.headers["vary"].replace("Accept-Encoding", "")
    for refused in ("gzip;q=0", "br", "identity", ""):
        answer = working.client.get(path, headers={"Accept-Encoding": refused})
        assert "content-encoding" not in answer.headers
    head = working.client.head(path, headers=GZIP)
    assert head.headers["etag"] == packed.headers["etag"]
    assert head.headers["content-encoding"] == "gzip"


def test_each_form_has_its_etag(working: Working, path: str) -> None:
    etag = working.client.get(path, headers=PLAIN).headers["etag"]
    packed = working.client.get(path, headers=GZIP).headers["etag"]
    assert packed == f'{etag[:-1]}-gzip"'
    for known in (etag, packed, f"W/{packed}", f'"x", {packed}'):
        for accept in (GZIP, PLAIN):
            answer = working.client.get(path, headers={**accept, "If-None-Match": known})
            assert answer.status_code == 304
            assert answer.headers["etag"] == (packed if known != etag and accept is GZIP else etag)
            assert "content-encoding" not in answer.headers
    answer = working.client.patch(path, json={"name": "x"}, headers={"If-Match": packed})
    assert answer.status_code == 200, answer.text
    answer = working.client.delete(path, headers={"If-Match": packed})
    problem_of(answer, 412, "precondition-failed")


def test_binary_short_and_partial_responses_are_sent_as_they_are(api: Api) -> None:
    text = ("x,y\n" + "0.5,1.5\n" * 1000).encode()
    dataset = api.client.post("/v1/datasets", content=text, headers={"Content-Type": "text/csv"})
    assert "content-encoding" not in dataset.headers
    content = f"/v1/datasets/{dataset.json()['id']}/content"
    whole = api.client.get(content, headers=GZIP)
    assert "content-encoding" not in whole.headers
    assert whole.content == text
    ranged = {**GZIP, "Range": "bytes=0-1999", "If-Range": whole.headers["etag"]}
    part = api.client.get(content, headers=ranged)
    assert (part.status_code, part.content) == (206, text[:2000])
    assert "content-encoding" not in part.headers
    catalogue = api.client.get("/v1/methods", headers=GZIP)
    assert catalogue.headers["content-encoding"] == "gzip"
    assert int(catalogue.headers["content-length"]) < len(catalogue.content)


def test_events_are_not_compressed(api: Api) -> None:
    job = api.client.post("/v1/jobs", json=new_job()).json()["id"]
    api.finish(job)
    answer = api.client.get(f"/v1/jobs/{job}/events", headers=GZIP)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert "content-encoding" not in answer.headers
    assert len(answer.content) > 1024


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "br", "deflate, gzip", "x" * 200])
def test_compressed_bodies_are_refused(api: Api, coding: str) -> None:
    packed = gzip.compress(json.dumps(new_job()).encode())
    for path, media_type in (("/v1/jobs", "application/json"), ("/v1/datasets", "text/csv")):
        headers = {"Content-Encoding": coding, "Content-Type": media_type}
        answer = api.client.post(path, content=packed, headers=headers)
        problem_of(answer, 415, "unsupported-format")
        assert answer.headers["accept-encoding"] == "identity"
    identity = {"Content-Encoding": "identity"}
    assert api.client.post("/v1/jobs", json=new_job(), headers=identity).status_code == 202
    assert list(api.service.blobs.keys("datasets/")) == []


def test_a_bomb_is_not_opened_and_the_connection_goes_on(live: Live) -> None:
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    content = bomb.compress(b"[" * (64 << 20)) + bomb.flush()
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=20)
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    statuses: list[Any] = []
    for _ in range(2):
        connection.request("POST", "/v1/jobs", content, headers)
        answer = connection.getresponse()
        answer.read()
        statuses.append(answer.status)
    connection.close()
    assert statuses == [415, 415]

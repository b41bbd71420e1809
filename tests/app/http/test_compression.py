"""Compressed responses: which, their ETags, and bodies that are compressed."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import io
import json
import sys
import zlib
from typing import Any

import numpy as np
import pytest

from tests.app.conftest import Api, Live, Start, Working, new_job, problem_of
from tests.app.tree_kit import post

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

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


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("zstd", "zstd"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip;q=1.0, zstd;q=0.9", "gzip"),
        ("gzip;q=0.5, ZSTD;q=0.5", "zstd"),
        ("zstd;q=0, gzip;q=0.1", "gzip"),
        ("zstd;q=0.000", None),
        ("zstd;q=x, gzip;q=2", None),
        ("identity, zstd;q=0.5", None),
        ("identity;q=0.5, zstd", "zstd"),
    ],
)
def test_the_coding_with_the_largest_weight_is_taken(
    working: Working, accepted: str, coding: str | None
) -> None:
    newick = f"({','.join(f'leaf{k}:1' for k in range(500))});"
    path = f"/v1/trees/{post(working, newick)['id']}"
    with working.client.stream("GET", path, headers={"Accept-Encoding": accepted}) as answer:
        content = b"".join(answer.iter_raw())
    assert answer.headers.get("content-encoding") == coding
    assert "Accept-Encoding" in answer.headers["vary"]
    unpack = {"zstd": zstd.decompress, "gzip": gzip.decompress, None: bytes}[coding]
    assert unpack(content) == working.client.get(path, headers=PLAIN).content


def test_a_stream_by_zstd_comes_in_pieces_that_can_be_read(working: Working, path: str) -> None:
    """What has arrived can be unpacked before the rest is there."""
    plain = working.client.get(path, headers=PLAIN)
    with working.client.stream("GET", path, headers={"Accept-Encoding": "zstd"}) as answer:
        content = b"".join(answer.iter_raw())
    assert "content-length" not in answer.headers
    assert zstd.decompress(content) == plain.content
    assert len(content) < len(plain.content) / 5
    assert zstd.ZstdDecompressor().decompress(content[: len(content) // 2])
    etag = plain.headers["etag"]
    assert answer.headers["etag"] == f'{etag[:-1]}-zstd"'
    known = {"Accept-Encoding": "zstd", "If-None-Match": answer.headers["etag"]}
    unchanged = working.client.get(path, headers=known)
    assert (unchanged.status_code, unchanged.headers["etag"]) == (304, answer.headers["etag"])
    # A condition on one packed form is one on the thing itself.
    matching = {"If-Match": f'{etag[:-1]}-zstd"'}
    assert working.client.patch(path, json={"name": "x"}, headers=matching).status_code == 200


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


@pytest.mark.parametrize("coding", ["br", "deflate", "deflate, gzip", "gzip, gzip", "x" * 200])
def test_bodies_of_other_codings_are_refused(api: Api, coding: str) -> None:
    packed = gzip.compress(json.dumps(new_job()).encode())
    for path, media_type in (("/v1/jobs", "application/json"), ("/v1/datasets", "text/csv")):
        headers = {"Content-Encoding": coding, "Content-Type": media_type}
        answer = api.client.post(path, content=packed, headers=headers)
        problem_of(answer, 415, "unsupported-format")
        assert answer.headers["accept-encoding"] == "gzip, zstd"
    identity = {"Content-Encoding": "identity"}
    assert api.client.post("/v1/jobs", json=new_job(), headers=identity).status_code == 202
    assert list(api.service.blobs.keys("datasets/")) == []


@pytest.mark.parametrize(
    ("lines", "packed"),
    [
        (["gzip"], 1),
        (["identity", "gzip"], 1),
        (["", "gzip"], 1),
        (["gzip", "identity"], 1),
        (["identity, gzip,"], 1),
        (["identity", "identity"], 0),
        (["gzip", "br"], None),
        (["gzip", "gzip"], None),
        (["identity", "br"], None),
    ],
)
def test_several_lines_of_codings_are_one_list(
    api: Api, lines: list[str], packed: int | None
) -> None:
    """packed : how often the content is; None: it is refused."""
    body = json.dumps(new_job()).encode()
    content = body if packed == 0 else gzip.compress(body)
    headers = [
        *(("Content-Encoding", line) for line in lines),
        ("Content-Type", "application/json"),
    ]
    answer = api.client.post("/v1/jobs", content=content, headers=headers)
    if packed is None:
        problem_of(answer, 415, "unsupported-format")
    else:
        assert answer.status_code == 202


PACK: dict[str, Any] = {
    "gzip": gzip.compress,
    "GZIP": gzip.compress,
    "x-gzip": gzip.compress,
    "zstd": zstd.compress,
}
CSV = b"x,y\n" + b"".join(b"%d,%d\n" % (k, k * k) for k in range(40_000))


@pytest.mark.parametrize("coding", list(PACK))
@pytest.mark.parametrize("padding", [0, 100_000, 2_000_000])
def test_a_packed_body_of_json_is_read(api: Api, coding: str, padding: int) -> None:
    content = PACK[coding](json.dumps(new_job()).encode() + b" " * padding)
    headers = {"Content-Encoding": coding, "Content-Type": "application/json"}
    answer = api.client.post("/v1/jobs", content=content, headers=headers)
    assert answer.status_code == 202, answer.text
    job = answer.json()["id"]
    content = PACK[coding](b'{"name": "packed"}')
    answer = api.client.patch(f"/v1/jobs/{job}", content=content, headers=headers)
    assert answer.json()["name"] == "packed"


@pytest.mark.parametrize("coding", list(PACK))
def test_a_packed_upload_is_stored_as_its_content(api: Api, coding: str) -> None:
    headers = {"Content-Encoding": coding, "Content-Type": "text/csv"}
    answer = api.client.post("/v1/datasets", content=PACK[coding](CSV), headers=headers)
    assert answer.status_code == 201, answer.text
    dataset = answer.json()
    assert dataset["format"] == "csv"
    assert dataset["bytes"] == len(CSV)
    assert dataset["sha256"] == hashlib.sha256(CSV).hexdigest()
    assert api.client.get(f"/v1/datasets/{dataset['id']}/content").content == CSV


@pytest.mark.parametrize("media", ["text/csv", "application/gzip", "application/x-gzip", None])
@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_a_packed_file_is_unpacked(api: Api, media: str | None, pack: Any) -> None:
    headers = {} if media is None else {"Content-Type": media}
    answer = api.client.post("/v1/datasets", content=pack(CSV), headers=headers)
    assert answer.status_code == 201, answer.text
    dataset = answer.json()
    assert (dataset["format"], dataset["bytes"]) == ("csv", len(CSV))
    assert dataset["sha256"] == hashlib.sha256(CSV).hexdigest()
    array = io.BytesIO()
    np.save(array, np.ones((50, 3)))
    answer = api.client.post("/v1/datasets", content=pack(array.getvalue()), headers={})
    assert (answer.json()["status"], answer.json()["shape"]) == ("ready", [50, 3])


@pytest.mark.parametrize("coding", [None, "gzip", "zstd"])
def test_a_packed_file_is_uploaded_in_parts(api: Api, coding: str | None) -> None:
    upload = api.client.post("/v1/uploads").json()["id"]
    content = gzip.compress(CSV) if coding is None else CSV
    half = len(content) // 2
    for number, part in enumerate((content[:half], content[half:]), 1):
        path = f"/v1/uploads/{upload}/parts/{number}"
        headers = {} if coding is None else {"Content-Encoding": coding}
        sent = part if coding is None else PACK[coding](part)
        digest = hashlib.sha256(part).hexdigest()
        answer = api.client.put(f"{path}?sha256={digest}", content=sent, headers=headers)
        assert answer.status_code == 204, answer.text
    whole = {"sha256": hashlib.sha256(CSV).hexdigest()}
    answer = api.client.post(f"/v1/uploads/{upload}/complete", json=whole)
    assert answer.status_code == 201, answer.text
    assert answer.json()["bytes"] == len(CSV)


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_damaged_packed_bodies_are_malformed(api: Api, coding: str) -> None:
    good = PACK[coding](json.dumps(new_job()).encode())
    for content in (b"", b"{}", good[:-4], good + b"junk"):
        for path, media in (("/v1/jobs", "application/json"), ("/v1/datasets", "text/csv")):
            headers = {"Content-Encoding": coding, "Content-Type": media}
            answer = api.client.post(path, content=content, headers=headers)
            assert coding in problem_of(answer, 400, "malformed")["detail"]
    for content in (PACK[coding](CSV)[:-4], PACK[coding](CSV) + b"junk"):
        answer = api.client.post("/v1/datasets", content=content, headers={})
        assert answer.status_code == 422, answer.text
    assert list(api.service.blobs.keys("datasets/")) == []


@pytest.mark.parametrize("coding", ["gzip", "zstd", None])
def test_a_packed_upload_is_bounded_by_its_content(start: Start, coding: str | None) -> None:
    api = start(max_upload_bytes=100_000)
    headers = {"Content-Type": "text/csv"}
    if coding is not None:
        headers["Content-Encoding"] = coding
    small = b"x\n" + b"1\n" * 20_000
    packed = PACK[coding or "gzip"](b"1,2\n" * 100_000)
    assert len(packed) < 10_000
    answer = api.client.post("/v1/datasets", content=packed, headers=headers)
    problem_of(answer, 413, "too-large")
    assert list(api.service.blobs.keys("datasets/")) == []
    packed = PACK[coding or "gzip"](small)
    assert api.client.post("/v1/datasets", content=packed, headers=headers).status_code == 201


def test_a_bomb_is_refused_and_the_connection_goes_on(live: Live) -> None:
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    content = bomb.compress(b"[" * (64 << 20)) + bomb.flush()
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=60)
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    statuses: list[Any] = []
    for _ in range(2):
        connection.request("POST", "/v1/jobs", content, headers)
        answer = connection.getresponse()
        answer.read()
        statuses.append(answer.status)
    connection.close()
    assert statuses == [413, 413]

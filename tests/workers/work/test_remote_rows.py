"""Matrices read from a real S3 store, over a network that fails now and then."""

from __future__ import annotations

import contextlib
import gc
import logging
import secrets
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from models.errors import UsageError
from tests.workers.conftest import BUCKET
from tests.workers.formats.files_kit import MATRICES, SHAPE, same_rows, write_matrix
from tests.workers.waiting_kit import PATIENCE_S, until
from workers.errors import FatalError, StoreUnavailable
from workers.stores.objects.blobs import Link
from workers.stores.objects.bucket import BucketBlobs
from workers.work import remote_rows
from workers.work.remote_rows import RemoteContent, RemoteRows

REMOTE = [(layout, dtype) for layout, dtype in MATRICES if layout != "npy-fortran"]
SECRET = "X-Amz-Signature"


def store(endpoint: str, folder: Path, **more: Any) -> BucketBlobs:
    """A store that streams objects of any size."""
    options: dict[str, Any] = {"cache": folder / "cache", "cache_bytes": 1 << 20, "stream_bytes": 0}
    return BucketBlobs(
        "s3", bucket=BUCKET, prefix=secrets.token_hex(8), endpoint=endpoint, **options | more
    )


def linked(blobs: BucketBlobs, key: str) -> Link:
    link = blobs.link(key)
    assert link is not None
    assert SECRET in link.url
    return link


class FlakyProxy:
    """A proxy of the store that can break connections: everything passes except as `cut` says.

    cut : for each connection with a response, the number of its bytes after which it is broken.
    """

    def __init__(self, endpoint: str) -> None:
        host, port = endpoint.removeprefix("http://").split(":")
        self._store = host, int(port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.cut: list[int] = []
        self.cuts = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._forward_response, args=(client,), daemon=True).start()

    def _forward_response(self, client: socket.socket) -> None:
        upstream = socket.create_connection(self._store)
        threading.Thread(target=self._forward_request, args=(client, upstream), daemon=True).start()
        passed = 0
        with contextlib.suppress(OSError), client, upstream:
            while piece := upstream.recv(1 << 16):
                if self.cut and passed + len(piece) > self.cut[0]:
                    client.sendall(piece[: self.cut.pop(0) - passed])
                    self.cuts += 1
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(piece)
                passed += len(piece)

    def _forward_request(self, client: socket.socket, upstream: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := client.recv(1 << 16):
                upstream.sendall(piece)
            upstream.shutdown(socket.SHUT_WR)


@pytest.fixture
def wire(s3_endpoint: str) -> Iterator[FlakyProxy]:
    wire = FlakyProxy(s3_endpoint)
    yield wire
    wire.close()


@pytest.fixture(scope="module")
def written(
    tmp_path_factory: pytest.TempPathFactory, s3_endpoint: str
) -> list[tuple[RemoteRows, np.ndarray]]:
    folder = tmp_path_factory.mktemp("remote")
    blobs = store(s3_endpoint, folder)
    out = []
    with pytest.MonkeyPatch.context() as patch:
        # A block holds four rows of five columns of eight bytes.
        patch.setattr(remote_rows, "BLOCK_BYTES", 4 * 5 * 8)
        patch.setattr(remote_rows, "NEAR_BYTES", 2 * 5 * 8)
        patch.setattr(remote_rows, "STRETCH_BYTES", 4 * 5 * 8)
        for layout, dtype in REMOTE:
            key = f"{layout}/{dtype.replace('>', 'big-')}".replace("?", "bool")
            format, expected = write_matrix(folder / "x", layout, dtype)
            blobs.put_file(key, folder / "x")
            rows = remote_rows.rows(linked(blobs, key), format, None, "logits")
            assert (rows.shape, rows.dtype) == (SHAPE, expected.dtype)
            assert rows.bfloat16 == (dtype == "bf16")
            out.append((rows, expected))
    return out


@settings(max_examples=8)
@given(data=st.data())
def test_rows_of_every_object(
    data: st.DataObject, written: list[tuple[RemoteRows, np.ndarray]]
) -> None:
    start = data.draw(st.integers(0, SHAPE[0]))
    stop = data.draw(st.integers(start, SHAPE[0] + 2))
    some = np.array(sorted(data.draw(st.sets(st.integers(0, SHAPE[0] - 1)))), dtype=np.int64)
    for rows, expected in written:
        same_rows(rows.read(start, stop), expected[start:stop])
        same_rows(rows.take(some), expected[some])


@pytest.mark.parametrize("step", [1, 4, 7, 23])
def test_a_scan_of_every_object(step: int, written: list[tuple[RemoteRows, np.ndarray]]) -> None:
    for rows, expected in written:
        parts = [rows.read(start, start + step) for start in range(0, SHAPE[0], step)]
        same_rows(np.concatenate(parts), expected)
        same_rows(rows.as_array(), expected)


@pytest.fixture
def large(
    s3_endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[int], tuple[RemoteRows, np.ndarray, list[tuple[int, int]]]]:
    """Makes a matrix of `n_blocks` blocks of two rows, and the list of row ranges fetched."""
    monkeypatch.setattr(remote_rows, "BLOCK_BYTES", 2 * 16)
    monkeypatch.setattr(remote_rows, "NEAR_BYTES", 0)

    def make(n_blocks: int) -> tuple[RemoteRows, np.ndarray, list[tuple[int, int]]]:
        array = np.arange(4 * n_blocks * 2, dtype=np.float32).reshape(-1, 4)
        np.save(tmp_path / "x.npy", array)
        blobs = store(s3_endpoint, tmp_path)
        blobs.put_file("large", tmp_path / "x.npy")
        rows = remote_rows.rows(linked(blobs, "large"), "npy", None, "logits")
        fetched: list[tuple[int, int]] = []
        fetch = rows._content.fetch

        def recording(start: int, stop: int) -> memoryview:
            fetched.append(((start - 128) // 16, (stop - 128) // 16))
            return fetch(start, stop)

        rows._content.fetch = recording  # type: ignore[method-assign]
        return rows, array, fetched

    return make


Large = Callable[[int], tuple[RemoteRows, np.ndarray, list[tuple[int, int]]]]


def test_a_scan_reads_ahead_and_fetches_each_byte_once(large: Large) -> None:
    rows, array, fetched = large(20)
    rows.read(0, 1)
    until(lambda: len(fetched) >= 1 + remote_rows.AHEAD)
    assert sorted(fetched) == [(row, row + 2) for row in range(0, 2 + 2 * remote_rows.AHEAD, 2)]
    for start in range(1, 40):
        same_rows(rows.read(start, start + 1), array[start : start + 1])
    assert sorted(fetched) == [(row, row + 2) for row in range(0, 40, 2)]
    assert not rows._blocks


def test_an_isolated_read_fetches_only_what_it_needs(large: Large) -> None:
    rows, array, fetched = large(20)
    same_rows(rows.read(20, 21), array[20:21])
    same_rows(rows.read(31, 35), array[31:35])
    assert sorted(fetched) == [(20, 22), (30, 32), (32, 34), (34, 36)]


def test_memory_is_bounded_for_any_order_of_reads(large: Large) -> None:
    rows, array, _ = large(200)
    for start in np.random.default_rng(0).integers(0, 399, size=200).tolist():
        same_rows(rows.read(start, start + 1), array[start : start + 1])
        assert len(rows._blocks) <= remote_rows._KEPT


def test_nearby_rows_are_fetched_together(large: Large, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, array, fetched = large(20)
    monkeypatch.setattr(rows, "_near", 1)
    monkeypatch.setattr(rows, "_longest", 6)
    some = np.array([0, 2, 3, 6, 9, 11, 12, 14, 16, 18])
    same_rows(rows.take(some), array[some])
    # A gap of one row is read over, one of two is not; no stretch is longer than six rows.
    assert sorted(fetched) == [(0, 4), (6, 7), (9, 15), (16, 19)]


def test_threads_share_rows(large: Large) -> None:
    rows, array, _ = large(100)
    wrong: list[int] = []

    def scan(begin: int) -> None:
        for start in range(begin, begin + 25):
            block = rows.read(start, start + 1)
            some = np.array([start, 199])
            if (block != array[start]).any() or (rows.take(some) != array[some]).any():
                wrong.append(start)

    threads = [threading.Thread(target=scan, args=(begin,)) for begin in range(0, 200, 25)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_object_is_refused_for_the_same_reasons_as_a_local_file(
    s3_endpoint: str, tmp_path: Path
) -> None:
    blobs = store(s3_endpoint, tmp_path)
    save_file({"a": np.zeros((2, 3)), "b": np.zeros(4)}, tmp_path / "x")
    blobs.put_file("two", tmp_path / "x")
    blobs.put("cut", (tmp_path / "x").read_bytes()[:-1])
    for key, member, code in (
        ("two", None, "member-needed"),
        ("two", "b", "wrong-shape"),
        ("cut", "a", "truncated"),
    ):
        with pytest.raises(UsageError) as caught:
            remote_rows.rows(linked(blobs, key), "safetensors", member, "logits")
        assert caught.value.code == code
    np.save(tmp_path / "f.npy", np.asfortranarray(np.zeros((3, 4))))
    blobs.put_file("f", tmp_path / "f.npy")
    with pytest.raises(FatalError):
        remote_rows.rows(linked(blobs, "f"), "npy", None, "logits")


def test_facts_of_an_object(s3_endpoint: str, tmp_path: Path) -> None:
    blobs = store(s3_endpoint, tmp_path)
    # A header longer than the first read.
    many = {f"an array with a rather long name, {at}": np.zeros((2, at + 1)) for at in range(900)}
    save_file(many, tmp_path / "x")
    blobs.put_file("many", tmp_path / "x")
    link = linked(blobs, "many")
    name = "an array with a rather long name, 700"
    assert remote_rows.facts_of(link, "safetensors", name, "dataset").shape == (2, 701)
    assert remote_rows.rows(link, "safetensors", name, "logits").shape == (2, 701)


def test_a_connection_cut_in_the_middle_of_a_body(wire: FlakyProxy, tmp_path: Path) -> None:
    blobs = store(wire.endpoint, tmp_path)
    array = np.random.default_rng(0).normal(size=(400, 250))
    np.save(tmp_path / "x.npy", array)
    blobs.put_file("x", tmp_path / "x.npy")
    link = linked(blobs, "x")
    rows = remote_rows.rows(link, "npy", None, "logits")
    wire.cut = [300_000, 10, 200_000, 70_000]
    same_rows(rows.read(0, 400), array)
    assert wire.cuts == 4
    wire.cut = [1000, 5000]
    same_rows(rows.take(np.arange(0, 400, 7)), array[::7])
    assert wire.cuts == 6


def test_an_object_that_was_deleted_or_replaced(s3_endpoint: str, tmp_path: Path) -> None:
    blobs = store(s3_endpoint, tmp_path)
    np.save(tmp_path / "x.npy", np.zeros((40, 4)))
    for change in (
        lambda: blobs.delete("x"),
        lambda: blobs.put("x", (tmp_path / "x.npy").read_bytes()[:-1] + b"\1"),
    ):
        blobs.put_file("x", tmp_path / "x.npy")
        link = linked(blobs, "x")
        rows = remote_rows.rows(link, "npy", None, "logits")
        change()
        for call in (
            lambda rows=rows: rows.read(0, 1),
            lambda rows=rows: rows.read(0, 1),
            lambda rows=rows: rows.take(np.array([3])),
            lambda link=link: remote_rows.rows(link, "npy", None, "logits"),
        ):
            with pytest.raises(UsageError) as caught:
                call()
            assert caught.value.code == "input-deleted"
            assert caught.value.where == {"role": "logits"}
            hides_address(caught.value, link)


def test_an_unreachable_store(
    wire: FlakyProxy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    blobs = store(wire.endpoint, tmp_path)
    np.save(tmp_path / "x.npy", np.zeros((40, 4)))
    blobs.put_file("x", tmp_path / "x.npy")
    link = linked(blobs, "x")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    nowhere = link.model_copy(update={"url": link.url.replace(str(wire.port), str(port))})
    monkeypatch.setattr(remote_rows, "GIVE_UP_S", 0.5)
    began = time.monotonic()
    with pytest.raises(StoreUnavailable) as caught:
        remote_rows.rows(nowhere, "npy", None, "logits")
    assert time.monotonic() - began > 0.3
    hides_address(caught.value, link)
    assert SECRET not in caplog.text


def test_a_store_that_recovers(wire: FlakyProxy, tmp_path: Path) -> None:
    blobs = store(wire.endpoint, tmp_path)
    np.save(tmp_path / "x.npy", np.ones((40, 4)))
    blobs.put_file("x", tmp_path / "x.npy")
    rows = remote_rows.rows(linked(blobs, "x"), "npy", None, "logits")
    wire.cut = [0] * 5
    assert rows.read(0, 40).sum() == 160
    assert wire.cuts == 5


def hides_address(error: BaseException, link: Link) -> None:
    """Neither an error nor its traceback contains the address."""
    text = "".join(traceback.format_exception(error)) + repr(error)
    assert SECRET not in text
    assert link.url.partition("?")[0] not in text


def test_a_link_does_not_show_its_address(s3_endpoint: str, tmp_path: Path) -> None:
    blobs = store(s3_endpoint, tmp_path)
    blobs.put("x", b"content")
    link = linked(blobs, "x")
    assert SECRET not in f"{link} {link!r}"
    assert Link.model_validate_json(link.model_dump_json()) == link
    assert RemoteContent(link, "logits").read(2, 100) == b"ntent"


def test_which_objects_have_a_link(s3_endpoint: str, tmp_path: Path) -> None:
    blobs = store(s3_endpoint, tmp_path, stream_bytes=4, link_s=1e9)
    blobs.put("small", b"1234")
    blobs.put("large", b"12345")
    assert blobs.link("small") is None
    assert f"X-Amz-Expires={7 * 24 * 3600}&" in linked(blobs, "large").url
    # A downloaded object is read from the cache.
    blobs.local_path("large")
    assert blobs.link("large") is None
    brief = store(s3_endpoint, tmp_path, link_s=59.5)
    brief.put("other", b"12345")
    assert "X-Amz-Expires=60&" in linked(brief, "other").url


def test_threads_end_with_the_rows(large: Large) -> None:
    rows, _, _ = large(4)
    rows.read(0, 8)
    threads = set(rows._pool._threads)
    assert threads
    del rows
    gc.collect()
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()

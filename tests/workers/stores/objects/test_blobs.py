"""The contract of object stores, for both kinds."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import nullcontext
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.workers.conftest import BUCKET
from workers.errors import AlreadyThere, Missing, StoreFull, StoreUnavailable
from workers.stores.objects import local
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.bucket import BucketBlobs
from workers.stores.objects.layout import PINGS, is_ping, ping
from workers.stores.objects.local import LocalBlobs
from workers.stores.objects.syncs import sync_paths, sync_together


async def stream(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def test_put_and_get(blobs: Blobs) -> None:
    blobs.put("a/b/c", b"one")
    assert blobs.get("a/b/c") == b"one"
    blobs.put("a/b/c", b"two")
    assert blobs.get("a/b/c") == b"two"
    assert blobs.size("a/b/c") == 3
    assert blobs.local_path("a/b/c").read_bytes() == b"two"


def test_missing_objects(blobs: Blobs) -> None:
    assert blobs.size("a/b") is None
    for reading in (blobs.get, blobs.local_path, lambda key: list(blobs.read(key))):
        with pytest.raises(Missing):
            reading("a/b")
    blobs.delete("a/b")
    blobs.delete_under("a/")
    assert list(blobs.keys("a/")) == []


@pytest.mark.parametrize("content", [b"", b"first"])
def test_create_only_once(blobs: Blobs, content: bytes) -> None:
    blobs.put("a/b", content, create=True)
    with pytest.raises(AlreadyThere):
        blobs.put("a/b", content, create=True)
    with pytest.raises(AlreadyThere):
        blobs.put("a/b", b"second", create=True)
    assert blobs.get("a/b") == content


@pytest.mark.parametrize(
    "key", ["", "/", "/a", "a/", "a//b", ".", "a/..", "../a", "a/./b", "a\0b", "a\\b"]
)
def test_wrong_keys(blobs: Blobs, key: str) -> None:
    with pytest.raises(ValueError, match="not a key"):
        blobs.put(key, b"x")
    with pytest.raises(ValueError, match="not a key"):
        blobs.get(key)


def test_read_in_pieces(blobs: Blobs) -> None:
    content = os.urandom((5 << 20) + 17)
    blobs.put("a/large", content)
    assert b"".join(blobs.read("a/large")) == content
    assert max(len(piece) for piece in blobs.read("a/large")) < 4 << 20
    for start, end in [(0, 0), (3, 10), (5 << 20, None), (7, 7), (len(content) + 5, None), (9, 4)]:
        assert b"".join(blobs.read("a/large", start, end)) == content[start:end]
    assert b"".join(blobs.read("a/large", 0, len(content) + 99)) == content


def test_files(blobs: Blobs, tmp_path: Path) -> None:
    for size in (0, 5, 9 << 20):
        source = tmp_path / "source"
        content = os.urandom(size)
        source.write_bytes(content)
        blobs.put_file("a/file", source)
        assert blobs.get("a/file") == content
        blobs.put_file("a/file", source)  # A publication is retried.
        source.unlink()


def test_several_at_once(blobs: Blobs, tmp_path: Path) -> None:
    blobs.put_all({"a/b/one": b"1", "c/two": b"22", "d": b"", "a/b/three": b"333"})
    assert [blobs.get(key) for key in ("a/b/one", "c/two", "d", "a/b/three")] == [
        b"1",
        b"22",
        b"",
        b"333",
    ]
    with pytest.raises(AlreadyThere):
        blobs.put_all({"e/f": b"new", "c/two": b"other"})
    assert blobs.get("c/two") == b"22"
    (tmp_path / "source").write_bytes(b"file")
    blobs.put_files({"a/b/file": tmp_path / "source", "g/h/file": tmp_path / "source"})
    assert blobs.get("g/h/file") == blobs.get("a/b/file") == b"file"
    files = {"a/b/more": tmp_path / "source"}
    blobs.put_files(files, then=("h/end", b"all"))
    assert (blobs.get("a/b/more"), blobs.get("h/end")) == (b"file", b"all")
    blobs.put_files({}, then=("h/other", b"none"))
    assert blobs.get("h/other") == b"none"
    with pytest.raises(AlreadyThere):
        blobs.put_files(files, then=("h/end", b"again"))
    assert blobs.get("h/end") == b"all"
    with pytest.raises(Missing):
        blobs.put_files({"a/none": tmp_path / "none"}, then=("h/never", b"all"))
    assert blobs.size("h/never") is None


def test_an_end_is_not_there_before_its_files_are_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalBlobs(tmp_path / "store")
    (tmp_path / "source").write_bytes(b"file")
    synced: list[bool] = []

    def fail(syncs: object) -> None:
        synced.append((tmp_path / "store/h/end").exists())
        raise OSError(errno.EIO, "")

    with monkeypatch.context() as patch:
        patch.setattr(local, "sync_together", fail)
        with pytest.raises(StoreUnavailable):
            store.put_files({"a/file": tmp_path / "source"}, then=("h/end", b"all"))
    assert synced == [False]
    assert store.size("h/end") is None
    assert not [*(tmp_path / "store/.tmp").iterdir()]


def test_s3_objects_sent_twice_are_there_once(s3: BucketBlobs) -> None:
    """As where the response to the first write is lost, and the client sends it again."""
    s3.put("a/one", b"1")
    s3.put_all({"a/one": b"1", "a/two": b"2"})
    assert (s3.get("a/one"), s3.get("a/two")) == (b"1", b"2")
    with pytest.raises(AlreadyThere):
        s3.put_all({"a/three": b"3", "a/two": b"other"})


def test_a_failed_sync_is_not_lost_among_others(tmp_path: Path) -> None:
    """Syncs that wait together all end before the error of one is raised."""
    ended: list[int] = []
    failing: set[int]

    def sync(number: int) -> None:
        if number in failing:
            raise OSError(errno.EIO, "")
        ended.append(number)

    for failing in ({0}, {3}, {0, 1, 2, 3}, set()):
        ended.clear()
        with pytest.raises(OSError, match="5") if failing else nullcontext():
            sync_together(partial(sync, number) for number in range(4))
        assert set(ended) == {0, 1, 2, 3} - failing
    sync_together([])
    sync_paths([tmp_path, tmp_path / "removed"])


def test_a_full_disk(tmp_path: Path) -> None:
    """A limit on the size of a file stands in for a full disk."""
    import resource

    blobs = LocalBlobs(tmp_path / "store")
    (tmp_path / "source").write_bytes(bytes(1 << 21))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        with pytest.raises(StoreFull):
            blobs.put("a/b", bytes(1 << 21))
        with pytest.raises(StoreFull):
            asyncio.run(blobs.put_stream("a/b", stream(*[bytes(1 << 19)] * 40)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(blobs.keys("")) == []
    assert list((tmp_path / "store" / ".tmp").iterdir()) == []


def test_leftovers_of_a_dead_process_are_removed(tmp_path: Path) -> None:
    root = tmp_path / "store"
    LocalBlobs(root)
    old, young = root / ".tmp" / "old", root / ".tmp" / "young"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    (root / ".tmp" / "deleted").mkdir()
    LocalBlobs(root).put("a", b"x")
    assert list((root / ".tmp").iterdir()) == [young]


@pytest.mark.parametrize("files", [False, True])
def test_folders_removed_by_another_process(tmp_path: Path, files: bool) -> None:
    """Two processes write and delete in the same folders without disturbing each other."""
    writer, deleter = LocalBlobs(tmp_path / "store"), LocalBlobs(tmp_path / "store")
    over = threading.Event()
    content = tmp_path / "content"
    content.write_bytes(b"x")

    def remove() -> None:
        while not over.is_set():
            deleter.delete_under("a/b/")

    remover = threading.Thread(target=remove)
    remover.start()
    try:
        for number in range(200):
            if files:
                writer.put_file(f"a/b/c{number}/d", content)
            else:
                writer.put(f"a/b/c{number}/d", b"x", create=True)
    finally:
        over.set()
        remover.join()


@pytest.mark.parametrize("sizes", [[], [0], [10], [1 << 20] * 20, [(17 << 20) + 3]])
def test_streams(blobs: Blobs, sizes: list[int]) -> None:
    pieces = [os.urandom(size) for size in sizes]
    assert asyncio.run(blobs.put_stream("a/stream", stream(*pieces))) == sum(sizes)
    assert blobs.get("a/stream") == b"".join(pieces)


@pytest.mark.parametrize("before", [0, 3, 20])
def test_a_broken_stream_leaves_nothing(blobs: Blobs, before: int) -> None:
    class Broken(Exception):
        pass

    async def broken() -> AsyncIterator[bytes]:
        for _ in range(before):
            yield bytes(1 << 20)
        raise Broken

    with pytest.raises(Broken):
        asyncio.run(blobs.put_stream("a/stream", broken()))
    assert blobs.size("a/stream") is None
    assert list(blobs.keys("")) == []


def test_an_abandoned_stream_leaves_nothing(blobs: Blobs) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield bytes(1 << 20)
            await asyncio.sleep(0)

    async def abandoned() -> None:
        await asyncio.wait_for(blobs.put_stream("a/stream", endless()), 0.3)

    with pytest.raises(TimeoutError):
        asyncio.run(abandoned())
    assert list(blobs.keys("")) == []


def test_keys_and_deletion(blobs: Blobs) -> None:
    names = {f"jobs/t/j{number}/{name}" for number in range(3) for name in ("a", "b/c")}
    for name in names:
        blobs.put(name, b"x")
    blobs.put("jobs/t/j1x", b"x")
    assert set(blobs.keys("")) == names | {"jobs/t/j1x"}
    assert set(blobs.keys("jobs/t/j1/")) == {"jobs/t/j1/a", "jobs/t/j1/b/c"}
    assert set(blobs.keys("jobs/t/j1")) == {"jobs/t/j1/a", "jobs/t/j1/b/c"}
    blobs.delete_under("jobs/t/j1/")
    blobs.delete("jobs/t/j2/a")
    remaining = {name for name in names if "j1" not in name} - {"jobs/t/j2/a"}
    assert set(blobs.keys("jobs/")) == remaining | {"jobs/t/j1x"}
    blobs.put("jobs/t/j1/a", b"again")
    assert blobs.get("jobs/t/j1/a") == b"again"


def test_what_file_managers_leave_is_no_object(tmp_path: Path) -> None:
    blobs = LocalBlobs(tmp_path / "store")
    blobs.put("a/b/1", b"x")
    for folder in ("", "a", "a/b"):
        (tmp_path / "store" / folder / ".DS_Store").write_bytes(b"x")
    (tmp_path / "store/a/.Trash-1000").mkdir()
    (tmp_path / "store/a/.Trash-1000/old").write_bytes(b"x")
    for prefix in ("", "a/", "a/b/"):
        assert list(blobs.keys(prefix)) == ["a/b/1"]
        assert list(blobs.sizes(prefix)) == [("a/b/1", 1)]
    blobs.delete_under("a/b/")
    assert not (tmp_path / "store/a/b").exists()


def test_a_listing_of_many_folders_takes_little_memory(tmp_path: Path) -> None:
    """A store has folders for each job, and a process that lists it keeps most of what it took."""
    n_jobs = 2000
    for number in range(n_jobs):
        (tmp_path / f"jobs/tenant/job_{number:026}").mkdir(parents=True)
    # In a separate process: threads that other tests have left allocate as well.
    measure = """
import sys, tracemalloc
from pathlib import Path
from workers.stores.objects.local import LocalBlobs

blobs = LocalBlobs(Path(sys.argv[1]))
tracemalloc.start()
n_keys = sum(1 for _ in blobs.keys("jobs/"))
print(n_keys, tracemalloc.get_traced_memory()[1])
"""
    command = [sys.executable, "-c", measure, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    n_keys, peak = map(int, done.stdout.split())
    assert n_keys == 0
    assert peak < 200 * n_jobs


def test_ping(blobs: Blobs) -> None:
    blobs.ping()
    blobs.ping()
    written = list(blobs.keys(""))
    assert len(written) <= 1, "of each process one object"
    assert all(map(is_ping, written))


def test_processes_ping_different_objects() -> None:
    assert len({ping(number) for number in range(1000)}) == PINGS
    assert all(is_ping(ping(number)) for number in range(PINGS))
    assert is_ping("ping"), "of earlier versions"
    assert not any(map(is_ping, ("ping-64", "ping-7", "ping/0", "pings", "")))


def test_s3_encrypts_by_the_key_of_the_environment(
    s3_endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import boto3

    key = "arn:aws:kms:us-east-1:111122223333:key/abc"
    monkeypatch.setenv("AWS_SERVER_SIDE_ENCRYPTION", "aws:kms")
    monkeypatch.setenv("AWS_SSE_KMS_KEY_ID", key)
    encrypted = BucketBlobs(
        "s3",
        bucket=BUCKET,
        prefix="encrypted",
        endpoint=s3_endpoint,
        cache=tmp_path / "cache",
        cache_bytes=1 << 20,
    )
    encrypted.put("a/over", b"1")
    encrypted.put("a/create", b"1", create=True)
    (tmp_path / "large").write_bytes(bytes(20 << 20))
    encrypted.put_files({"a/parts": tmp_path / "large"})
    client = boto3.client("s3", endpoint_url=s3_endpoint)
    for name in ("over", "create", "parts"):
        head = client.head_object(Bucket=BUCKET, Key=f"encrypted/a/{name}")
        assert (head["ServerSideEncryption"], head["SSEKMSKeyId"]) == ("aws:kms", key), name
    assert encrypted.get("a/over") == b"1"


def test_s3_parts_of_a_broken_stream_are_dropped(s3: BucketBlobs, s3_endpoint: str) -> None:
    import boto3

    async def broken() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield bytes(1 << 20)
        raise RuntimeError("cut off")

    with pytest.raises(RuntimeError, match="cut off"):
        asyncio.run(s3.put_stream("a/stream", broken()))

    async def stuck() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield bytes(1 << 20)
        await asyncio.sleep(60)

    async def abandoned() -> None:
        await asyncio.wait_for(s3.put_stream("a/stream", stuck()), 0.5)

    with pytest.raises(TimeoutError):
        asyncio.run(abandoned())
    client = boto3.client("s3", endpoint_url=s3_endpoint)
    assert client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", []) == []


def test_s3_cache_follows_changes_and_is_bounded(s3: BucketBlobs, tmp_path: Path) -> None:
    s3.put("a/b", b"one")
    first = s3.local_path("a/b")
    assert s3.local_path("a/b") == first
    s3.put("a/b", b"two")
    assert s3.local_path("a/b").read_bytes() == b"two"
    assert first.read_bytes() == b"one"
    os.utime(first, (0, 0))
    s3.put("a/large", bytes(1 << 20))
    s3.local_path("a/large")
    assert not first.exists()
    assert len(list((tmp_path / "cache").iterdir())) == 2


def blobs_at(port: int, folder: Path) -> BucketBlobs:
    return BucketBlobs(
        "s3",
        bucket=BUCKET,
        prefix="p",
        endpoint=f"http://127.0.0.1:{port}",
        cache=folder / "cache",
        cache_bytes=1,
    )


class Full(BaseHTTPRequestHandler):
    """Answers as a store without room."""

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(507)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_s3_without_room(tmp_path: Path, s3_endpoint: str) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Full) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with pytest.raises(StoreFull):
                blobs_at(server.server_port, tmp_path).put("a/b", b"x")
        finally:
            server.shutdown()


@pytest.mark.parametrize("port", [None, 50701, 25507])
def test_unreachable_s3(tmp_path: Path, s3_endpoint: str, port: int | None) -> None:
    if port is None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
    away = blobs_at(port, tmp_path)
    for call in (away.ping, lambda: away.get("a/b"), lambda: away.put("a/b", b"x", create=True)):
        with pytest.raises(StoreUnavailable):
            call()

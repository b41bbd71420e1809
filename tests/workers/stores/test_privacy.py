"""Nothing that the service makes is open to other users; what was is closed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from workers.embedded import EmbeddedServer
from workers.stores.objects.cache import Cache
from workers.stores.objects.local import LocalBlobs
from workers.stores.privacy import begin, tighten


@pytest.fixture(autouse=True)
def _usual_mask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    entries = [folder, *folder.rglob("*")]
    return [str(each) for each in entries if not each.is_symlink() and each.stat().st_mode & 0o077]


async def _chunks() -> AsyncIterator[bytes]:
    yield b"x"


def test_a_store_and_a_cache_are_closed_whatever_the_mask(tmp_path: Path) -> None:
    blobs = LocalBlobs(tmp_path / "data" / "store")
    blobs.put("service/webhook-secret", b"1", create=True)
    blobs.put("open/ada/job_1", b"", create=True)
    asyncio.run(blobs.put_stream("uploads/ada/up_1/bytes/1.x", _chunks()))
    Cache(tmp_path / "cache", 10).add("k", "v", [b"x"])
    assert open_to_others(blobs.root) == open_to_others(tmp_path / "cache") == []


def test_the_embedded_server_is_closed(tmp_path: Path) -> None:
    begin()
    server = EmbeddedServer(tmp_path / "redis")
    server.start()
    try:
        assert open_to_others(tmp_path / "redis") == []
    finally:
        server.stop()


def test_what_was_open_is_closed_and_no_link_is_followed(tmp_path: Path) -> None:
    data, outside = tmp_path / "data", tmp_path / "outside"
    inner = data / "store" / "service"
    inner.mkdir(parents=True)
    outside.mkdir()
    for path in (inner / "webhook-secret", data / "lock", data / "mine", outside / "x"):
        path.write_text("1")
    (inner / "link").symlink_to(outside / "x")
    (inner / "folder").symlink_to(outside)
    (data / "scratch").symlink_to(outside)
    (tmp_path / "name").symlink_to(data)
    # The directory, the folders and files of the store, and the lock.
    assert tighten(tmp_path / "name") == 5
    assert tighten(data) == 0
    assert open_to_others(data) == [str(data / "mine")]
    assert outside.stat().st_mode & 0o077
    assert (outside / "x").stat().st_mode & 0o077


def test_a_folder_for_everybody_stays_one(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    assert tighten(tmp_path) == 0
    assert tmp_path.stat().st_mode & 0o7777 == 0o1777

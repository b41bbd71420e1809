"""Uploads in parts, on both kinds of store."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.workers.artifacts.datasets_kit import dataset
from workers.artifacts.uploads import Part, Parts, Upload
from workers.errors import Missing
from workers.model import new_id, now
from workers.settings import WorkerSettings
from workers.stores.objects.blobs import Blobs
from workers.stores.redis.client import connect
from workers.stores.redis.usage import Usage


@pytest.fixture
def usage(settings: WorkerSettings) -> Usage:
    return Usage(connect(settings.redis_url), settings)


def upload(tenant: str = "ada") -> Upload:
    fields = dict.fromkeys(("name", "role", "member", "media_type"))
    return Upload(id=new_id("up"), tenant=tenant, created_at=now(), **fields)


async def stream(content: bytes) -> AsyncIterator[bytes]:
    yield content


def received(parts: Parts, upload: Upload, number: int, content: bytes) -> Part:
    return asyncio.run(parts.receive(upload, number, stream(content)))


def test_parts_arrive_in_any_order_and_can_be_replaced(blobs: Blobs, usage: Usage) -> None:
    parts, begun = Parts(blobs, usage), upload()
    parts.create(begun)
    content = {number: os.urandom(1000 + number) for number in (10, 2, 1)}
    for number, own in content.items():
        assert parts.add(begun, received(parts, begun, number, own))
    assert parts.add(begun, received(parts, begun, 2, b"again"))
    content[2] = b"again"
    listed = parts.list(begun)
    assert [part.number for part in listed] == [1, 2, 10]
    for part in listed:
        own = content[part.number]
        assert (part.bytes, part.sha256) == (len(own), hashlib.sha256(own).hexdigest())
    assert b"".join(parts.read(begun, listed)) == content[1] + content[2] + content[10]
    # Nothing is left of the replaced part.
    assert len(list(blobs.keys("uploads/"))) == 1 + 2 * 3
    assert usage.of("ada")["bytes"] == sum(map(len, content.values()))
    parts.clear(begun)
    assert usage.of("ada")["bytes"] == 0
    assert parts.list(begun) == []
    with pytest.raises(Missing):
        list(parts.read(begun, listed))
    parts.delete("ada", begun.id)
    assert list(blobs.keys("uploads/")) == []


def test_the_first_part_of_a_number_looks_at_no_other(
    blobs: Blobs, usage: Usage, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts, begun = Parts(blobs, usage), upload()
    parts.create(begun)

    def look(prefix: str) -> None:
        raise AssertionError(prefix)

    with monkeypatch.context() as patch:
        patch.setattr(type(blobs), "keys", lambda _, prefix: look(prefix))
        for number in range(3):
            assert parts.add(begun, received(parts, begun, number, b"12345"))
    assert [part.number for part in parts.list(begun)] == [0, 1, 2]
    assert usage.of("ada")["bytes"] == 15


def test_of_two_parts_of_a_number_the_newer_one_stays(blobs: Blobs, usage: Usage) -> None:
    parts, begun = Parts(blobs, usage), upload()
    parts.create(begun)
    earlier, later = (received(parts, begun, 1, content) for content in (b"earlier", b"later one"))
    assert parts.add(begun, later)
    assert parts.add(begun, earlier)
    assert parts.list(begun) == [later]
    assert usage.of("ada")["bytes"] == later.bytes
    assert len(list(blobs.keys("uploads/"))) == 1 + 2


def test_a_received_part_is_listed_only_once_it_is_added(blobs: Blobs, usage: Usage) -> None:
    parts, begun = Parts(blobs, usage), upload()
    parts.create(begun)
    part = received(parts, begun, 1, b"x")
    assert parts.list(begun) == []
    parts.drop(begun, part)
    assert len(list(blobs.keys("uploads/"))) == 1

    async def cut_off() -> AsyncIterator[bytes]:
        yield bytes(3 << 20)
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        asyncio.run(parts.receive(begun, 1, cut_off()))
    assert len(list(blobs.keys("uploads/"))) == 1


def test_a_part_that_arrives_after_the_deletion_leaves_nothing(blobs: Blobs, usage: Usage) -> None:
    parts, begun = Parts(blobs, usage), upload()
    parts.create(begun)
    part = received(parts, begun, 1, b"x")
    parts.delete("ada", begun.id)
    assert not parts.add(begun, part)
    assert list(blobs.keys("uploads/")) == []


def test_the_first_completion_wins(blobs: Blobs, usage: Usage) -> None:
    parts, begun = Parts(blobs, usage), upload()
    parts.create(begun)
    assert parts.completed(begun) is None
    first, second = dataset(), dataset()
    assert parts.complete(begun, first) == first
    assert parts.complete(begun, second) == first
    assert parts.completed(begun) == first
    parts.reopen(begun)
    assert parts.complete(begun, second) == second


def test_uploads_of_another_tenant_are_invisible(blobs: Blobs, usage: Usage) -> None:
    parts, begun = Parts(blobs, usage), upload()
    parts.create(begun)
    assert parts.get("ada", begun.id) == begun
    assert parts.get("bob", begun.id) is None


def test_idle_uploads_are_removed(blobs: Blobs, usage: Usage) -> None:
    parts, begun, idle = Parts(blobs, usage), upload(), upload()
    foreign = upload("bob")
    for started in (begun, idle, foreign):
        parts.create(started)
    assert parts.add(begun, received(parts, begun, 1, b"x"))
    assert parts.forget("ada", datetime.now(UTC) - timedelta(hours=1)) == 2
    between = datetime.now(UTC) + timedelta(milliseconds=5)
    while datetime.now(UTC) < between + timedelta(milliseconds=5):
        pass
    assert parts.add(idle, received(parts, idle, 1, b"x"))
    assert parts.forget("ada", between) == 1
    assert parts.get("ada", begun.id) is None
    assert parts.get("ada", idle.id) == idle
    assert parts.get("bob", foreign.id) == foreign

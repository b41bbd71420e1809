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
from workers.stores.objects.blobs import Blobs


def upload(tenant: str = "ada") -> Upload:
    given = dict.fromkeys(("name", "role", "member", "media_type"))
    return Upload(id=new_id("up"), tenant=tenant, created_at=now(), **given)


async def stream(content: bytes) -> AsyncIterator[bytes]:
    yield content


def received(parts: Parts, one: Upload, number: int, content: bytes) -> Part:
    return asyncio.run(parts.receive(one, number, stream(content)))


def test_parts_come_in_any_order_and_again(blobs: Blobs) -> None:
    parts, one = Parts(blobs), upload()
    parts.create(one)
    content = {number: os.urandom(1000 + number) for number in (10, 2, 1)}
    for number, own in content.items():
        assert parts.add(one, received(parts, one, number, own))
    assert parts.add(one, received(parts, one, 2, b"again"))
    content[2] = b"again"
    there = parts.list(one)
    assert [part.number for part in there] == [1, 2, 10]
    for part in there:
        own = content[part.number]
        assert (part.bytes, part.sha256) == (len(own), hashlib.sha256(own).hexdigest())
    assert b"".join(parts.read(one, there)) == content[1] + content[2] + content[10]
    # Of what was replaced nothing is left.
    assert len(list(blobs.keys("uploads/"))) == 1 + 2 * 3
    parts.clear(one)
    assert parts.list(one) == []
    with pytest.raises(Missing):
        list(parts.read(one, there))
    parts.delete("ada", one.id)
    assert list(blobs.keys("uploads/")) == []


def test_what_is_received_is_not_there_before_it_is_added(blobs: Blobs) -> None:
    parts, one = Parts(blobs), upload()
    parts.create(one)
    part = received(parts, one, 1, b"x")
    assert parts.list(one) == []
    parts.drop(one, part)
    assert len(list(blobs.keys("uploads/"))) == 1

    async def cut_off() -> AsyncIterator[bytes]:
        yield bytes(3 << 20)
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        asyncio.run(parts.receive(one, 1, cut_off()))
    assert len(list(blobs.keys("uploads/"))) == 1


def test_a_part_that_comes_after_the_end_leaves_nothing(blobs: Blobs) -> None:
    parts, one = Parts(blobs), upload()
    parts.create(one)
    part = received(parts, one, 1, b"x")
    parts.delete("ada", one.id)
    assert not parts.add(one, part)
    assert list(blobs.keys("uploads/")) == []


def test_the_first_dataset_is_the_one(blobs: Blobs) -> None:
    parts, one = Parts(blobs), upload()
    parts.create(one)
    assert parts.completed(one) is None
    first, second = dataset(), dataset()
    assert parts.complete(one, first) == first
    assert parts.complete(one, second) == first
    assert parts.completed(one) == first
    parts.reopen(one)
    assert parts.complete(one, second) == second


def test_another_tenants_are_not_there(blobs: Blobs) -> None:
    parts, one = Parts(blobs), upload()
    parts.create(one)
    assert parts.get("ada", one.id) == one
    assert parts.get("bob", one.id) is None


def test_uploads_that_get_no_part_are_forgotten(blobs: Blobs) -> None:
    parts, one, two = Parts(blobs), upload(), upload()
    others = upload("bob")
    for each in (one, two, others):
        parts.create(each)
    assert parts.add(one, received(parts, one, 1, b"x"))
    assert parts.forget("ada", datetime.now(UTC) - timedelta(hours=1)) == 0
    between = datetime.now(UTC) + timedelta(milliseconds=5)
    while datetime.now(UTC) < between + timedelta(milliseconds=5):
        pass
    assert parts.add(two, received(parts, two, 1, b"x"))
    assert parts.forget("ada", between) == 1
    assert parts.get("ada", one.id) is None
    assert parts.get("ada", two.id) == two
    assert parts.get("bob", others.id) == others

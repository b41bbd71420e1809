"""Datasets: upload, inspection, lists, removal."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest

from models.errors import UsageError
from tests.workers.artifacts.datasets_kit import dataset
from tests.workers.jobs_kit import end, request
from workers.artifacts.datasets import Dataset
from workers.assembly import Assembly
from workers.errors import StoreUnavailable
from workers.stores.objects.streams import HEAD, Stored


async def stream(content: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


@pytest.mark.parametrize("length", [0, 10, HEAD, (3 << 20) + 5])
@pytest.mark.parametrize("piece", [1 << 16, 1 << 22])
def test_receive(assembly: Assembly, length: int, piece: int) -> None:
    content = os.urandom(length)
    upload = asyncio.run(assembly.datasets.receive("ada", "ds_1", stream(content, piece)))
    assert upload == Stored(length, hashlib.sha256(content).hexdigest(), content[:HEAD])
    key = assembly.datasets.content_key("ada", "ds_1")
    assert assembly.blobs.get(key) == content
    assert assembly.datasets.get("ada", "ds_1") is None
    assembly.datasets.discard("ada", "ds_1")
    assert assembly.blobs.size(key) is None


def test_an_interrupted_upload_leaves_nothing(assembly: Assembly) -> None:
    async def cut_off() -> AsyncIterator[bytes]:
        yield bytes(3 << 20)
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        asyncio.run(assembly.datasets.receive("ada", "ds_1", cut_off()))
    assert list(assembly.blobs.keys("")) == []


def test_create_get_and_delete(assembly: Assembly) -> None:
    datasets = assembly.datasets
    record = dataset()
    datasets.create(record)
    assert datasets.get("ada", record.id) == record
    assert datasets.get("bob", record.id) is None
    assert not datasets.delete("bob", record.id)
    assert datasets.delete("ada", record.id)
    assert not datasets.delete("ada", record.id)
    assert datasets.get("ada", record.id) is None
    assert list(assembly.blobs.keys("")) == []
    assert datasets.page("ada") == ([], None)


def test_a_failed_creation_leaves_nothing(
    assembly: Assembly, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreUnavailable("away")

    record = dataset()
    with monkeypatch.context() as patch:
        patch.setattr(assembly.datasets._index, "put", fail)
        with pytest.raises(StoreUnavailable):
            assembly.datasets.create(record)
    assert list(assembly.blobs.keys("")) == []
    assert assembly.datasets.get("ada", record.id) is None


def test_pages_by_role(assembly: Assembly) -> None:
    records = [dataset(role=("features", "labels", None)[number % 3]) for number in range(9)]
    for record in records:
        assembly.datasets.create(record)
    assembly.datasets.create(dataset(tenant="bob"))
    newest = sorted(records, key=lambda record: record.id, reverse=True)
    for role in (None, "features", "labels", "graph"):
        expected = [record for record in newest if role in (None, record.role)]
        listed: list[Dataset] = []
        cursor = None
        while True:
            page, cursor = assembly.datasets.page("ada", limit=2, cursor=cursor, role=role)
            listed += page
            if cursor is None:
                break
        assert listed == expected
    with pytest.raises(UsageError):
        assembly.datasets.page("ada", cursor="no cursor")


PROBLEM = {"type": "/problems/wrong", "title": "Wrong", "status": 422, "detail": "Not a matrix."}


@pytest.mark.parametrize("problem", [None, PROBLEM])
def test_an_inspection_updates_the_dataset(
    assembly: Assembly, problem: dict[str, Any] | None
) -> None:
    ledger, datasets = assembly.ledger, assembly.datasets
    record = dataset(status="inspecting", shape=None, dtype=None, format="csv")
    datasets.create(record)
    job = request(kind="inspect", method="inspect", inputs={}, options={"dataset": record.id})
    ledger.submit(job)
    claim = ledger.claim(job.id, "w")
    assert claim is not None
    if problem is None:
        facts = {"dataset": {"shape": [10, 3], "dtype": "float64"}}
        ledger.finish(claim, end(claim, result=facts, tree=None))
    else:
        ledger.finish(claim, end(claim, "failed", error=problem))
    after = datasets.get("ada", record.id)
    assert after is not None
    assert after.problem == problem
    if problem is None:
        assert (after.status, after.shape, after.dtype) == ("ready", (10, 3), "float64")
    else:
        assert (after.status, after.shape, after.dtype) == ("invalid", None, None)
    assert datasets.page("ada")[0] == [after]
    # Only the first result counts.
    datasets.inspected("ada", record.id, shape=(1, 1), dtype="int8", problem=None)
    assert datasets.get("ada", record.id) == after
    assert datasets.delete("ada", record.id)
    assert ledger.get("ada", job.id) is None
    assert list(assembly.blobs.keys("")) == []


def test_an_inspection_whose_worker_dies_makes_the_dataset_invalid(assembly: Assembly) -> None:
    record = dataset(status="inspecting", shape=None, dtype=None)
    assembly.datasets.create(record)
    job = request(kind="inspect", method="inspect", options={"dataset": record.id})
    assembly.ledger.submit(job)
    for _ in range(3):
        claim = assembly.ledger.claim(job.id, "w")
        assert claim is not None
        assembly.ledger.give_back(claim, spend=True)
    after = assembly.datasets.get("ada", record.id)
    assert after is not None
    assert after.status == "invalid"
    assert after.problem is not None
    assert after.problem["type"] == "/problems/worker-lost"


def test_a_dataset_deleted_during_its_inspection(assembly: Assembly) -> None:
    record = dataset(status="inspecting")
    assembly.datasets.create(record)
    job = request(kind="inspect", method="inspect", options={"dataset": record.id})
    assembly.ledger.submit(job)
    claim = assembly.ledger.claim(job.id, "w")
    assert claim is not None
    assembly.datasets.delete("ada", record.id)
    assert not assembly.ledger.finish(claim, end(claim, "failed"))
    assert assembly.datasets.get("ada", record.id) is None
    assert list(assembly.blobs.keys("")) == []

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
    got = asyncio.run(assembly.datasets.receive("ada", "ds_1", stream(content, piece)))
    assert got == Stored(length, hashlib.sha256(content).hexdigest(), content[:HEAD])
    key = assembly.datasets.content_key("ada", "ds_1")
    assert assembly.blobs.get(key) == content
    assert assembly.datasets.get("ada", "ds_1") is None
    assembly.datasets.discard("ada", "ds_1")
    assert assembly.blobs.size(key) is None


def test_an_upload_cut_off_leaves_nothing(assembly: Assembly) -> None:
    async def cut_off() -> AsyncIterator[bytes]:
        yield bytes(3 << 20)
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        asyncio.run(assembly.datasets.receive("ada", "ds_1", cut_off()))
    assert list(assembly.blobs.keys("")) == []


def test_create_get_and_delete(assembly: Assembly) -> None:
    datasets = assembly.datasets
    made = dataset()
    datasets.create(made)
    assert datasets.get("ada", made.id) == made
    assert datasets.get("bob", made.id) is None
    assert not datasets.delete("bob", made.id)
    assert datasets.delete("ada", made.id)
    assert not datasets.delete("ada", made.id)
    assert datasets.get("ada", made.id) is None
    assert list(assembly.blobs.keys("")) == []
    assert datasets.page("ada") == ([], None)


def test_on_failure_nothing_remains(assembly: Assembly, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise StoreUnavailable("away")

    made = dataset()
    with monkeypatch.context() as patch:
        patch.setattr(assembly.datasets._index, "put", fail)
        with pytest.raises(StoreUnavailable):
            assembly.datasets.create(made)
    assert list(assembly.blobs.keys("")) == []
    assert assembly.datasets.get("ada", made.id) is None


def test_pages_by_role(assembly: Assembly) -> None:
    made = [dataset(role=("features", "labels", None)[number % 3]) for number in range(9)]
    for each in made:
        assembly.datasets.create(each)
    assembly.datasets.create(dataset(tenant="bob"))
    newest = sorted(made, key=lambda each: each.id, reverse=True)
    for role in (None, "features", "labels", "graph"):
        wanted = [each for each in newest if role in (None, each.role)]
        found: list[Dataset] = []
        cursor = None
        while True:
            page, cursor = assembly.datasets.page("ada", limit=2, cursor=cursor, role=role)
            found += page
            if cursor is None:
                break
        assert found == wanted
    with pytest.raises(UsageError):
        assembly.datasets.page("ada", cursor="no cursor")


PROBLEM = {"type": "/problems/wrong", "title": "Wrong", "status": 422, "detail": "Not a matrix."}


@pytest.mark.parametrize("problem", [None, PROBLEM])
def test_an_inspection_tells_the_dataset(
    assembly: Assembly, problem: dict[str, Any] | None
) -> None:
    ledger, datasets = assembly.ledger, assembly.datasets
    made = dataset(status="inspecting", shape=None, dtype=None, format="csv")
    datasets.create(made)
    asked = request(kind="inspect", method="inspect", inputs={}, options={"dataset": made.id})
    ledger.submit(asked)
    claim = ledger.claim(asked.id, "w")
    assert claim is not None
    if problem is None:
        found = {"dataset": {"shape": [10, 3], "dtype": "float64"}}
        ledger.finish(claim, end(claim, result=found, tree=None))
    else:
        ledger.finish(claim, end(claim, "failed", error=problem))
    after = datasets.get("ada", made.id)
    assert after is not None
    assert after.problem == problem
    if problem is None:
        assert (after.status, after.shape, after.dtype) == ("ready", (10, 3), "float64")
    else:
        assert (after.status, after.shape, after.dtype) == ("invalid", None, None)
    assert datasets.page("ada")[0] == [after]
    # Only the first finding counts.
    datasets.inspected("ada", made.id, shape=(1, 1), dtype="int8", problem=None)
    assert datasets.get("ada", made.id) == after
    assert datasets.delete("ada", made.id)
    assert ledger.get("ada", asked.id) is None
    assert list(assembly.blobs.keys("")) == []


def test_an_inspection_whose_worker_dies_makes_the_dataset_invalid(assembly: Assembly) -> None:
    made = dataset(status="inspecting", shape=None, dtype=None)
    assembly.datasets.create(made)
    asked = request(kind="inspect", method="inspect", options={"dataset": made.id})
    assembly.ledger.submit(asked)
    for _ in range(3):
        claim = assembly.ledger.claim(asked.id, "w")
        assert claim is not None
        assembly.ledger.give_back(claim, spend=True)
    after = assembly.datasets.get("ada", made.id)
    assert after is not None
    assert after.status == "invalid"
    assert after.problem is not None
    assert after.problem["type"] == "/problems/worker-lost"


def test_a_dataset_deleted_during_its_inspection(assembly: Assembly) -> None:
    made = dataset(status="inspecting")
    assembly.datasets.create(made)
    asked = request(kind="inspect", method="inspect", options={"dataset": made.id})
    assembly.ledger.submit(asked)
    claim = assembly.ledger.claim(asked.id, "w")
    assert claim is not None
    assembly.datasets.delete("ada", made.id)
    assert not assembly.ledger.finish(claim, end(claim, "failed"))
    assert assembly.datasets.get("ada", made.id) is None
    assert list(assembly.blobs.keys("")) == []

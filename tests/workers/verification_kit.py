"""A store that has every kind of object, made by the parts that make them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from models.editions.state import Operation
from tests.workers.jobs_kit import end, request, result_folder
from workers.artifacts.aliases import Aliases
from workers.artifacts.datasets import Dataset
from workers.artifacts.editions import Change, Editions, id_beside
from workers.artifacts.keys import Keys
from workers.artifacts.shares import Shares
from workers.artifacts.uploads import Parts, Upload
from workers.assembly import Assembly
from workers.jobs.webhook_keys import WebhookKeys
from workers.model import Annotation, Delivery, Pause, new_id, now, sibling
from workers.settings import WorkerSettings
from workers.stores.objects import layout
from workers.stores.objects.format import open_store
from workers.stores.objects.job_files import put_once


def dataset(assembly: Assembly, content: bytes = b"123") -> Dataset:
    facts = Dataset(
        id=new_id("ds"),
        tenant="ada",
        name=None,
        role="features",
        status="ready",
        format="npy",
        member=None,
        shape=(1, 1),
        dtype="float64",
        bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        created_at=now(),
        problem=None,
    )
    assembly.blobs.put(assembly.datasets.content_key("ada", facts.id), content)
    assembly.datasets.create(facts)
    return facts


async def _chunks(content: bytes) -> AsyncIterator[bytes]:
    yield content


def _edit(editions: Editions, tenant: str, tree_id: str) -> None:
    """An edition of five changes, four of which are kept together, too."""
    edition = editions.create(tenant, id_beside(tree_id, "ed"), by=None, name="one")
    rename = TypeAdapter[Operation](Operation).validate_python(
        {"op": "rename", "node": 2, "name": "x"}
    )
    for number in range(2, 6):
        change = Change(number=number, at=now(), by=None, kind="edit", operations=(rename,))
        changed = editions.change(edition, change)
        assert changed is not None
        edition = changed


def every_kind(assembly: Assembly, settings: WorkerSettings, folder: Path) -> dict[str, str]:
    """Fill the store; what each kind of object has as its key."""
    blobs, tenant = assembly.blobs, "ada"
    kept = dataset(assembly)
    assembly.datasets.settle(
        tenant, kept.id, shape=(1, 1), dtype="float64", problem=None, job_id=None
    )
    assembly.datasets.keep_statements(tenant, kept.id, b'{"statements":[]}')
    waiting = assembly.ledger.submit(request(), {"features": b"[[1]]"}).id
    claim = assembly.ledger.claim(assembly.ledger.submit(request(), {"features": b"[]"}).id, "w")
    assert claim is not None
    results = result_folder(folder / claim.fence)
    (results / "model.safetensors").write_bytes(b"model")
    assert assembly.ledger.finish(claim, end(claim), results)
    job_id = claim.request.id
    tree_id = sibling(job_id, "tr")
    delivered = Delivery(status="delivered", attempts=1, at=now())
    put_once(blobs, layout.job(tenant, job_id, "webhook.json"), delivered)
    for own_id in (kept.id, job_id, tree_id):
        assembly.annotations.change(tenant, own_id, Annotation, lambda _: Annotation(name="n"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("workers.artifacts.editions.TOGETHER", 4)
        _edit(Editions(blobs, lambda _: None), tenant, tree_id)
    day = datetime.now(UTC) + timedelta(days=1)
    Shares(blobs, lambda _: None).add(tenant, tree_id, expires_at=day)
    aliases = Aliases(blobs)
    aliases.move(aliases.get(tenant, "best"), tree_id)
    assembly.ledger.pauses.put(Pause(scope="tenant", name="bob", reason=None, since=now()))
    keys = Keys(blobs)
    key, _ = keys.add(tenant, "read")
    keys.revoke(key.id, day)
    keys.note_use(key.id, day)
    WebhookKeys(blobs, settings).of(tenant)
    parts = Parts(blobs, assembly.usage)
    upload = Upload(
        id=new_id("up"),
        tenant=tenant,
        name=None,
        role=None,
        member=None,
        media_type=None,
        created_at=now(),
    )
    parts.create(upload)
    part = asyncio.run(parts.receive(upload, 1, _chunks(b"part")))
    assert parts.add(upload, part)
    parts.complete(upload, kept)
    open_store(blobs)
    kinds = {}
    for name in blobs.keys(""):
        kinds[_kind(name, waiting)] = name
    return kinds


def _kind(key: str, waiting: str) -> str:
    """The kind of an object: its key without ids and numbers; of the job that waits by itself."""
    words = [
        word
        for word in key.replace(".", "/").split("/")
        if not any(letter.isdigit() for letter in word) and word != "ada"
    ]
    return "/".join(("waiting", *words) if waiting in key else words)

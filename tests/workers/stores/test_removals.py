"""Removal while Redis refuses every write, since its disk is full, or has no memory left."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.workers.artifacts.datasets_kit import dataset
from tests.workers.conftest import Server
from tests.workers.jobs_kit import end, everything, request, result_folder
from workers.assembly import Assembly, assemble
from workers.errors import StoreFull
from workers.model import Claim, new_id, sibling
from workers.settings import WorkerSettings
from workers.stores.erasure import erase_job
from workers.stores.objects.layout import REMOVALS


@pytest.fixture(scope="module")
def _fillable() -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="umbel-"))
    server = Server(folder, appendfsync="everysec")
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def valkey(_fillable: Server) -> Iterator[Server]:
    """A server whose disk can be full."""
    _fillable.client().flushall()
    yield _fillable
    _fillable.take_writes()


Limit = Callable[[], None]


def no_memory(server: Server) -> tuple[Limit, Limit]:
    client = server.client()

    def set_to(most: int) -> None:
        client.config_set("maxmemory", most)

    return lambda: set_to(1), lambda: set_to(0)


def no_disk(server: Server) -> tuple[Limit, Limit]:
    return server.refuse_writes, server.take_writes


async def _chunks(content: bytes) -> AsyncIterator[bytes]:
    yield content


@dataclass
class Things:
    """What is removed: the job of a tree, a tree alone, a dataset, a waiting and a running job."""

    whole: str
    bare: str
    dataset: str
    waiting: str
    running: Claim


def things(parts: Assembly, folder: Path) -> Things:
    done = []
    for _ in range(2):
        job = request(tags=("t",))
        parts.ledger.submit(job, {"features": b"[1]"})
        claim = parts.ledger.claim(job.id, "w")
        assert claim is not None
        assert parts.ledger.finish(claim, end(claim), result_folder(folder / job.id))
        done.append(job.id)
    own = new_id("ds")
    asyncio.run(parts.datasets.receive("ada", own, _chunks(b"1234")))
    parts.datasets.create(dataset(own, bytes=4))
    waiting, running = request(), request()
    for each in (waiting, running):
        parts.ledger.submit(each, {"features": b"[1]"})
    claim = parts.ledger.claim(running.id, "w")
    assert claim is not None
    return Things(done[0], done[1], own, waiting.id, claim)


def remove(parts: Assembly, own: Things) -> None:
    assert parts.ledger.delete("ada", own.whole)
    assert parts.trees.delete("ada", sibling(own.bare, "tr"))
    assert parts.datasets.delete("ada", own.dataset)
    assert parts.ledger.delete("ada", own.waiting)
    assert parts.ledger.delete("ada", own.running.request.id)


def require_gone(parts: Assembly, own: Things) -> None:
    """No way of reading shows what was removed, and what was not is there."""
    for job_id in (own.whole, own.waiting, own.running.request.id):
        assert parts.ledger.get("ada", job_id) is None
        assert not parts.ledger.delete("ada", job_id)
    for tree_id in (sibling(own.whole, "tr"), sibling(own.bare, "tr")):
        assert parts.trees.record("ada", tree_id) is None
    assert parts.datasets.get("ada", own.dataset) is None
    assert [each.id for each in parts.ledger.page("ada")[0]] == [own.bare]
    assert [each.id for each in parts.ledger.page("ada", tags=("t",))[0]] == [own.bare]
    assert parts.ledger.listing("ada").count() == 1
    assert parts.trees.page("ada")[0] == []
    assert parts.datasets.page("ada")[0] == []
    assert parts.datasets.same(dataset(new_id("ds"), bytes=4)) is None


@pytest.mark.parametrize("full", [no_memory, no_disk])
def test_what_is_removed_is_gone_for_everybody_at_once(
    full: Callable[[Server], tuple[Limit, Limit]],
    valkey: Server,
    assembly: Assembly,
    settings: WorkerSettings,
    tmp_path: Path,
) -> None:
    other = assemble(settings, lambda queue, job_id: None)
    own = things(assembly, tmp_path)
    begin, over = full(valkey)
    begin()
    remove(assembly, own)
    refused = request()
    with pytest.raises(StoreFull):
        assembly.ledger.submit(refused, {"features": b"[1]"})
    for parts in (assembly, other):
        require_gone(parts, own)
    # The worker of the running job does not know of it, and publishes.
    assert not other.ledger.finish(own.running, end(own.running), result_folder(tmp_path / "late"))
    require_gone(other, own)
    over()
    for parts in (other, assembly):
        require_gone(parts, own)
        assert parts.ledger.claim(own.waiting, "w") is None
        parts.ledger.sweep()
        require_gone(parts, own)
    assert list(assembly.blobs.keys(REMOVALS)) == []
    assert not [key for key in everything(assembly) if own.bare not in key]
    kept = assembly.usage.of("ada")
    assert (kept["bytes"], kept["jobs"], kept["datasets"], kept["trees"]) == (3, 1, 0, 0)


@pytest.mark.parametrize("after", ["flushed", "restarted", "as it was"])
def test_a_note_outlives_the_process_that_removed(
    after: str, valkey: Server, assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    own = things(assembly, tmp_path)
    valkey.refuse_writes()
    remove(assembly, own)
    valkey.take_writes()
    if after == "flushed":
        valkey.client().flushall()
    elif after == "restarted":
        valkey.stop()
        valkey.start()
    later = assemble(settings, lambda queue, job_id: None)
    later.ledger.sweep()
    require_gone(later, own)
    assert list(later.blobs.keys(REMOVALS)) == []


def test_a_removal_that_ended_half_way_while_writes_are_refused_can_be_repeated(
    valkey: Server, assembly: Assembly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before each of its steps in the store, then repeated by a client or by nobody."""
    for n_steps in range(20):
        for repeated in (True, False):
            job = request()
            assembly.ledger.submit(job, {"features": b"[1]"})
            claim = assembly.ledger.claim(job.id, "w")
            assert claim is not None
            assert assembly.ledger.finish(
                claim, end(claim), result_folder(tmp_path / f"{n_steps} {repeated}")
            )
            valkey.refuse_writes()
            done = _killed_before(n_steps, assembly, job.id, monkeypatch)
            if repeated:
                assembly.ledger.delete("ada", job.id)
                assert assembly.ledger.get("ada", job.id) is None
            valkey.take_writes()
            assembly.ledger.sweep()
            record = assembly.ledger.get("ada", job.id)
            if repeated or done:
                assert record is None
                assert not [key for key in everything(assembly) if job.id in key]
            elif record is not None:  # Nothing was removed, or a repeat completes it.
                assert assembly.ledger.delete("ada", job.id)
                assert not [key for key in everything(assembly) if job.id in key]
        if done:
            break
    assert n_steps >= 3


class Killed(BaseException):
    """The end of a process."""


def _killed_before(
    n_steps: int, parts: Assembly, job_id: str, monkeypatch: pytest.MonkeyPatch
) -> bool:
    """Whether a removal had no more than so many steps in the store."""
    left = n_steps
    with monkeypatch.context() as patch:
        for name in ("put", "delete", "delete_under"):
            original: Callable[..., None] = getattr(type(parts.blobs), name)

            def step(*args: object, original: Callable[..., None] = original, **kw: object) -> None:
                nonlocal left
                if left == 0:
                    raise Killed
                left -= 1
                original(parts.blobs, *args, **kw)

            patch.setattr(parts.blobs, name, step)
        try:
            erase_job(parts.blobs, parts.ledger._records, "ada", job_id)
        except Killed:
            return False
    return True

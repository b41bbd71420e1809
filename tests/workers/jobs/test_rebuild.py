"""Redis loses its data or restarts: everything that was accepted is restored."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import pytest

from models.errors import UsageError
from tests.workers.artifacts.datasets_kit import dataset
from tests.workers.conftest import Server
from tests.workers.jobs_kit import Sent, end, everything, request, result_folder
from tests.workers.waiting_kit import until
from workers.assembly import Assembly, assemble
from workers.errors import Damaged, StoreUnavailable, problem
from workers.model import new_id, sibling
from workers.settings import WorkerSettings
from workers.stores.objects import layout
from workers.stores.objects.job_files import read_end


def test_a_rebuild_restores_everything_accepted(
    assembly: Assembly, sent: Sent, tmp_path: Path
) -> None:
    ledger, datasets, trees = assembly.ledger, assembly.datasets, assembly.trees
    queued, running, cancelled, failed, inspection = (
        request(name="queued"),
        request(),
        request(),
        request(),
        request(kind="inspect", method="inspect", options={"dataset": "ds_1"}),
    )
    done = [request(then={"method": "l2h"}) for _ in range(2)]
    datasets.create(dataset("ds_1", status="inspecting"))
    datasets.create(dataset("ds_2", role="labels"))
    for job in (queued, running, cancelled, failed, inspection, *done):
        ledger.submit(job, {"features": b"[]"})
    ledger.cancel("ada", cancelled.id)
    claims = {job.id: ledger.claim(job.id, "w") for job in (running, failed, *done)}
    ledger.finish(claims[failed.id], end(claims[failed.id], "failed"))
    for number, job in enumerate(done):
        folder = result_folder(tmp_path / job.id, str(number))
        ledger.finish(claims[job.id], end(claims[job.id]), folder)
    trees.delete("ada", sibling(done[1].id, "tr"))

    before = {record.id: record for record in ledger.page("ada")[0]}
    listed = trees.page("ada")
    uploads = datasets.page("ada"), datasets.page("ada", role="labels")
    held = everything(assembly)
    assert not ledger.needs_rebuild()
    assembly.redis.flushall()
    assert ledger.needs_rebuild()
    assert ledger.rebuild() == 9
    assert not ledger.needs_rebuild()
    assert everything(assembly) == held

    after = {record.id: record for record in ledger.page("ada")[0]}
    assert after.keys() == before.keys()
    for job_id, record in after.items():
        old = before[job_id]
        if record.ended:
            changed = {"version": old.version, "progress": old.progress}
            assert record.model_copy(update=changed) == old
        else:
            assert record.status == "queued"
        assert record.version > old.version
    assert after[running.id].attempt == 0
    assert trees.page("ada") == listed
    assert len(listed[0]) == 1
    assert (datasets.page("ada"), datasets.page("ada", role="labels")) == uploads
    counted = {"queued": 3, "running": 0, "succeeded": 2, "failed": 1, "cancelled": 1}
    assert {name: number for name, number in ledger.counts().items() if number} == {
        name: number for name, number in counted.items() if number
    }
    sent.clear()
    ledger.sweep()
    assert {job_id for _, job_id in sent} == {queued.id, running.id, inspection.id}
    assert ledger.beat(claims[running.id]) == "lost"
    assert ledger.rebuild() == 0


def test_a_looked_up_record_is_restored_first(assembly: Assembly, tmp_path: Path) -> None:
    """A request for an existing record is never answered with 404."""
    ledger = assembly.ledger
    job, inspection = request(), request()
    ledger.submit(job)
    ledger.submit(inspection)
    claim = ledger.claim(inspection.id, "w")
    assert claim is not None
    ledger.finish(claim, end(claim), result_folder(tmp_path / "result"))
    assembly.datasets.create(dataset("ds_1"))
    for look in (
        lambda: ledger.get("ada", job.id),
        lambda: ledger.page("ada")[0],
        lambda: ledger.cancel("ada", inspection.id),
        lambda: assembly.trees.record("ada", sibling(inspection.id, "tr")),
        lambda: assembly.trees.page("ada")[0],
        lambda: assembly.datasets.get("ada", "ds_1"),
        lambda: assembly.datasets.page("ada")[0],
        lambda: ledger.claim(job.id, "w"),
    ):
        assembly.redis.flushall()
        assert look()


@pytest.mark.parametrize("n_losses", [1, 100])
def test_a_record_that_is_lost_again_before_it_is_read(
    assembly: Assembly, monkeypatch: pytest.MonkeyPatch, n_losses: int
) -> None:
    ledger = assembly.ledger
    job = request()
    ledger.submit(job)
    restore, losses = ledger._rebuild.restore_job, iter(range(n_losses))

    def restore_and_lose(*args: Any) -> bool:
        restored = restore(*args)
        if next(losses, None) is not None:
            assembly.redis.flushall()
        return restored

    monkeypatch.setattr(ledger._rebuild, "restore_job", restore_and_lose)
    assembly.redis.flushall()
    if n_losses == 1:
        assert ledger.get("ada", job.id) is not None
        assert ledger.get("ada", "job_unknown") is None
    else:
        with pytest.raises(StoreUnavailable):
            ledger.get("ada", job.id)


def test_a_job_that_ends_while_it_is_restored_is_restored(
    assembly: Assembly, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its marker goes while the restoring process asks for its end and for its marker."""
    ledger = assembly.ledger
    job = request()
    ledger.submit(job)
    claim = ledger.claim(job.id, "w")
    assert claim is not None
    looked: list[str] = []

    def looks(function: Any) -> Any:
        """Calls it; the job ends after the first call of all."""

        def look(*args: Any) -> Any:
            result = function(*args)
            looked.append(function.__name__)
            if len(looked) == 1:
                monkeypatch.undo()
                ledger.finish(claim, end(claim), result_folder(tmp_path / "result"))
                assembly.redis.flushall()
            return result

        return look

    assembly.redis.flushall()
    monkeypatch.setattr("workers.jobs.rebuild.read_end", looks(read_end))
    monkeypatch.setattr(assembly.blobs, "size", looks(assembly.blobs.size))
    assert ledger.get("ada", job.id) is not None
    assert len(looked) == 1
    ledger.claim(job.id, "w")
    record = ledger.get("ada", job.id)
    assert record is not None
    assert record.status == "succeeded"


def test_leases_survive_a_restart(
    assembly: Assembly, valkey: Server, settings: WorkerSettings, tmp_path: Path
) -> None:
    ledger = assembly.ledger
    job = request()
    ledger.submit(job)
    claim = ledger.claim(job.id, "w")
    assert claim is not None
    ledger.rebuild()
    valkey.stop()
    valkey.start()
    assert ledger.needs_rebuild()
    assert ledger.rebuild() == 0
    assert ledger.beat(claim) == "on"
    assert ledger.finish(claim, end(claim), result_folder(tmp_path / "result"))


def test_a_result_published_while_redis_is_empty_counts(assembly: Assembly, tmp_path: Path) -> None:
    ledger = assembly.ledger
    job = request()
    ledger.submit(job)
    claim = ledger.claim(job.id, "w")
    assert claim is not None
    assembly.redis.flushall()
    assert ledger.finish(claim, end(claim), result_folder(tmp_path / "result"))
    ledger.rebuild()
    record = ledger.get("ada", job.id)
    assert record is not None
    assert record.status == "succeeded"
    assert len(assembly.trees.page("ada")[0]) == 1


def test_concurrent_rebuilds_duplicate_nothing(
    settings: WorkerSettings, assembly: Assembly
) -> None:
    jobs = [request() for _ in range(60)]
    for job in jobs:
        assembly.ledger.submit(job)
    assembly.redis.flushall()
    restored: list[int] = []
    ledgers = [assemble(settings, lambda queue, job_id: None).ledger for _ in range(4)]
    threads = [
        threading.Thread(target=lambda ledger=ledger: restored.append(ledger.rebuild()))
        for ledger in ledgers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(restored) == 4
    assert sum(restored) == 60
    assert assembly.ledger.counts() == {"queued": 60}
    assert assembly.ledger.queued() == {"cpu": 60}


def test_data_loss_during_a_rebuild_is_detected(
    assembly: Assembly, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = assembly.ledger
    for _ in range(3):
        ledger.submit(request())
    assembly.redis.flushall()
    restore = ledger._rebuild.restore_job

    def flush_then_restore(tenant: str, job_id: str) -> bool:
        assembly.redis.flushall()
        return restore(tenant, job_id)

    with monkeypatch.context() as patch:
        patch.setattr(ledger._rebuild, "restore_job", flush_then_restore)
        with pytest.raises(StoreUnavailable):
            ledger.rebuild()
    assert ledger.needs_rebuild()
    ledger.rebuild()
    assert len(ledger.page("ada")[0]) == 3


def test_an_abandoned_rebuild_is_taken_over(assembly: Assembly, settings: WorkerSettings) -> None:
    assembly.ledger.submit(request())
    assembly.redis.flushall()
    assembly.redis.set(f"{settings.key_prefix}rebuilding", "dead", px=300)
    assert assembly.ledger.rebuild() == 1


def test_a_rebuild_that_goes_on_is_not_taken_over(
    assembly: Assembly, settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long a job takes to restore."""
    assembly.ledger.submit(request())
    assembly.redis.flushall()
    restore = assembly.ledger._rebuild.restore_job
    monkeypatch.setattr("workers.jobs.rebuild.HOLD_S", 1.0)

    def restore_late(tenant: str, job_id: str) -> bool:
        left = [cast("int", assembly.redis.pttl(f"{settings.key_prefix}rebuilding"))]

        def renewed() -> bool:
            left.append(cast("int", assembly.redis.pttl(f"{settings.key_prefix}rebuilding")))
            return left[-1] > left[-2] > 0

        until(renewed)
        return restore(tenant, job_id)

    monkeypatch.setattr(assembly.ledger._rebuild, "restore_job", restore_late)
    assert assembly.ledger.rebuild() == 1


def test_idempotency_keys_are_restored(assembly: Assembly) -> None:
    ledger = assembly.ledger
    first = ledger.submit(request(idempotency_key="k", body_sha256="b"))
    old = request(idempotency_key="old", body_sha256="b", created_at="2020-01-01T00:00:00.000000Z")
    ledger.submit(old)
    assembly.redis.flushall()
    assert ledger.submit(request(idempotency_key="k", body_sha256="b")).id == first.id
    with pytest.raises(UsageError):
        ledger.submit(request(idempotency_key="k", body_sha256="c"))
    again = request(idempotency_key="old", body_sha256="c")
    assert ledger.submit(again).id == again.id


def test_a_job_that_was_never_accepted_is_not_restored(assembly: Assembly) -> None:
    ledger, blobs = assembly.ledger, assembly.blobs
    young, old = request(), request(id="job_01e00000000000000000000000")
    for job in (young, old):
        key = layout.job("ada", job.id, "request.json")
        blobs.put(key, job.model_dump_json().encode())
    blobs.put(layout.open_marker("ada", "job_nothing"), b"", create=True)
    blobs.put(layout.dataset("ada", "ds_01e00000000000000000000000", "content"), b"abandoned")
    blobs.put(layout.dataset("ada", new_id("ds"), "content"), b"still coming")
    ledger.rebuild()
    assert ledger.page("ada") == ([], None)
    # They may be on their way; a later sweep removes them.
    assert set(ledger._records.left(-1.0)) == {("ada", young.id), ("ada", old.id)}
    assert len(everything(assembly)) == 3


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("survived", range(8))
def test_an_interrupted_deletion_is_completed_or_can_be_repeated(
    assembly: Assembly,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    survived: int,
    lost: bool,
) -> None:
    """The deletion is killed after some of its seven steps; then Redis may lose its data."""
    ledger, blobs = assembly.ledger, assembly.blobs
    job = request()
    ledger.submit(job, {"features": b"[]"})
    claim = ledger.claim(job.id, "w")
    assert claim is not None
    ledger.finish(claim, end(claim), result_folder(tmp_path / "result"))
    done = 0

    def killed_after(call: Callable[[str], object]) -> Callable[[str], object]:
        def step(argument: str, *more: str) -> object:
            nonlocal done
            if done == survived:
                raise Killed
            done += 1
            return call(argument, *more)

        return step

    steps = ((blobs, "delete"), (blobs, "delete_under"), (ledger._records, "drop"))
    with monkeypatch.context() as patch:
        for owner, name in steps:
            patch.setattr(owner, name, killed_after(getattr(owner, name)))
        with nullcontext() if survived == 7 else pytest.raises(Killed):
            ledger.delete("ada", job.id)
    assert done == survived
    assert (ledger.get("ada", job.id) is not None) == (survived < 2)
    if lost:
        assembly.redis.flushall()
        ledger.rebuild()
        assert (ledger.get("ada", job.id) is not None) == (survived < 1)
    if ledger.get("ada", job.id) is not None:
        assert ledger.delete("ada", job.id)
    else:
        assembly.redis.flushall()
        ledger.rebuild()
    assert ledger.get("ada", job.id) is None
    assert everything(assembly) == set()
    assert assembly.trees.page("ada") == ([], None)


def test_a_stale_marker_of_an_ended_job_is_removed(assembly: Assembly, tmp_path: Path) -> None:
    """The worker died after it wrote the terminal object and before it removed the marker."""
    ledger, blobs = assembly.ledger, assembly.blobs
    over, waiting = request(), request()
    for job in (over, waiting):
        ledger.submit(job, {"features": b"[]"})
    claim = ledger.claim(over.id, "w")
    assert claim is not None
    ledger.finish(claim, end(claim), result_folder(tmp_path / "done", "0"))
    blobs.put(layout.open_marker("ada", over.id), b"", create=True)
    ledger.rebuild()
    assert blobs.size(layout.open_marker("ada", over.id)) is None
    assert blobs.size(layout.open_marker("ada", waiting.id)) == 0


def test_dead_letters_outlive_redis(assembly: Assembly, settings: WorkerSettings) -> None:
    """A job that an attempt failed, one that ran out of attempts with a reason, and one whose
    worker was lost each time."""
    ledger = assembly.ledger
    away = problem("unavailable", "Away", 503, "The store was away.")
    jobs = [request(), request(), request()]
    for job in jobs:
        ledger.submit(job)
        for attempt in range(settings.max_attempts):
            claim = ledger.claim(job.id, "w")
            assert claim is not None
            if job is jobs[0] and attempt == 1:
                assert ledger.finish(claim, end(claim, "failed", error=away))
                break
            ledger.give_back(claim, spend=True, retry=away, why=away if job is jobs[1] else None)
    fields = ("status", "error", "given_up", "attempt", "finished_at")

    def shown() -> list[list[Any]]:
        records = [ledger.get("ada", job.id) for job in jobs]
        return [[getattr(record, name) for name in fields] for record in records]

    before = shown()
    assert [row[0] for row in before] == ["failed"] * 3
    assert [len(row[2]) for row in before] == [1, 3, 3]
    reasons = {
        reason: [each.id for each in ledger.page("ada", reason=reason)[0]]
        for reason in ("unavailable", "worker-lost")
    }
    assert sum(map(len, reasons.values())) == 3
    assembly.redis.flushall()
    ledger.rebuild()
    assert shown() == before
    for reason, ids in reasons.items():
        assert [each.id for each in ledger.page("ada", reason=reason)[0]] == ids


@pytest.mark.parametrize("when", ["before the loss", "after the rebuild"])
@pytest.mark.parametrize("status", ["succeeded", "cancelled"])
def test_late_files_go_although_redis_was_lost(
    when: str,
    status: str,
    assembly: Assembly,
    settings: WorkerSettings,
    lapse: Callable[[str], None],
    tmp_path: Path,
) -> None:
    """An attempt that was given up stores after the end of its job, and its worker dies."""
    ledger, job = assembly.ledger, request()
    ledger.submit(job)
    late = ledger.claim(job.id, "late")
    assert late is not None
    if status == "succeeded":
        lapse(job.id)
        ledger.sweep()
        claim = ledger.claim(job.id, "w")
        assert claim is not None
        assert ledger.finish(claim, end(claim), result_folder(tmp_path / "result"))
    else:
        ledger.cancel("ada", job.id)
        assembly.ledger._endings.conclude("ada", job.id, "cancelled")
    held = everything(assembly)

    def store() -> None:
        assembly.blobs.put(layout.attempt("ada", job.id, late.fence, "tree.arrow"), b"late")

    if when == "before the loss":
        store()
    assembly.redis.flushall()
    ledger.rebuild()
    if when == "after the rebuild":
        store()
    assert everything(assembly) > held
    key = f"{settings.key_prefix}left_at"
    assert assembly.redis.zcard(key) == 1
    assembly.redis.zadd(key, {f"ada/{job.id}": 1})
    assembly.redis.delete(f"{settings.key_prefix}only:interrupted")
    ledger.sweep()
    assert everything(assembly) == held


@pytest.mark.parametrize("name", ["request.json", "end.json"])
def test_a_job_that_is_left_out_says_why_and_can_be_removed(
    name: str, assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    ledger, jobs = assembly.ledger, [request(), request()]
    for job in jobs:
        ledger.submit(job)
        claim = ledger.claim(job.id, "w")
        assert claim is not None
        assert ledger.finish(claim, end(claim), result_folder(tmp_path / job.id))
    key = layout.job("ada", jobs[0].id, name)
    whole = assembly.blobs.get(key)
    assembly.blobs.put(key, whole.replace(b"a", b"b", 1))
    assembly.redis.flushall()
    ledger.rebuild()
    with pytest.raises(Damaged, match=name):
        ledger.get("ada", jobs[0].id)
    assert ledger.get("bob", jobs[0].id) is None
    assert [each.id for each in ledger.page("ada")[0]] == [jobs[1].id]
    assert ledger.delete("ada", jobs[0].id)
    assert ledger.get("ada", jobs[0].id) is None
    assert not [each for each in everything(assembly) if jobs[0].id in each]

"""A process dies between the stored request and the record: the job runs soon, or never."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest

from tests.workers.conftest import Server
from tests.workers.jobs_kit import Sent, end, everything, request, result_folder
from workers.assembly import Assembly
from workers.errors import StoreUnavailable
from workers.jobs import interrupted, rebuild, submission
from workers.model import Request, earliest_suffix
from workers.settings import WorkerSettings
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.job_files import REQUEST, bare_end, write_end


class Died(BaseException):
    """Stands in for SIGKILL: nothing after it runs."""


def begin(assembly: Assembly, monkeypatch: pytest.MonkeyPatch, **fields: Any) -> Request:
    """A submission whose process died before the record."""
    job = request(**fields)

    def die(*_: object, **__: object) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(assembly.ledger._records, "create", die)
        with pytest.raises(Died):
            assembly.ledger.submit(job)
    assert assembly.blobs.size(layout.open_marker(job.tenant, job.id)) == 0
    assert assembly.ledger.get(job.tenant, job.id) is None
    return job


def sweep(assembly: Assembly, settings: WorkerSettings) -> int:
    """A sweep by the process whose turn it is to look at the open markers."""
    assembly.redis.delete(f"{settings.key_prefix}only:interrupted")
    return assembly.ledger.sweep()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No submission is in progress: each open marker without a record is an interrupted one."""
    monkeypatch.setattr(interrupted, "SUBMISSION_S", -1.0)


@pytest.mark.usefixtures("at_once")
def test_a_sweep_finishes_an_interrupted_submission(
    assembly: Assembly, settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch, sent: Sent
) -> None:
    job = begin(assembly, monkeypatch)
    accepted = request()
    assembly.ledger.submit(accepted)
    sent.clear()
    assert sweep(assembly, settings) == 1
    assert sent == [("cpu", job.id)]
    record = assembly.ledger.get("ada", job.id)
    assert record is not None
    assert record.status == "queued"
    assert assembly.ledger.claim(job.id, "w") is not None
    assert sweep(assembly, settings) == 0


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("ended", [False, True])
def test_what_is_left_of_a_job_without_request_and_record_goes(
    assembly: Assembly, settings: WorkerSettings, ended: bool
) -> None:
    """A marker that was written late, after its submission was taken back; or a job whose deletion
    was cut off."""
    job = request()
    assembly.blobs.put(layout.open_marker("ada", job.id), b"")
    if ended:
        write_end(assembly.blobs, "ada", bare_end(job.id, "cancelled"))
    assert sweep(assembly, settings) == 0
    assert not [key for key in everything(assembly) if job.id in key]


def test_a_submission_in_progress_is_left_alone(
    assembly: Assembly, settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = begin(assembly, monkeypatch)
    assert sweep(assembly, settings) == 0
    assert assembly.ledger.get("ada", job.id) is None


class _Ahead(datetime):
    """The clock of a process that is a day ahead of all others."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return datetime.now(tz) + timedelta(days=1)


def test_a_submission_in_progress_is_left_alone_by_a_sweeper_whose_clock_is_ahead(
    assembly: Assembly, settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process had written the marker, and goes on to refuse the job, or to accept it."""
    job = begin(assembly, monkeypatch)
    marker = request()
    assembly.blobs.put(layout.open_marker("ada", marker.id), b"")
    kept = everything(assembly)
    monkeypatch.setattr(rebuild, "datetime", _Ahead)
    assert sweep(assembly, settings) == 0
    assert assembly.ledger.get("ada", job.id) is None
    assert everything(assembly) == kept


def test_a_submission_interrupted_long_ago_is_finished_by_a_sweeper_whose_clock_is_behind(
    assembly: Assembly, settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or, as here, whose process had a clock that was ahead when it made the id."""
    late = f"job_{earliest_suffix(datetime.now(UTC) + timedelta(days=1))}"
    job = begin(assembly, monkeypatch, id=late)
    assert sweep(assembly, settings) == 0
    seen = f"{settings.key_prefix}seen:open"
    for member in assembly.redis.zrange(seen, 0, -1):
        assembly.redis.zincrby(seen, -interrupted.SUBMISSION_S - 1, member)
    assert sweep(assembly, settings) == 1
    assert assembly.ledger.get("ada", job.id) is not None
    sweep(assembly, settings)
    assert not assembly.redis.exists(seen)


@pytest.mark.usefixtures("at_once")
def test_of_many_sweepers_one_looks(
    assembly: Assembly, settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sweep(assembly, settings) == 0
    begin(assembly, monkeypatch)
    assert assembly.ledger.sweep() == 0
    assert sweep(assembly, settings) == 1


@pytest.mark.usefixtures("at_once")
def test_a_refused_or_partly_stored_submission_never_runs(
    assembly: Assembly,
    settings: WorkerSettings,
    monkeypatch: pytest.MonkeyPatch,
    valkey: Server,
) -> None:
    refused, partly = begin(assembly, monkeypatch), begin(assembly, monkeypatch)
    write_end(assembly.blobs, "ada", bare_end(refused.id, "rejected"))
    assembly.blobs.delete(layout.open_marker("ada", partly.id))
    for job in (refused, partly):
        assert assembly.ledger.finish_submission("ada", job.id) is None
    assert sweep(assembly, settings) == 0
    valkey.stop()
    valkey.start()
    assembly.ledger.rebuild()
    assert assembly.ledger.page("ada") == ([], None)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("stored", [0, 1, 2])
def test_what_a_failing_store_keeps_of_a_refused_submission_goes_later(
    assembly: Assembly, settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch, stored: int
) -> None:
    """The store fails after `stored` of the three objects, and while they are removed again."""
    job = request()
    store = type(assembly.blobs)
    put_all = store.put_all

    def fail(*_: object, **__: object) -> None:
        raise StoreUnavailable("the store fails")

    def put_some(self: Blobs, objects: Mapping[str, bytes]) -> None:
        put_all(self, dict(list(objects.items())[:stored]))
        fail()

    with monkeypatch.context() as patch:
        patch.setattr(store, "put_all", put_some)
        patch.setattr(store, "delete", fail)
        with pytest.raises(StoreUnavailable):
            assembly.ledger.submit(job, {"features": b"some rows"})
    assert len(list(assembly.blobs.keys(layout.job("ada", job.id)))) == stored
    with monkeypatch.context() as patch:
        patch.setattr(store, "delete_under", fail)
        with contextlib.suppress(StoreUnavailable):
            sweep(assembly, settings)
    assert sweep(assembly, settings) == 0
    assert list(assembly.blobs.keys(layout.job("ada", job.id))) == []
    assert assembly.ledger.get("ada", job.id) is None
    assert assembly.ledger._records.left(-1.0) == []


@pytest.mark.usefixtures("at_once")
def test_what_a_slow_store_keeps_after_the_refusal_goes_later(
    assembly: Assembly, settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store answers too late; what it was to keep arrives after its removal."""
    job = request()
    late: dict[str, bytes] = {}

    def time_out(self: Blobs, objects: Mapping[str, bytes]) -> None:
        late.update(list(objects.items())[:1])
        raise StoreUnavailable("the store is slow")

    with monkeypatch.context() as patch:
        patch.setattr(type(assembly.blobs), "put_all", time_out)
        with pytest.raises(StoreUnavailable):
            assembly.ledger.submit(job)
    assembly.blobs.put_all(late)
    assert list(assembly.blobs.keys(layout.job("ada", job.id))) == list(late)
    assert sweep(assembly, settings) == 0
    assert list(assembly.blobs.keys(layout.job("ada", job.id))) == []
    assert assembly.ledger.get("ada", job.id) is None


@pytest.mark.usefixtures("at_once")
def test_what_an_attempt_stores_after_the_end_goes_though_its_worker_dies(
    assembly: Assembly, settings: WorkerSettings, lapse: Callable[[str], None], tmp_path: Path
) -> None:
    """It saw no end before it began to store, and died before it could remove that."""
    ledger, job = assembly.ledger, request()
    ledger.submit(job)
    lost = ledger.claim(job.id, "w")
    lapse(job.id)
    ledger.sweep()
    claim = ledger.claim(job.id, "w")
    assert lost is not None
    assert claim is not None
    assert ledger.finish(claim, end(claim), result_folder(tmp_path / "result"))
    kept = everything(assembly)
    late = layout.attempt("ada", job.id, lost.fence, "tree.arrow")
    assembly.blobs.put(late, b"late")
    assert sweep(assembly, settings) == 0
    assert everything(assembly) == kept
    assert ledger._records.left(-1.0) == []


@pytest.mark.usefixtures("at_once")
def test_what_is_left_of_a_refused_submission_goes_after_redis_has_forgotten_it(
    assembly: Assembly, settings: WorkerSettings
) -> None:
    job = request()
    key = layout.job("ada", job.id, REQUEST)
    assembly.blobs.put(key, job.model_dump_json().encode())
    assembly.redis.flushall()
    assembly.ledger.rebuild()
    assert assembly.blobs.size(key) is not None
    assert sweep(assembly, settings) == 0
    assert assembly.blobs.size(key) is None
    assert assembly.ledger.get("ada", job.id) is None


def test_a_submission_that_the_store_keeps_waiting_is_refused(
    assembly: Assembly, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a sweep might take it for a refused one, and remove it while it is accepted."""
    monkeypatch.setattr(submission, "SUBMISSION_S", -1.0)
    job = request()
    with pytest.raises(StoreUnavailable, match="too long"):
        assembly.ledger.submit(job)
    assert everything(assembly) == set()
    assert assembly.ledger.get("ada", job.id) is None


@pytest.mark.usefixtures("at_once")
def test_a_key_that_another_job_has_by_now_keeps_its_job(
    assembly: Assembly, settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch, valkey: Server
) -> None:
    begin(assembly, monkeypatch, idempotency_key="k", body_sha256="b")
    second = request(idempotency_key="k", body_sha256="b")
    assembly.ledger.submit(second)
    held = {key for key in everything(assembly) if second.id in key}
    assert sweep(assembly, settings) == 0
    assert everything(assembly) == held
    valkey.stop()
    valkey.start()
    assembly.ledger.rebuild()
    assert [record.id for record in assembly.ledger.page("ada")[0]] == [second.id]


@pytest.mark.usefixtures("at_once")
def test_the_process_that_began_it_may_go_on(
    assembly: Assembly, settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was stopped rather than dead: it finds the record, and there is one job."""
    job = request(idempotency_key="k", body_sha256="b")
    create = assembly.ledger._records.create

    def swept_before(*arguments: Any, **named: Any) -> Any:
        with monkeypatch.context() as inner:
            inner.setattr(assembly.ledger._records, "create", create)
            assert sweep(assembly, settings) == 1
        return create(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(assembly.ledger._records, "create", swept_before)
        record = assembly.ledger.submit(job)
    assert record.id == job.id
    assert [listed.id for listed in assembly.ledger.page("ada")[0]] == [job.id]


@pytest.mark.usefixtures("at_once")
def test_the_marker_of_an_ended_job_is_removed(
    assembly: Assembly, settings: WorkerSettings
) -> None:
    job = request()
    assembly.ledger.submit(job)
    claim = assembly.ledger.claim(job.id, "w")
    assert claim is not None
    assembly.ledger.finish(claim, end(claim, "failed"))
    assembly.blobs.put(layout.open_marker("ada", job.id), b"")
    sweep(assembly, settings)
    assert list(assembly.blobs.keys("open/")) == []

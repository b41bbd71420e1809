"""Accepting a job: all or nothing, and never twice."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from models.errors import UsageError
from tests.workers.broker_kit import celery_sender
from tests.workers.conftest import Server
from tests.workers.jobs_kit import Sent, due_now, end, everything, request, result_folder
from workers.assembly import Assembly, assemble
from workers.errors import StoreFull, StoreUnavailable
from workers.jobs.hints import is_hint, message, sender
from workers.jobs.ledger import Ledger
from workers.model import Advance, earliest_suffix
from workers.settings import WorkerSettings
from workers.stores.objects import layout


def test_submit_stores_the_request_before_it_returns(assembly: Assembly, sent: Sent) -> None:
    job = request(name="first", then={"method": "l2h"})
    record = assembly.ledger.submit(job, {"features": b"[[1.5]]"})
    assert record.status == "queued"
    assert (record.id, record.name, record.attempt, record.then) == (
        job.id,
        "first",
        0,
        job.then,
    )
    assert assembly.ledger.get("ada", job.id) == record
    assert assembly.ledger.get("bob", job.id) is None
    assert sent == [("cpu", job.id)]
    assert assembly.blobs.get(layout.inline("ada", job.id, "features")) == b"[[1.5]]"
    assert assembly.blobs.size(layout.open_marker("ada", job.id)) == 0
    assert assembly.ledger.counts() == {"queued": 1}
    assert assembly.ledger.queued() == {"cpu": 1}


def test_the_sweeper_sends_a_missing_hint(settings: WorkerSettings) -> None:
    sent: Sent = []
    broken = True

    def send(queue: str, job_id: str) -> None:
        if broken:
            raise ConnectionError("refused")
        sent.append((queue, job_id))

    parts = assemble(settings, send)
    ledger = parts.ledger
    job = request(queue="gpu")
    assert ledger.submit(job).status == "queued"
    ledger.sweep()
    assert sent == []
    broken = False
    due_now(parts, settings, job.id)
    assert ledger.sweep() == 1
    assert sent == [("gpu", job.id)]
    assert ledger.sweep() == 0


def test_the_hint_of_a_submission_is_what_celery_sends(
    settings: WorkerSettings, valkey: Server
) -> None:
    """A submission writes it with the record, in one step; a sweep sends it by itself."""
    key = f"{settings.key_prefix}queue:gpu"
    hints = []
    for send in (celery_sender(settings), sender(settings)):
        send("gpu", "job_x")
        hints += map(json.loads, valkey.client().lrange(key, 0, -1))
        valkey.client().delete(key)
    theirs, again = hints
    assert is_hint(again)
    assert json.loads(base64.b64decode(again["body"]))[0] == ["job_x"]
    parts = assemble(settings, lambda *_: pytest.fail("sent apart"), message)
    job = request(queue="gpu")
    parts.ledger.submit(job)
    (ours,) = map(json.loads, valkey.client().lrange(key, 0, -1))
    assert is_hint(ours)
    assert is_hint(theirs)
    bodies = [json.loads(base64.b64decode(hint.pop("body"))) for hint in (ours, theirs)]
    assert bodies[0][0] == [job.id]
    assert bodies[0][1:] == bodies[1][1:]
    fresh = {"id", "root_id", "correlation_id", "delivery_tag", "reply_to", "argsrepr"}
    for part in ("headers", "properties"):
        own, other = ours.pop(part), theirs.pop(part)
        same = own.keys() - fresh
        assert {name: own[name] for name in same} == {name: other[name] for name in same}
        assert own.keys() <= other.keys()
    assert ours == theirs


def test_a_long_queue_gets_no_duplicate_hints(
    assembly: Assembly, settings: WorkerSettings, sent: Sent
) -> None:
    jobs = [request() for _ in range(5)]
    for job in jobs:
        assembly.ledger.submit(job)
    queue = f"{settings.key_prefix}queue:cpu"
    assembly.redis.rpush(queue, *"abc")
    sent.clear()
    for job in jobs:
        due_now(assembly, settings, job.id)
    assembly.ledger.sweep()
    assert len(sent) == 2
    assembly.redis.rpush(queue, *"de")
    sent.clear()
    for job in jobs:
        due_now(assembly, settings, job.id)
    assembly.ledger.sweep()
    assert sent == []


def test_an_unreachable_redis_leaves_nothing_half_made(
    assembly: Assembly, valkey: Server, sent: Sent
) -> None:
    ledger = assembly.ledger
    ledger.rebuild()
    valkey.stop()
    job = request()
    with pytest.raises(StoreUnavailable):
        ledger.submit(job)
    for call in (lambda: ledger.get("ada", job.id), lambda: ledger.sweep(), ledger.counts):
        with pytest.raises(StoreUnavailable):
            call()
    valkey.start()
    assert ledger.needs_rebuild()
    assert ledger.get("ada", job.id) is None
    ledger.rebuild()
    ledger.sweep()
    assert ledger.page("ada") == ([], None)
    assert sent == []
    assert everything(assembly) == set()


@contextmanager
def lost_replies(ledger: Ledger, *, for_long: bool = True) -> Iterator[None]:
    """The script that makes a record runs, and its reply is lost.

    for_long : Redis does not answer the question whether there is a record, either.
    """
    create = ledger._records.create

    def create_then_fail(*args: Any, **kwargs: Any) -> None:
        create(*args, **kwargs)
        raise StoreUnavailable("away")

    def fail(*_: object) -> None:
        raise StoreUnavailable("away")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger._records, "create", create_then_fail)
        if for_long:
            patch.setattr(ledger._records, "get", fail)
        yield


def test_a_refused_job_never_runs_even_if_its_record_was_created(assembly: Assembly) -> None:
    ledger = assembly.ledger
    for see in (
        lambda job_id: ledger.claim(job_id, "w"),
        lambda job_id: ledger.cancel("ada", job_id),
        lambda job_id: ledger.accepted("ada", job_id),
    ):
        job = request(idempotency_key="k", body_sha256="b")
        with lost_replies(ledger), pytest.raises(StoreUnavailable):
            ledger.submit(job)
        see(job.id)
        assert ledger.get("ada", job.id) is None
        assert ledger.page("ada") == ([], None)
        assert everything(assembly) == set()


def test_a_job_is_accepted_if_its_record_turns_out_to_be_there(
    assembly: Assembly, sent: Sent, tmp_path: Path
) -> None:
    ledger = assembly.ledger
    job = request(idempotency_key="k", body_sha256="b")
    with lost_replies(ledger, for_long=False):
        record = ledger.submit(job)
    assert (record.id, record.status) == (job.id, "queued")
    assert sent == [("cpu", job.id)]
    claim = ledger.claim(job.id, "w")
    assert claim is not None
    assert ledger.finish(claim, end(claim), result_folder(tmp_path / "result"))


@pytest.mark.parametrize("ahead", [timedelta(), timedelta(hours=1)])
def test_a_job_refused_too_late_may_run(
    assembly: Assembly, monkeypatch: pytest.MonkeyPatch, ahead: timedelta
) -> None:
    """A repeat may have accepted it by then. ahead : how far the clock has been put back since the
    job's id was made."""
    ledger = assembly.ledger
    monkeypatch.setattr("workers.jobs.submission.REJECT_S", -1.0)
    late = f"job_{earliest_suffix(datetime.now(UTC) + ahead)}"
    kept, own = request(id=late, idempotency_key="k", body_sha256="b"), request()
    for job in (kept, own):
        with lost_replies(ledger), pytest.raises(StoreUnavailable):
            ledger.submit(job)
    for job, runs in ((kept, True), (own, False)):
        assert (ledger.accepted("ada", job.id) is not None) is runs
        assert (ledger.claim(job.id, "w") is not None) is runs


def test_redis_out_of_memory_keeps_accepted_jobs(assembly: Assembly, tmp_path: Path) -> None:
    ledger = assembly.ledger
    job = request()
    ledger.submit(job)
    assembly.redis.config_set("maxmemory", 1)
    try:
        with pytest.raises(StoreFull):
            ledger.submit(request())
        claim = ledger.claim(job.id, "w")
        assert claim is not None
        assert ledger.beat(claim, Advance(fraction=0.5)) == "on"
        assert ledger.finish(claim, end(claim), result_folder(tmp_path / "result"))
    finally:
        assembly.redis.config_set("maxmemory", 0)
    record = ledger.get("ada", job.id)
    assert record is not None
    assert record.status == "succeeded"


def test_idempotency_keys(assembly: Assembly) -> None:
    ledger = assembly.ledger
    first = request(idempotency_key="k", body_sha256="b")
    submission = ledger.submit(first)
    held = everything(assembly)
    assert ledger.submit(request(idempotency_key="k", body_sha256="b")) == submission
    with pytest.raises(UsageError) as refused:
        ledger.submit(request(idempotency_key="k", body_sha256="c"))
    assert refused.value.code == "idempotency-mismatch"
    assert everything(assembly) == held
    foreign = request("bob", idempotency_key="k", body_sha256="c")
    assert ledger.submit(foreign).id == foreign.id
    assert ledger.delete("ada", first.id)
    again = request(idempotency_key="k", body_sha256="c")
    assert ledger.submit(again).id == again.id


def test_the_key_of_a_refused_job_is_free(assembly: Assembly) -> None:
    ledger = assembly.ledger
    with lost_replies(ledger), pytest.raises(StoreUnavailable):
        ledger.submit(request(idempotency_key="k", body_sha256="b"))
    again = request(idempotency_key="k", body_sha256="b")
    assert ledger.submit(again).id == again.id
    assert [record.id for record in ledger.page("ada")[0]] == [again.id]

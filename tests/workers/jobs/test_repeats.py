"""How a job is tried again: by its policy, and by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from models.errors import UsageError
from tests.workers.jobs_kit import due_now, end, request
from workers.assembly import Assembly
from workers.errors import StoreFull, problem_of, process_lost
from workers.model import RETRIED, Claim, Record, Request, Retrying
from workers.settings import WorkerSettings
from workers.stores.objects import layout

LANES = ("cpu:fit",)


def submit(assembly: Assembly, tenant: str = "ada", **retrying: Any) -> Request:
    job = request(tenant, retrying=Retrying(**retrying))
    assembly.ledger.submit(job)
    return job


def claimed(assembly: Assembly) -> Claim:
    claim = assembly.ledger.claim_next(LANES, "w")
    assert claim is not None
    return claim


def record_of(assembly: Assembly, job: Request) -> Record:
    record = assembly.ledger.get(job.tenant, job.id)
    assert record is not None
    return record


def fail(assembly: Assembly, job: Request) -> None:
    claim = assembly.ledger.claim(job.id, "w")
    assert claim is not None
    why = {"type": "/problems/internal", "title": "No", "status": 500, "detail": "Ours."}
    assert assembly.ledger.finish(claim, end(claim, "failed", error=why))


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_a_job_has_as_many_attempts_as_it_requests(assembly: Assembly, attempts: int) -> None:
    job = submit(assembly, attempts=attempts)
    for number in range(1, attempts + 1):
        assembly.ledger.give_back(claimed(assembly), spend=False)  # Does not count.
        claim = claimed(assembly)
        assert claim.attempt == number
        assembly.ledger.give_back(claim, spend=True, retry=process_lost(OSError("it ended")))
    record = record_of(assembly, job)
    assert record.status == "failed"
    assert record.error is not None
    assert record.error["type"] == "/problems/worker-lost"
    reasons = [(each.attempt, each.counted, each.error["type"]) for each in record.given_up]
    assert reasons == [
        (number, counted, f"/problems/{reason}")
        for number in range(1, attempts + 1)
        for counted, reason in ((False, "worker-lost"), (True, "process-lost"))
    ]


def test_a_job_waits_longer_after_each_attempt(
    assembly: Assembly, settings: WorkerSettings
) -> None:
    job = submit(assembly, backoff=100, attempts=9)
    for wait_s in (100, 200, 400, 800, 1600, 3200, 3600):
        claim = claimed(assembly)
        assembly.ledger.give_back(claim, spend=True)
        assert assembly.ledger.claim_next(LANES, "w") is None
        seconds, micros = assembly.redis.time()
        due = assembly.redis.zscore(f"{settings.key_prefix}due", job.id)
        assert due is not None
        assert wait_s - 5 < float(due) / 1000 - seconds - micros / 1e6 <= wait_s
        due_now(assembly, settings, job.id)
        assembly.ledger.sweep()
    assembly.ledger.give_back(claimed(assembly), spend=False)
    assert claimed(assembly).attempt == 8  # At once: that attempt does not count.


@pytest.mark.parametrize("retry_on", [(), ("full",), ("worker-lost", "process-lost"), RETRIED])
def test_a_job_is_tried_again_for_the_reasons_that_it_requests(
    assembly: Assembly, retry_on: tuple[str, ...], lapse: Callable[[str], None]
) -> None:
    for reason, problem in (("full", problem_of(StoreFull())), ("worker-lost", None)):
        job = submit(assembly, retry_on=retry_on)
        claim = claimed(assembly)
        if problem is None:
            lapse(job.id)
            assembly.ledger.sweep()
        else:
            assembly.ledger.give_back(claim, spend=True, retry=problem, why=problem)
        record = record_of(assembly, job)
        assert record.status == ("queued" if reason in retry_on else "failed")
        if reason not in retry_on:
            assert record.error is not None
            assert record.error["type"] == f"/problems/{reason}"
        assembly.ledger.delete(job.tenant, job.id)


def test_the_policy_survives_redis(assembly: Assembly) -> None:
    job = submit(assembly, attempts=1)
    assembly.redis.flushall()
    assembly.ledger.sweep()
    assert record_of(assembly, job).retrying == Retrying(attempts=1)
    assembly.ledger.give_back(claimed(assembly), spend=True)
    assert record_of(assembly, job).status == "failed"


def test_a_failed_job_is_repeated_once_by_hand(assembly: Assembly) -> None:
    ledger = assembly.ledger
    job = request(retrying=Retrying(attempts=7), idempotency_key="k", body_sha256="0" * 64)
    ledger.submit(job, {"features": b"[[1.0]]"})
    with pytest.raises(UsageError, match="is queued"):
        ledger.retry("ada", job.id)
    fail(assembly, job)
    assert ledger.retry("bea", job.id) is None
    repeat = ledger.retry("ada", job.id, key="key_2")
    assert repeat is not None
    assert (repeat.retry_of, repeat.status, repeat.retrying) == (job.id, "queued", job.retrying)
    assembly.redis.flushall()  # Known by the store alone.
    again = ledger.retry("ada", job.id)
    assert again is not None
    assert again.id == repeat.id
    claim = claimed(assembly)
    assert (claim.request.id, claim.request.key) == (repeat.id, "key_2")
    assert assembly.blobs.get(layout.inline("ada", repeat.id, "features")) == b"[[1.0]]"
    ledger.finish(claim, end(claim, "failed"))
    second = ledger.retry("ada", repeat.id)
    assert second is not None
    assert second.id not in (job.id, repeat.id)


def test_a_repeat_needs_what_the_job_needed(assembly: Assembly) -> None:
    job = request(kind="predict", options={"tree": "tr_" + "0" * 26})
    assembly.ledger.submit(job)
    fail(assembly, job)
    with pytest.raises(UsageError) as refused:
        assembly.ledger.retry("ada", job.id)
    assert refused.value.code == "unknown-input"


def test_failed_jobs_are_listed_by_reason_of_their_tenant(assembly: Assembly) -> None:
    ledger = assembly.ledger
    ours, lost, other = (submit(assembly, tenant) for tenant in ("ada", "ada", "bea"))
    fail(assembly, ours)
    fail(assembly, other)
    for _ in range(3):
        claim = ledger.claim(lost.id, "w")
        assert claim is not None
        ledger.give_back(claim, spend=True)
    for reason, expected in (("internal", [ours.id]), ("worker-lost", [lost.id]), ("full", [])):
        records, _ = ledger.page("ada", reason=reason)
        assert [record.id for record in records] == expected
        assert ledger.page("ada", reason=reason, method="l2h")[0] == []


def test_why_attempts_were_given_up_survives_a_rebuild(assembly: Assembly) -> None:
    """A job without attempts left keeps them, and one that ended at a later attempt."""
    spent = submit(assembly, attempts=2)
    for _ in range(2):
        assembly.ledger.give_back(claimed(assembly), spend=True, retry=process_lost(OSError("it")))
    later = submit(assembly)
    assembly.ledger.give_back(claimed(assembly), spend=False)
    claim = claimed(assembly)
    assert assembly.ledger.finish(claim, end(claim, "failed"))
    before = [record_of(assembly, job).given_up for job in (spent, later)]
    assert [len(reasons) for reasons in before] == [2, 1]
    assembly.redis.flushall()
    assembly.ledger.rebuild()
    assert [record_of(assembly, job).given_up for job in (spent, later)] == before

"""One worker with one slot, two tenants: long jobs make room for short ones; it drains."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.workers.supervisor.workers_kit import Workers
from tests.workers.waiting_kit import until
from workers.model import Pause, Request, now


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    workers = Workers(tmp_path_factory.mktemp("o"), 1, quick_slots=0, room_s=0.2)
    yield workers
    workers.close()


def made_room(one: Workers, request: Request) -> bool:
    retry = one.record(request).retry
    return retry is not None and retry.error["type"] == "/problems/made-room"


def test_a_long_job_goes_on_from_its_checkpoint_after_a_short_one(one: Workers) -> None:
    one.fill()
    long = one.count(60, 0.1)
    until(lambda: one.record(long).progress.fraction > 0)
    short = one.count(1, 0.0, "u", cost_s=0.5)
    assert one.ended(short).status == "succeeded"
    record = one.record(long)
    assert not record.ended
    assert made_room(one, long)
    assert record.retry is not None
    assert not record.retry.counted
    record = one.ended(long)
    assert record.status == "succeeded", record
    assert record.attempt == 1
    assert record.result is not None
    assert record.result["metrics"]["begun"] > 0


def test_a_job_that_was_expected_to_be_short_becomes_a_long_one(one: Workers) -> None:
    one.fill()
    wrong = one.count(40, 0.1, cost_s=0.5)
    until(lambda: one.record(wrong).progress.fraction > 0)
    short = one.count(1, 0.0, "u", cost_s=0.5)
    assert one.ended(short).status == "succeeded"
    assert made_room(one, wrong)
    assert one.ended(wrong).status == "succeeded"


def test_quick_work_that_takes_long_makes_room_once(one: Workers) -> None:
    """It goes on in the lane of long work."""
    one.fill()
    slow = one.count(40, 0.1, cost_s=0.5)
    start = one.settings.key_prefix
    one.parts.redis.hset(f"{start}job:{slow.id}", "lane", "quick")
    until(lambda: one.record(slow).progress.fraction > 0)
    short = one.count(1, 0.0, "u", cost_s=0.5)
    assert one.ended(short).status == "succeeded"
    assert made_room(one, slow)
    assert one.parts.redis.hget(f"{start}job:{slow.id}", "lane") == "fit"
    assert one.ended(slow).status == "succeeded"


def test_a_worker_that_is_killed_while_its_job_makes_room_loses_nothing(one: Workers) -> None:
    one.fill()
    long = one.count(40, 0.1)
    until(lambda: one.record(long).progress.fraction > 0)
    short = one.count(1, 0.0, "u", cost_s=0.5)
    until(lambda: bool(one.parts.redis.keys("umbel:room:*")))
    one.workers[0].kill()
    one.workers[0].wait()
    one.fill()
    assert one.ended(short).status == one.ended(long).status == "succeeded"


def test_a_worker_drains_and_takes_jobs_again(one: Workers) -> None:
    one.fill()
    ledger = one.parts.ledger
    pid = one.workers[0].pid
    worker = next(each.id for each in ledger.workers.all() if f"-{pid}-" in each.id)
    long = one.count(40, 0.1)
    until(lambda: one.record(long).progress.fraction > 0)
    ledger.pauses.put(Pause(scope="worker", name=worker, since=now()))
    until(lambda: one.record(long).status == "queued")
    until(lambda: not any(each.running for each in ledger.workers.all() if each.id == worker))
    retry = one.record(long).retry
    assert retry is not None
    assert retry.error["type"] == "/problems/worker-stopping"
    ledger.pauses.remove("worker", worker)
    record = one.ended(long)
    assert (record.status, record.attempt) == ("succeeded", 1)
    assert record.result is not None
    assert record.result["metrics"]["begun"] > 0

"""What is paused is not taken, in whatever state Redis is, and goes on afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from tests.workers.jobs_kit import due_now, end, request
from workers.assembly import Assembly
from workers.model import Pause, Scope, now
from workers.settings import WorkerSettings
from workers.stores.objects import layout

LANES = ("cpu:quick", "cpu:short", "cpu:fit", "gpu:fit")

PAUSES: list[tuple[Scope, str, dict[str, Any]]] = [
    ("lane", "cpu:fit", {}),
    ("lane", "cpu", {"kind": "predict"}),
    ("lane", "cpu:short", {"cost_s": 1.0}),
    ("lane", "gpu", {"queue": "gpu"}),
    ("tenant", "ada", {}),
    ("tenant", "ada", {"kind": "import"}),
    ("method", "hac", {}),
    ("method", "predict", {"kind": "predict", "method": "predict"}),
]
"""A pause, and a job of `ada` that waits for it."""


def pause(assembly: Assembly, scope: Scope, name: str) -> Pause:
    made = Pause(scope=scope, name=name, reason="tonight", since=now())
    assembly.ledger.pauses.put(made)
    return made


def taken(assembly: Assembly) -> list[str]:
    """The tenants whose jobs are taken, in turn."""
    tenants = []
    while (claim := assembly.ledger.claim_next(LANES, "w")) is not None:
        tenants.append(claim.request.tenant)
    return tenants


@pytest.mark.parametrize(("scope", "name", "fields"), PAUSES)
def test_what_is_paused_waits_and_goes_on(
    assembly: Assembly, settings: WorkerSettings, scope: Scope, name: str, fields: dict[str, Any]
) -> None:
    ledger = assembly.ledger
    waiting = request("ada", **fields)
    ledger.submit(waiting)
    made = pause(assembly, scope, name)
    ledger.submit(request("bea", method="l2h", queue="cpu" if name == "gpu" else "gpu"))
    assert taken(assembly) == ["bea"]
    # Neither a sweep nor the loss of Redis lets it go.
    due_now(assembly, settings, waiting.id)
    ledger.sweep()
    assert taken(assembly) == []
    assert ledger.claim(waiting.id, "w") is None
    assembly.redis.flushall()
    later = request("ada", **fields)
    ledger.submit(later)
    assert taken(assembly) == []
    ledger.sweep()
    assert taken(assembly) == ["bea"]
    assert ledger.pauses.all() == [made]
    for job in (waiting, later):
        record = ledger.get("ada", job.id)
        assert record is not None
        assert (record.status, record.paused) == ("queued", made)
    assert ledger.pauses.remove(scope, name)
    assert not ledger.pauses.remove(scope, name)
    record = ledger.get("ada", waiting.id)
    assert record is not None
    assert record.paused is None
    assert taken(assembly) == ["ada", "ada"]


def test_a_cancelled_job_does_not_come_back_with_its_method(assembly: Assembly) -> None:
    gone, stays = request(), request()
    for job in (gone, stays):
        assembly.ledger.submit(job)
    pause(assembly, "method", "hac")
    assert taken(assembly) == []
    assembly.ledger.cancel("ada", gone.id)
    assembly.ledger.pauses.remove("method", "hac")
    claim = assembly.ledger.claim_next(LANES, "w")
    assert claim is not None
    assert claim.request.id == stays.id
    assert taken(assembly) == []


def test_a_running_job_goes_on_and_waits_once_it_is_given_back(assembly: Assembly) -> None:
    for _ in range(2):
        assembly.ledger.submit(request())
    first, second = (assembly.ledger.claim_next(LANES, "w") for _ in range(2))
    assert first is not None
    assert second is not None
    pause(assembly, "tenant", "ada")
    assert assembly.ledger.beat(first) == "on"
    assert assembly.ledger.finish(first, end(first, "failed"))
    assembly.ledger.give_back(second, spend=False)
    assert taken(assembly) == []
    assembly.ledger.pauses.remove("tenant", "ada")
    assert taken(assembly) == ["ada"]


def test_a_process_that_dies_between_the_store_and_redis_is_completed(
    assembly: Assembly, settings: WorkerSettings
) -> None:
    """A pause is first put into the store, and first removed from it."""
    made = Pause(scope="lane", name="cpu:fit", since=now())
    key = layout.pause("lane", "cpu:fit")
    for there in (True, False):
        if there:
            assembly.blobs.put(key, made.model_dump_json().encode())
        else:
            assembly.blobs.delete(key)
        assembly.redis.delete(f"{settings.key_prefix}only:pauses")
        assembly.ledger.sweep()
        assert assembly.ledger.pauses.all() == ([made] if there else [])


def test_nothing_is_taken_where_redis_forgets_while_it_is_compared_with_the_store(
    assembly: Assembly, settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = assembly.ledger.pauses
    made = pause(assembly, "lane", "cpu:fit")
    everything = pauses.all

    def forgetting() -> list[Pause]:
        found = everything()
        assembly.redis.flushall()
        return found

    with monkeypatch.context() as patch:
        patch.setattr(pauses, "all", forgetting)
        pauses.sync()
    assembly.ledger.submit(request("ada"))
    assert taken(assembly) == []
    pauses.sync()
    assert taken(assembly) == []
    assert pauses.all() == [made]
    pauses.remove("lane", "cpu:fit")
    assert taken(assembly) == ["ada"]
    assert not assembly.redis.keys(f"{settings.key_prefix}comparing:*")


def test_nobody_makes_room_for_what_is_paused(assembly: Assembly, settings: WorkerSettings) -> None:
    ledger = assembly.ledger
    ledger.submit(request())
    long = ledger.claim_next(LANES, "w")
    assert long is not None
    short = request("bea", method="l2h", cost_s=1.0)
    ledger.submit(short)
    assembly.redis.hincrby(f"{settings.key_prefix}job:{short.id}", "queued_at", -5000)
    names: list[tuple[Scope, str]] = [("lane", "cpu:short"), ("tenant", "bea"), ("method", "l2h")]
    for scope, name in names:
        pause(assembly, scope, name)
        assert not ledger.makes_room(long, ("cpu:short",))
        ledger.pauses.remove(scope, name)
    assert ledger.makes_room(long, ("cpu:short",))


def test_a_paused_worker_takes_nothing(assembly: Assembly) -> None:
    ledger = assembly.ledger
    ledger.submit(request())
    assert not ledger.workers.seen("w", ["cpu"], ["job_1"])
    pause(assembly, "worker", "w")
    assert ledger.workers.seen("w", ["cpu"], [])
    assert taken(assembly) == []
    assert ledger.claim_next(LANES, "other") is not None
    (worker,) = ledger.workers.all()
    assert (worker.id, worker.queues, worker.running) == ("w", ("cpu",), ())


def test_a_worker_that_is_long_gone_leaves_no_pause(assembly: Assembly) -> None:
    old = Pause(scope="worker", name="w", since="2020-01-01T00:00:00.000000Z")
    assembly.ledger.pauses.put(old)
    assembly.ledger.workers.seen("w")
    assembly.ledger.pauses.sync()
    assert assembly.ledger.pauses.all() == [old]
    assembly.ledger.workers.left("w")
    assembly.ledger.pauses.sync()
    assert assembly.ledger.pauses.all() == []
    assert list(assembly.blobs.keys(layout.PAUSES)) == []

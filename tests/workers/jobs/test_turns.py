"""Which queued job is taken next: tenants take turns, and quick work has its own lanes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from tests.workers.jobs_kit import Sent, due_now, end, request
from workers.assembly import Assembly, assemble
from workers.errors import StoreUnavailable
from workers.model import Claim, Request
from workers.settings import WorkerSettings
from workers.stores.objects import layout

FITS = ("cpu:fit",)
QUICK = ("cpu:quick",)


def submit(assembly: Assembly, tenant: str, n_jobs: int = 1, **fields: Any) -> list[Request]:
    """The jobs, in the order of their ids: ids of one millisecond are in no order of creation."""
    jobs = sorted((request(tenant, **fields) for _ in range(n_jobs)), key=lambda job: job.id)
    for job in jobs:
        assembly.ledger.submit(job)
    return jobs


def take(assembly: Assembly, *lanes: str) -> Claim | None:
    return assembly.ledger.claim_next(lanes or FITS, "w")


def tenants(assembly: Assembly, n_jobs: int) -> str:
    """The tenants of the next jobs, one letter for each job."""
    claims = [take(assembly) for _ in range(n_jobs)]
    return "".join(claim.request.tenant[0] for claim in claims if claim is not None)


def waiting(assembly: Assembly, settings: WorkerSettings) -> list[str]:
    """The jobs in all lanes."""
    start = f"{settings.key_prefix}lane:"
    return [
        job for key in assembly.redis.keys(f"{start}*") for job in assembly.redis.zrange(key, 0, -1)
    ]


def test_a_tenants_jobs_are_taken_in_the_order_of_submission(assembly: Assembly) -> None:
    jobs = submit(assembly, "ada", 5)
    claims = [take(assembly) for _ in range(6)]
    assert [claim.request.id for claim in claims if claim is not None] == sorted(
        job.id for job in jobs
    )


def test_a_tenant_with_one_job_comes_before_the_hundred_of_another(assembly: Assembly) -> None:
    submit(assembly, "ada", 100)
    assert tenants(assembly, 3) == "aaa"
    submit(assembly, "bob")
    assert tenants(assembly, 3) == "baa"


def test_tenants_take_turns(assembly: Assembly) -> None:
    for tenant, n_jobs in (("ada", 9), ("bob", 3), ("cy", 5)):
        submit(assembly, tenant, n_jobs)
    # a 9, b 3, c 5: in turns until b, then c, has none left.
    assert tenants(assembly, 17) == "abcabcabc" + "acac" + "aaaa"
    assert take(assembly) is None


def test_a_tenant_who_submits_one_job_after_the_other_does_not_displace_others(
    assembly: Assembly,
) -> None:
    submit(assembly, "zoe", 10)
    order = ""
    for _ in range(10):
        submit(assembly, "ada")
        order += tenants(assembly, 1)
    assert order.count("z") == 5
    assert "aa" not in order


def test_a_weight_gives_more_jobs_in_a_turn(settings: WorkerSettings, assembly: Assembly) -> None:
    weighted = settings.model_copy(update={"tenant_weights": {"ada": 3}})
    parts = assemble(weighted, lambda *_: None)
    submit(parts, "ada", 8)
    submit(parts, "bob", 3)
    assert Counter(tenants(parts, 8)) == {"a": 6, "b": 2}
    assert tenants(parts, 9) == "aab"


@pytest.mark.parametrize("kind", ["inspect", "import", "evaluate", "predict", "transform"])
def test_quick_work_waits_apart_from_fits(assembly: Assembly, kind: str) -> None:
    submit(assembly, "ada", 3)
    submit(assembly, "ada", kind="compare")
    (quick,) = submit(assembly, "ada", kind=kind)
    claim = take(assembly, *QUICK)
    assert claim is not None
    assert claim.request.id == quick.id
    assert take(assembly, *QUICK) is None
    assert tenants(assembly, 9) == "aaaa"


@pytest.mark.parametrize(
    ("fields", "lane"),
    [
        ({}, "fit"),
        ({"cost_s": 5.0}, "short"),
        ({"cost_s": 5.1}, "fit"),
        ({"cost_s": 0.1, "queue": "gpu"}, "fit"),
        ({"cost_s": 0.1, "kind": "compare"}, "short"),
        ({"cost_s": 9.0, "kind": "predict"}, "quick"),
        ({"cost_s": 900.0, "kind": "predict"}, "fit"),
    ],
)
def test_a_fit_that_is_expected_to_be_short_has_its_own_lane(
    assembly: Assembly, fields: dict[str, Any], lane: str
) -> None:
    (job,) = submit(assembly, "ada", **fields)
    assembly.redis.flushall()  # A rebuild gives the same lane.
    assembly.ledger.sweep()
    claim = take(assembly, f"{job.queue}:{lane}")
    assert claim is not None
    assert claim.lane == lane


def test_a_job_makes_room_alone_and_for_what_may_run(
    assembly: Assembly, settings: WorkerSettings
) -> None:
    """One of two long jobs makes room for a job that has waited, and then waits itself."""
    ledger, lanes = assembly.ledger, ("cpu:quick", "cpu:short")
    submit(assembly, "ada", 2)
    first, second = take(assembly), take(assembly)
    assert first is not None
    assert second is not None
    (short,) = submit(assembly, "bob", cost_s=1.0)
    assert not ledger.makes_room(first, lanes)  # It has just come.
    assembly.redis.hincrby(f"{settings.key_prefix}job:{short.id}", "queued_at", -2000)
    none = settings.model_copy(update={"quota_running": {"bob": 0}})
    assert not assemble(none, lambda *_: None).ledger.makes_room(first, lanes)
    assert ledger.makes_room(first, lanes)
    assert ledger.makes_room(first, lanes)
    assert not ledger.makes_room(second, lanes)
    ledger.give_back(first, spend=False, lane="fit")
    assert not ledger.makes_room(first, lanes)
    claim = take(assembly, *lanes, *FITS)
    assert claim is not None
    assert claim.request.id == short.id
    again = take(assembly)
    assert again is not None
    assert (again.request.id, again.attempt) == (first.request.id, 1)


def test_lanes_are_looked_at_in_their_order(assembly: Assembly) -> None:
    submit(assembly, "ada", kind="predict")
    submit(assembly, "ada", queue="gpu")
    submit(assembly, "ada")
    kinds = []
    while (claim := take(assembly, "gpu:fit", *FITS, *QUICK)) is not None:
        kinds.append((claim.request.queue, claim.request.kind))
    assert kinds == [("gpu", "fit"), ("cpu", "fit"), ("cpu", "predict")]


def test_jobs_that_wait_no_more_are_in_no_lane(
    assembly: Assembly, settings: WorkerSettings
) -> None:
    ledger = assembly.ledger
    cancelled, deleted, by_id, ended = submit(assembly, "ada", 4)
    assert len(waiting(assembly, settings)) == 4
    ledger.cancel("ada", cancelled.id)
    ledger.delete("ada", deleted.id)
    assert ledger.claim(by_id.id, "w") is not None
    claim = take(assembly)
    assert claim is not None
    assert claim.request.id == ended.id
    ledger.finish(claim, end(claim, "failed"))
    assert waiting(assembly, settings) == []
    assert assembly.redis.keys(f"{settings.key_prefix}turns:*") == []


def test_a_job_given_back_is_the_tenants_next(assembly: Assembly) -> None:
    first, _ = submit(assembly, "ada", 2)
    claim = take(assembly)
    assert claim is not None
    assert claim.request.id == first.id
    assembly.ledger.give_back(claim, spend=True)
    again = take(assembly)
    assert again is not None
    assert (again.request.id, again.attempt) == (first.id, 2)


def test_a_retry_with_a_delay_is_not_taken_before_it_is_due(
    assembly: Assembly, settings: WorkerSettings
) -> None:
    (job,) = submit(assembly, "ada")
    claim = take(assembly)
    assert claim is not None
    assembly.ledger.give_back(claim, spend=True, delay_s=300.0)
    assembly.ledger.sweep()
    assert take(assembly) is None
    due_now(assembly, settings, job.id)
    assembly.ledger.sweep()
    assert take(assembly) is not None


def test_a_job_whose_lease_lapsed_is_taken_again(
    assembly: Assembly, lapse: Callable[[str], None]
) -> None:
    (job,) = submit(assembly, "ada")
    assert take(assembly) is not None
    lapse(job.id)
    assembly.ledger.sweep()
    again = take(assembly)
    assert again is not None
    assert again.attempt == 2


def test_tenants_that_get_no_turn_keep_their_place(assembly: Assembly) -> None:
    for tenant in ("ada", "bob", "cy"):
        submit(assembly, tenant, 2)

    def without(*names: str) -> str:
        claim = assembly.ledger.claim_next(FITS, "w", names)
        return "-" if claim is None else claim.request.tenant[0]

    assert without("ada", "bob") == "c"
    assert without("bob", "cy", "dan") == "a"
    assert without("ada", "bob", "cy") == "-"
    assert tenants(assembly, 4) == "bcab"


def test_a_worker_that_died_after_taking_a_job_loses_it_with_the_lease(
    assembly: Assembly, lapse: Callable[[str], None], sent: Sent
) -> None:
    (job,) = submit(assembly, "ada")
    taken = assembly.ledger._records.take(FITS, "fence", "w")
    assert taken is not None
    assert (taken.job, taken.tenant, taken.outcome, taken.attempt) == (job.id, "ada", "ok", 1)
    assert take(assembly) is None
    sent.clear()
    lapse(job.id)
    assembly.ledger.sweep()
    assert sent == [("cpu", job.id)]
    claim = take(assembly)
    assert claim is not None
    assert claim.request.id == job.id


def test_a_call_that_is_repeated_takes_the_same_job(assembly: Assembly) -> None:
    """A client whose connection broke cannot know whether its call took a job."""
    jobs = submit(assembly, "ada", 2)
    first = assembly.ledger._records.take(FITS, "fence", "w")
    assert first is not None
    assert assembly.ledger._records.take(FITS, "fence", "w") == first
    second = assembly.ledger._records.take(FITS, "other", "w")
    assert second is not None
    assert [first.job, second.job] == [job.id for job in jobs]
    assert assembly.ledger._records.take(FITS, "third", "w") is None


def test_the_more_jobs_wait_the_less_often_each_is_looked_at(
    assembly: Assembly, settings: WorkerSettings
) -> None:
    def due_in_ms(job: Request) -> float:
        seconds, micros = assembly.redis.time()
        due = assembly.redis.zscore(f"{settings.key_prefix}due", job.id)
        assert due is not None
        return float(due) - (seconds * 1000 + micros / 1000)

    first, second = submit(assembly, "ada", 2)
    due_now(assembly, settings, second.id)
    assembly.ledger.sweep()
    assert due_in_ms(second) <= 1000 * settings.resend_s
    many = {f"job_{number}": 1e15 for number in range(3000)}
    assembly.redis.zadd(f"{settings.key_prefix}due", many)
    due_now(assembly, settings, second.id)
    assembly.ledger.sweep()
    assert due_in_ms(second) > 1000 * settings.resend_s
    # One that is taken and given back returns as soon as ever.
    due_now(assembly, settings, first.id)
    assembly.ledger.sweep()
    claim = take(assembly)
    assert claim is not None
    assert claim.request.id == first.id
    assembly.ledger.give_back(claim, spend=False)
    assert due_in_ms(first) <= 1000 * settings.resend_s


def test_an_unreadable_store_leaves_the_job_for_later(
    assembly: Assembly, settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,) = submit(assembly, "ada")

    def away(key: str) -> bytes:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(assembly.blobs, "get", away)
        with pytest.raises(StoreUnavailable):
            take(assembly)
        assert take(assembly) is None
    due_now(assembly, settings, job.id)
    assembly.ledger.sweep()
    claim = take(assembly)
    assert claim is not None
    assert claim.attempt == 1


def test_turns_continue_after_redis_lost_everything(assembly: Assembly) -> None:
    submit(assembly, "ada", 4)
    submit(assembly, "bob", 2)
    submit(assembly, "bob", kind="predict")
    assembly.redis.flushall()
    assembly.ledger.sweep()
    assert tenants(assembly, 9) == "ababaa"
    assert take(assembly, *QUICK) is not None


def test_lanes_without_their_jobs_are_mended(assembly: Assembly, settings: WorkerSettings) -> None:
    """An entry that does not wait is left out; a job without an entry gets one when it is due."""
    jobs = submit(assembly, "ada", 3)
    start = settings.key_prefix
    assembly.redis.delete(f"{start}lane:cpu:fit:ada", f"{start}turns:cpu:fit")
    ended, *_ = jobs
    claim = assembly.ledger.claim(ended.id, "w")
    assert claim is not None
    assembly.ledger.finish(claim, end(claim, "failed"))
    assembly.redis.zadd(f"{start}lane:cpu:fit:ada", {ended.id: 0, "job_none": 0})
    assembly.redis.zadd(f"{start}turns:cpu:fit", {"ada": 0, "nobody": 0})
    assert take(assembly) is None
    for job in jobs:
        due_now(assembly, settings, job.id)
    assembly.ledger.sweep()
    assert tenants(assembly, 3) == "aa"


def test_a_request_that_is_gone_is_skipped(assembly: Assembly) -> None:
    first, second = submit(assembly, "ada", 2)
    assembly.blobs.delete(layout.job("ada", first.id, "request.json"))
    claim = take(assembly)
    assert claim is not None
    assert claim.request.id == second.id


def test_weights_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UMBEL_TENANT_WEIGHTS", "acme:3, other:2")
    assert WorkerSettings().tenant_weights == {"acme": 3, "other": 2}
    for wrong in ("acme", "acme:0", "acme:x", ":2"):
        monkeypatch.setenv("UMBEL_TENANT_WEIGHTS", wrong)
        with pytest.raises(ValidationError):
            WorkerSettings()

"""What is counted of jobs: once for each event, as the record of the job says it."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files

from hypothesis import given
from hypothesis import strategies as st

from tests.workers.jobs_kit import end, request
from workers.assembly import Assembly
from workers.settings import WorkerSettings
from workers.stores.objects.blobs import Blobs
from workers.telemetry.job_counts import (
    BYTES,
    DURATIONS_MS,
    OTHER,
    Meter,
    counters,
    histograms,
)
from workers.telemetry.store_size import StoreSize


def outcomes(assembly: Assembly) -> dict[str, int]:
    counted = counters(assembly.job_counts.fields(), "attempts")
    return {outcome: number for (method, outcome), number in counted.items() if method == "hac"}


def test_the_scripts_have_the_same_buckets() -> None:
    text = (files("workers.stores.redis") / "lua" / "shared.lua").read_text()
    [bounds] = re.findall(r"local durations = \{([\d,\s]+)\}", text)
    assert tuple(int(bound) for bound in bounds.split(",")) == DURATIONS_MS


def test_a_job_is_counted_once(assembly: Assembly, tmp_path: object) -> None:
    ledger = assembly.ledger
    ledger.submit(request())
    claim = ledger.claim_next(["cpu:fit"], "w")
    assert claim is not None
    # A record of which the reply got lost is claimed by the same fence again.
    ledger._records.claim(claim.request.id, claim.fence, "w")
    ended = end(claim)
    assert ledger.finish(claim, ended)
    ledger.finish(claim, ended)
    fields = assembly.job_counts.fields()
    assert outcomes(assembly) == {"succeeded": 1}
    assert counters(fields, "ended") == {("hac", "succeeded"): 1}
    [wait] = histograms(fields, "wait", DURATIONS_MS).items()
    [duration] = histograms(fields, "duration", DURATIONS_MS).items()
    assert wait[0] == ("hac", "cpu:fit")
    assert duration[0] == ("hac", "succeeded")
    assert wait[1].cumulated[-1] == duration[1].cumulated[-1] == 1
    assert 0 <= wait[1].total < 10_000


def test_each_way_in_which_an_attempt_ends(
    assembly: Assembly, settings: WorkerSettings, lapse: Callable[[str], None]
) -> None:
    ledger = assembly.ledger
    job_id = ledger.submit(request()).id
    first = ledger.claim(job_id, "w")
    assert first is not None
    ledger.give_back(first, spend=False)
    assert outcomes(assembly) == {"returned": 1}
    second = ledger.claim(job_id, "w")
    assert second is not None
    ledger.give_back(second, spend=True)
    assert outcomes(assembly) == {"returned": 1, "aborted": 1}
    assert ledger.claim(job_id, "w") is not None
    lapse(job_id)
    ledger.sweep()
    assert outcomes(assembly) == {"returned": 1, "aborted": 1, "lost": 1}
    third = ledger.claim(job_id, "w")
    assert third is not None
    lapse(job_id)
    ledger.sweep()  # The last attempt: the job fails, and the attempt is counted once.
    assert outcomes(assembly) == {"returned": 1, "aborted": 1, "lost": 2}
    assert counters(assembly.job_counts.fields(), "ended") == {("hac", "failed"): 1}


def test_a_claim_takes_over_a_lost_lease(assembly: Assembly, settings: WorkerSettings) -> None:
    ledger = assembly.ledger
    job_id = ledger.submit(request()).id
    assert ledger.claim(job_id, "w") is not None
    assembly.redis.hset(f"{settings.key_prefix}job:{job_id}", "lease", 1)
    assert ledger.claim(job_id, "other") is not None
    assert outcomes(assembly) == {"lost": 1}
    [wait] = histograms(assembly.job_counts.fields(), "wait", DURATIONS_MS).values()
    assert wait.cumulated[-1] == 1


def test_a_cancelled_job(assembly: Assembly) -> None:
    ledger = assembly.ledger
    queued = ledger.submit(request()).id
    ledger.cancel("ada", queued)
    assert outcomes(assembly) == {}
    assert counters(assembly.job_counts.fields(), "ended") == {("hac", "cancelled"): 1}
    running = ledger.submit(request()).id
    claim = ledger.claim(running, "w")
    assert claim is not None
    ledger.cancel("ada", running)
    ledger.give_back(claim, spend=True)
    assert outcomes(assembly) == {"aborted": 1}
    assert counters(assembly.job_counts.fields(), "ended") == {("hac", "cancelled"): 2}


def test_a_rebuild_counts_no_end_again(assembly: Assembly, settings: WorkerSettings) -> None:
    ledger = assembly.ledger
    claim = ledger.claim(ledger.submit(request()).id, "w")
    assert claim is not None
    ledger.finish(claim, end(claim))
    ledger.submit(request(tenant="bob"))
    assembly.redis.flushall()
    ledger.rebuild()
    assert assembly.job_counts.fields() == {}
    assert assembly.job_counts.tenants(9) == {("ada", "succeeded"): 1, ("bob", "queued"): 1}


def test_lanes(assembly: Assembly, settings: WorkerSettings) -> None:
    ledger = assembly.ledger
    now_ms = int(assembly.redis.time()[0]) * 1000
    for tenant, age_s in (("ada", 50), ("ada", 90), ("bob", 70)):
        job_id = ledger.submit(request(tenant=tenant)).id
        key = f"{settings.key_prefix}job:{job_id}"
        assembly.redis.hset(key, "queued_at", now_ms - age_s * 1000)
    ledger.submit(request(method="import", kind="import"))
    lanes = assembly.job_counts.lanes(("cpu", "gpu"))
    assert {name: lane.length for name, lane in lanes.items()} == {
        ("cpu", "fit"): 3,
        ("cpu", "short"): 0,
        ("cpu", "quick"): 1,
        ("gpu", "fit"): 0,
        ("gpu", "short"): 0,
        ("gpu", "quick"): 0,
    }
    # Next in turn are ada's first job (50 s) and bob's (70 s).
    assert 69 < lanes["cpu", "fit"].oldest_s < 75
    assert 0 <= lanes["cpu", "quick"].oldest_s < 5
    assert lanes["gpu", "fit"].oldest_s == 0


def test_tenants_are_bounded(assembly: Assembly) -> None:
    ledger = assembly.ledger
    ids = [ledger.submit(request(tenant=name)).id for name in "aaabbc"]
    job_counts = assembly.job_counts
    assert job_counts.tenants(3) == {("a", "queued"): 3, ("b", "queued"): 2, ("c", "queued"): 1}
    assert job_counts.tenants(1) == {("a", "queued"): 3, (OTHER, "queued"): 3}
    assert job_counts.tenants(0) == {(OTHER, "queued"): 6}
    for job_id in ids[:3]:
        ledger.cancel("a", job_id)
    # Those with unfinished jobs come first.
    assert job_counts.tenants(1) == {
        ("b", "queued"): 2,
        (OTHER, "queued"): 1,
        (OTHER, "cancelled"): 3,
    }
    for tenant, job_id in zip("aaabbc", ids, strict=True):
        ledger.delete(tenant, job_id)
    assert job_counts.tenants(3) == {}


def test_a_job_from_before_tenants_were_counted(
    assembly: Assembly, settings: WorkerSettings
) -> None:
    job_id = assembly.ledger.submit(request()).id
    assembly.redis.delete(f"{settings.key_prefix}tenant_jobs")
    assembly.redis.hdel(f"{settings.key_prefix}job:{job_id}", "queued_at")
    assert assembly.job_counts.lanes(("cpu",))["cpu", "fit"].oldest_s < 60
    assert assembly.ledger.claim(job_id, "w") is not None
    assert assembly.job_counts.tenants(3) == {("ada", "running"): 1}


@given(values=st.lists(st.integers(0, 100_000_000), max_size=30))
def test_a_histogram_is_that_of_the_definition(values: list[int]) -> None:
    fields: dict[str, int] = {"stage other compute le:50": 4, "odd": 1}
    meter = Meter.__new__(Meter)
    meter._added = __import__("collections").defaultdict(int)
    for value in values:
        meter._observe("stage hac compute", value, DURATIONS_MS)
    counted = histograms({**fields, **meter._added}, "stage", DURATIONS_MS)
    if not values:
        assert ("hac", "compute") not in counted
        return
    histogram = counted["hac", "compute"]
    naive = [sum(value <= bound for value in values) for bound in (*DURATIONS_MS, float("inf"))]
    assert list(histogram.cumulated) == naive
    assert histogram.total == sum(values)


def test_buckets_of_another_version_belong_to_the_next_larger_one() -> None:
    fields = {f"memory hac le:{BYTES[0] - 1}": 2, "memory hac le:inf": 1, "memory hac sum": 9}
    histogram = histograms(fields, "memory", BYTES)["hac",]
    assert histogram.cumulated == (2,) * len(BYTES) + (3,)
    assert histogram.total == 9


def test_what_a_worker_cannot_send_is_dropped(assembly: Assembly, settings: WorkerSettings) -> None:
    from workers.stores.redis.client import connect

    away = Meter(connect("redis://127.0.0.1:1/0"), settings, "hac")
    away.memory(1)
    away.send()
    here = Meter(assembly.redis, settings, "hac")
    for _ in range(2):
        here.memory(100)
        here.send()
    here.send()
    assert histograms(assembly.job_counts.fields(), "memory", BYTES)["hac",].cumulated[0] == 2


def test_the_size_of_the_store(assembly: Assembly, settings: WorkerSettings, blobs: Blobs) -> None:
    blobs.put("datasets/ada/ds_1/content", b"12345")
    blobs.put("datasets/ada/ds_1/meta.json", b"12")
    blobs.put("attempts/ada/job_1/f/tree", b"1234")
    blobs.put("datasets/bob/ds_2/content", b"1")
    blobs.put("service/secret", b"1")
    size = StoreSize(blobs, assembly.redis, settings.key_prefix, 1000.0)
    assert assembly.job_counts.kept(5) == ({}, None)
    assert size.measure()
    assert not size.measure()
    other = StoreSize(blobs, assembly.redis, settings.key_prefix, 1000.0)
    assert not other.measure()
    kept, at = assembly.job_counts.kept(5)
    assert kept == {("ada", "datasets"): 7, ("ada", "results"): 4, ("bob", "datasets"): 1}
    assert at is not None
    assert abs(at - assembly.redis.time()[0]) < 5
    assert assembly.job_counts.kept(1)[0][OTHER, "datasets"] == 1
    assembly.redis.delete(f"{settings.key_prefix}only:store-size")
    blobs.delete_under("datasets/ada/ds_1")
    other._look_at = 0.0
    assert other.measure()
    assert assembly.job_counts.kept(5)[0] == {("ada", "results"): 4, ("bob", "datasets"): 1}
    assert not StoreSize(blobs, assembly.redis, settings.key_prefix, 0.0).measure()

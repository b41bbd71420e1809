"""The life of one job: submit, claim, beat, finish, give back, cancel, delete."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from models.errors import UsageError
from tests.workers.conftest import Server
from tests.workers.jobs_kit import end, request, result_folder
from workers.assembly import Assembly, assemble
from workers.errors import FatalError, StoreFull, StoreUnavailable
from workers.jobs import Advance, sibling
from workers.settings import WorkerSettings
from workers.stores import layout
from workers.stores.events import Events
from workers.stores.records import CANCEL_S

Sent = list[tuple[str, str]]


@pytest.fixture
def lapse(assembly: Assembly, settings: WorkerSettings) -> Callable[[str], None]:
    """Let a lease run out now, as if its worker had been silent for long."""

    def run_out(job_id: str) -> None:
        prefix = settings.key_prefix
        assembly.redis.hset(f"{prefix}job:{job_id}", "lease", 1)
        assembly.redis.zadd(f"{prefix}due", {job_id: 1})

    return run_out


def due_now(assembly: Assembly, settings: WorkerSettings, job_id: str) -> None:
    assembly.redis.zadd(f"{settings.key_prefix}due", {job_id: 1})


def everything(assembly: Assembly) -> set[str]:
    return set(assembly.blobs.keys(""))


def test_submit_keeps_the_request_before_it_answers(assembly: Assembly, sent: Sent) -> None:
    asked = request(name="first", then={"method": "l2h"})
    record = assembly.ledger.submit(asked, {"features": b"[[1.5]]"})
    assert record.status == "queued"
    assert (record.id, record.name, record.attempt, record.then) == (
        asked.id,
        "first",
        0,
        asked.then,
    )
    assert assembly.ledger.get("ada", asked.id) == record
    assert assembly.ledger.get("bob", asked.id) is None
    assert sent == [("cpu", asked.id)]
    assert assembly.blobs.get(layout.inline("ada", asked.id, "features")) == b"[[1.5]]"
    assert assembly.blobs.size(layout.open_marker("ada", asked.id)) == 0
    assert assembly.ledger.counts() == {"queued": 1}
    assert assembly.ledger.queued() == {"cpu": 1}


def test_an_attempt_from_claim_to_result(assembly: Assembly, tmp_path: Path) -> None:
    ledger = assembly.ledger
    asked = request()
    first = ledger.submit(asked)
    claim = ledger.claim(asked.id, "w")
    assert claim is not None
    assert claim.request == asked
    assert claim.attempt == 1
    running = ledger.get("ada", asked.id)
    assert running is not None
    assert (running.status, running.started_at) == ("running", claim.started_at)
    assert ledger.beat(claim) == "on"
    assert ledger.beat(claim, Advance(fraction=0.5, stage="merging", eta_s=2.0)) == "on"
    half = ledger.get("ada", asked.id)
    assert half is not None
    assert half.progress == Advance(fraction=0.5, stage="merging", eta_s=2.0)
    assert first.version < running.version < half.version

    assert ledger.finish(claim, end(claim), result_folder(tmp_path / "result"))
    done = ledger.get("ada", asked.id)
    assert done is not None
    assert done.status == "succeeded"
    assert done.result == {
        "tree": sibling(asked.id, "tr"),
        "model": None,
        "metrics": {"height": 1.5},
    }
    assert done.warnings == ("odd",)
    assert done.progress.fraction == 1.0
    assert done.version > half.version
    kept = ledger.end_of("ada", asked.id)
    assert kept is not None
    assert [file.name for file in kept.files] == ["leaf_of_point.npy", "tree.arrow"]
    assert all(file.size == 7 and len(file.sha256) == 64 for file in kept.files)
    assert assembly.blobs.get(layout.attempt("ada", asked.id, claim.fence, "tree.arrow")) == (
        b"columns"
    )
    assert assembly.blobs.size(layout.open_marker("ada", asked.id)) is None
    assert ledger.counts() == {"queued": 0, "running": 0, "succeeded": 1}
    assert ledger.claim(asked.id, "w") is None
    assert ledger.beat(claim) == "lost"
    tree = assembly.trees.record("ada", sibling(asked.id, "tr"))
    assert tree is not None
    assert (tree.job, tree.name, tree.n_nodes) == (asked.id, "a tree", 3)


def test_a_failed_job_says_why(assembly: Assembly) -> None:
    asked = request()
    assembly.ledger.submit(asked)
    claim = assembly.ledger.claim(asked.id, "w")
    assert claim is not None
    why = {"type": "/problems/not-finite", "title": "No", "status": 422, "detail": "Row 3."}
    assert assembly.ledger.finish(claim, end(claim, "failed", error=why))
    record = assembly.ledger.get("ada", asked.id)
    assert record is not None
    assert (record.status, record.error, record.result) == ("failed", why, None)
    assert assembly.trees.page("ada") == ([], None)


def test_a_hint_that_is_not_sent_is_sent_by_the_sweeper(settings: WorkerSettings) -> None:
    sent: Sent = []
    broken = True

    def send(queue: str, job_id: str) -> None:
        if broken:
            raise ConnectionError("refused")
        sent.append((queue, job_id))

    ledger = assemble(settings, send).ledger
    asked = request(queue="gpu")
    assert ledger.submit(asked).status == "queued"
    ledger.sweep()
    assert sent == []
    broken = False
    time.sleep(settings.resend_s + 0.05)
    assert ledger.sweep() == 1
    assert sent == [("gpu", asked.id)]
    assert ledger.sweep() == 0


def test_a_long_queue_is_not_filled_with_doubles(
    assembly: Assembly, settings: WorkerSettings, sent: Sent
) -> None:
    jobs = [request() for _ in range(5)]
    for asked in jobs:
        assembly.ledger.submit(asked)
    queue = f"{settings.key_prefix}queue:cpu"
    assembly.redis.rpush(queue, *"abc")
    sent.clear()
    for asked in jobs:
        due_now(assembly, settings, asked.id)
    assembly.ledger.sweep()
    assert len(sent) == 2
    assembly.redis.rpush(queue, *"de")
    sent.clear()
    for asked in jobs:
        due_now(assembly, settings, asked.id)
    assembly.ledger.sweep()
    assert sent == []


def test_a_leased_job_is_not_given_twice_until_the_lease_ends(
    assembly: Assembly, lapse: Callable[[str], None], tmp_path: Path
) -> None:
    ledger = assembly.ledger
    asked = request()
    ledger.submit(asked)
    first = ledger.claim(asked.id, "one")
    assert first is not None
    assert ledger.claim(asked.id, "two") is None
    lapse(asked.id)
    second = ledger.claim(asked.id, "two")
    assert second is not None
    assert (second.attempt, second.started_at) == (2, first.started_at)
    assert ledger.beat(first) == "lost"
    assert not ledger.finish(first, end(first), result_folder(tmp_path / "one", "first"))
    assert ledger.beat(second) == "on"
    assert ledger.finish(second, end(second), result_folder(tmp_path / "two", "second"))
    assert not ledger.finish(first, end(first), tmp_path / "one")
    kept = ledger.end_of("ada", asked.id)
    assert kept is not None
    assert kept.fence == second.fence
    held = set(assembly.blobs.keys(layout.attempts("ada", asked.id)))
    assert {key.split("/")[3] for key in held} == {second.fence}


def test_a_lost_worker_sends_the_job_back_until_attempts_run_out(
    assembly: Assembly, lapse: Callable[[str], None], sent: Sent
) -> None:
    ledger = assembly.ledger
    asked = request()
    ledger.submit(asked)
    for attempt in (1, 2, 3):
        claim = ledger.claim(asked.id, "w")
        assert claim is not None
        assert claim.attempt == attempt
        sent.clear()
        lapse(asked.id)
        assert ledger.sweep() == 1
        record = ledger.get("ada", asked.id)
        assert record is not None
        if attempt < 3:
            assert record.status == "queued"
            assert sent == [("cpu", asked.id)]
    assert record.status == "failed"
    assert record.error is not None
    assert record.error["type"] == "/problems/worker-lost"
    assert sent == []
    kept = ledger.end_of("ada", asked.id)
    assert kept is not None
    assert (kept.status, kept.error) == ("failed", record.error)


def test_a_claim_also_ends_a_job_out_of_attempts(
    assembly: Assembly, lapse: Callable[[str], None]
) -> None:
    ledger = assembly.ledger
    asked = request()
    ledger.submit(asked)
    for _ in range(3):
        assert ledger.claim(asked.id, "w") is not None
        lapse(asked.id)
    assert ledger.claim(asked.id, "w") is None
    record = ledger.get("ada", asked.id)
    assert record is not None
    assert record.status == "failed"


@pytest.mark.parametrize("spend", [True, False])
def test_an_attempt_given_back(assembly: Assembly, sent: Sent, spend: bool) -> None:
    ledger = assembly.ledger
    asked = request()
    ledger.submit(asked)
    for attempt in range(1, 6):
        claim = ledger.claim(asked.id, "w")
        if spend and attempt == 4:
            assert claim is None
            break
        assert claim is not None
        assert claim.attempt == (attempt if spend else 1)
        sent.clear()
        ledger.give_back(claim, spend=spend)
        ledger.give_back(claim, spend=spend)
        assert sent == ([] if spend and attempt == 3 else [("cpu", asked.id)])
        assert ledger.beat(claim) == "lost"
    record = ledger.get("ada", asked.id)
    assert record is not None
    assert record.status == ("failed" if spend else "queued")


def test_given_back_for_later(assembly: Assembly, sent: Sent) -> None:
    asked = request()
    assembly.ledger.submit(asked)
    claim = assembly.ledger.claim(asked.id, "w")
    assert claim is not None
    sent.clear()
    assembly.ledger.give_back(claim, spend=True, delay_s=0.2)
    assembly.ledger.sweep()
    assert sent == []
    time.sleep(0.25)
    assembly.ledger.sweep()
    assert sent == [("cpu", asked.id)]


def test_cancel_of_a_queued_job_is_at_once(assembly: Assembly) -> None:
    asked = request()
    assembly.ledger.submit(asked)
    assert assembly.ledger.cancel("bob", asked.id) is None
    record = assembly.ledger.cancel("ada", asked.id)
    assert record is not None
    assert record.status == "cancelled"
    assert record.finished_at is not None
    assert assembly.ledger.claim(asked.id, "w") is None
    assert assembly.ledger.cancel("ada", asked.id) == record
    kept = assembly.ledger.end_of("ada", asked.id)
    assert kept is not None
    assert kept.status == "cancelled"


def test_cancel_of_a_running_job_reaches_its_worker(assembly: Assembly) -> None:
    ledger = assembly.ledger
    asked = request()
    ledger.submit(asked)
    claim = ledger.claim(asked.id, "w")
    assert claim is not None
    record = ledger.cancel("ada", asked.id)
    assert record is not None
    assert record.status == "cancelling"
    assert ledger.cancel("ada", asked.id) == record
    assert ledger.beat(claim, Advance(fraction=0.1)) == "cancel"
    assert ledger.finish(claim, end(claim, "cancelled"))
    record = ledger.get("ada", asked.id)
    assert record is not None
    assert record.status == "cancelled"


def test_a_cancelled_job_ends_whether_its_worker_obeys_or_is_dead(
    assembly: Assembly, settings: WorkerSettings, lapse: Callable[[str], None], tmp_path: Path
) -> None:
    ledger = assembly.ledger
    stubborn, dead = request(), request()
    claims = []
    for asked in (stubborn, dead):
        ledger.submit(asked)
        claims.append(ledger.claim(asked.id, "w"))
        ledger.cancel("ada", asked.id)
    assert claims[0] is not None
    score = assembly.redis.zscore(f"{settings.key_prefix}due", stubborn.id)
    assert score is not None
    assert score / 1000 - time.time() <= min(CANCEL_S, settings.lease_s) + 0.1
    # The time for obeying is over for one although it beats, the other's lease has run out.
    assembly.redis.hset(f"{settings.key_prefix}job:{stubborn.id}", "cancel_by", 1)
    assert ledger.beat(claims[0]) == "cancel"
    lapse(dead.id)
    assert ledger.sweep() == 2
    for asked in (stubborn, dead):
        record = ledger.get("ada", asked.id)
        assert record is not None
        assert record.status == "cancelled"
    assert ledger.beat(claims[0]) == "lost"
    assert not ledger.finish(claims[0], end(claims[0]), result_folder(tmp_path / "late"))
    assert list(assembly.blobs.keys(layout.attempts("ada", stubborn.id))) == []


def test_a_cancelled_job_given_back_is_cancelled(assembly: Assembly) -> None:
    asked = request()
    assembly.ledger.submit(asked)
    claim = assembly.ledger.claim(asked.id, "w")
    assert claim is not None
    assembly.ledger.cancel("ada", asked.id)
    assembly.ledger.give_back(claim, spend=False)
    record = assembly.ledger.get("ada", asked.id)
    assert record is not None
    assert record.status == "cancelled"


@pytest.mark.parametrize("where", ["record", "end", "second file"])
def test_publishing_may_fail_anywhere_and_be_tried_again(
    assembly: Assembly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    ledger, blobs = assembly.ledger, assembly.blobs
    asked = request()
    ledger.submit(asked)
    claim = ledger.claim(asked.id, "w")
    assert claim is not None
    folder = result_folder(tmp_path / "result")

    def fail(*_: object, **__: object) -> None:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patch:
        if where == "record":
            patch.setattr(ledger._records, "end", fail)
        elif where == "end":
            patch.setattr(blobs, "put", fail)
        else:
            put_files = blobs.put_files

            def one_then_fail(files: dict[str, Path]) -> None:
                put_files(dict(list(files.items())[:1]))
                fail()

            patch.setattr(blobs, "put_files", one_then_fail)
        with pytest.raises(StoreUnavailable):
            ledger.finish(claim, end(claim), folder)
    record = ledger.get("ada", asked.id)
    assert record is not None
    assert record.status == "running"
    assert (ledger.end_of("ada", asked.id) is None) == (where != "record")
    assert ledger.finish(claim, end(claim), folder)
    assert ledger.finish(claim, end(claim), folder)
    record = ledger.get("ada", asked.id)
    assert record is not None
    assert record.status == "succeeded"
    names = {key.rpartition("/")[2] for key in blobs.keys(layout.attempts("ada", asked.id))}
    assert names == {"tree.arrow", "leaf_of_point.npy"}


def test_an_end_in_the_store_is_adopted_by_whoever_sees_it(
    assembly: Assembly, lapse: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker dies between the terminal object and the record."""
    ledger = assembly.ledger
    for see in (lambda job_id: ledger.claim(job_id, "w"), lambda _: ledger.sweep()):
        asked = request()
        ledger.submit(asked)
        claim = ledger.claim(asked.id, "w")
        assert claim is not None
        with monkeypatch.context() as patch:
            patch.setattr(ledger._endings, "settle", lambda *_: "ok")
            assert ledger.finish(claim, end(claim))
        lapse(asked.id)
        see(asked.id)
        record = ledger.get("ada", asked.id)
        assert record is not None
        assert (record.status, record.attempt) == ("succeeded", 1)


def test_a_link_in_a_result_is_refused(assembly: Assembly, tmp_path: Path) -> None:
    asked = request()
    assembly.ledger.submit(asked)
    claim = assembly.ledger.claim(asked.id, "w")
    assert claim is not None
    folder = result_folder(tmp_path / "result")
    (folder / "passwords").symlink_to("/etc/passwd")
    with pytest.raises(FatalError):
        assembly.ledger.finish(claim, end(claim), folder)
    assert assembly.ledger.end_of("ada", asked.id) is None


def test_delete_leaves_nothing(
    assembly: Assembly, tmp_path: Path, settings: WorkerSettings
) -> None:
    ledger = assembly.ledger
    queued, running, ended = request(), request(), request()
    for asked in (queued, running, ended):
        ledger.submit(asked, {"features": b"[]"})
    claim, late = ledger.claim(ended.id, "w"), ledger.claim(running.id, "w")
    assert claim is not None
    assert late is not None
    ledger.finish(claim, end(claim), result_folder(tmp_path / "result"))
    for asked in (queued, running, ended):
        assert not ledger.delete("bob", asked.id)
        assert ledger.delete("ada", asked.id)
        assert ledger.get("ada", asked.id) is None
        assert not ledger.delete("ada", asked.id)
    assert ledger.beat(late) == "lost"
    assert not ledger.finish(late, end(late), result_folder(tmp_path / "late"))
    assert everything(assembly) == set()
    assert ledger.page("ada") == ([], None)
    assert assembly.trees.page("ada") == ([], None)
    assert set(ledger.counts().values()) == {0}
    left = {key.removeprefix(settings.key_prefix) for key in assembly.redis.keys("*")}
    assert left <= {"counts", "queued", "built"}


def test_a_job_deleted_while_its_worker_publishes_stays_deleted(
    assembly: Assembly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, blobs = assembly.ledger, assembly.blobs
    asked = request()
    ledger.submit(asked)
    claim = ledger.claim(asked.id, "w")
    assert claim is not None
    put_files = blobs.put_files

    def delete_first(files: dict[str, Path]) -> None:
        ledger.delete("ada", asked.id)
        put_files(files)

    monkeypatch.setattr(blobs, "put_files", delete_first)
    assert not ledger.finish(claim, end(claim), result_folder(tmp_path / "result"))
    assert everything(assembly) == set()
    assert ledger.get("ada", asked.id) is None
    assert assembly.trees.page("ada") == ([], None)


def test_a_deleted_job_is_not_claimed(assembly: Assembly) -> None:
    """The request is gone, the record not yet: a deletion was cut off."""
    asked = request()
    assembly.ledger.submit(asked)
    assembly.blobs.delete(layout.job("ada", asked.id, "request.json"))
    assert assembly.ledger.claim(asked.id, "w") is None
    assert assembly.ledger.get("ada", asked.id) is None


def test_nothing_half_made_when_redis_is_away(
    assembly: Assembly, valkey: Server, sent: Sent
) -> None:
    ledger = assembly.ledger
    ledger.rebuild()
    valkey.stop()
    before = time.monotonic()
    asked = request()
    with pytest.raises(StoreUnavailable):
        ledger.submit(asked)
    for call in (lambda: ledger.get("ada", asked.id), lambda: ledger.sweep(), ledger.counts):
        with pytest.raises(StoreUnavailable):
            call()
    assert time.monotonic() - before < 5
    valkey.start()
    assert ledger.needs_rebuild()
    assert ledger.get("ada", asked.id) is None
    ledger.rebuild()
    ledger.sweep()
    assert ledger.page("ada") == ([], None)
    assert sent == []
    assert everything(assembly) == set()


def test_a_refused_job_never_runs_even_if_its_record_was_made(
    assembly: Assembly, monkeypatch: pytest.MonkeyPatch, settings: WorkerSettings
) -> None:
    """The script ran, its answer was lost."""
    ledger = assembly.ledger
    for see in (
        lambda job_id: ledger.claim(job_id, "w"),
        lambda job_id: ledger.cancel("ada", job_id),
    ):
        create = ledger._records.create

        def create_then_fail(*args: object, create: object = create, **kwargs: object) -> None:
            create(*args, **kwargs)  # type: ignore[operator]
            raise StoreUnavailable("away")

        asked = request(idempotency_key="k", body_sha256="b")
        with monkeypatch.context() as patch:
            patch.setattr(ledger._records, "create", create_then_fail)
            with pytest.raises(StoreUnavailable):
                ledger.submit(asked)
        see(asked.id)
        assert ledger.get("ada", asked.id) is None
        assert ledger.page("ada") == ([], None)
        assert everything(assembly) == set()


def test_full_memory_keeps_what_was_accepted(assembly: Assembly, tmp_path: Path) -> None:
    ledger = assembly.ledger
    asked = request()
    ledger.submit(asked)
    assembly.redis.config_set("maxmemory", 1)
    try:
        with pytest.raises(StoreFull):
            ledger.submit(request())
        claim = ledger.claim(asked.id, "w")
        assert claim is not None
        assert ledger.beat(claim, Advance(fraction=0.5)) == "on"
        assert ledger.finish(claim, end(claim), result_folder(tmp_path / "result"))
    finally:
        assembly.redis.config_set("maxmemory", 0)
    record = ledger.get("ada", asked.id)
    assert record is not None
    assert record.status == "succeeded"


def test_idempotency_keys(assembly: Assembly) -> None:
    ledger = assembly.ledger
    first = request(idempotency_key="k", body_sha256="b")
    made = ledger.submit(first)
    held = everything(assembly)
    assert ledger.submit(request(idempotency_key="k", body_sha256="b")) == made
    with pytest.raises(UsageError) as refused:
        ledger.submit(request(idempotency_key="k", body_sha256="c"))
    assert refused.value.code == "idempotency-mismatch"
    assert everything(assembly) == held
    other = request("bob", idempotency_key="k", body_sha256="c")
    assert ledger.submit(other).id == other.id
    assert ledger.delete("ada", first.id)
    again = request(idempotency_key="k", body_sha256="c")
    assert ledger.submit(again).id == again.id


def test_a_key_of_a_job_that_was_refused_is_free(
    assembly: Assembly, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = assembly.ledger
    create = ledger._records.create

    def create_then_fail(*args: object, **kwargs: object) -> None:
        create(*args, **kwargs)  # type: ignore[arg-type]
        raise StoreUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(ledger._records, "create", create_then_fail)
        with pytest.raises(StoreUnavailable):
            ledger.submit(request(idempotency_key="k", body_sha256="b"))
    again = request(idempotency_key="k", body_sha256="b")
    assert ledger.submit(again).id == again.id
    assert [record.id for record in ledger.page("ada")[0]] == [again.id]


def test_events_are_numbered_capped_and_end(assembly: Assembly, settings: WorkerSettings) -> None:
    ledger = assembly.ledger
    asked = request()
    ledger.submit(asked)
    claim = ledger.claim(asked.id, "w")
    assert claim is not None
    ledger.log(claim, "a line" * 10_000)
    for step in range(150):
        ledger.beat(claim, Advance(fraction=step / 150))
        ledger.beat(claim, Advance(fraction=step / 150))
    ledger.finish(claim, end(claim))
    ledger.log(claim, "too late")
    found = Events(assembly.redis, settings.key_prefix).after(asked.id)
    assert len(found) == 100
    numbers = [int(event.id.partition("-")[2]) for event in found]
    assert numbers == list(range(numbers[0], numbers[0] + 100))
    assert numbers[-1] == 1 + 1 + 1 + 150 + 1
    assert [event.kind for event in found] == ["progress"] * 99 + ["done"]
    assert found[-1].status == "succeeded"
    assert assembly.redis.ttl(f"{settings.key_prefix}events:{asked.id}") > 0


def test_workers_are_counted(assembly: Assembly) -> None:
    assert assembly.ledger.workers_alive() == 0
    for worker in ("one", "two", "one"):
        assembly.ledger.worker_seen(worker)
    assert assembly.ledger.workers_alive() == 2
    assembly.ledger.worker_gone("one")
    assert assembly.ledger.workers_alive() == 1


def test_pages_by_status_and_method(assembly: Assembly) -> None:
    ledger = assembly.ledger
    jobs = [request(method=("hac", "l2h")[number % 2]) for number in range(10)]
    for asked in jobs:
        ledger.submit(asked)
    ledger.submit(request("bob"))
    ledger.submit(request(kind="inspect", options={"dataset": "ds_1"}))
    for asked in jobs[:4]:
        ledger.cancel("ada", asked.id)
    newest = [asked.id for asked in sorted(jobs, key=lambda asked: asked.id, reverse=True)]

    def pages(limit: int, **filters: str) -> list[str]:
        found, cursor = ledger.page("ada", limit=limit, **filters)
        ids = [record.id for record in found]
        while cursor is not None:
            found, cursor = ledger.page("ada", limit=limit, cursor=cursor, **filters)
            assert len(found) <= limit
            ids += [record.id for record in found]
        return ids

    cancelled = {asked.id for asked in jobs[:4]}
    hac = {asked.id for asked in jobs[::2]}
    for limit in (1, 3, 10, 50):
        assert pages(limit) == newest
        assert pages(limit, status="cancelled") == [i for i in newest if i in cancelled]
        assert pages(limit, method="hac") == [i for i in newest if i in hac]
        assert pages(limit, status="queued", method="hac") == [
            i for i in newest if i in hac - cancelled
        ]
        assert pages(limit, status="running") == []


def test_cursors_survive_what_comes_and_goes(assembly: Assembly) -> None:
    ledger = assembly.ledger
    jobs = sorted((request() for _ in range(6)), key=lambda asked: asked.id)
    for asked in jobs:
        ledger.submit(asked)
    newest = [asked.id for asked in reversed(jobs)]
    first, cursor = ledger.page("ada", limit=3)
    assert [record.id for record in first] == newest[:3]
    ledger.submit(request())
    ledger.delete("ada", newest[2])
    ledger.delete("ada", newest[4])
    second, cursor = ledger.page("ada", limit=3, cursor=cursor)
    assert [record.id for record in second] == [newest[3], newest[5]]
    assert cursor is None


@pytest.mark.parametrize(
    "cursor", ["", "!", "a", "aGVsbG8=", "é", "aGVsbG8gd29ybGQ", "A" * 500 + "B"]
)
def test_cursors_that_are_none(assembly: Assembly, cursor: str) -> None:
    with pytest.raises(UsageError) as refused:
        assembly.ledger.page("ada", cursor=cursor)
    assert refused.value.code == "bad-cursor"

"""The life of a job: claim, heartbeat, finish, give back; leases that expire."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from models.errors import UsageError
from tests.workers.jobs_kit import Sent, due_now, end, everything, request, result_folder
from workers.assembly import Assembly
from workers.errors import FatalError, Missing, StoreFull, StoreUnavailable, problem_of
from workers.jobs import interrupted, sweep
from workers.model import Advance, Claim, sibling
from workers.settings import WorkerSettings
from workers.stores.objects import layout
from workers.stores.objects.job_files import attempt_files
from workers.stores.redis.events import Events
from workers.stores.redis.records import CANCEL_S, Due, Records
from workers.stores.removals import Removals
from workers.telemetry.job_counts import counters


def test_an_attempt_from_claim_to_result(assembly: Assembly, tmp_path: Path) -> None:
    ledger = assembly.ledger
    job = request()
    first = ledger.submit(job)
    claim = ledger.claim(job.id, "w")
    assert claim is not None
    assert claim.request == job
    assert claim.attempt == 1
    running = ledger.get("ada", job.id)
    assert running is not None
    assert (running.status, running.started_at) == ("running", claim.started_at)
    assert ledger.beat(claim) == "on"
    assert ledger.beat(claim, Advance(fraction=0.5, stage="merging", eta_s=2.0)) == "on"
    half = ledger.get("ada", job.id)
    assert half is not None
    assert half.progress == Advance(fraction=0.5, stage="merging", eta_s=2.0)
    assert first.version < running.version < half.version

    assert ledger.finish(claim, end(claim), result_folder(tmp_path / "result"))
    done = ledger.get("ada", job.id)
    assert done is not None
    assert done.status == "succeeded"
    assert done.result == {
        "tree": sibling(job.id, "tr"),
        "model": None,
        "metrics": {"height": 1.5},
    }
    assert done.warnings == ("odd",)
    assert done.progress.fraction == 1.0
    assert done.version > half.version
    terminal = ledger.end_of("ada", job.id)
    assert terminal is not None
    assert [file.name for file in terminal.files] == ["leaf_of_point.npy", "tree.arrow"]
    assert all(file.size == 7 and len(file.sha256) == 64 for file in terminal.files)
    assert assembly.blobs.get(layout.attempt("ada", job.id, claim.fence, "tree.arrow")) == (
        b"columns"
    )
    assert assembly.blobs.size(layout.open_marker("ada", job.id)) is None
    assert ledger.counts() == {"queued": 0, "running": 0, "succeeded": 1}
    assert ledger.claim(job.id, "w") is None
    assert ledger.beat(claim) == "lost"
    assert ledger.finish(claim, end(claim), tmp_path / "result")
    assert ledger.get("ada", job.id) == done
    tree = assembly.trees.record("ada", sibling(job.id, "tr"))
    assert tree is not None
    assert (tree.job, tree.name, tree.n_nodes) == (job.id, "a tree", 3)


def test_a_failed_job_says_why(assembly: Assembly) -> None:
    job = request()
    assembly.ledger.submit(job)
    claim = assembly.ledger.claim(job.id, "w")
    assert claim is not None
    why = {"type": "/problems/not-finite", "title": "No", "status": 422, "detail": "Row 3."}
    assert assembly.ledger.finish(claim, end(claim, "failed", error=why))
    record = assembly.ledger.get("ada", job.id)
    assert record is not None
    assert (record.status, record.error, record.result) == ("failed", why, None)
    assert assembly.trees.page("ada") == ([], None)


def test_a_leased_job_cannot_be_claimed_until_the_lease_expires(
    assembly: Assembly, lapse: Callable[[str], None], tmp_path: Path
) -> None:
    ledger = assembly.ledger
    job = request()
    ledger.submit(job)
    first = ledger.claim(job.id, "one")
    assert first is not None
    assert ledger.claim(job.id, "two") is None
    lapse(job.id)
    second = ledger.claim(job.id, "two")
    assert second is not None
    ledger.give_back(first, spend=True)
    assert (second.attempt, second.started_at) == (2, first.started_at)
    taken_over = ledger.get("ada", job.id)
    assert taken_over is not None
    assert taken_over.retry is not None
    assert taken_over.retry.attempt == 1
    assert ledger.beat(first) == "lost"
    assert not ledger.finish(first, end(first), result_folder(tmp_path / "one", "first"))
    assert ledger.beat(second) == "on"
    assert ledger.finish(second, end(second), result_folder(tmp_path / "two", "second"))
    assert not ledger.finish(first, end(first), tmp_path / "one")
    terminal = ledger.end_of("ada", job.id)
    assert terminal is not None
    assert terminal.fence == second.fence
    held = set(assembly.blobs.keys(layout.attempts("ada", job.id)))
    assert {key.split("/")[3] for key in held} == {second.fence}


def test_the_job_of_a_lost_worker_is_requeued_until_attempts_run_out(
    assembly: Assembly, lapse: Callable[[str], None], sent: Sent
) -> None:
    ledger = assembly.ledger
    job = request()
    ledger.submit(job)
    for attempt in (1, 2, 3):
        claim = ledger.claim(job.id, "w")
        assert claim is not None
        assert claim.attempt == attempt
        sent.clear()
        lapse(job.id)
        assert ledger.sweep() == 1
        record = ledger.get("ada", job.id)
        assert record is not None
        if attempt < 3:
            assert record.status == "queued"
            assert sent == [("cpu", job.id)]
            assert record.retry is not None
            assert (record.retry.attempt, record.retry.counted) == (attempt, True)
            assert record.retry.error["type"] == "/problems/worker-lost"
    assert record.status == "failed"
    assert record.error is not None
    assert record.error["type"] == "/problems/worker-lost"
    assert sent == []
    terminal = ledger.end_of("ada", job.id)
    assert terminal is not None
    assert (terminal.status, terminal.error) == ("failed", record.error)


def test_a_claim_also_ends_a_job_out_of_attempts(
    assembly: Assembly, lapse: Callable[[str], None]
) -> None:
    ledger = assembly.ledger
    job = request()
    ledger.submit(job)
    for _ in range(3):
        assert ledger.claim(job.id, "w") is not None
        lapse(job.id)
    assert ledger.claim(job.id, "w") is None
    record = ledger.get("ada", job.id)
    assert record is not None
    assert record.status == "failed"


@pytest.mark.parametrize("spend", [True, False])
def test_giving_back_an_attempt(assembly: Assembly, sent: Sent, spend: bool) -> None:
    ledger = assembly.ledger
    job = request()
    ledger.submit(job)
    for attempt in range(1, 6):
        claim = ledger.claim(job.id, "w")
        if spend and attempt == 4:
            assert claim is None
            break
        assert claim is not None
        assert claim.attempt == (attempt if spend else 1)
        sent.clear()
        ledger.give_back(claim, spend=spend)
        ledger.give_back(claim, spend=spend)
        assert sent == ([] if spend and attempt == 3 else [("cpu", job.id)])
        assert ledger.beat(claim) == "lost"
    record = ledger.get("ada", job.id)
    assert record is not None
    assert record.status == ("failed" if spend else "queued")


def test_the_job_of_a_dead_worker_is_requeued_before_its_lease_ends(assembly: Assembly) -> None:
    ledger, job = assembly.ledger, request()
    ledger.submit(job)
    first = ledger.claim(job.id, "w")
    assert first is not None
    ledger.process_died(job.id, "of another attempt")
    ledger.process_died("job_nobody", first.fence)
    assert ledger.beat(first) == "on"
    ledger.process_died(job.id, first.fence)
    assert ledger.beat(first) == "lost"
    second = ledger.claim(job.id, "w")
    assert second is not None
    assert second.attempt == 2
    # Twice is as once, and the attempt that has the job now keeps it.
    ledger.process_died(job.id, first.fence)
    assert ledger.beat(second) == "on"
    counted = counters(assembly.job_counts.fields(), "attempts")
    assert {outcome: number for (_, outcome), number in counted.items()} == {"lost": 1}


def test_no_lease_lapses_just_after_redis_was_away(
    assembly: Assembly, lapse: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, job = assembly.ledger, request()
    ledger.submit(job)
    claim = ledger.claim(job.id, "w")
    assert claim is not None
    records = ledger._sweeper._records

    def away(limit: int) -> list[Due]:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(records, "due", away)
        with pytest.raises(StoreUnavailable):
            ledger.sweep()
    lapse(job.id)
    ledger.sweep()
    assert ledger.beat(claim) == "on"
    monkeypatch.setattr(sweep, "BACK_S", -1e9)
    lapse(job.id)
    ledger.sweep()
    assert ledger.beat(claim) == "lost"


@pytest.mark.parametrize("leave", ["give back", "forsake"])
def test_what_a_lost_attempt_has_stored_is_removed(
    assembly: Assembly, lapse: Callable[[str], None], tmp_path: Path, leave: str
) -> None:
    """It publishes its files after another attempt has ended the job and looked for such."""
    ledger = assembly.ledger
    job = request()
    ledger.submit(job)

    def store(claim: Claim, folder: Path) -> None:
        files = attempt_files(claim, result_folder(folder))
        assembly.blobs.put_files({key: path for _, key, path in files})

    def left(claim: Claim) -> None:
        if leave == "forsake":
            ledger.forsake(claim)
        else:
            ledger.give_back(claim, spend=True)

    lost = ledger.claim(job.id, "w")
    assert lost is not None
    lapse(job.id)
    ledger.sweep()
    claim = ledger.claim(job.id, "w")
    assert claim is not None
    store(lost, tmp_path / "lost")
    left(lost)
    before = everything(assembly)
    assert any(lost.fence in key for key in before), "the end of the job removes them"
    assert ledger.finish(claim, end(claim), result_folder(tmp_path / "result"))
    store(lost, tmp_path / "late")
    left(lost)
    ledger.forsake(claim)
    stored = everything(assembly)
    assert not any(lost.fence in key for key in stored)
    assert any(claim.fence in key for key in stored)


def test_giving_back_with_a_delay(assembly: Assembly, settings: WorkerSettings, sent: Sent) -> None:
    job = request()
    assembly.ledger.submit(job)
    claim = assembly.ledger.claim(job.id, "w")
    assert claim is not None
    sent.clear()
    assembly.ledger.give_back(claim, spend=True, delay_s=300.0)
    assembly.ledger.sweep()
    assert sent == []
    due_now(assembly, settings, job.id)
    assembly.ledger.sweep()
    assert sent == [("cpu", job.id)]


@pytest.mark.parametrize("where", ["record", "end", "second file"])
def test_publishing_can_be_retried_after_any_failure(
    assembly: Assembly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    ledger, blobs = assembly.ledger, assembly.blobs
    job = request()
    ledger.submit(job)
    claim = ledger.claim(job.id, "w")
    assert claim is not None
    folder = result_folder(tmp_path / "result")

    def fail(*_: object, **__: object) -> None:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patch:
        if where == "record":
            patch.setattr(ledger._records, "end", fail)
        else:
            put_files = blobs.put_files

            def some_then_fail(files: dict[str, Path], then: tuple[str, bytes]) -> None:
                put_files(dict(list(files.items())[: 1 if where == "second file" else None]))
                fail()

            patch.setattr(blobs, "put_files", some_then_fail)
        with pytest.raises(StoreUnavailable):
            ledger.finish(claim, end(claim), folder)
    record = ledger.get("ada", job.id)
    assert record is not None
    assert record.status == "running"
    assert (ledger.end_of("ada", job.id) is None) == (where != "record")
    assert ledger.finish(claim, end(claim), folder)
    assert ledger.finish(claim, end(claim), folder)
    record = ledger.get("ada", job.id)
    assert record is not None
    assert record.status == "succeeded"
    names = {key.rpartition("/")[2] for key in blobs.keys(layout.attempts("ada", job.id))}
    assert names == {"tree.arrow", "leaf_of_point.npy"}


def test_a_terminal_object_in_the_store_is_adopted(
    assembly: Assembly, lapse: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker dies after it wrote the terminal object and before it updated the record."""
    ledger = assembly.ledger
    for see in (lambda job_id: ledger.claim(job_id, "w"), lambda _: ledger.sweep()):
        job = request()
        ledger.submit(job)
        claim = ledger.claim(job.id, "w")
        assert claim is not None
        with monkeypatch.context() as patch:
            patch.setattr(ledger._endings, "settle", lambda *_: "ok")
            assert ledger.finish(claim, end(claim))
        lapse(job.id)
        see(job.id)
        record = ledger.get("ada", job.id)
        assert record is not None
        assert (record.status, record.attempt) == ("succeeded", 1)


def test_a_link_in_a_result_is_refused(assembly: Assembly, tmp_path: Path) -> None:
    job = request()
    assembly.ledger.submit(job)
    claim = assembly.ledger.claim(job.id, "w")
    assert claim is not None
    folder = result_folder(tmp_path / "result")
    (folder / "passwords").symlink_to("/etc/passwd")
    with pytest.raises(FatalError):
        assembly.ledger.finish(claim, end(claim), folder)
    assert assembly.ledger.end_of("ada", job.id) is None


def test_events_are_numbered_capped_and_end(assembly: Assembly, settings: WorkerSettings) -> None:
    ledger = assembly.ledger
    job = request()
    ledger.submit(job)
    claim = ledger.claim(job.id, "w")
    assert claim is not None
    ledger.log(claim, "a line" * 10_000)
    for step in range(150):
        ledger.beat(claim, Advance(fraction=step / 150))
        ledger.beat(claim, Advance(fraction=step / 150))
    ledger.finish(claim, end(claim))
    ledger.log(claim, "too late")
    events = Events(assembly.redis, settings.key_prefix).after(job.id)
    assert len(events) == 100
    numbers = [int(event.id.partition("-")[2]) for event in events]
    assert numbers == list(range(numbers[0], numbers[0] + 100))
    assert numbers[-1] == 1 + 1 + 1 + 150 + 1
    assert [event.kind for event in events] == ["progress"] * 99 + ["done"]
    assert events[-1].status == "succeeded"
    assert assembly.redis.ttl(f"{settings.key_prefix}events:{job.id}") > 0


def test_workers_are_counted(assembly: Assembly) -> None:
    assert assembly.ledger.workers.n_alive() == 0
    for worker in ("one", "two", "one"):
        assembly.ledger.workers.seen(worker)
    assert assembly.ledger.workers.n_alive() == 2
    assembly.ledger.workers.left("one")
    assert assembly.ledger.workers.n_alive() == 1


def test_a_job_out_of_attempts_shows_why_the_last_one_was_given_back(assembly: Assembly) -> None:
    ledger = assembly.ledger
    full = problem_of(StoreFull())
    away = problem_of(StoreUnavailable())
    job = request()
    ledger.submit(job)
    for why in (full, None, away):
        record = ledger.get("ada", job.id)
        assert record is not None
        assert record.error is None
        claim = ledger.claim(job.id, "w")
        assert claim is not None
        ledger.give_back(claim, spend=True, why=why)
    record, terminal = ledger.get("ada", job.id), ledger.end_of("ada", job.id)
    assert record is not None
    assert terminal is not None
    assert (record.status, record.error, terminal.error) == ("failed", away, away)


def test_the_reason_of_a_failure_survives_the_process_that_records_it(
    assembly: Assembly, settings: WorkerSettings
) -> None:
    """It is killed between the record and the terminal object; a sweeper completes the work."""
    records = Records(assembly.redis, settings, Removals(assembly.blobs))
    ledger = assembly.ledger
    job = request()
    ledger.submit(job)
    for _ in range(settings.max_attempts - 1):
        claim = ledger.claim(job.id, "w")
        assert claim is not None
        ledger.give_back(claim, spend=True)
    claim = ledger.claim(job.id, "w")
    assert claim is not None
    full = problem_of(StoreFull())
    outcome = records.release(job.id, claim.fence, spend=True, due_s=0.0, lapsed=False, why=full)
    assert outcome == "exhausted"
    ledger.sweep()
    record = ledger.get("ada", job.id)
    assert record is not None
    assert (record.status, record.error) == ("failed", full)


def test_pages_by_status_and_method(assembly: Assembly) -> None:
    ledger = assembly.ledger
    jobs = [request(method=("hac", "l2h")[number % 2]) for number in range(10)]
    for job in jobs:
        ledger.submit(job)
    ledger.submit(request("bob"))
    ledger.submit(request(kind="inspect", options={"dataset": "ds_1"}))
    for job in jobs[:4]:
        ledger.cancel("ada", job.id)
    newest = [job.id for job in sorted(jobs, key=lambda job: job.id, reverse=True)]

    def pages(limit: int, **filters: str) -> list[str]:
        page, cursor = ledger.page("ada", limit=limit, **filters)
        ids = [record.id for record in page]
        while cursor is not None:
            page, cursor = ledger.page("ada", limit=limit, cursor=cursor, **filters)
            assert len(page) <= limit
            ids += [record.id for record in page]
        return ids

    cancelled = {job.id for job in jobs[:4]}
    hac = {job.id for job in jobs[::2]}
    for limit in (1, 3, 10, 50):
        assert pages(limit) == newest
        assert pages(limit, status="cancelled") == [i for i in newest if i in cancelled]
        assert pages(limit, method="hac") == [i for i in newest if i in hac]
        assert pages(limit, status="queued", method="hac") == [
            i for i in newest if i in hac - cancelled
        ]
        assert pages(limit, status="running") == []


def test_pages_of_what_is_made_of_a_tree(assembly: Assembly) -> None:
    ledger = assembly.ledger
    trees = [sibling(request().id, "tr") for _ in range(2)]
    jobs = [
        request(
            kind=kind,
            method=kind,
            options={"tree": trees[number % 2], "by": "labels"},
            name=("odd", "third")[number % 3 == 0],
            tags=("t",) * (number % 5 == 0),
        )
        for kind in ("drift", "name")
        for number in range(12)
    ]
    # It reads a job of the tree, but is not of it; the last is another tenant's.
    other = request(kind="drift", method="drift", inputs={"batch.logits": sibling(trees[0], "job")})
    foreign = request("bob", kind="drift", method="drift", options={"tree": trees[0]})
    for job in (*jobs, other, foreign):
        ledger.submit(job)
    for job in jobs[:5]:
        ledger.cancel("ada", job.id)
    ledger.delete("ada", jobs[6].id)
    newest = sorted((job for job in jobs if job is not jobs[6]), key=lambda job: job.id)[::-1]

    def pages(limit: int, **filters: Any) -> list[str]:
        ids, cursor = [], None
        while True:
            page, cursor = ledger.page("ada", limit=limit, cursor=cursor, **filters)
            assert len(page) <= limit
            ids += [record.id for record in page]
            if cursor is None:
                return ids

    for tree in trees:
        of_tree = [job for job in newest if job.options["tree"] == tree and job.kind == "drift"]
        for limit in (1, 2, 50):
            found = pages(limit, tree=tree, method="drift")
            assert found == [job.id for job in of_tree], limit
        cancelled = [job.id for job in of_tree if job in jobs[:5]]
        assert pages(2, tree=tree, method="drift", status="cancelled") == cancelled
        named = [job.id for job in of_tree if job.name == "third"]
        assert pages(2, tree=tree, method="drift", name="third") == named
        tagged = [job.id for job in of_tree if job.tags]
        assert pages(2, tree=tree, method="drift", tags=["t"]) == tagged
    assert pages(50, tree=sibling(request().id, "tr"), method="drift") == []


def test_cursors_stay_valid_while_jobs_come_and_go(assembly: Assembly) -> None:
    ledger = assembly.ledger
    jobs = sorted((request() for _ in range(6)), key=lambda job: job.id)
    for job in jobs:
        ledger.submit(job)
    newest = [job.id for job in reversed(jobs)]
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
def test_wrong_cursors(assembly: Assembly, cursor: str) -> None:
    with pytest.raises(UsageError) as refused:
        assembly.ledger.page("ada", cursor=cursor)
    assert refused.value.code == "bad-cursor"


def test_a_queued_job_is_cancelled_at_once(assembly: Assembly) -> None:
    job = request()
    assembly.ledger.submit(job)
    assert assembly.ledger.cancel("bob", job.id) is None
    record = assembly.ledger.cancel("ada", job.id)
    assert record is not None
    assert record.status == "cancelled"
    assert record.finished_at is not None
    assert assembly.ledger.claim(job.id, "w") is None
    assert assembly.ledger.cancel("ada", job.id) == record
    terminal = assembly.ledger.end_of("ada", job.id)
    assert terminal is not None
    assert terminal.status == "cancelled"


def test_the_worker_of_a_running_job_is_notified_of_its_cancel(assembly: Assembly) -> None:
    ledger = assembly.ledger
    job = request()
    ledger.submit(job)
    claim = ledger.claim(job.id, "w")
    assert claim is not None
    record = ledger.cancel("ada", job.id)
    assert record is not None
    assert record.status == "cancelling"
    assert ledger.cancel("ada", job.id) == record
    assert ledger.beat(claim, Advance(fraction=0.1)) == "cancel"
    assert ledger.finish(claim, end(claim, "cancelled"))
    record = ledger.get("ada", job.id)
    assert record is not None
    assert record.status == "cancelled"


def test_a_cancelled_job_ends_even_if_its_worker_ignores_it_or_is_dead(
    assembly: Assembly, settings: WorkerSettings, lapse: Callable[[str], None], tmp_path: Path
) -> None:
    ledger = assembly.ledger
    stubborn, dead = request(), request()
    claims = []
    for job in (stubborn, dead):
        ledger.submit(job)
        claims.append(ledger.claim(job.id, "w"))
        ledger.cancel("ada", job.id)
    assert claims[0] is not None
    score = assembly.redis.zscore(f"{settings.key_prefix}due", stubborn.id)
    assert score is not None
    assert score / 1000 - time.time() <= min(CANCEL_S, settings.lease_s) + 0.1
    # One worker still beats past its deadline to stop; the other's lease has expired.
    assembly.redis.hset(f"{settings.key_prefix}job:{stubborn.id}", "cancel_by", 1)
    assert ledger.beat(claims[0]) == "cancel"
    lapse(dead.id)
    assert ledger.sweep() == 2
    for job in (stubborn, dead):
        record = ledger.get("ada", job.id)
        assert record is not None
        assert record.status == "cancelled"
    assert ledger.beat(claims[0]) == "lost"
    assert not ledger.finish(claims[0], end(claims[0]), result_folder(tmp_path / "late"))
    assert list(assembly.blobs.keys(layout.attempts("ada", stubborn.id))) == []


def test_a_cancelled_job_given_back_is_cancelled(assembly: Assembly) -> None:
    job = request()
    assembly.ledger.submit(job)
    claim = assembly.ledger.claim(job.id, "w")
    assert claim is not None
    assembly.ledger.cancel("ada", job.id)
    assembly.ledger.give_back(claim, spend=False)
    record = assembly.ledger.get("ada", job.id)
    assert record is not None
    assert record.status == "cancelled"


def test_delete_leaves_nothing(
    assembly: Assembly, tmp_path: Path, settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = assembly.ledger
    queued, running, ended = request(), request(), request()
    for job in (queued, running, ended):
        ledger.submit(job, {"features": b"[]"})
    claim, late = ledger.claim(ended.id, "w"), ledger.claim(running.id, "w")
    assert claim is not None
    assert late is not None
    ledger.finish(claim, end(claim), result_folder(tmp_path / "result"))
    for job in (queued, running, ended):
        assert not ledger.delete("bob", job.id)
        assert ledger.delete("ada", job.id)
        assert ledger.get("ada", job.id) is None
        assert not ledger.delete("ada", job.id)
    assert ledger.beat(late) == "lost"
    assert not ledger.finish(late, end(late), result_folder(tmp_path / "late"))
    assert everything(assembly) == set()
    assert ledger.page("ada") == ([], None)
    assert assembly.trees.page("ada") == ([], None)
    assert set(ledger.counts().values()) == {0}
    # The attempt might have stored more before it noticed.
    assert ledger._records.left(-1.0) == [("ada", running.id)]
    monkeypatch.setattr(interrupted, "SUBMISSION_S", -1.0)
    ledger._interrupted.clear()
    remaining = {key.removeprefix(settings.key_prefix) for key in assembly.redis.keys("*")}
    assert remaining <= {"counts", "queued", "counted", "metrics", "pauses"}
    assert not [
        field for field in assembly.job_counts.fields() if "ada" in field or "job_" in field
    ]


def test_a_job_deleted_while_its_worker_publishes_stays_deleted(
    assembly: Assembly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, blobs = assembly.ledger, assembly.blobs
    job = request()
    ledger.submit(job)
    claim = ledger.claim(job.id, "w")
    assert claim is not None
    put_files = blobs.put_files

    def delete_first(files: dict[str, Path], then: tuple[str, bytes]) -> None:
        ledger.delete("ada", job.id)
        put_files(files, then)

    monkeypatch.setattr(blobs, "put_files", delete_first)
    assert not ledger.finish(claim, end(claim), result_folder(tmp_path / "result"))
    assert everything(assembly) == set()
    assert ledger.get("ada", job.id) is None
    assert assembly.trees.page("ada") == ([], None)


def test_a_deleted_job_is_not_claimed(assembly: Assembly) -> None:
    """An interrupted deletion has removed the request but not yet the record."""
    job = request()
    assembly.ledger.submit(job)
    assembly.blobs.delete(layout.job("ada", job.id, "request.json"))
    assert assembly.ledger.claim(job.id, "w") is None
    assert assembly.ledger.get("ada", job.id) is None


def test_a_job_deleted_while_its_files_are_published_leaves_nothing(
    assembly: Assembly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, blobs = assembly.ledger, assembly.blobs
    job = request()
    ledger.submit(job, {"features": b"[]"})
    claim = ledger.claim(job.id, "w")
    assert claim is not None
    put_files = blobs.put_files

    def overtaken(files: Mapping[str, Path], then: tuple[str, bytes]) -> None:
        put_files(files)
        ledger.delete("ada", job.id)
        raise Missing("several files")

    monkeypatch.setattr(blobs, "put_files", overtaken)
    assert not ledger.finish(claim, end(claim), result_folder(tmp_path / "done", "0"))
    assert ledger.get("ada", job.id) is None
    assert not [key for key in blobs.keys("") if job.id in key]

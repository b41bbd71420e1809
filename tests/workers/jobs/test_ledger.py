"""The life of one job: claim, beat, finish, give back; leases that run out."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workers.jobs_kit import Sent, end, request, result_folder
from workers.assembly import Assembly
from workers.errors import FatalError, StoreFull, StoreUnavailable, problem_of
from workers.model import Advance, sibling
from workers.settings import WorkerSettings
from workers.stores.objects import layout
from workers.stores.redis.events import Events
from workers.stores.redis.records import Records


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
    assert ledger.finish(claim, end(claim), tmp_path / "result")
    assert ledger.get("ada", asked.id) == done
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
    ledger.give_back(first, spend=True)
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


def test_a_job_out_of_attempts_shows_why_the_last_one_was_given_back(assembly: Assembly) -> None:
    ledger = assembly.ledger
    full = problem_of(StoreFull())
    away = problem_of(StoreUnavailable())
    asked = request()
    ledger.submit(asked)
    for why in (full, None, away):
        record = ledger.get("ada", asked.id)
        assert record is not None
        assert record.error is None
        claim = ledger.claim(asked.id, "w")
        assert claim is not None
        ledger.give_back(claim, spend=True, why=why)
    record, kept = ledger.get("ada", asked.id), ledger.end_of("ada", asked.id)
    assert record is not None
    assert kept is not None
    assert (record.status, record.error, kept.error) == ("failed", away, away)


def test_why_it_failed_outlives_whoever_was_to_say_so(
    assembly: Assembly, settings: WorkerSettings
) -> None:
    """Killed between the record and the terminal object: a sweeper goes on from there."""
    ledger, records = assembly.ledger, Records(assembly.redis, settings)
    asked = request()
    ledger.submit(asked)
    for _ in range(settings.max_attempts - 1):
        claim = ledger.claim(asked.id, "w")
        assert claim is not None
        ledger.give_back(claim, spend=True)
    claim = ledger.claim(asked.id, "w")
    assert claim is not None
    full = problem_of(StoreFull())
    outcome = records.release(asked.id, claim.fence, spend=True, due_s=0.0, lapsed=False, why=full)
    assert outcome == "exhausted"
    ledger.sweep()
    record = ledger.get("ada", asked.id)
    assert record is not None
    assert (record.status, record.error) == ("failed", full)

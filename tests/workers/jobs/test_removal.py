"""Cancel and delete, whatever the worker does."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.workers.jobs_kit import end, everything, request, result_folder
from workers.assembly import Assembly
from workers.errors import Missing
from workers.model import Advance
from workers.settings import WorkerSettings
from workers.stores.objects import layout
from workers.stores.redis.records import CANCEL_S


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


def test_a_job_deleted_while_its_files_are_published_leaves_nothing(
    assembly: Assembly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, blobs = assembly.ledger, assembly.blobs
    asked = request()
    ledger.submit(asked, {"features": b"[]"})
    claim = ledger.claim(asked.id, "w")
    assert claim is not None
    put_files = blobs.put_files

    def overtaken(files: Mapping[str, Path]) -> None:
        put_files(files)
        ledger.delete("ada", asked.id)
        raise Missing("several files")

    monkeypatch.setattr(blobs, "put_files", overtaken)
    assert not ledger.finish(claim, end(claim), result_folder(tmp_path / "done", "0"))
    assert ledger.get("ada", asked.id) is None
    assert not [key for key in blobs.keys("") if asked.id in key]

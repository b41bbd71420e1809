"""Removal where nothing has room: from the store first, so that Redis finds some."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.workers.conftest import Server
from tests.workers.jobs_kit import end, request, result_folder
from workers.assembly import Assembly
from workers.errors import StoreFull
from workers.stores import erasure
from workers.stores.erasure import counted_later, drop_and_remove
from workers.stores.objects.local import LocalBlobs
from workers.stores.redis import reserve
from workers.stores.redis.client import Scripts


def test_a_job_goes_though_redis_has_no_room_until_its_files_are_gone(
    assembly: Assembly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = assembly.ledger.claim(assembly.ledger.submit(request()).id, "w")
    assert claim is not None
    assert assembly.ledger.finish(claim, end(claim), result_folder(tmp_path / "r"))
    job_id, called = claim.request.id, Scripts.__call__

    def full(self: Scripts, name: str, *arguments: str | int) -> object:
        if name in ("drop", "index_drop") and any(assembly.blobs.keys("attempts/")):
            raise StoreFull("no room")
        return called(self, name, *arguments)

    monkeypatch.setattr(Scripts, "__call__", full)
    assert assembly.ledger.delete("ada", job_id)
    assert assembly.ledger.get("ada", job_id) is None
    assembly.ledger.sweep()
    assert assembly.ledger.get("ada", job_id) is None
    assert not [key for key in assembly.blobs.keys("") if job_id in key]


def test_what_redis_has_no_room_to_forget_is_gone_from_the_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(erasure, "ROOM_S", 0.0)
    steps: list[str] = []

    def drop() -> None:
        steps.append("drop")
        raise StoreFull("no room")

    def note() -> None:
        steps.append("note")
        raise StoreFull("no room here either")

    with pytest.raises(StoreFull):
        drop_and_remove(drop, lambda: steps.append("remove"), note)
    assert steps[:4] == ["drop", "note", "remove", "note"]


def test_a_note_stands_for_what_redis_has_no_room_to_forget() -> None:
    steps: list[str] = []

    def drop() -> None:
        raise StoreFull("no room")

    drop_and_remove(drop, lambda: steps.append("remove"), lambda: steps.append("note"))
    assert steps == ["note", "remove"]


def test_a_folder_goes_without_room_for_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = LocalBlobs(tmp_path)
    blobs.put("jobs/ada/job_1/request.json", b"{}")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "rename", full)
    blobs.delete_under("jobs/ada/job_1/")
    assert list(blobs.keys("")) == []


def test_redis_gets_the_room_that_was_kept_for_removals(valkey: Server) -> None:
    assert reserve.keep(valkey.folder)
    assert reserve.keep(valkey.folder)
    steps = ["reserved"]

    def drop() -> None:
        steps.append("drop")
        if (valkey.folder / reserve.NAME).exists():
            raise StoreFull("no room")

    def full() -> None:
        raise StoreFull("no room for a note")

    client = valkey.client()
    drop_and_remove(drop, lambda: steps.append("remove"), full, lambda: reserve.release(client))
    assert steps == ["reserved", "drop", "remove", "drop"]
    assert not reserve.release(client)
    drop_and_remove(drop, lambda: steps.append("remove"), full, lambda: reserve.release(client))
    assert steps[-2:] == ["drop", "remove"]


def test_what_cannot_be_counted_after_a_removal_is_counted_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def full() -> None:
        raise StoreFull("no room")

    counted_later(full)
    assert "stays counted" in caplog.text

"""Checkpoints of fits: stored during the run, loaded by the next attempt, removed at the end."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workers.artifacts.checkpoints import Checkpoints, FileCheckpoint
from workers.artifacts.results import load_arrays, save_named
from workers.errors import StoreFull
from workers.model import Claim, Request, now
from workers.stores.objects import layout
from workers.stores.objects.local import LocalBlobs

REQUEST = Request(id="job_1", tenant="t", kind="fit", method="l2h", inputs={}, created_at=now())


def claim(fence: str) -> Claim:
    return Claim(request=REQUEST, fence=fence, attempt=1, started_at=now())


@pytest.fixture
def store(tmp_path: Path) -> Checkpoints:
    return Checkpoints(LocalBlobs(tmp_path / "store"))


def written(folder: Path, step: int) -> Path:
    path = folder / f"file{step}"
    save_named({"step": np.array(step)}, path)
    return path


def keys(store: Checkpoints) -> list[str]:
    return sorted(store._blobs.keys(layout.CHECKPOINTS))


def test_the_latest_checkpoint_of_any_attempt_is_loaded(store: Checkpoints, tmp_path: Path) -> None:
    assert store.latest(REQUEST) is None
    for step, fence in enumerate(["a", "a", "b"]):
        store.keep(claim(fence), written(tmp_path, step))
        latest = store.latest(REQUEST)
        assert latest is not None
        assert load_arrays(latest)["step"] == step
        assert len(keys(store)) == 1
    store.clear(REQUEST)
    assert keys(store) == []
    assert store.latest(REQUEST) is None


def test_a_full_store_loses_the_checkpoint_but_not_the_job(
    store: Checkpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.keep(claim("a"), written(tmp_path, 1))

    def full(key: str, path: Path) -> None:
        raise StoreFull

    monkeypatch.setattr(store._blobs, "put_file", full)
    store.keep(claim("a"), written(tmp_path, 2))
    latest = store.latest(REQUEST)
    assert latest is not None
    assert load_arrays(latest)["step"] == 1


def test_checkpoints_of_ended_jobs_are_removed(store: Checkpoints, tmp_path: Path) -> None:
    store.keep(claim("a"), written(tmp_path, 1))
    store.restore(lambda job_id: job_id != "job_1")
    assert len(keys(store)) == 1
    store.restore(lambda job_id: job_id == "job_1")
    assert keys(store) == []


def test_a_checkpoint_is_saved_at_most_once_per_interval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[int] = []
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    checkpoint = FileCheckpoint(None, tmp_path / "checkpoints", 0.05, saved.append)
    assert checkpoint.load() is None
    state: dict[str, Any] = {"step": np.arange(3)}
    checkpoint.save(state)
    assert saved == []
    clock[0] += 0.06
    checkpoint.save(state)
    checkpoint.save(state)
    assert saved == [1]
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["1"]
    again = FileCheckpoint(tmp_path / "checkpoints" / "1", tmp_path, 1.0, saved.append).load()
    assert again is not None
    np.testing.assert_array_equal(again["step"], np.arange(3))


def test_a_damaged_checkpoint_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "damaged"
    path.write_bytes(b"\x10" * 40)
    assert FileCheckpoint(path, tmp_path, 1.0, lambda number: None).load() is None

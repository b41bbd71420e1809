"""The folders through which processes of the API add up their metrics go with their owners."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from app.http.metrics_folder import PREFIX, MetricsFolder
from app.http.processes import ApiProcesses, listen
from tests.workers.waiting_kit import until
from workers import processes
from workers.processes import FolderLock

_OWNER = """
import sys, time
from app.http.metrics_folder import MetricsFolder
folder = MetricsFolder()
folder.make()
(folder.path / "counter_1.db").write_bytes(b"1")
print(folder.path, flush=True)
time.sleep(60)
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_those_of_dead_owners_are_removed_and_no_others(root: Path) -> None:
    owner = processes.spawn(
        [sys.executable, "-c", _OWNER],
        env={**os.environ, "TMPDIR": str(root)},
        stdout=subprocess.PIPE,
    )
    assert owner.stdout is not None
    theirs = Path(owner.stdout.readline().decode().strip())
    try:
        stopped = MetricsFolder()
        owner.send_signal(signal.SIGSTOP)
        kept = root / f"{PREFIX}kept"
        kept.mkdir()
        (kept / "counter_1.db").touch()  # of a service that locks nothing
        old = root / f"{PREFIX}old"
        old.mkdir()
        unfinished = root / f".{PREFIX}unfinished"
        FolderLock(unfinished).close()
        fresh = root / f".{PREFIX}fresh"
        fresh.mkdir()
        for folder in (kept, old, unfinished):
            os.utime(folder, (1.0, 1.0))
        elsewhere = root / "elsewhere"
        FolderLock(elsewhere).close()
        link = root / f"{PREFIX}link"
        link.symlink_to(elsewhere)
        stopped.make()
        others = {elsewhere, link, kept, fresh}
        assert set(root.iterdir()) == others | {theirs, stopped.path}
        assert (theirs / "counter_1.db").exists()
    finally:
        owner.kill()
        owner.wait(60.0)
        owner.stdout.close()
    stopped.remove()
    assert set(root.iterdir()) == others | {theirs}
    later = MetricsFolder()
    later.make()
    assert set(root.iterdir()) == others | {later.path}
    later.remove()


class Died(BaseException):
    """A process ends."""


@pytest.mark.parametrize("of", ["owner", "next"])
def test_one_whose_removal_was_cut_off_is_removed_by_the_next(
    root: Path, monkeypatch: pytest.MonkeyPatch, of: str
) -> None:
    """Wherever: at its owner's end, or as another one clears up."""
    names = [f"counter_{number}.db" for number in range(12)]
    unlink = os.unlink
    for n_removed in range(len(names) + 1):
        owner = MetricsFolder()
        owner.make()
        for name in names:
            (owner.path / name).touch()
        left = n_removed

        def cut_off(*args: Any, **options: Any) -> None:
            nonlocal left
            if left == 0:
                raise Died
            left -= 1
            unlink(*args, **options)

        assert owner._lock is not None
        if of == "next":
            owner._lock.close()
        with monkeypatch.context() as patch:
            patch.setattr(os, "unlink", cut_off)
            with pytest.raises(Died):
                owner.remove() if of == "owner" else MetricsFolder().make()
        owner._lock.close()
        later = MetricsFolder()
        later.make()
        assert not owner.path.exists(), n_removed
        later.remove()


def test_there_is_none_before_the_service_can_remove_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal that ends a process of the service while it loads leaves none."""
    started: list[str] = []
    sleeping = ["sleep", "60"]
    monkeypatch.setattr("app.http.processes.Prefork.usable", False)
    spawn = processes.spawn

    def note(*_: object, env: dict[str, str], **__: object) -> processes.Process:
        started.append(env["PROMETHEUS_MULTIPROC_DIR"])
        return spawn(sleeping)

    monkeypatch.setattr(processes, "spawn", note)
    with listen("127.0.0.1", 0) as listener:
        apis = ApiProcesses(2, listener, dict)
        apis.load()
        assert list(root.iterdir()) == []
        apis.keep()
        until(lambda: len(started) == 2)
        (made,) = root.iterdir()
        assert {*started} == {str(made)}
        apis.stop(1.0)
    assert list(root.iterdir()) == []

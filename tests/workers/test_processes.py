"""Processes that die with their parent, and folders with one owner."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workers.waiting_kit import gone, until
from workers import processes
from workers.processes import FolderInUse, FolderLock

SLEEPER = "import time; time.sleep(60)"


PARENT = """
import sys, time
from workers import processes
child = processes.spawn([sys.executable, "-c", {sleeper!r}], by_kernel={by_kernel})
print(child.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("by_kernel", [True, False])
def test_a_process_dies_with_its_parent(by_kernel: bool) -> None:
    if by_kernel and not sys.platform.startswith("linux"):
        pytest.skip("only the Linux kernel does this")
    code = PARENT.format(sleeper=SLEEPER, by_kernel=by_kernel)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert not gone(child)
        parent.kill()
        until(lambda: gone(child))


def test_stop_terminates_first_and_then_kills() -> None:
    polite = processes.spawn([sys.executable, "-c", SLEEPER], by_kernel=False)
    assert processes.stop(polite, 5.0) == -signal.SIGTERM
    assert processes._watchers == {}
    stubborn = processes.spawn(
        [
            sys.executable,
            "-c",
            "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "print(flush=True)\n" + SLEEPER,
        ],
        stdout=subprocess.PIPE,
    )
    assert stubborn.stdout is not None
    stubborn.stdout.readline()
    assert processes.stop(stubborn, 0.2) == -signal.SIGKILL
    stubborn.stdout.close()


def test_a_folder_has_one_owner(tmp_path: Path) -> None:
    with FolderLock(tmp_path / "data"):
        with pytest.raises(FolderInUse) as refused:
            FolderLock(tmp_path / "data")
        assert refused.value.pid == os.getpid()
    FolderLock(tmp_path / "data").close()

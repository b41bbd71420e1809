"""Processes that are stopped, wait, or compute."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from tests.workers.child.process_kit import computed_s
from tests.workers.waiting_kit import PATIENCE_S, until
from workers.child.stillness import Stillness

LIMIT_S = 0.5
SPIN = "import time\nwhile True: pass"
SPIN_BELOW = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SPIN!r}])"


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that end, with what they started, at the end of the test."""
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        for descendant in psutil.Process(process.pid).children(recursive=True):
            descendant.kill()
        process.kill()
        process.wait()


def start(started: list[subprocess.Popen[bytes]], code: str) -> int:
    started.append(subprocess.Popen([sys.executable, "-c", code]))
    return started[-1].pid


def exceeds(watch: Stillness, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if watch.exceeded():
            return True
        time.sleep(0.02)
    return False


def test_a_process_that_waits_stands_still(started: list[subprocess.Popen[bytes]]) -> None:
    watch = Stillness(start(started, "import time; time.sleep(600)"), LIMIT_S)
    assert exceeds(watch, PATIENCE_S)
    watch.reset()
    assert not watch.exceeded()
    assert exceeds(watch, PATIENCE_S)


def test_a_stopped_process_stands_still_until_it_continues(
    started: list[subprocess.Popen[bytes]],
) -> None:
    pid = start(started, SPIN)
    os.kill(pid, signal.SIGSTOP)
    watch = Stillness(pid, LIMIT_S)
    assert exceeds(watch, PATIENCE_S)
    os.kill(pid, signal.SIGCONT)
    until(lambda: not watch.exceeded())


@pytest.mark.parametrize("code", [SPIN, SPIN_BELOW])
def test_a_process_that_computes_does_not(
    started: list[subprocess.Popen[bytes]], code: str
) -> None:
    pid = computes = start(started, code)
    if code == SPIN_BELOW:
        until(lambda: len(psutil.Process(pid).children()) == 1)
        computes = psutil.Process(pid).children()[0].pid
    watch = Stillness(pid, LIMIT_S)
    ends = time.monotonic() + 3 * LIMIT_S
    while time.monotonic() < ends:
        # On a busy machine it may get no CPU time for a while.
        before_s = computed_s(computes)
        until(lambda before_s=before_s: computed_s(computes) > before_s)  # type: ignore[misc]
        assert not watch.exceeded()


def test_a_process_that_is_gone_does_not() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert not exceeds(Stillness(process.pid, 0.1), 0.5)

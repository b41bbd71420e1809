"""Time and memory of a call are its own; a failure is told."""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path

import numpy as np
import pytest

from bench.measure import measured

MIB = 1 << 20


def test_memory_is_what_the_call_holds_at_most_and_nothing_that_was_there() -> None:
    there = np.ones(64 * MIB, dtype=np.uint8)

    def call() -> int:
        held = np.ones(48 * MIB, dtype=np.uint8)
        time.sleep(0.2)  # long enough to be seen on a busy machine
        del held
        return int(there.sum(dtype=np.int64))

    got = measured(call, runs=2)
    assert got.result == 64 * MIB
    assert got.runs == 2
    assert 40 * MIB < got.peak_bytes < 60 * MIB


def test_pages_of_a_mapped_file_are_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(32 * MIB))

    def call() -> int:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return int(np.frombuffer(data, dtype=np.uint8).sum())

    assert measured(call, runs=1).peak_bytes < 8 * MIB


def work() -> None:
    """0.1 s of CPU."""
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass


def test_waiting_is_no_cpu_time_and_working_is() -> None:
    slept = measured(lambda: time.sleep(0.1), runs=1)
    assert slept.wall_s >= 0.1
    assert slept.cpu_s < 0.05
    assert measured(work, runs=1).cpu_s >= 0.1


def test_each_run_is_a_process_of_its_own_and_preparing_is_not_measured() -> None:
    seen: list[str] = []

    def call() -> tuple[int, int]:
        seen.append("call")
        return os.getpid(), len(seen)

    got = measured(call, runs=2, prepare=lambda: (seen.append("prepared"), work()))
    assert got.result[0] != os.getpid()
    assert got.result[1] == 2
    assert got.cpu_s < 0.05
    assert not seen


def test_no_run_begins_after_the_time_given() -> None:
    assert measured(lambda: time.sleep(0.05), runs=100, seconds=0.01).runs == 1


def test_what_a_call_raises_is_told() -> None:
    def call() -> None:
        raise ValueError("not like this")

    with pytest.raises(RuntimeError, match="not like this"):
        measured(call)


def test_a_killed_process_is_told() -> None:
    with pytest.raises(RuntimeError, match="code -9"):
        measured(lambda: os.kill(os.getpid(), 9))

"""Only the time and memory of the call itself are measured; failures are reported."""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path

import numpy as np
import pytest

from bench.measure import measured

MIB = 1 << 20


def test_memory_is_the_peak_of_the_call_without_earlier_memory() -> None:
    earlier = np.ones(64 * MIB, dtype=np.uint8)

    def call() -> int:
        held = np.ones(48 * MIB, dtype=np.uint8)
        time.sleep(0.5)  # long enough to be sampled on a busy machine
        del held
        return int(earlier.sum(dtype=np.int64))

    cost = measured(call, runs=2)
    assert cost.result == 64 * MIB
    assert cost.runs == 2
    assert 40 * MIB < cost.peak_bytes < 60 * MIB


def test_pages_of_a_mapped_file_are_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(32 * MIB))

    def call() -> int:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return int(np.frombuffer(data, dtype=np.uint8).sum())

    assert measured(call, runs=1).peak_bytes < 8 * MIB


def work() -> None:
    """Use 0.1 s of CPU."""
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass


def test_cpu_time_counts_work_but_not_waiting() -> None:
    slept = measured(lambda: time.sleep(0.1), runs=1)
    assert slept.wall_s >= 0.1
    assert slept.cpu_s < 0.05
    assert measured(work, runs=1).cpu_s >= 0.1


def test_each_run_has_its_own_process_and_preparation_is_not_measured() -> None:
    calls: list[str] = []

    def call() -> tuple[int, int]:
        calls.append("call")
        return os.getpid(), len(calls)

    cost = measured(call, runs=2, prepare=lambda: (calls.append("prepared"), work()))
    assert cost.result[0] != os.getpid()
    assert cost.result[1] == 2
    assert cost.cpu_s < 0.05
    assert not calls


def test_no_run_begins_after_the_time_limit() -> None:
    assert measured(lambda: time.sleep(0.05), runs=100, seconds=0.01).runs == 1


def test_an_exception_of_the_call_is_reported() -> None:
    def call() -> None:
        raise ValueError("not like this")

    with pytest.raises(RuntimeError, match="not like this"):
        measured(call)


def test_a_killed_process_is_reported() -> None:
    with pytest.raises(RuntimeError, match="code -9"):
        measured(lambda: os.kill(os.getpid(), 9))

"""What a call costs: time and memory, each run in a process of its own.

Linux only: memory is read from /proc.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import statistics
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

from threadpoolctl import threadpool_limits

T = TypeVar("T")

PAGE = os.sysconf("SC_PAGE_SIZE")
EVERY_S = 0.001
"""How often memory is looked at."""


@dataclass(frozen=True, slots=True)
class Measured(Generic[T]):
    """What some runs of one call took: medians over the runs.

    cpu_s : seconds of CPU of the process, all its threads, user and system.
    wall_s : seconds by the clock.
    peak_bytes : the most anonymous memory (heap, stacks; no mapped files) resident during the call,
        over what was resident before it.
    runs : how many.
    result : what the last one returned.
    """

    cpu_s: float
    wall_s: float
    peak_bytes: int
    runs: int
    result: T


def measured(
    fn: Callable[[], T],
    runs: int = 5,
    *,
    threads: int = 1,
    prepare: Callable[[], object] | None = None,
    seconds: float = 60.0,
) -> Measured[T]:
    """Call `fn` in `runs` processes forked one after the other from this one.

    threads : the limit set on BLAS and OpenMP.
    prepare : called in each before `fn`, not measured: what loads or compiles code.
    seconds : no further run begins after so many; the first always does.

    What `fn` returns is pickled; `fn` itself is not, so a closure will do. Where it uses OpenMP on
    several threads, the parent must not have: GNU OpenMP does not outlive a fork. The parent
    samples the child's memory, so a call that holds the interpreter hides nothing; a peak shorter
    than `EVERY_S` may be missed, by at most the few MB that a core can touch in that time. CPU time
    of processes that `fn` starts is not counted.

    Raises RuntimeError with the child's traceback where `fn` raises, or with its exit code.
    """
    done: list[tuple[float, float, int]] = []
    began = time.perf_counter()
    # Set in the parent: in a child it would start threads that spin for a while.
    with threadpool_limits(threads):
        while not done or (len(done) < runs and time.perf_counter() - began < seconds):
            cpu_s, wall_s, peak, result = _one(fn, prepare)
            done.append((cpu_s, wall_s, peak))
    cpu, wall, peaks = zip(*done, strict=True)
    return Measured(
        statistics.median(cpu),
        statistics.median(wall),
        int(statistics.median(peaks)),
        len(done),
        result,
    )


def _one(fn: Callable[[], T], prepare: Callable[[], object] | None) -> tuple[float, float, int, T]:
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=_child, args=(fn, prepare, there), daemon=True)
    child.start()
    there.close()
    try:
        before = _received(here)
        peak = before
        with open(f"/proc/{child.pid}/statm", "rb", buffering=0) as statm:
            while not here.poll(EVERY_S):
                peak = max(peak, _anonymous(statm.fileno()))
        cpu_s, wall_s, after = _received(here)
        here.send("memory is no longer looked at")
        result = _received(here)
    except (EOFError, FileNotFoundError, ProcessLookupError):
        child.join()
        raise RuntimeError(f"the measured process ended with code {child.exitcode}") from None
    finally:
        here.close()
        child.join()
    return cpu_s, wall_s, max(peak, after) - before, result


def _received(connection: Connection) -> Any:
    kind, value = connection.recv()
    if kind == "error":
        raise RuntimeError(f"the measured call failed:\n{value}")
    return value


def _child(
    fn: Callable[[], object], prepare: Callable[[], object] | None, parent: Connection
) -> None:
    try:
        with open("/proc/self/statm", "rb", buffering=0) as statm:
            if prepare is not None:
                prepare()
            # What the parent made is not the call's to search for garbage.
            gc.freeze()
            # Free memory of the parent's heap would hide the first allocations.
            ctypes.CDLL(None).malloc_trim(0)
            parent.send(("before", _anonymous(statm.fileno())))
            wall, cpu = time.perf_counter(), time.process_time()
            result = fn()
            took = time.process_time() - cpu, time.perf_counter() - wall
            parent.send(("took", (*took, _anonymous(statm.fileno()))))
            parent.recv()
            parent.send(("result", result))
    except BaseException:
        parent.send(("error", traceback.format_exc()))


def _anonymous(statm: int) -> int:
    """Bytes of resident memory that no file backs; `statm` is an open /proc/<pid>/statm."""
    _, resident, shared, *_ = os.pread(statm, 256, 0).split()
    return (int(resident) - int(shared)) * PAGE

"""The cost of a call: time and memory, each run in a separate process.

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from models.arrays import Array

T = TypeVar("T")

PAGE = os.sysconf("SC_PAGE_SIZE")
EVERY_S = 0.001
"""The interval between samples of memory."""
READ_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Measured(Generic[T]):
    """The cost of a call: medians over its runs.

    cpu_s : CPU seconds of all threads of the process, user and system.
    wall_s : seconds of wall time.
    peak_bytes : the most anonymous memory (heap, stacks; no mapped files) resident during the call,
        over what was resident before it.
    runs : the number of runs.
    result : the return value of the last run.
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
    """Call `fn` in `runs` processes that this one forks in turn.

    threads : the thread limit of BLAS and OpenMP.
    prepare : called before `fn` in each process, not measured: it loads or compiles code.
    seconds : no run but the first begins after this time.

    The return value of `fn` is pickled; `fn` itself is not and may be a closure. If it uses OpenMP
    with several threads, the parent must not have done so: GNU OpenMP does not survive a fork. The
    parent samples the child's memory, so the samples go on while `fn` holds the GIL; a peak shorter
    than `EVERY_S` may be missed, by at most the few MB that a core can touch in that time. CPU time
    of processes that `fn` starts is not counted.

    Raises RuntimeError with the child's traceback where `fn` raises, or with its exit code.
    """
    done: list[tuple[float, float, int]] = []
    began = time.perf_counter()
    # Set in the parent: in a child this would start threads that spin for a while.
    with threadpool_limits(threads):
        while not done or (len(done) < runs and time.perf_counter() - began < seconds):
            cpu_s, wall_s, peak, result = _measured_once(fn, prepare)
            done.append((cpu_s, wall_s, peak))
    cpu, wall, peaks = zip(*done, strict=True)
    return Measured(
        statistics.median(cpu),
        statistics.median(wall),
        int(statistics.median(peaks)),
        len(done),
        result,
    )


def least_cpu_s(ways: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """The least CPU seconds of each call over some repeats, all ways in turn.

    In turn, since a machine is slower at times; CPU seconds, since other processes may use it. The
    first repeat may also load or compile code.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            began = time.process_time()
            way()
            seconds[name].append(time.process_time() - began)
    return {name: min(several) for name, several in seconds.items()}


def _measured_once(
    fn: Callable[[], T], prepare: Callable[[], object] | None
) -> tuple[float, float, int, T]:
    context = multiprocessing.get_context("fork")
    here, remote = context.Pipe()
    child = context.Process(target=_child, args=(fn, prepare, remote), daemon=True)
    child.start()
    remote.close()
    try:
        before = _received(here)
        peak = before
        with open(f"/proc/{child.pid}/statm", "rb", buffering=0) as statm:
            while not here.poll(EVERY_S):
                peak = max(peak, _anonymous(statm.fileno()))
        cpu_s, wall_s, after = _received(here)
        here.send("memory is no longer sampled")
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
            # Objects of the parent must not slow down the call's garbage collection.
            gc.freeze()
            # Free memory in the parent's heap would hide the call's first allocations.
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


def read_once(logits: Array) -> int:
    """The largest byte of an array without gaps."""
    flat = np.asarray(logits).ravel(order="K").view(np.uint8)
    return max(
        int(flat[start : start + READ_BLOCK].max()) for start in range(0, flat.size, READ_BLOCK)
    )

"""Jobs that run in child processes, and functions that wait for them."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from tests.workers.waiting_kit import PATIENCE_S, gone, until
from workers.child import template
from workers.child.pool import Child, ChildPool
from workers.child.process import ProcessLimits
from workers.model import Request, now
from workers.work.job import Outcome, Spec
from workers.work.sources import Source


@contextlib.contextmanager
def child_pool(
    spares: int, *, still_s: float = 60.0, fresh: bool = False, later: bool = False, **limits: Any
) -> Iterator[ChildPool]:
    """A pool with these `ProcessLimits`.

    Pools on one thread share a template, which takes seconds of a core to start and lives as long
    as the tests. fresh : the pool starts its own, as do pools on more threads. A template that a
    pool started ends with the pool's thread, and is gone before another pool looks for one.
    later : its own has what the first job needs, which is half of the time.
    """
    if fresh or limits.get("threads") != 1:
        end_template()
    else:
        template.begin(1)
    earlier = template.pid()
    pool = ChildPool(ProcessLimits(**limits), spares=spares, still_s=still_s)
    if later:
        pool._starter.submit(template.begin, limits["threads"], later=True).result()
    try:
        yield pool
    finally:
        pool.close()
        pool._starter.shutdown()
        last = template.pid()
        if last not in (None, earlier) and sys.platform == "linux":
            until(lambda: gone(last))


def end_template() -> None:
    """The next pool starts another template."""
    if (pid := template.pid()) is not None and not gone(pid):
        os.kill(pid, signal.SIGKILL)
        until(lambda: gone(pid))


def long_job(folder: Path) -> Spec:
    path = folder / "points.npy"
    np.save(path, np.random.default_rng(0).normal(size=(12_000, 64)))
    source = Source(role="features", kind="dataset", path=path, format="npy")
    return spec(folder, "hac", source, linkage="average")


def spec(folder: Path, method: str, source: Source, **params: Any) -> Spec:
    result = folder / "job" / "result"
    result.mkdir(parents=True)
    request = Request(
        id="job_1", tenant="t", kind="fit", method=method, params=params, created_at=now()
    )
    return Spec(request=request, sources=(source,), folder=result)


def outcome(child: Child, within_s: float = PATIENCE_S) -> Outcome:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        message = child.receive(0.1)
        if message is not None and message.outcome is not None:
            return message.outcome
    raise AssertionError("no outcome in time")


def busy(pid: int) -> bool:
    return computed_s(pid) > 0.5


def computed_s(pid: int) -> float:
    """The processor's time that a process has had."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)

"""`umbel compile`: compile before the first use what would be compiled then."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor

from models.compiled import Compilation, compilations
from workers.child.compiling import alone, keep_in
from workers.settings import WorkerSettings


def compile_all(*, everything: bool) -> int:
    """Compile for common methods or for all, or find that the cache holds it; the exit status.

    A process for each core goes through the lists of `compilations`, which share little.
    """
    if (kept := keep_in(os.environ, WorkerSettings().scratch_dir)) is not None:
        print(kept)
    began = time.monotonic()
    first, *others = compilations(everything=everything)
    # Processes are spawned: a fork would take along the threads of whoever calls.
    spawn = multiprocessing.get_context("spawn")
    with alone(), ProcessPoolExecutor(max(1, _cores() - 1), spawn) as pool:
        # The largest are the last, and begin first; what has not begun then is compiled here.
        left = [(pool.submit(compile_each, named), named) for named in reversed(others)]
        failed = compile_each(first)
        for future, named in left:
            if future.cancel():
                failed += compile_each(named)
        failed += sum(future.result() for future, _ in left if not future.cancelled())
    print(f"compiled in {time.monotonic() - began:.1f} s" + f", {failed} failed" * bool(failed))
    return int(failed > 0)


def compile_each(named: Iterable[Compilation]) -> int:
    """Load or compile each, with a line of what it is for and the seconds that it took.

    Returns how many failed.
    """
    failed = 0
    for name, load in named:
        since = time.monotonic()
        try:
            load()
        except Exception as error:
            failed += 1
            print(f"{name} failed: {error!r}", file=sys.stderr, flush=True)
        else:
            print(f"{name}: {time.monotonic() - since:.1f} s", flush=True)
    return failed


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

"""The template that job children are forked from: started early, and again if it has died.

Imports next to nothing, so that the template loads while its worker is still loading.
"""

from __future__ import annotations

import multiprocessing
import os
import secrets
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, util
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any, cast

from workers.child.compiling import NEWS

OWNER = "UMBEL_TEMPLATE_OWNER"
"""Environment variable with the process id of the template's worker."""


def pid() -> int | None:
    """The process id of the template; None before it was started."""
    # The standard library does not tell it otherwise.
    return forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined,no-any-return]


LATER = "UMBEL_TEMPLATE_LATER"
"""Environment variable that is set for a template that loads at first what the first job needs."""

SECRET = ("UMBEL_", "AWS_", "GOOGLE_", "AZURE_", "IDENTITY_", "MSI_", "OTEL_")
"""Prefixes of variables that jobs do not need: addresses and credentials of Redis, the store and
the collector of traces. A job that prints or forwards its environment reveals none of them."""

LOG_LEVEL, PLAIN_LOOPS = "UMBEL_LOG_LEVEL", "UMBEL_PLAIN_LOOPS"
_NEEDED = (OWNER, NEWS, LATER, LOG_LEVEL, PLAIN_LOOPS)
"""Variables with such a prefix that the template reads before it removes them."""


def compiling() -> bool:
    """Whether the template compiles what the first jobs need: once, as long as a cache is cold."""
    return NEWS in os.environ and Path(os.environ[NEWS]).exists()


def complete() -> None:
    """Let the template load what it has left for later; children forked then have it, too.

    Returns at once.
    """
    if (template := pid()) is not None:
        with suppress(ProcessLookupError):
            os.kill(template, signal.SIGUSR1)


def bound_threads(threads: int) -> None:
    """Set the variables by which libraries bound their threads, before they are loaded."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    # Idle BLAS threads spin for 2^26 cycles by default, which wastes 0.2 s of a core in every job;
    # 2^14 is as fast in matrix products of 64 to 1500 rows.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "14")
    # OpenMP's threads spin for milliseconds at the end of every loop: where two jobs of two threads
    # shared two cores, a step of 30 ms took 2.4 s; with this it takes as long as alone.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"


def begin(threads: int, *, later: bool = False) -> ForkServerContext:
    """Start the template if it does not run, for children that use `threads` threads.

    later : whether it leaves until `complete` what the first job does not need.

    OpenBLAS makes its threads when loaded, so it gets one there and more in the child; OpenMP makes
    them when first used; Arrow's allocator needs none. Call this from a thread that lives as long
    as the process: the template ends with that thread.
    """
    if os.environ.get(OWNER) != str(os.getpid()):
        os.environ[OWNER] = str(os.getpid())
        name = f"umbel-template-{os.getpid()}-{secrets.token_hex(4)}"
        os.environ[NEWS] = str(Path(tempfile.gettempdir()) / name)
    os.environ.pop(LATER, None)
    if later:
        os.environ[LATER] = "1"
    bound_threads(threads)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["umbel.floors", "workers.child.preload"])
    with _without_secrets():
        try:
            forkserver.ensure_running()
        except ChildProcessError:
            _forget()
            forkserver.ensure_running()
    return context


def _forget() -> None:
    """Let the next start begin anew, where other code of this process has waited for the template:
    the standard library, which finds no child, would refuse every start from then on.

    The pipe that the lost one watched stays open: its number may be another file's by now.
    """
    server: Any = forkserver._forkserver
    server._forkserver_address = server._forkserver_alive_fd = server._forkserver_pid = None


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that a template may have."""
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith(SECRET) or name in _NEEDED
    }


Start = Callable[[Sequence[str], Sequence[int]], int]
"""start(arguments of Python, descriptors to keep): the id of the process."""

_start: Start | None = None


@contextmanager
def started_by(start: Start) -> Iterator[None]:
    """Let `start` start a template within, instead of a fresh interpreter. For one thread alone."""
    global _start
    _start = start
    try:
        yield
    finally:
        _start = None


@contextmanager
def _without_secrets() -> Iterator[None]:
    """Start processes within that get no credentials: what a process is started with stays in its
    memory, and in that of its forks, whatever it removes. The environment of this process stays
    whole: its other threads read credentials meanwhile."""
    own = util.spawnv_passfds
    util.spawnv_passfds = cast(Any, _spawn)
    try:
        yield
    finally:
        util.spawnv_passfds = own


def _spawn(path: bytes | str, arguments: Sequence[str], descriptors: Sequence[int]) -> int:
    """As `multiprocessing.util.spawnv_passfds`, without credentials."""
    if _start is not None and "forkserver" in arguments[-1]:
        return _start([os.fsdecode(argument) for argument in arguments], descriptors)
    process = subprocess.Popen(
        arguments,
        executable=os.fsdecode(path),
        pass_fds=descriptors,
        env=without_secrets(os.environ),
        restore_signals=False,
    )
    # multiprocessing waits for it.
    process.returncode = 0
    return process.pid

"""The life of a child: a process, forked from the template, that does a job and ends, or several
short ones of one tenant."""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from models.errors import UsageError
from models.running.progress import Piece
from workers import logs
from workers.child.confinement import confine, enclose, open_memory
from workers.child.messages import ChildMessage, SupervisorMessage
from workers.child.output import redirect
from workers.child.run import opens_sockets, run, trial
from workers.errors import NO_ROOM, FatalError, StoreUnavailable, TransientError, problem_of
from workers.model import Advance
from workers.processes import die_with_parent, die_with_pipe
from workers.work.crew import Assignment, Coordinator
from workers.work.job import Outcome, Spec

_PROGRESS_EVERY_S = 0.05

_COMPILING = "compiling, once"
"""The message of a job while it compiles a function that no earlier one has used."""

_SHORT_S = 1.5
"""The most computing time (all threads) of a job after which its process stays, with what the first
job of a process loads: beside more, a new process costs little. Time on the clock would end
processes, and so start others, where the machine is busy and short jobs take long."""

_LEFT_BYTES = 64 << 20
"""The most memory that jobs may leave allocated in a process that stays."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Bounds of one job's process.

    memory_bytes : what it may allocate beyond the template's memory; files mapped read-only do not
        count. Enforced on Linux only (RLIMIT_DATA). None: no bound.
    threads : of linear algebra and OpenMP.
    jobs : how many short jobs of one tenant the process does.
    """

    memory_bytes: int | None = None
    threads: int = 1
    jobs: int = 1


def live(pipe: Connection, limits: ProcessLimits, output: Connection) -> None:
    """Wait for a job, do it, send its outcome, and again while the process stays; then end it.

    output : where standard output and error go.
    """
    # Loaded before the fork; the worker itself must never import them.
    from models.running.loops import watched
    from workers.child import preload

    die_with_parent(preload.PID)
    os.setsid()
    redirect(output)
    open_memory()
    if limits.memory_bytes is not None:
        limits = replace(limits, memory_bytes=limits.memory_bytes + preload.left)
    _restrict(limits)
    forget_peak = _peak_forgetter()
    enclose()
    _rehearse(limits)
    link = _SupervisorLink(pipe)
    die_with_pipe(link.receive)
    fresh = _Fresh(limits.jobs)
    spec = link.job()
    sockets = opens_sockets(spec)
    confine(sockets=sockets)
    while True:
        computed_before = time.process_time()
        forget_peak()
        _bound_memory(limits)
        logs.set_ids(spec.request.id, spec.request.request_id)
        reporter = _Reporter(pipe)
        with watched(reporter.compiling):
            last = _do(spec, limits, reporter, link)
        fresh.jobs -= 1
        succeeded = last.outcome is not None and last.outcome.error is None
        short = succeeded and time.process_time() - computed_before < _SHORT_S
        stays = short and not sockets and not link.divided and fresh.still()
        last = last.model_copy(update={"peak_bytes": _peak_bytes(), "stays": stays})
        sys.stderr.flush()
        pipe.send_bytes(last.model_dump_json(exclude_none=True).encode())
        if not stays:
            os._exit(0)
        spec = link.job()


class _Fresh:
    """Whether this process is still as good as a fresh one.

    jobs : how many it may still do. Linux only: elsewhere the supervisor's death would not end a
        stopped process.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        if linux := sys.platform.startswith("linux"):
            self._most_bytes = _data_bytes() + _LEFT_BYTES
        self._linux = linux
        self._threads = set(threading.enumerate())

    def still(self) -> bool:
        return (
            self._linux
            and self.jobs > 0
            and _data_bytes() <= self._most_bytes
            and self._threads.issuperset(threading.enumerate())
        )


def _peak_forgetter() -> Callable[[], None]:
    """A function that lets `_peak_bytes` count from then on. Its file cannot be opened any more
    when the process is enclosed."""
    try:
        descriptor = os.open("/proc/self/clear_refs", os.O_WRONLY)
    except OSError:
        return lambda: None

    def forget() -> None:
        with contextlib.suppress(OSError):
            os.write(descriptor, b"5")

    return forget


def _peak_bytes() -> int:
    """The most memory that this job has used, resident, files mapped into it included."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _rehearse(limits: ProcessLimits) -> None:
    """Do the trial job while idle: a fresh fork copies each page that it first writes to, which
    costs a short job more than its own work. Skipped if the disk is full."""
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory() as folder:
        spec = trial(Path(folder))
        _do(Spec.model_validate_json(spec.model_dump_json()), limits, lambda _: None)


class _SupervisorLink:
    """The child's connection to its supervisor, as a `Coordinator`.

    divided : whether a job has announced pieces.
    """

    def __init__(self, pipe: Connection) -> None:
        self.divided = False
        self._pipe = pipe
        self._specs: SimpleQueue[Spec] = SimpleQueue()
        self._assignments: SimpleQueue[Assignment] = SimpleQueue()

    def receive(self) -> None:
        """Receive jobs and assignments, in its own thread; raises when the other end is gone."""
        while True:
            message = SupervisorMessage.model_validate_json(self._pipe.recv_bytes())
            if message.spec is not None:
                self._specs.put(message.spec)
            if message.assignment is not None:
                self._assignments.put(message.assignment)

    def job(self) -> Spec:
        """Wait for the next job."""
        return self._specs.get()

    def post(self, pieces: Sequence[Piece], shared: Path | None) -> None:
        self.divided = True
        self._send({"pieces": list(pieces), "shared": shared is not None})

    def next(self, finished: int | None) -> Assignment:
        self._send({"piece_request": {"finished": finished}})
        return self._assignments.get()

    def keep(self, checkpoint: int) -> None:
        self._send({"checkpoint": checkpoint})

    def _send(self, message: dict[str, Any]) -> None:
        self._pipe.send_bytes(json.dumps(message).encode())


def _do(
    spec: Spec,
    limits: ProcessLimits,
    report: Callable[[Advance], None],
    coordinator: Coordinator | None = None,
) -> ChildMessage:
    """Do the job; returns the last message."""
    from workers.child import preload

    try:
        tempfile.tempdir = str(_temporary_folder(spec.folder))
        preload.BLAS.limit(limits=limits.threads)
        return ChildMessage(outcome=run(spec, report, coordinator))
    except MemoryError as error:
        return _failed(error)
    except TransientError as error:
        kind = "away" if isinstance(error, StoreUnavailable) else "other"
        return ChildMessage(transient=str(error), transient_kind=kind)
    except OSError as error:
        if error.errno in NO_ROOM:
            return ChildMessage(transient=str(error), transient_kind="full")
        if error.errno == errno.EIO:
            return ChildMessage(transient=str(error))
        deleted = [
            source.role
            for source in spec.sources
            if source.path is not None and not source.path.exists()
        ]
        if deleted:
            return _failed(_input_deleted(deleted[0]))
        return _fault(spec, error)
    except Exception as error:
        return _fault(spec, error)


def _temporary_folder(folder: Path) -> Path:
    """The folder of the job's temporary files: beside its results, removed with them."""
    temporary = folder.parent / "tmp"
    temporary.mkdir(exist_ok=True)
    return temporary


def _failed(error: Exception) -> ChildMessage:
    return ChildMessage(outcome=Outcome(error=problem_of(error)))


def _fault(spec: Spec, error: Exception) -> ChildMessage:
    _log.exception("job %s failed by a fault of ours", spec.request.id)
    return _failed(error)


def _input_deleted(role: str) -> UsageError:
    return UsageError(
        f"Input {role!r} was deleted while the job was about to read it; upload it again and "
        "submit a new job.",
        code="input-deleted",
        role=role,
    )


class _Reporter:
    """Sends progress: each new stage at once, within a stage at most every 50 ms."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._last_at, self._last = 0.0, Advance()

    def __call__(self, advance: Advance) -> None:
        now = time.monotonic()
        if advance.stage == self._last.stage and now - self._last_at < _PROGRESS_EVERY_S:
            return
        self._last_at, self._last = now, advance
        self._send(advance)

    def compiling(self, _: object) -> None:
        """Show that a function is compiled."""
        # Other threads may not write to the pipe while the first one does.
        first = threading.current_thread() is threading.main_thread()
        if first and self._last.message != _COMPILING:
            self._last_at, self._last = 0.0, self._last.model_copy(update={"message": _COMPILING})
            self._send(self._last)

    def _send(self, advance: Advance) -> None:
        self._pipe.send_bytes(json.dumps({"advance": advance.model_dump()}).encode())


def _restrict(limits: ProcessLimits) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not sys.platform.startswith("linux"):
        return
    # If memory is short, the kernel should kill a job and not the worker or the server.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")
    if limits.memory_bytes is not None:
        bound = _data_bytes() + limits.memory_bytes + _LEFT_BYTES
        resource.setrlimit(resource.RLIMIT_DATA, (bound, bound))
        _bound_memory(limits)


def _bound_memory(limits: ProcessLimits) -> None:
    """Let the process allocate so much from now on."""
    if sys.platform.startswith("linux") and limits.memory_bytes is not None:
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        bound = min(_data_bytes() + limits.memory_bytes, most)
        resource.setrlimit(resource.RLIMIT_DATA, (bound, most))


def _data_bytes() -> int:
    """The bytes of writable private memory of this process, as counted by RLIMIT_DATA."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    raise FatalError("the kernel does not report how much memory the process uses")

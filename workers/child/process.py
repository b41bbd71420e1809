"""One fresh process per job, forked from a template that has loaded what jobs need.

No memory is shared between jobs, memory and time are bounded, and the process dies with its worker.
One spare child waits for each slot, so that a job does not wait for a fork.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import resource
import signal
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from models.errors import UsageError
from models.method import Piece
from workers import logs
from workers.child import template as forkserver
from workers.child.crew import Board, Reply
from workers.child.run import Outcome, Spec, run, trial
from workers.errors import (
    NO_ROOM,
    FatalError,
    StoreFull,
    StoreUnavailable,
    TransientError,
    problem_of,
)
from workers.model import MOST_PIECES, Advance
from workers.processes import die_with_parent, die_with_pipe

_LARGEST_MESSAGE = 16 << 20
"""Bytes of one message of a child; its answer is data, not to be trusted."""

_PROGRESS_EVERY_S = 0.05
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one job's process.

    memory_bytes : what it may allocate beyond what the template holds; files mapped read-only do
        not count. Kept on Linux only (RLIMIT_DATA). None: no bound.
    threads : of linear algebra and OpenMP.
    """

    memory_bytes: int | None = None
    threads: int = 1


class Ask(BaseModel):
    """The child wants the next piece of its fit, having `finished` the one it was to compute."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    finished: int | None = None


class Said(BaseModel):
    """A message of a child: progress, the pieces of its fit, a wish for one, the number of a
    checkpoint, or its last word."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    advance: Advance | None = None
    pieces: tuple[dict[str, Any], ...] | None = Field(None, max_length=MOST_PIECES)
    ask: Ask | None = None
    checkpoint: int | None = None
    outcome: Outcome | None = None
    passing: str | None = None
    """Something that may pass kept the job from being done."""
    kind: Literal["full", "away", "other"] = "other"
    """Of what may pass: no room left, or a store that does not answer."""

    def passed(self) -> TransientError:
        """What may pass, as an error."""
        kinds = {"full": StoreFull, "away": StoreUnavailable, "other": TransientError}
        return kinds[self.kind](self.passing)


_SAID = TypeAdapter(Said)


class Child:
    """The worker's end of one child. Not shared between threads."""

    def __init__(self, process: Any, pipe: Connection) -> None:
        self._process = process
        self._pipe = pipe

    @property
    def pid(self) -> int:
        return int(self._process.pid)

    def alive(self) -> bool:
        return not wait([self._process.sentinel], 0)

    def begin(self, spec: Spec) -> None:
        """Hand it the job. TransientError if it has died meanwhile."""
        try:
            self._pipe.send_bytes(spec.model_dump_json().encode())
        except OSError as error:
            raise TransientError("the job's process died before it began") from error

    def tell(self, reply: Reply) -> None:
        """Answer what it asked. TransientError if it has died meanwhile."""
        try:
            self._pipe.send_bytes(reply.model_dump_json().encode())
        except OSError as error:
            raise TransientError(self._how_it_died()) from error

    def hear(self, timeout_s: float) -> Said | None:
        """Its next message, None if there was none in time.

        Raises
        ------
        TransientError : it died, killed by a signal or without a last word.
        FatalError : what it said is too long or makes no sense.
        """
        if not wait([self._pipe, self._process.sentinel], timeout_s):
            return None
        if not self._pipe.poll():
            raise TransientError(self._how_it_died())
        try:
            text = self._pipe.recv_bytes(_LARGEST_MESSAGE)
        except EOFError:
            raise TransientError(self._how_it_died()) from None
        except OSError as error:
            if error.errno in (errno.ECONNRESET, errno.EPIPE):
                raise TransientError(self._how_it_died()) from None
            raise FatalError("the job's process said too much") from error
        try:
            return _SAID.validate_json(text)
        except ValidationError as error:
            raise FatalError("the job's process said what makes no sense") from error

    def kill(self) -> None:
        """End it with all that it started, and clear it away."""
        self.stop()
        self.clear()

    def stop(self) -> None:
        """Send what ends it and all that it started; it computes and writes no more."""
        if self.alive():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def clear(self) -> None:
        """Wait until it is gone: a large memory takes a while to be given back."""
        self._pipe.close()
        self._process.join(30.0)

    def _how_it_died(self) -> str:
        self._process.join(1.0)
        code = self._process.exitcode
        if code is not None and code < 0:
            return f"the job's process was killed by {signal.Signals(-code).name}"
        return f"the job's process ended with status {code} and no result"


class Nursery:
    """Starts children, and keeps `spares` of them waiting. Threads may share it.

    All children are started by one thread of its own, which lives until `close`: the template's
    leash is tied to the thread that started it.
    """

    def __init__(self, limits: Limits, spares: int = 1) -> None:
        self._limits = limits
        self._spares = spares
        self._waiting: deque[Child] = deque()
        self._starter = ThreadPoolExecutor(1, "nursery")
        self._reaper = ThreadPoolExecutor(1, "reaper")
        self._closed = False

    def fill(self) -> Future[None]:
        """Have the spare children started; done when they are."""
        return self._starter.submit(self._fill)

    def take(self) -> Child:
        """A child that waits for its job. One found dead is replaced."""
        while not (child := self._starter.submit(self._next).result()).alive():
            child.kill()
        return child

    def drop(self, child: Child) -> None:
        """Stop a child, clear it away and have a spare one started, without waiting for it."""
        child.stop()
        # After `close` nothing is cleared away: the process ends.
        with contextlib.suppress(RuntimeError):
            self._reaper.submit(child.clear)
            self.fill()

    def close(self) -> None:
        """Stop the spare children and start no more. Does not wait."""
        self._closed = True
        while self._waiting:
            self.drop(self._waiting.popleft())
        self._starter.shutdown(wait=False)
        self._reaper.shutdown(wait=False)

    def _fill(self) -> None:
        while len(self._waiting) < self._spares and not self._closed:
            self._waiting.append(self._start())

    def _next(self) -> Child:
        return self._waiting.popleft() if self._waiting else self._start()

    def _start(self) -> Child:
        context = forkserver.begin(self._limits.threads)
        ours, theirs = context.Pipe()
        process = context.Process(target=_live, args=(theirs, self._limits), daemon=True)
        process.start()
        theirs.close()
        return Child(process, ours)


def _live(pipe: Connection, limits: Limits) -> None:
    """The child's life: wait for a job, do it, say what came of it."""
    # Loaded before the fork; the worker itself must never import it.
    from workers.child import preload

    die_with_parent(preload.PID)
    os.setsid()
    _restrict(limits)
    _rehearse(limits)
    try:
        spec = Spec.model_validate_json(pipe.recv_bytes())
    except (EOFError, OSError):
        return
    line = _Line(pipe)
    die_with_pipe(line.receive)
    logs.request_id.set(spec.request.request_id or None)
    said = _do(spec, limits, _reporter(pipe), line)
    pipe.send_bytes(said.model_dump_json(exclude_none=True).encode())
    sys.stderr.flush()
    os._exit(0)


def _rehearse(limits: Limits) -> None:
    """Do the trial job while there is none: a fresh fork copies each page that it first writes to,
    which costs a short job more than its own work. Where the disk is full it goes without."""
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory() as folder:
        spec = trial(Path(folder))
        _do(Spec.model_validate_json(spec.model_dump_json()), limits, lambda _: None)


def _room(folder: Path) -> Path:
    """Where the job's temporary files go: beside its results, removed with them."""
    room = folder.parent / "tmp"
    room.mkdir(exist_ok=True)
    return room


class _Line:
    """The child's way to its supervisor, as a `Board`."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._replies: SimpleQueue[Reply] = SimpleQueue()

    def receive(self) -> None:
        """Take replies in, in a thread of its own; raises when the other end is gone."""
        while True:
            self._replies.put(Reply.model_validate_json(self._pipe.recv_bytes()))

    def post(self, pieces: Sequence[Piece]) -> None:
        self._say({"pieces": list(pieces)})

    def next(self, finished: int | None) -> Reply:
        self._say({"ask": {"finished": finished}})
        return self._replies.get()

    def keep(self, checkpoint: int) -> None:
        self._say({"checkpoint": checkpoint})

    def _say(self, said: dict[str, Any]) -> None:
        self._pipe.send_bytes(json.dumps(said).encode())


def _do(
    spec: Spec, limits: Limits, report: Callable[[Advance], None], board: Board | None = None
) -> Said:
    from workers.child import preload

    try:
        tempfile.tempdir = str(_room(spec.folder))
        preload.BLAS.limit(limits=limits.threads)
        return Said(outcome=run(spec, report, board))
    except MemoryError as error:
        return Said(outcome=Outcome(error=problem_of(error)))
    except TransientError as error:
        kind = "away" if isinstance(error, StoreUnavailable) else "other"
        return Said(passing=str(error), kind=kind)
    except OSError as error:
        if error.errno in NO_ROOM:
            return Said(passing=str(error), kind="full")
        if error.errno == errno.EIO:
            return Said(passing=str(error))
        gone = [one.role for one in spec.sources if one.path is not None and not one.path.exists()]
        if gone:
            return Said(outcome=Outcome(error=problem_of(_deleted(gone[0]))))
        return _fault(spec, error)
    except Exception as error:
        return _fault(spec, error)


def _deleted(role: str) -> UsageError:
    return UsageError(
        f"Input {role!r} was deleted while the job was to read it; upload it again and submit a "
        "new job.",
        code="input-deleted",
        role=role,
    )


def _fault(spec: Spec, error: Exception) -> Said:
    request = spec.request
    _log.exception("job %s failed by a fault of ours", request.id)
    return Said(outcome=Outcome(error=problem_of(error)))


def _reporter(pipe: Connection) -> Callable[[Advance], None]:
    last_at, last_stage = 0.0, ""

    def report(advance: Advance) -> None:
        nonlocal last_at, last_stage
        now = time.monotonic()
        if advance.stage == last_stage and now - last_at < _PROGRESS_EVERY_S:
            return
        last_at, last_stage = now, advance.stage
        pipe.send_bytes(json.dumps({"advance": advance.model_dump()}).encode())

    return report


def _restrict(limits: Limits) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not sys.platform.startswith("linux"):
        return
    # Where memory is short, the kernel is to take a job and not the worker or the server.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")
    if limits.memory_bytes is not None:
        bound = _data_bytes() + limits.memory_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (bound, bound))


def _data_bytes() -> int:
    """Bytes of writable private memory that the process holds now: what RLIMIT_DATA counts."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    raise FatalError("the kernel does not say how much memory a process holds")

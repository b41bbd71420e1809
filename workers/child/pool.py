"""The worker's side of its children: a pool of processes, each for one job or, where jobs are
short, for several of one tenant.

No memory is shared between tenants, memory and time are bounded, and a process dies with its
worker. One spare child waits per slot, so that a job does not wait for a fork. Between two jobs a
process is stopped: it neither computes nor changes the files that it has written.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import signal
import threading
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import psutil
from pydantic import ValidationError

from workers.child import confinement, template
from workers.child.messages import ChildMessage, SupervisorMessage
from workers.child.output import Output
from workers.child.process import ProcessLimits, live
from workers.child.run import opens_sockets
from workers.child.stillness import Stillness
from workers.errors import FatalError, NoProcess, TransientError
from workers.work.crew import Assignment
from workers.work.job import Spec

_LARGEST_MESSAGE = 16 << 20
"""The size limit of a message; a child computes on a user's input, so it is not trusted."""

_TRIES = 5
"""How often a child is started, or begun, before its worker gives up for the moment."""

_AGAIN_S = 0.1
"""The pause before the next try: a template that was killed takes a moment to be gone."""

_LOOK_S = 0.5

LONG_S = 2.0
"""Computing time after which a job goes on with less priority; its process does not stay then."""

_LESS = 10
"""The nice value that it has from then on, above that of the template."""

_KEPT_S = 30.0
"""How long a process waits for the next job of its tenant."""
_log = logging.getLogger(__name__)


class Child:
    """The worker's end of one child. Not shared between threads.

    stays : whether it has done its job and waits for another one of its tenant.
    """

    def __init__(self, process: Any, pipe: Connection, output: Output | None = None) -> None:
        self.stays = False
        self._process = process
        self._output = output
        self._pipe = pipe
        self._computed_before = 0.0
        self._peak_bytes: int | None = None

    @property
    def pid(self) -> int:
        return int(self._process.pid)

    def alive(self) -> bool:
        return not wait([self._process.sentinel], 0)

    def begin(self, spec: Spec) -> None:
        """Hand it the job. TransientError if it has died meanwhile."""
        if self._output is not None:
            self._output.belongs_to(spec)
        self.stays, self._peak_bytes = False, None
        self._computed_before = self._computed_s()
        try:
            self._send(SupervisorMessage(spec=spec))
        except OSError as error:
            raise TransientError("the job's process died before it began") from error

    def send(self, assignment: Assignment) -> None:
        """Answer its request for a piece. TransientError if it has died meanwhile."""
        try:
            self._send(SupervisorMessage(assignment=assignment))
        except OSError as error:
            raise TransientError(self._how_it_died()) from error

    def _send(self, message: SupervisorMessage) -> None:
        self._pipe.send_bytes(message.model_dump_json().encode())

    def receive(self, timeout_s: float) -> ChildMessage | None:
        """Its next message; None if there was none in time.

        Raises ------
        TransientError : it was killed by a signal or ended without a last message.
        FatalError : the message is too long or is not a `ChildMessage`.
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
            raise FatalError("the job's process sent a message that is too long") from error
        try:
            message = ChildMessage.model_validate_json(text)
        except ValidationError as error:
            raise FatalError("the job's process sent an invalid message") from error
        self._peak_bytes = message.peak_bytes or self._peak_bytes
        self.stays = message.stays and message.outcome is not None
        return message

    def peak_bytes(self) -> int | None:
        """The most memory that it has used, from its own report at its end, or from the kernel
        (Linux only) while it runs; None: neither."""
        if self._peak_bytes is None:
            with contextlib.suppress(OSError):
                for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
                    if line.startswith("VmHWM:"):
                        return int(line.split()[1]) * 1024
        return self._peak_bytes

    def kill(self) -> None:
        """End it with everything that it started, and clean up."""
        self.stop()
        self.clear()

    def stop(self) -> None:
        """Kill it with everything that it started, without waiting.

        It computes and writes no more.
        """
        self._signal(signal.SIGKILL)

    def pause(self) -> None:
        """Stop it with everything that it started, until `resume`."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def gives_way(self) -> bool:
        """Whether its job has computed for `LONG_S`: then shorter jobs, and the processes that
        answer clients, have the cores first from now on. Only a privileged process could take that
        back."""
        if self._computed_s() - self._computed_before < LONG_S:
            return False
        with contextlib.suppress(OSError):
            nice = os.getpriority(os.PRIO_PROCESS, self.pid) + _LESS
            os.setpriority(os.PRIO_PGRP, self.pid, nice)
        return True

    def _computed_s(self) -> float:
        """The computing time of the process so far; 0 if it is gone."""
        try:
            times = psutil.Process(self.pid).cpu_times()
        except psutil.Error:
            return 0.0
        return float(times.user + times.system)

    def _signal(self, number: signal.Signals) -> None:
        if self.alive():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def clear(self) -> None:
        """Wait until it is gone: the kernel takes a while to free much memory."""
        self._pipe.close()
        self._process.join(30.0)
        if self._output is not None:
            self._output.close()

    def _how_it_died(self) -> str:
        self._process.join(1.0)
        code = self._process.exitcode
        if code is not None and code < 0:
            return f"the job's process was killed by {signal.Signals(-code).name}"
        return f"the job's process ended with status {code} and no result"


@dataclass(frozen=True, slots=True)
class _Kept:
    """A child that waits for another job of its tenant, by the monotonic clock since `since`."""

    child: Child
    tenant: str
    since: float


class ChildPool:
    """Starts children, and keeps `spares` of them waiting. Threads may share it.

    As many that have done a job wait for another one of its tenant, each for half a minute.

    One thread of the pool starts all children and lives until `close`: the template ends with the
    thread that started it.

    still_s : a template that starts nothing and computes nothing for this long is killed, and
        another one takes its place. The children of the first one die with it.
    """

    def __init__(self, limits: ProcessLimits, spares: int = 1, still_s: float = 60.0) -> None:
        self._limits = limits
        self._spares = spares
        self._still_s = still_s
        self._waiting: deque[Child] = deque()
        self._kept: list[_Kept] = []
        self._keeping = threading.Lock()
        self._starter = ThreadPoolExecutor(1, "children")
        self._reaper = ThreadPoolExecutor(1, "reaper")
        self._closed = False
        for sentence in confinement.states():
            _log.warning(sentence)

    def fill(self) -> Future[None]:
        """Start the spare children; returns when they run."""
        return self._starter.submit(self._fill)

    def complete(self) -> Future[None]:
        """Let the template load what it has left for later, and start spare children anew.

        A child that waits meanwhile can be taken.
        """
        template.complete()
        return self._starter.submit(self._renew)

    def begin(self, spec: Spec) -> Child:
        """A child that has been handed its job; one that dies before is replaced.

        Raises NoProcess if none can be started.
        """
        for _ in range(_TRIES):
            child = self._kept_for(spec) or self.take()
            try:
                child.resume()
                child.begin(spec)
            except TransientError as error:
                _log.warning("%s", error)
                self.drop(child)
            else:
                return child
        raise NoProcess("the processes for jobs die before they begin")

    def take(self) -> Child:
        """A child that waits for its job. A dead one is replaced. NoProcess if none can start."""
        while not (child := self._next()).alive():
            child.stop()
            self._reaper.submit(child.clear)
        return child

    def drop(self, child: Child) -> None:
        """Stop a child and clean up after it, without waiting."""
        child.stop()
        # After `close` nothing is cleaned up: the process ends.
        with contextlib.suppress(RuntimeError):
            self._reaper.submit(child.clear)

    def release(self, child: Child, tenant: str) -> None:
        """Keep a child that stays, paused, for another job of its tenant; else `drop` it."""
        if child.stays:
            child.pause()
            with self._keeping:
                self._kept.append(_Kept(child, tenant, time.monotonic()))
                over = self._kept[: max(0, len(self._kept) - self._spares)]
                del self._kept[: len(over)]
            for kept in over:
                self.drop(kept.child)
        else:
            self.drop(child)

    def drop_idle(self) -> None:
        """Drop the children that have waited too long for another job. Call it regularly."""
        since = time.monotonic() - _KEPT_S
        with self._keeping:
            idle = [kept for kept in self._kept if kept.since < since]
            self._kept = [kept for kept in self._kept if kept.since >= since]
        for kept in idle:
            self.drop(kept.child)

    def _kept_for(self, spec: Spec) -> Child | None:
        with self._keeping:
            mine = [kept for kept in self._kept if kept.tenant == spec.request.tenant]
            # A process that stays has given up sockets.
            if not mine or opens_sockets(spec):
                return None
            self._kept.remove(mine[-1])
        return mine[-1].child

    def refill(self) -> None:
        """Start spare children in place of those that were taken, without waiting.

        Call it when what a child has computed is published: a fork of the template takes a core
        for as long as a short job does.
        """
        with contextlib.suppress(RuntimeError):  # After `close`.
            self.fill()

    def close(self) -> None:
        """Stop the spare children and start no more. Does not wait."""
        self._closed = True
        while self._waiting:
            self.drop(self._waiting.popleft())
        with self._keeping:
            kept, self._kept = self._kept, []
        for one in kept:
            self.drop(one.child)
        self._starter.shutdown(wait=False)
        self._reaper.shutdown(wait=False)

    def _fill(self) -> None:
        while len(self._waiting) < self._spares and not self._closed:
            self._waiting.append(self._start())

    def _recover(self) -> None:
        """After the template was lost: spare children first, then what it has left for later."""
        for child in list(self._waiting):
            if not child.alive():
                with contextlib.suppress(ValueError):  # It was taken meanwhile.
                    self._waiting.remove(child)
                    self.drop(child)
        self._fill()
        template.complete()
        self._renew()

    def _renew(self) -> None:
        for old in list(self._waiting):
            if self._closed:
                return
            fresh = self._start()
            with contextlib.suppress(ValueError):  # It was taken meanwhile.
                self._waiting.remove(old)
                self.drop(old)
            self._waiting.append(fresh)

    def _next(self) -> Child:
        try:
            return self._waiting.popleft()
        except IndexError:
            return self._started(self._starter.submit(self._start))

    def _started(self, starting: Future[Child]) -> Child:
        """The child that is being started; kills a template that stands still over it."""
        watch: Stillness | None = None
        while not wait_for([starting], _LOOK_S).done:
            pid = template.pid()
            if pid is None or watch is None or watch.pid != pid:
                watch = None if pid is None else Stillness(pid, self._still_s)
            elif watch.exceeded():
                _log.error("the template of job processes stands still and is replaced")
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                watch.reset()
        return starting.result()

    def _start(self) -> Child:
        for _ in range(_TRIES):
            try:
                return self._fork()
            except (OSError, EOFError) as error:
                _log.warning("the template of job processes is started again: %r", error)
                time.sleep(_AGAIN_S)
        raise NoProcess("no process for a job can be started")

    def _fork(self) -> Child:
        lost = template.pid()
        context = template.begin(self._limits.threads, later=lost is not None)
        fresh = lost not in (None, template.pid())
        ours, theirs = context.Pipe()
        read, written = context.Pipe(duplex=False)
        process = context.Process(target=live, args=(theirs, self._limits, written), daemon=True)
        process.start()
        theirs.close()
        written.close()
        if fresh:
            # It has loaded what the first job needs, which has its process now.
            with contextlib.suppress(RuntimeError):  # After `close`.
                self._starter.submit(self._recover)
        return Child(process, ours, Output(read, process.pid or 0))

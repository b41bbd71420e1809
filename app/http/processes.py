"""Processes that are kept running: the API, in one process or several, and workers.

Several processes of the API accept from one listening socket, which is held by the process that
keeps them: whichever is free takes the next connection, and one that is restarted misses none. They
are forked from one that has imported the API, so one that was killed is soon replaced.
"""

from __future__ import annotations

import os
import secrets
import select
import signal
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from app.http.metrics_folder import MetricsFolder
from umbel import floors
from workers import processes
from workers.child import template
from workers.prefork.keeper import Prefork, reap

METRICS_DIR = "PROMETHEUS_MULTIPROC_DIR"
"""The variable with the folder through which processes of the API add up their metrics."""

INSTANCE = "UMBEL_INSTANCE"
"""The variable with the name by which `/readyz` says which service answers."""

API_GRACE_S = 3.0
"""How much longer than `shutdown_s` the API may take to end."""

WORKER_GRACE_S = 3.0
"""How much longer than `drain_s` workers may take to end."""

_LOADING_S = 0.1
"""How often to look whether workers can be forked by now."""

_AWAITED_S = 0.02
"""The same, of the API."""

_SPARE_S = 60.0
"""When the process that a single worker is forked from loads the rest, which only a later worker
needs: by then, on a busy machine too, the processes that start no longer need the cores."""

_STABLE_S = 5.0
"""A process that lived this long did not fail at its start: it is restarted immediately."""

_LONGEST_PAUSE_S = 2.0

_ENDED_FROM_OUTSIDE = (0, -signal.SIGTERM)
"""Exit statuses of a process that somebody ended, to have it started anew."""

_KILLED = -signal.SIGKILL
"""That of one that somebody, or the system for want of memory, has killed: no failure to start, but
not to be repeated without pauses."""


class KeptProcess:
    """A process that is restarted when it ends, with growing pauses if it soon ends again.

    failures : how often in a row it has ended by itself soon after its start.
    """

    def __init__(self, start: Callable[[], processes.Process]) -> None:
        self._start = start
        self.process: processes.Process | None = None
        self.failures = 0
        self.status: int | None = None
        self._n_short = 0
        self._started_at = 0.0
        self._next_at = 0.0

    def keep(self) -> float:
        """Start the process if it does not run; the seconds until it should be checked again."""
        now = time.monotonic()
        if self.process is not None and (status := self.process.poll()) is not None:
            processes.release(self.process)
            self.process, self.status = None, status
            short = status not in _ENDED_FROM_OUTSIDE and now - self._started_at < _STABLE_S
            self._n_short = self._n_short + 1 if short else 0
            self.failures = self.failures + (status != _KILLED) if short else 0
            pause = min(0.1 * 2**self._n_short, _LONGEST_PAUSE_S) if self._n_short > 1 else 0.0
            self._next_at = now + pause
        if self.process is None:
            if now < self._next_at:
                return self._next_at - now
            self._started_at = now
            self.process = self._start()
        return 60.0

    def signal(self, number: int) -> None:
        """Send a signal, if it runs."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)


class ApiProcesses:
    """`n_processes` of the API that accept from `listener`.

    env : gives their environment. instance : the name that all of them answer with.
    """

    def __init__(
        self, n_processes: int, listener: socket.socket, env: Callable[[], Mapping[str, str]]
    ) -> None:
        self._listener = listener
        self._env = env
        self.instance = os.environ.get(INSTANCE) or secrets.token_hex(8)
        self._metrics = MetricsFolder() if n_processes > 1 else None
        fd = listener.fileno()
        self._prefork = Prefork(
            "app.http.prefork",
            ("--listener", str(fd)),
            lambda: template.without_secrets(self._environment()),
            [fd],
        )
        self._kept_prefork = KeptProcess(self._prefork.start)
        self.kept = [KeptProcess(self._start) for _ in range(n_processes)]

    def load(self) -> None:
        """Start what they are forked from; `keep` starts the rest."""
        if self._prefork.usable:
            self._kept_prefork.keep()

    def keep(self, *, one: bool = False) -> float:
        """Start what does not run; the seconds until it should be checked again.

        one : only one of them, which has the machine to itself.
        """
        pauses = [self._kept_prefork.keep()] if self._prefork.usable else []
        for process in self.kept[: 1 if one else None]:
            if process.process is None and self._prefork.soon:
                pauses.append(_AWAITED_S)
            else:
                pauses.append(process.keep())
        return min(pauses)

    @property
    def running(self) -> list[processes.Process | None]:
        """All of them, and what they are forked from."""
        return [kept.process for kept in (self._kept_prefork, *self.kept)]

    @property
    def failures(self) -> int:
        """How often in a row one of them has ended by itself soon after its start."""
        return max(process.failures for process in self.kept)

    def stop(self, grace_s: float) -> None:
        """Let all of them finish what is under way, for so long together; kill those that do not.

        The listener is closed first: what waits there is answered by them, or by nobody.
        """
        if self._kept_prefork.process is not None:
            processes.stop(self._kept_prefork.process, API_GRACE_S)
        self._listener.close()
        for process in self.kept:
            process.signal(signal.SIGTERM)
        until = time.monotonic() + grace_s
        for process in self.kept:
            if process.process is not None:
                processes.stop(process.process, max(0.1, until - time.monotonic()))
        if self._metrics is not None:
            self._metrics.remove()

    def _start(self) -> processes.Process:
        if self._metrics is not None:
            self._metrics.make()
        fd = self._listener.fileno()
        env, arguments = self._environment(), ("api", "--fd", str(fd))
        forked = self._prefork.fork(arguments, env)
        if forked is not None:
            return forked
        return processes.spawn(floors.command("app.cli", *arguments), env=env, pass_fds=[fd])

    def _environment(self) -> dict[str, str]:
        env = dict(self._env())
        env[INSTANCE] = self.instance
        env.pop(METRICS_DIR, None)
        if self._metrics is not None:
            env[METRICS_DIR] = str(self._metrics.path)
        return env


class WorkerProcesses:
    """`n_processes` workers, also those that take the place of dead ones: forks of a process that
    has loaded what they need. They start from nothing where it is not there, and the first one also
    where that process compiles at first.

    options : of `workers.main`. threads : that one job may use. env : gives their environment.
    """

    def __init__(
        self,
        n_processes: int,
        options: Sequence[str],
        threads: int,
        env: Callable[[], Mapping[str, str]],
    ) -> None:
        self._options = tuple(options)
        self._env = env
        self._prefork = Prefork(
            "workers.prefork.process",
            ("--threads", str(threads)),
            lambda: template.without_secrets(os.environ),
        )
        self._kept_prefork = KeptProcess(self._prefork.start)
        self.kept = [KeptProcess(self._start) for _ in range(n_processes)]
        self._rest_at: float | None = None

    def load(self) -> None:
        """Start what they are forked from; `keep` starts the rest."""
        if self._prefork.usable:
            self._kept_prefork.keep()

    def keep(self, *, one: bool = False) -> float:
        """Start what does not run; the seconds until it should be checked again.

        one : only one worker, and of what it is forked from the part that it needs: they have the
        machine to themselves.
        """
        pauses = [self._kept_prefork.keep()] if self._prefork.usable else []
        if not one:
            pauses.append(self._keep_complete())
        for number, worker in enumerate(self.kept[: 1 if one else None]):
            waits = worker.process is None and self._awaited(number)
            pauses.append(_LOADING_S if waits else worker.keep())
        return min(pauses)

    def _keep_complete(self) -> float:
        """Let the rest be loaded when it is due; the seconds until then."""
        now = time.monotonic()
        if self._rest_at is None:
            self._rest_at = now + (_SPARE_S if len(self.kept) == 1 else 0.0)
        if now < self._rest_at:
            return self._rest_at - now
        self._prefork.load_rest()
        return _SPARE_S

    def _awaited(self, number: int) -> bool:
        """Whether a worker that does not run is forked soon: one that has run before as soon as
        possible, one of several at the start from a process that has loaded everything."""
        fresh = self.kept[number].status is None
        if number == 0:
            return fresh and self._prefork.soon
        return self._prefork.loading or (fresh and self._prefork.completing)

    def reap(self, others: Iterable[processes.Process | None]) -> None:
        """Take the exit status of orphans. others : the processes of this one that are no
        workers."""
        own = [*others, *(kept.process for kept in (self._kept_prefork, *self.kept))]
        reap({process.pid for process in own if process is not None and process.poll() is None})

    def kill(self) -> None:
        for process in self.kept:
            process.signal(signal.SIGKILL)

    def begin_to_stop(self) -> None:
        """Let the workers finish their jobs or give them back."""
        for process in (self._kept_prefork, *self.kept):
            process.signal(signal.SIGTERM)

    def stop(self, grace_s: float) -> None:
        """Kill those that have not ended after so long."""
        until = time.monotonic() + grace_s
        for process in (self._kept_prefork, *self.kept):
            if process.process is not None:
                processes.stop(process.process, max(0.1, until - time.monotonic()))

    def _start(self) -> processes.Process:
        env = self._env()
        forked = self._prefork.fork(self._options, env)
        return forked or processes.spawn(floors.command("workers.main", *self._options), env=env)


class Wakeup:
    """Waits that signals end: install handlers first, then `wait`. Main thread only."""

    def __init__(self) -> None:
        self._out, self._in = os.pipe()
        os.set_blocking(self._out, False)
        os.set_blocking(self._in, False)

    def on_signals(self, numbers: Sequence[int], handler: Callable[..., object]) -> None:
        """Call `handler` for these signals; a child that ends only wakes."""
        for number in numbers:
            signal.signal(number, handler)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._in, warn_on_full_buffer=False)

    def wake(self) -> None:
        with suppress(BlockingIOError):
            os.write(self._in, b".")

    def wait(self, timeout_s: float) -> None:
        """Wait for a signal or `wake`, `timeout_s` at most."""
        select.select([self._out], [], [], timeout_s)
        self.drain()

    def drain(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._out, 4096)


def keep_api(n_processes: int, listener: socket.socket, shutdown_s: float) -> int:
    """Run the API in `n_processes` until Ctrl-C or SIGTERM; the exit status. Main thread only."""
    stops = 0
    wakeup = Wakeup()
    apis = ApiProcesses(n_processes, listener, lambda: os.environ)

    def on_stop(*_: object) -> None:
        nonlocal stops
        stops += 1
        if stops > 1:
            for process in apis.kept:
                process.signal(signal.SIGKILL)

    wakeup.on_signals((signal.SIGINT, signal.SIGTERM), on_stop)
    try:
        while not stops and apis.failures < 3:
            pause = apis.keep()
            reap({one.pid for one in apis.running if one is not None and one.poll() is None})
            wakeup.wait(pause)
    finally:
        apis.stop(shutdown_s + API_GRACE_S)
    return 0 if stops else 1


def keep_workers(n_processes: int, options: Sequence[str], threads: int, drain_s: float) -> int:
    """Run so many workers until Ctrl-C or SIGTERM; the exit status. Main thread only.

    options, threads : as for `WorkerProcesses`. It ends where a worker finds its settings wrong.
    """
    stops = 0
    wakeup = Wakeup()
    workers = WorkerProcesses(n_processes, options, threads, lambda: os.environ)

    def on_stop(*_: object) -> None:
        nonlocal stops
        stops += 1
        if stops > 1:
            workers.kill()

    wakeup.on_signals((signal.SIGINT, signal.SIGTERM), on_stop)
    try:
        while not stops and not any(process.status == 2 for process in workers.kept):
            pause = workers.keep()
            workers.reap([])
            wakeup.wait(pause)
    finally:
        workers.begin_to_stop()
        workers.stop(drain_s + WORKER_GRACE_S)
    return 0 if stops else 1


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises OSError."""
    listener = unbound(host)
    try:
        listen_at(listener, host, port)
    except OSError:
        listener.close()
        raise
    return listener


def unbound(host: str) -> socket.socket:
    """A socket for `listen_at`: processes that inherit it before can accept from it afterwards."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return listener


def listen_at(listener: socket.socket, host: str, port: int) -> None:
    """Raises OSError."""
    listener.bind((host, port))
    listener.listen(2048)

"""Processes that are kept running: the API, in one process or several, and workers.

Several processes of the API accept from one listening socket, which is held by the process that
keeps them: whichever is free takes the next connection, and one that is restarted misses none.
"""

from __future__ import annotations

import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from umbel import floors
from workers import processes

METRICS_DIR = "PROMETHEUS_MULTIPROC_DIR"
"""The variable with the folder through which processes of the API add up their metrics."""

INSTANCE = "UMBEL_INSTANCE"
"""The variable with the name by which `/readyz` says which service answers."""

API_GRACE_S = 3.0
"""How much longer than `shutdown_s` the API may take to end."""

_STABLE_S = 5.0
"""A process that lived this long did not fail at its start: it is restarted immediately."""

_LONGEST_PAUSE_S = 2.0

_ENDED_FROM_OUTSIDE = (0, -signal.SIGTERM)
"""Exit statuses of a process that somebody ended, to have it started anew."""


class KeptProcess:
    """A process that is restarted when it ends, with growing pauses if it fails immediately."""

    def __init__(self, start: Callable[[], processes.Process]) -> None:
        self._start = start
        self.process: processes.Process | None = None
        self.failures = 0
        self._started_at = 0.0
        self._next_at = 0.0

    def keep(self) -> float:
        """Start the process if it does not run; the seconds until it should be checked again."""
        now = time.monotonic()
        if self.process is not None and (status := self.process.poll()) is not None:
            processes.release(self.process)
            self.process = None
            failed = status not in _ENDED_FROM_OUTSIDE and now - self._started_at < _STABLE_S
            self.failures = self.failures + 1 if failed else 0
            pause = min(0.1 * 2**self.failures, _LONGEST_PAUSE_S) if self.failures > 1 else 0.0
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
        self._metrics = tempfile.mkdtemp(prefix="umbel-metrics-") if n_processes > 1 else None
        self.kept = [KeptProcess(self._start) for _ in range(n_processes)]

    @property
    def failures(self) -> int:
        """How often in a row one of them has ended soon after its start."""
        return max(process.failures for process in self.kept)

    def stop(self, grace_s: float) -> None:
        """Let all of them finish what is under way, for so long together; kill those that do not.

        The listener is closed first: what waits there is answered by them, or by nobody.
        """
        self._listener.close()
        for process in self.kept:
            process.signal(signal.SIGTERM)
        until = time.monotonic() + grace_s
        for process in self.kept:
            if process.process is not None:
                processes.stop(process.process, max(0.1, until - time.monotonic()))
        if self._metrics is not None:
            shutil.rmtree(self._metrics, ignore_errors=True)

    def _start(self) -> subprocess.Popen[bytes]:
        fd = self._listener.fileno()
        env = dict(self._env())
        env[INSTANCE] = self.instance
        env.pop(METRICS_DIR, None)
        if self._metrics is not None:
            env[METRICS_DIR] = self._metrics
        command = floors.command("app.cli", "api", "--fd", str(fd))
        return processes.spawn(command, env=env, pass_fds=[fd])


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
            wakeup.wait(min(process.keep() for process in apis.kept))
    finally:
        apis.stop(shutdown_s + API_GRACE_S)
    return 0 if stops else 1


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except OSError:
        listener.close()
        raise
    return listener

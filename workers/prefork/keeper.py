"""Processes forked from one that has loaded what they need, for the process that keeps them.

One that dies is so replaced in a fraction of a second of computing; from nothing it takes seconds.
Linux only: elsewhere, and while the process loads or is gone, there is none.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence

from umbel import floors
from workers import processes
from workers.prefork.process import COMPLETE, FORK, LATE, READY, REST

_ANSWER_S = 10.0
"""How long a fork may take; a process that has loaded all and takes longer is replaced."""

_SOON_S = 60.0
"""A process that is not ready after so long is waited for by neither the first worker nor the API:
importing takes three to five seconds of computing."""

_TRIES = 3
_POLL_S = 0.02


class Adopted:
    """A process that this one has adopted, as `subprocess.Popen` shows a child."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit status; None while it runs."""
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                self.returncode = -signal.SIGKILL
            else:
                self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Raises subprocess.TimeoutExpired."""
        until = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if until is not None and time.monotonic() >= until:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
            time.sleep(_POLL_S)
        return status

    def send_signal(self, number: int) -> None:
        # Until its status is taken no other process has its id.
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Prefork:
    """The process that others are forked from. Not shared between threads.

    module : its `main` gets the options, and `--fd` with the descriptor of its socket.
    environment : gives its variables. descriptors : that it and its forks inherit.
    """

    def __init__(
        self,
        module: str,
        options: Sequence[str],
        environment: Callable[[], Mapping[str, str]],
        descriptors: Sequence[int] = (),
    ) -> None:
        self._module, self._options = module, tuple(options)
        self._environment, self._descriptors = environment, tuple(descriptors)
        self._link: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._news = b""
        self._started_at = 0.0
        self._rest_requested = False
        self._n_starts = 0
        self._adopts = processes.adopt_orphans()

    @property
    def usable(self) -> bool:
        """Whether it may be started: not where it has failed to load several times."""
        return self._adopts and self._n_starts < _TRIES

    @property
    def loading(self) -> bool:
        """Whether it will be ready."""
        return not self.ready and self._lives

    @property
    def soon(self) -> bool:
        """Whether it will be ready soon: it neither compiles nor hangs."""
        late = LATE in self._received() or time.monotonic() - self._started_at > _SOON_S
        return self.loading and not late

    @property
    def completing(self) -> bool:
        """Whether it can fork and still loads the rest."""
        return self.ready and COMPLETE not in self._news

    def load_rest(self) -> None:
        """Let it load what no first job needs, from which later forks profit."""
        if self._lives and not self._rest_requested and self._link is not None:
            self._rest_requested = True
            with contextlib.suppress(OSError):
                self._link.sendall(REST)

    def start(self) -> subprocess.Popen[bytes]:
        """Start it. Call from a thread that lives as long as the process."""
        if self._link is not None:
            self._link.close()
        self._link, theirs = socket.socketpair()
        with theirs:
            fd = theirs.fileno()
            self._process = processes.spawn(
                floors.command(self._module, "--fd", str(fd), *self._options),
                env=self._environment(),
                pass_fds=[fd, *self._descriptors],
            )
        self._news, self._rest_requested = b"", False
        self._started_at = time.monotonic()
        self._n_starts += 1
        return self._process

    @property
    def ready(self) -> bool:
        """Whether it can fork now."""
        return self._lives and READY in self._received()

    @property
    def _lives(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _received(self) -> bytes:
        """What it has sent by now."""
        if self._link is not None and COMPLETE not in self._news:
            with contextlib.suppress(OSError):
                self._news += self._link.recv(3, socket.MSG_DONTWAIT)
            if (COMPLETE if self._rest_requested else READY) in self._news:
                # It may have failed, and be started again, before that only.
                self._n_starts = 0
        return self._news

    def fork(self, arguments: Sequence[str], environment: Mapping[str, str]) -> Adopted | None:
        """A fork that runs with these arguments; None if there can be none now."""
        if not self.ready or self._link is None or self._process is None:
            return None
        ours, theirs = socket.socketpair()
        order = {
            "keeper": os.getpid(),
            "arguments": list(arguments),
            "environment": dict(environment),
        }
        try:
            with ours:
                ours.settimeout(_ANSWER_S)
                with theirs:
                    socket.send_fds(self._link, [FORK], [theirs.fileno()])
                with ours.makefile("rwb") as file:
                    file.write(json.dumps(order).encode() + b"\n")
                    file.flush()
                    if not (answer := file.readline()):
                        return None
                    file.write(b"go\n")
                    file.flush()
                    return Adopted(int(answer))
        except OSError:
            if COMPLETE in self._news:
                self._process.kill()
            return None


def reap(own: Collection[int]) -> None:
    """Take the exit status of adopted processes that nobody else waits for.

    own : ids of processes whose status others take, which ran just now.
    """
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(ChildProcessError):
        while True:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is None or found.si_pid in own:
                return
            os.waitpid(found.si_pid, os.WNOHANG)

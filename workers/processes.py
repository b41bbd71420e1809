"""Processes that die with their parent, however it dies, and folders that have one owner.

On Linux the kernel kills them (PR_SET_PDEATHSIG). Elsewhere a small watcher waits at the end of a
pipe that only the parent holds open, and kills what was left behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol

_LINUX = sys.platform.startswith("linux")
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_prctl: Callable[..., int] | None = ctypes.CDLL(None).prctl if _LINUX else None

_WATCHER = """
import os, signal, sys
if not sys.stdin.buffer.read(1):
    try:
        os.kill(int(sys.argv[1]), signal.SIGKILL)
    except ProcessLookupError:
        pass
"""
_watchers: dict[int, tuple[subprocess.Popen[bytes], IO[bytes]]] = {}


def die_with_parent(parent: int) -> None:
    """Asks the kernel to kill this process when the thread that forked it ends; Linux only.

    `parent` is the process that forked it: if it is gone already, this process ends here.
    """
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != parent:
            os._exit(1)


def adopt_orphans() -> bool:
    """Let processes below this one whose parent has died become its children; whether it can,
    which is so on Linux."""
    return _prctl is not None and _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def die_with_pipe(wait: Callable[[], object]) -> None:
    """End this process as soon as `wait`, called in a thread, returns or raises.

    `wait` blocks until the other end of a pipe is gone. Works on every platform, but not while the
    process computes in C with the interpreter's lock held.
    """

    def watch() -> None:
        with contextlib.suppress(Exception):
            wait()
        os._exit(1)

    threading.Thread(target=watch, name="lifeline", daemon=True).start()


def spawn(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
    stdin: int | IO[Any] | None = subprocess.DEVNULL,
    stdout: int | IO[Any] | None = None,
    stderr: int | IO[Any] | None = None,
    by_kernel: bool = _LINUX,
) -> subprocess.Popen[bytes]:
    """Start `command` in its own session, leashed to this process.

    On Linux the leash is tied to the calling thread: call it from one that lives as long as the
    process. End it with `stop` or, when it has ended by itself, `release`.
    """
    parent = os.getpid()
    process = subprocess.Popen(
        list(command),
        env=None if env is None else dict(env),
        pass_fds=tuple(pass_fds),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        preexec_fn=(lambda: die_with_parent(parent)) if by_kernel else None,
    )
    if not by_kernel:
        _watch(process.pid)
    return process


def _watch(pid: int) -> None:
    watcher = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _WATCHER, str(pid)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    assert watcher.stdin is not None
    _watchers[pid] = (watcher, watcher.stdin)


def release(process: Process) -> None:
    """Release the leash of a process that has ended."""
    watcher, pipe = _watchers.pop(process.pid, (None, None))
    if watcher is not None and pipe is not None:
        with contextlib.suppress(BrokenPipeError):
            pipe.write(b".")
            pipe.close()
        watcher.wait()


def stop(process: Process, grace_s: float) -> int:
    """Asks the process to end and kills it after `grace_s` seconds; returns its exit status."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(grace_s)
        except subprocess.TimeoutExpired:
            process.kill()
    status = process.wait()
    release(process)
    return status


class Process(Protocol):
    """What is used of `subprocess.Popen`, and of a process that was adopted."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def send_signal(self, number: int, /) -> None: ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...


class FolderInUse(Exception):
    """Another process owns the folder: `pid`, None if it has not written that yet."""

    def __init__(self, folder: Path, pid: int | None) -> None:
        super().__init__(f"{folder} is in use by process {pid}")
        self.folder = folder
        self.pid = pid


class FolderLock:
    """The right of one process to use a folder; the kernel releases it when the process ends.

    Raises FolderInUse where another process holds it.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / "lock").open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.seek(0)
            text = self._file.read().strip()
            self._file.close()
            raise FolderInUse(folder, int(text) if text.isdigit() else None) from None
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

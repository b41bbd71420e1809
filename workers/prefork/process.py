"""The process that workers are forked from (Linux): it has loaded what they and their jobs need.

It holds no credentials: a fork gets its environment from its keeper, after it has forked the
template of its children. Its forks belong to the keeper, so they outlive it. What is here of forks
in general is also used by `app.http.prefork`.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from workers.child import template
from workers.child.confinement import close_memory
from workers.processes import die_with_parent

LATE = b"l"
"""What it sends before it compiles what a first job needs: that takes a minute."""

READY = b"r"
"""What it sends when it can fork."""

COMPLETE = b"c"
"""What it sends when it has loaded everything, and so answers at once."""

REST = b"g"
"""The request to load the rest, which the start of the service does not need."""

FORK = b"f"
"""The request for a fork; with it goes the socket over which the fork gets its order."""

_WORKERS_NEED = (
    "workers.main",
    "workers.worker",
    "workers.stores.objects.address",
    "workers.stores.objects.format",
    "workers.stores.redis.durability",
)

_ADOPTED_S = 10.0
"""How long a fork waits until it belongs to its keeper."""

_WORKER = "import umbel.floors; from workers.main import main; main()"
_TEMPLATE = "from multiprocessing.forkserver import main"
"""What a list of processes shows of a fork: the same as where each is started by itself."""


def main(argv: Sequence[str] | None = None) -> None:
    """Load, then fork on request until the keeper is gone.

    The first forks come when what they need at first is loaded, the rest is loaded on request, in
    steps between which further requests are answered.
    """
    close_memory()
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    arguments = parser.parse_args(argv)
    template.bound_threads(arguments.threads)
    keeper = socket.socket(fileno=arguments.fd)
    keeper.set_inheritable(False)
    # They must find the variables that bound their threads.
    from workers.child import loading

    loading.hide()
    gc.disable()
    for name in _WORKERS_NEED:
        import_module(name)
    gc.freeze()
    gc.enable()
    loading.first(tell=lambda: keeper.sendall(LATE))
    require_one_thread()
    steps = loading.rest()
    keeper.sendall(READY)
    requested = complete = False
    while True:
        if requested and not complete and not select.select([keeper], [], [], 0.0)[0]:
            if complete := next(steps, "end") == "end":
                keeper.sendall(COMPLETE)
            require_one_thread()
            continue
        request, descriptors, _, _ = socket.recv_fds(keeper, len(FORK), 1)
        if not request:
            return
        requested = requested or request == REST
        for descriptor in descriptors:
            fork(keeper, descriptor, partial(_work, arguments.threads, complete=complete))
            os.close(descriptor)


def require_one_thread() -> None:
    """A fork copies only the forking thread."""
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("a module has started a thread")


def fork(keeper: socket.socket, descriptor: int, work: Callable[[socket.socket], NoReturn]) -> None:
    """Fork a process that is nobody's child, so that its keeper adopts it; it calls `work` with the
    socket of its order.

    Where the system has no room for one, the keeper gets no answer.
    """
    try:
        between = os.fork()
    except OSError:
        return
    if between:
        os.waitpid(between, 0)
        return
    try:
        if os.fork():
            os._exit(0)
    except OSError:
        os._exit(1)
    try:
        keeper.close()
        work(socket.socket(fileno=descriptor))
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 1)
    except BaseException:
        import traceback

        traceback.print_exc()
    os._exit(1)


def _work(threads: int, orders: socket.socket, *, complete: bool) -> NoReturn:
    """Become a worker."""
    from workers.child import loading

    os.setsid()
    entitle(_WORKER)
    with template.started_by(_fork_template):
        # Before this process knows anything that no job may know.
        template.begin(threads, later=not complete)
    loading.show()
    arguments, environment = ordered(orders)
    os.environ.update(environment)
    from workers.main import main

    main(arguments)
    os._exit(0)


def ordered(orders: socket.socket) -> tuple[list[str], dict[str, str]]:
    """The arguments and the environment that the keeper wants, once this process belongs to it: see
    `workers.prefork.keeper.Prefork.fork` for the other end."""
    with orders, orders.makefile("rb") as file:
        order = json.loads(file.readline() or b"null")
        if order is not None:
            _await_parent(order["keeper"])
            die_with_parent(order["keeper"])
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                orders.sendall(b"%d\n" % os.getpid())
                if file.readline():
                    return order["arguments"], order["environment"]
    # The keeper does not wait for it any more, or has gone.
    os._exit(1)


def _await_parent(keeper: int) -> None:
    until = time.monotonic() + _ADOPTED_S
    while os.getppid() != keeper and time.monotonic() < until:
        time.sleep(0.001)


def _fork_template(arguments: Sequence[str], descriptors: Sequence[int]) -> int:
    """Run the Python code of the arguments in a fork; its process id.

    descriptors : that it keeps, beside the standard ones.
    """
    if (pid := os.fork()) != 0:
        return pid
    try:
        from multiprocessing import forkserver

        kept = {0, 1, 2, *descriptors}
        for name in os.listdir("/proc/self/fd"):
            if int(name) not in kept:
                with contextlib.suppress(OSError):
                    os.close(int(name))
        # It is held in the process that starts a template.
        forkserver._forkserver._lock = threading.Lock()  # type: ignore[attr-defined]
        entitle(_TEMPLATE)
        exec(arguments[-1], {"__name__": "__main__"})  # noqa: S102
    except SystemExit:
        os._exit(0)
    except BaseException:
        import traceback

        traceback.print_exc()
    os._exit(1)


def entitle(code: str, *arguments: str) -> None:
    """Let lists of processes show that this one runs the code, not what it was started by."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    python = Path("/proc/self/cmdline").read_bytes().split(b"\0")[0]
    text = b"\0".join([python, b"-P", b"-c", code.encode(), *map(str.encode, arguments)])
    size = end - start
    if start and size > 1:
        ctypes.memmove(start, text[: size - 1].ljust(size, b"\0"), size)

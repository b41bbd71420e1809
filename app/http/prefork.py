"""The process that processes of the API are forked from (Linux): it has imported what they need.

It serves nothing and runs one thread. It holds no credentials: a fork gets its environment from
its keeper, to which it belongs, so it outlives this process.
"""

from __future__ import annotations

import argparse
import gc
import os
import socket
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import NoReturn

from app.http.heap import return_what_is_freed
from workers.child import template
from workers.child.confinement import close_memory
from workers.prefork.process import (
    COMPLETE,
    FORK,
    READY,
    entitle,
    fork,
    ordered,
    require_one_thread,
)

_API = "import umbel.floors; from app.cli import main; main()"
_NEEDED = ("app.cli", "app.http.server", "app.main")


def main(argv: Sequence[str] | None = None) -> None:
    """Import, then fork on request until the keeper is gone."""
    close_memory()
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--listener", type=int, required=True)
    arguments = parser.parse_args(argv)
    keeper = socket.socket(fileno=arguments.fd)
    keeper.set_inheritable(False)
    return_what_is_freed()
    # Libraries that make threads when they are loaded make none.
    template.bound_threads(1)
    gc.disable()
    for name in _NEEDED:
        import_module(name)
    gc.freeze()
    gc.enable()
    require_one_thread()
    keeper.sendall(READY + COMPLETE)
    while True:
        request, descriptors, _, _ = socket.recv_fds(keeper, len(FORK), 1)
        if not request:
            return
        for descriptor in descriptors:
            fork(keeper, descriptor, partial(_serve, arguments.listener))
            os.close(descriptor)


def _serve(listener: int, orders: socket.socket) -> NoReturn:
    """Become a process of the API."""
    os.setsid()
    entitle(_API, "api", "--fd", str(listener))
    arguments, environment = ordered(orders)
    os.environ.clear()
    os.environ.update(environment)
    import_module("app.cli").main(arguments)
    os._exit(0)

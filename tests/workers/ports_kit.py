"""Ports of this machine for servers that cannot choose one by themselves; who serves there."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

import psutil

_RANGE = range(15_000, 30_000)
"""Below those that systems give to connections: one of these may be taken again before the server
has started."""


def free_ports(count: int) -> list[int]:
    """Ports that are free now. Drawn at random, so that two processes hardly draw the same."""
    free: list[int] = []
    for port in random.SystemRandom().sample(_RANGE, len(_RANGE)):
        if len(free) == count:
            break
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            free.append(port)
    return free


def serving(keeper: psutil.Process) -> list[psutil.Process]:
    """The processes that serve the API, of the one that keeps them."""
    found = []
    for process in keeper.children():
        with suppress(psutil.Error):
            if "app.cli" in " ".join(process.cmdline()):
                found.append(process)
    return found

"""The process that workers are forked from."""

from __future__ import annotations

import json
import os
import socket
import sys

import pytest

from umbel import floors
from workers.prefork import process
from workers.prefork.keeper import Prefork

FAILS = """
import socket, sys
with socket.socket(fileno=int(sys.argv[2])) as keeper:
    keeper.sendall(b"r")
    keeper.recv(1)
"""
"""Can fork, and ends once the rest is to be loaded."""


@pytest.mark.parametrize("n_forks", [0, 1])
def test_a_process_that_can_fork_no_more_lives_on(
    n_forks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither it nor the process in between, which is a copy of it, goes any further."""
    fork, own, left = os.fork, os.getpid(), [None] * n_forks

    def full() -> int:
        if not left:
            raise BlockingIOError
        left.pop()
        return fork()

    monkeypatch.setattr(os, "fork", full)
    keeper, orders = socket.socketpair()
    with keeper, orders:
        try:
            process.fork(keeper, orders.fileno(), lambda orders: os._exit(0))
        finally:
            if os.getpid() != own:
                orders.send(b"x")
                os._exit(0)
        orders.close()
        assert keeper.recv(1) == b""


def test_a_process_that_fails_to_load_the_rest_is_not_started_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise the second worker would wait for it for ever."""
    monkeypatch.setattr(floors, "command", lambda *words: [sys.executable, "-c", FAILS, *words[1:]])
    prefork = Prefork("fails", (), lambda: os.environ)
    n_starts = 0
    while prefork.usable and n_starts < 10:
        started = prefork.start()
        n_starts += 1
        prefork.load_rest()
        while not prefork.ready and prefork.loading:
            pass
        started.wait(60.0)
    assert n_starts == 3
    assert not prefork.loading
    assert not prefork.completing


@pytest.mark.parametrize("order", [None, {"keeper": os.getpid(), "arguments": []}])
def test_a_fork_ends_quietly_where_its_keeper_does_not_wait(
    order: dict[str, object] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_await_parent", lambda _: None)
    monkeypatch.setattr(process, "die_with_parent", lambda _: None)
    keeper, orders = socket.socketpair()
    if order is not None:
        keeper.sendall(json.dumps(order).encode() + b"\n")
    keeper.close()
    if (forked := os.fork()) == 0:
        try:
            process.ordered(orders)
        except BaseException:
            os._exit(3)
    orders.close()
    assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == 1

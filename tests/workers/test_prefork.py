"""The process that workers are forked from."""

from __future__ import annotations

import os
import socket

import pytest

from workers.prefork import process


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

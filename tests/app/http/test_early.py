"""What `umbel serve` starts first ends with it, whatever its checks find."""

from __future__ import annotations

import socket
from contextlib import closing

import psutil
import pytest

from app.http.early import Early
from app.http.processes import listen_at, unbound
from workers.prefork.keeper import Prefork


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> Early:
    monkeypatch.setattr("app.http.early.confinement.close_memory", lambda: None)
    monkeypatch.setattr("app.http.early.privacy.begin", lambda: None)
    return Early(unbound("127.0.0.1"), 1, 2)


def test_what_was_started_ends_where_the_service_does_not_start(early: Early) -> None:
    with closing(early):
        early.load_workers(1)
        started = [
            child for child in psutil.Process().children() if "prefork" in str(child.cmdline())
        ]
        if Prefork("", (), dict).usable:
            assert len(started) == 2
    assert not any(child.is_running() for child in started)
    assert early.listener.fileno() == -1


def test_a_socket_that_was_inherited_listens_later(early: Early) -> None:
    with closing(early):
        with pytest.raises(OSError):
            early.listener.accept()
        listen_at(early.listener, "127.0.0.1", 0)
        with socket.create_connection(early.listener.getsockname()):
            pass


def test_workers_wait_for_the_folder_of_compiled_code_where_it_must_be_made(
    early: Early, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they are forked from reads where that is when it starts."""
    monkeypatch.setattr("app.http.early.keeps_as_usual", lambda _: False)
    with closing(early):
        assert early.load_workers(1)._kept_prefork.process is None

"""The end of a server, and the descriptors of its process."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.http import server as server_module
from tests.app.conftest import new_job
from tests.app.http.server_kit import (
    Running,
    answer_of,
    get,
    serving,
    skip_response,
    status_of,
)
from tests.workers.waiting_kit import until
from workers.embedded import EmbeddedServer


@pytest.fixture
def running(
    valkey: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Running]:
    """A server that is patient with idle connections when it ends."""
    monkeypatch.setattr(server_module, "IDLE_S", 300.0)
    with serving(valkey, tmp_path, shutdown_s=60.0, keep_alive_s=300.0) as running:
        yield running


def n_responding(running: Running) -> int:
    """How many requests are being read or answered."""
    return sum(connection._responding for connection in list(running.server._connections))


def begin_end(running: Running) -> None:
    running.stop()
    deadline = time.monotonic() + 30
    while not running.server.state.draining:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_kept_connections_are_answered_once_more(running: Running) -> None:
    with running.connect(get("/livez")) as kept, running.connect() as fresh:
        assert b"connection: close" not in skip_response(kept)
        begin_end(running)
        for connection in (kept, fresh):
            connection.sendall(get("/livez"))
            answer = answer_of(connection)
            assert status_of(answer) == 200
            assert b"connection: close" in answer
    running.thread.join(30)
    assert not running.thread.is_alive()


def test_no_connection_is_accepted_any_more(running: Running) -> None:
    with running.connect(get("/livez")) as kept:
        skip_response(kept)
        begin_end(running)
        deadline = time.monotonic() + 30
        while accepts(running):
            assert time.monotonic() < deadline


def accepts(running: Running) -> bool:
    try:
        running.connect().close()
    except ConnectionError:
        return False
    return True


def test_a_request_under_way_is_finished(running: Running) -> None:
    head = (
        b"POST /v1/datasets HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/csv\r\n"
        b"Content-Length: 8\r\n\r\n"
    )
    with running.connect(head, b"1,2\n") as connection:
        begin_end(running)
        connection.sendall(b"3,4\n")
        answer = answer_of(connection)
    assert status_of(answer) == 201
    assert b"connection: close" in answer


def test_requests_that_only_wait_are_answered_at_once(running: Running) -> None:
    url = f"http://127.0.0.1:{running.port}"
    job_id = httpx.post(f"{url}/v1/jobs", json=new_job()).json()["id"]
    body = httpx.Request("POST", url, json=new_job()).content
    head = (
        "POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Prefer: wait=60\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with (
        running.connect(head.encode(), body) as waiting,
        running.connect(get(f"/v1/jobs/{job_id}/events")) as following,
    ):
        stream = b""
        while b"event: progress" not in stream:
            stream += following.recv(1 << 16)
        until(lambda: n_responding(running) == 2)
        running.stop()
        assert status_of(answer_of(waiting)) == 202
        # Up to the last chunk: the stream is whole, and its client may go on elsewhere.
        while not stream.endswith(b"\r\n0\r\n\r\n"):
            piece = following.recv(1 << 16)
            assert piece, stream
            stream += piece
    assert b"event: done" not in stream


def test_the_end_does_not_wait_for_ever(valkey: EmbeddedServer, tmp_path: Path) -> None:
    head = (
        b"POST /v1/datasets HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/csv\r\n"
        b"Content-Length: 8\r\n\r\n"
    )
    with (
        serving(valkey, tmp_path, shutdown_s=0.2) as running,
        running.connect(head, b"1,2\n") as connection,
    ):
        until(lambda: n_responding(running) == 1)
        running.stop()
        running.thread.join(60)
        assert not running.thread.is_alive()
        assert status_of(answer_of(connection)) == 503


def test_the_limit_of_descriptors_is_raised_and_bounds_connections() -> None:
    """With 1024 descriptors, of which 128 are reserved, and two for each connection."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (300, 1024))\n"
        "from app.http.server import connections_allowed\n"
        "print(connections_allowed(4096), connections_allowed(100), "
        "resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.split() == ["448", "100", "1024"], result.stderr
    assert "at most 448 connections instead of 4096" in result.stderr

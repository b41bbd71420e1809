"""The local service: the embedded server as it keeps it (full disks, servers that end at once), and
whose answer it takes for its own."""

from __future__ import annotations

import os
import resource
import signal
import time
from itertools import pairwise
from pathlib import Path

import pytest
import redis

from app.serve import _is_of, _KeptServer
from tests.workers.waiting_kit import until
from workers import embedded
from workers.embedded import EmbeddedServer
from workers.errors import StoreFull
from workers.settings import WorkerSettings
from workers.stores.redis.client import connect, translated
from workers.stores.redis.workers import WorkerBook


class SmallDisk:
    """A limit on the size of the server's files; it stands in for a disk that is full.

    The server meets EFBIG where it would meet ENOSPC. A server started later has the limit, too.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._limit = folder / "limit"
        self._limit.write_text("unlimited")
        program = folder / "server"
        program.write_text(
            "#!/bin/sh\n"
            "trap '' XFSZ\n"
            f'ulimit -S -f "$(cat {self._limit})"\n'
            f'exec {embedded.get_binary_path()} "$@"\n'
        )
        program.chmod(0o700)
        monkeypatch.setattr(embedded, "get_binary_path", lambda: program)

    def fill(self, server: EmbeddedServer) -> None:
        """No file may grow beyond the server's log of writes, but for less than 1 KiB."""
        (log,) = (self._folder / "redis" / "appendonlydir").glob("*.incr.aof")
        n_blocks = log.stat().st_size // 512 + 1
        self._limit.write_text(str(n_blocks))
        self._set(server, n_blocks * 512)

    def empty(self, server: EmbeddedServer) -> None:
        self._limit.write_text("unlimited")
        self._set(server, resource.RLIM_INFINITY)

    def _set(self, server: EmbeddedServer, n_bytes: int) -> None:
        assert server.pid is not None
        _, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (n_bytes, hard))


def test_on_a_full_disk_reads_go_on_and_the_server_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = SmallDisk(tmp_path, monkeypatch)
    server = EmbeddedServer(tmp_path / "redis")
    kept = _KeptServer(server)
    kept.start()
    pids = {server.pid}
    try:
        client = connect(server.url)
        client.set("key", "kept" * 50_000)
        disk.fill(server)
        with pytest.raises(redis.RedisError):
            client.set("other", "x" * 2048)
        until(lambda: not server.alive())
        until(lambda: kept.keep() < 60.0 and server.alive())
        pids.add(server.pid)
        until(lambda: _refuses_writes(client))
        for _ in range(20):  # It is looked at in vain.
            kept.keep()
            assert client.get("key") == "kept" * 50_000
            assert _refuses_writes(client)
            time.sleep(0.1)
        pids.add(server.pid)
        assert len(pids) == 2
        for connection in client.connection_pool._available_connections:  # type: ignore[attr-defined]
            connection.next_health_check = 0.0
        assert client.get("other") is None
        with pytest.raises(StoreFull):
            WorkerBook(client, WorkerSettings(redis_url=server.url)).seen("w")

        disk.empty(server)
        until(lambda: kept.keep() == 60.0)
        assert client.config_get("appendfsync")["appendfsync"] == "always"
        client.set("other", "new")
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        until(lambda: not server.alive())
        assert server.ensure()
        assert not server.full  # It was killed; its disk has room.
        assert (client.get("key"), client.get("other")) == ("kept" * 50_000, "new")
    finally:
        server.stop()


def _refuses_writes(client: redis.Redis) -> bool:
    try:
        with translated():
            client.set("refused", "x" * 2048)
    except StoreFull:
        return True
    return False


def test_a_server_that_ends_at_once_is_started_less_and_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = EmbeddedServer(tmp_path / "redis")
    kept = _KeptServer(server)
    kept.start()
    redis.Redis.from_url(server.url).set("key", "kept")
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    until(lambda: not server.alive())
    (log,) = (tmp_path / "redis" / "appendonlydir").glob("*.incr.aof")
    log.write_bytes(b"*9\r\nno\r\n" + log.read_bytes())
    starts: list[float] = []
    start = server.start

    def counted() -> None:
        starts.append(time.monotonic())
        start()

    monkeypatch.setattr(server, "start", counted)
    until(lambda: kept.keep() < 0 or len(starts) == 5)
    server.stop()
    pauses = [after - before for before, after in pairwise(starts)]
    # 0 or 0.2, 0.4, 0.8, 1.6 s; each try takes a moment beside.
    assert pauses[1] > 0.4
    assert pauses[2] > 0.8
    assert pauses[3] > 1.6


@pytest.mark.parametrize(
    ("body", "own"),
    [
        (b'{"status": "ok", "instance": "a1"}', True),
        (b'{"title": "There are too many requests"}', True),
        (b'{"status": "ok", "instance": "b2"}', False),
        (b'{"away": ["workers"], "instance": "b2"}', False),
        (b'["a1"]', False),
        (b"<html>another server</html>", False),
        (b"", False),
    ],
)
def test_an_answer_of_another_service_is_not_taken_for_ours(body: bytes, own: bool) -> None:
    assert _is_of("a1", body) == own

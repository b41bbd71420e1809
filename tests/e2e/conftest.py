"""The whole service, started as by a user, on its own data directory."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import psutil
import pytest

if TYPE_CHECKING:
    from tests.e2e.topology_kit import Topology

MARK = "TESTED_UMBEL"
PATIENCE_S = 240.0
"""How long a test waits for what must happen: on a busy machine that takes many times as long as on
a quiet one, a start its five seconds among it."""
SHORT = {
    "UMBEL_LEASE_S": "6",
    "UMBEL_HEARTBEAT_S": "0.5",
    "UMBEL_RESEND_S": "1",
    "UMBEL_SWEEP_S": "0.3",
    "UMBEL_THREADS": "1",
    "UMBEL_LOG_LEVEL": "warning",
}


class Service:
    """A running `umbel serve` and its processes."""

    def __init__(self, data_dir: Path, workers: int = 2, port: int = 0, **env: str) -> None:
        self.data_dir = data_dir
        self._workers = workers
        self._port = port
        self._env = {**SHORT, **env}
        self._mark = secrets.token_hex(8)
        self.start()

    def start(self) -> None:
        """Start the service and wait until it is ready."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        (self.data_dir / "url").unlink(missing_ok=True)
        began = time.monotonic()
        with (self.data_dir / "log").open("ab") as log:
            self.process = subprocess.Popen(
                command(self.data_dir, self._workers, self._port),
                env={**os.environ, **self._env, MARK: self._mark},
                stdout=log,
                stderr=log,
            )
        try:
            until((self.data_dir / "url").exists, why=self.log)
        except BaseException:
            for process in self.processes():
                process.kill()
            self.process.wait()
            raise
        self.start_s = time.monotonic() - began
        self.url = (self.data_dir / "url").read_text().strip()
        self.client = httpx.Client(base_url=self.url, timeout=PATIENCE_S)

    def log(self) -> str:
        return (self.data_dir / "log").read_text(errors="replace")[-8000:]

    def processes(self) -> list[psutil.Process]:
        """All live processes of the service, also orphaned ones."""
        alive = []
        for process in psutil.process_iter():
            try:
                mine = process.environ().get(MARK) == self._mark
                if mine and process.status() != psutil.STATUS_ZOMBIE:
                    alive.append(process)
            except psutil.Error:
                continue
        return alive

    def named(self, *parts: str) -> list[psutil.Process]:
        """Its processes whose command line has all of `parts`."""
        matching = []
        for process in self.processes():
            try:
                line = " ".join(process.cmdline())
            except psutil.Error:
                continue
            if all(part in line for part in parts):
                matching.append(process)
        return matching

    def workers(self) -> list[psutil.Process]:
        return self.named("workers.main")

    def templates(self) -> list[psutil.Process]:
        workers = {process.pid for process in self.workers()}
        return [p for p in self.named("multiprocessing.forkserver") if p.ppid() in workers]

    def children(self) -> list[psutil.Process]:
        """The processes of jobs, including spare ones."""
        templates = {process.pid for process in self.templates()}
        return [p for p in self.named("multiprocessing.forkserver") if p.ppid() in templates]

    def kill(self) -> None:
        """kill -9 of the process that the user started."""
        self.client.close()
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.client.close()
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE_S)

    def submit(self, body: dict[str, Any], **headers: str) -> str:
        answer = self.client.post("/v1/jobs", json=body, headers=headers)
        assert answer.status_code in (201, 202), answer.text
        return str(answer.json()["id"])

    def ended(self, job_id: str) -> dict[str, Any]:
        """The job once it has ended; tolerates a service that restarts meanwhile."""
        deadline = time.monotonic() + PATIENCE_S
        last = "nothing"
        while time.monotonic() < deadline:
            try:
                answer = self.client.get(f"/v1/jobs/{job_id}")
            except httpx.TransportError as error:
                last = repr(error)
            else:
                last = answer.text
                if answer.status_code == 200:
                    job: dict[str, Any] = answer.json()
                    if job["status"] in ("succeeded", "failed", "cancelled"):
                        return job
            time.sleep(0.02)
        raise AssertionError(f"{job_id} did not end in {PATIENCE_S} s: {last}\n{self.log()}")


def command(data_dir: Path, workers: int = 2, port: int = 0) -> list[str]:
    return [
        *(sys.executable, "-m", "umbel", "serve", "--port", str(port)),
        *("--workers", str(workers), "--data-dir", str(data_dir)),
    ]


def until(
    true: Callable[[], bool], within_s: float = PATIENCE_S, why: Callable[[], str] | None = None
) -> None:
    """Wait until `true()`; AssertionError with `why()` if that takes too long."""
    deadline = time.monotonic() + within_s
    pause_s = 0.02
    while not true():
        if time.monotonic() > deadline:
            raise AssertionError(
                f"the condition was not reached in {within_s} s\n{why() if why else ''}"
            )
        time.sleep(pause_s)
        # Who asks about all processes fifty times a second keeps them waiting.
        pause_s = min(0.2, 1.2 * pause_s)


@contextmanager
def running(data_dir: Path, **options: Any) -> Iterator[Service]:
    """A separate service; its remaining processes are killed at the end."""
    service = Service(data_dir, **options)
    try:
        yield service
    finally:
        if service.process.poll() is None:
            service.stop()
        for process in service.processes():
            process.kill()


@pytest.fixture(scope="module")
def topology(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Topology]:
    """The service spread over processes."""
    from tests.e2e.topology_kit import running_topology

    with running_topology(tmp_path_factory) as topology:
        yield topology

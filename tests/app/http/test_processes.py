"""Several processes of the API behind one port: restarted, counted together, ended as one. Workers,
and what they are forked from."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import httpx
import psutil
import pytest

from app.http.processes import ApiProcesses, KeptProcess, WorkerProcesses, listen
from tests.app.http.server_kit import free_port
from tests.workers.ports_kit import serving
from tests.workers.waiting_kit import until
from umbel import floors
from workers import processes
from workers.embedded import EmbeddedServer

JOB = {"method": "l2h", "inputs": {"logits": [[2.0, 0.0], [0.0, 2.0]]}}


class Apis:
    """`umbel api` with two processes, over a real Valkey and a folder."""

    def __init__(self, valkey: EmbeddedServer, folder: Path) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        env = {
            **os.environ,
            "UMBEL_REDIS_URL": valkey.url,
            "UMBEL_STORE_URL": f"file://{folder / 'store'}",
            "UMBEL_SCRATCH_DIR": str(folder / "scratch"),
            "TMPDIR": str(folder),
        }
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = processes.spawn(
                floors.command("app.cli", "api", "--port", str(port), "--api-processes", "2"),
                env=env,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def pids(self) -> set[int]:
        return {child.pid for child in serving(psutil.Process(self.process.pid))}

    def get(self, path: str) -> httpx.Response:
        """The response over a new connection, which any of the processes may accept."""
        # To load certificates, which are not needed, would take 50 ms of a core.
        return httpx.get(self.url + path, timeout=60, verify=False)

    def alive(self) -> bool:
        with suppress(httpx.TransportError):
            return self.get("/livez").status_code == 200
        return False

    def metrics(self) -> float:
        """How many requests for `/livez` have been counted."""
        lines = re.findall(r'^umbel_requests_total\{.*"/livez".*\} (\S+)', self.text(), re.M)
        return sum(map(float, lines))

    def text(self) -> str:
        return self.get("/metrics").text


@pytest.fixture
def apis(valkey: EmbeddedServer) -> Iterator[Apis]:
    with tempfile.TemporaryDirectory(prefix="umbel-") as folder:
        started = Apis(valkey, Path(folder))
        try:
            until(started.alive, 60)
            # A request is counted once it has been answered.
            until(lambda: started.metrics() == 1.0)
            yield started
        finally:
            processes.stop(started.process, 5.0)


def test_a_process_that_is_signalled_to_end_has_not_failed() -> None:
    """Rolling restarts may be quick, and so may be kills, also after a failure; a process that ends
    by itself soon after its start is not started again and again."""
    waits, exits, aborts = ["sleep", "60"], ["false"], ["sh", "-c", "kill -ABRT $$"]
    for command, number, failures in ((waits, signal.SIGTERM, 0), (waits, signal.SIGKILL, 0),
                                      (exits, None, 4), (aborts, None, 4)):  # fmt: skip
        kept = KeptProcess(partial(processes.spawn, command))
        try:
            for _ in range(4):
                until(lambda kept=kept: kept.keep() == 60.0)  # type: ignore[misc]
                assert kept.process is not None
                if number is not None:
                    kept.signal(number)
                kept.process.wait(60.0)
            assert (kept.keep() == 60.0) == (number == signal.SIGTERM), "the others wait"
            assert kept.failures == failures
        finally:
            if kept.process is not None:
                processes.stop(kept.process, 1.0)


def test_they_serve_one_port_and_end_together(apis: Apis) -> None:
    until(lambda: len(apis.pids) == 2)
    before = apis.metrics()
    for number in range(1, 21):
        assert apis.get("/livez").status_code == 200
        # Whichever answers, it knows of the requests of both.
        until(lambda number=number: apis.metrics() == before + number)  # type: ignore[misc]
    assert "umbel_redis_up 1.0" in apis.text()
    assert apis.text().count("# TYPE umbel_requests_total counter") == 1

    (killed, other) = apis.pids
    os.kill(killed, signal.SIGKILL)
    until(lambda: killed not in apis.pids and len(apis.pids) == 2)
    assert other in apis.pids
    until(apis.alive)
    # All were forked from a process without credentials, and got theirs over a socket.
    first = [psutil.Process(pid).environ() for pid in apis.pids]
    assert not any("UMBEL_REDIS_URL" in environment for environment in first)
    # What the killed one counted is not lost, for counters never fall.
    assert apis.metrics() >= before + 20

    answers: list[httpx.Response] = []

    def wait() -> None:
        headers = {"Prefer": "wait=30"}
        answers.append(httpx.post(f"{apis.url}/v1/jobs", json=JOB, headers=headers, timeout=90))

    waiting = [threading.Thread(target=wait) for _ in range(4)]
    for thread in waiting:
        thread.start()
    until(lambda: 'umbel_jobs{status="queued"} 4.0' in apis.text())
    family = psutil.Process(apis.process.pid).children(recursive=True)
    apis.process.terminate()
    assert apis.process.wait(60.0) == 0
    for thread in waiting:
        thread.join()
    assert [answer.status_code for answer in answers] == [202] * 4
    _, alive = psutil.wait_procs(family, 30.0)
    assert alive == []
    assert not apis.alive()


class Runs:
    """A process that runs."""

    pid = 0

    def poll(self) -> None:
        return None


@dataclass
class Forks:
    """What processes are forked from, in a state that a test gives."""

    usable = True
    loading: bool = True
    soon: bool = True
    completing: bool = False
    rest_requested: bool = False
    n_forks: int = 0

    def load_rest(self) -> None:
        self.rest_requested = True

    def start(self) -> Runs:
        return Runs()

    def fork(self, *_: object) -> Runs | None:
        self.n_forks += not self.loading
        return None if self.loading else Runs()


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> Forks:
    forks = Forks()
    monkeypatch.setattr("app.http.processes.Prefork", lambda *_: forks)
    monkeypatch.setattr(processes, "spawn", lambda *_, **__: Runs())
    return forks


def test_workers_wait_at_the_start_for_what_they_are_forked_from(forks: Forks) -> None:
    workers = WorkerProcesses(2, (), 1, dict)
    first, second = workers.kept
    assert workers.keep(one=True) < 1
    assert first.process is None
    forks.loading = forks.soon = False
    assert workers.keep(one=True) > 1
    assert (forks.n_forks, first.process is None, second.process) == (1, False, None)
    assert not forks.rest_requested, "the service that starts has the machine to itself"
    forks.completing = True
    assert workers.keep() < 1
    assert (forks.n_forks, forks.rest_requested) == (1, True)
    forks.completing = False
    assert workers.keep() > 1
    assert forks.n_forks == 2


def test_what_only_a_later_worker_needs_is_loaded_after_the_start(
    forks: Forks, monkeypatch: pytest.MonkeyPatch
) -> None:
    forks.loading = forks.soon = False
    now = 1000.0
    clock = SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr("app.http.processes.time", clock)
    workers = WorkerProcesses(1, (), 1, dict)
    workers.keep(one=True)
    now += 500
    assert 50 < workers.keep() <= 60
    assert (forks.n_forks, forks.rest_requested) == (1, False)
    now += 59
    assert workers.keep() <= 1
    assert not forks.rest_requested
    now += 2
    assert workers.keep() > 1
    assert forks.rest_requested


def test_the_first_worker_does_not_wait_for_what_compiles(forks: Forks) -> None:
    workers = WorkerProcesses(2, (), 1, dict)
    forks.soon = False
    workers.keep(one=True)
    assert [kept.process is None for kept in workers.kept] == [False, True]
    assert forks.n_forks == 0


def test_the_api_does_not_wait_for_what_hangs(forks: Forks) -> None:
    with listen("127.0.0.1", 0) as listener:
        apis = ApiProcesses(1, listener, dict)
        assert apis.keep() < 1
        assert apis.kept[0].process is None
        forks.soon = False
        apis.keep()
        assert apis.kept[0].process is not None
        assert forks.n_forks == 0

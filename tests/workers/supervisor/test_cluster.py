"""Members of a Dask cluster that compute pieces of a worker's jobs, and are lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.workers.supervisor.workers_kit import Workers
from tests.workers.waiting_kit import until
from umbel import engine
from workers import processes
from workers.errors import FatalError
from workers.jobs import carriers
from workers.settings import WorkerSettings

pytestmark = pytest.mark.needs("distributed")


class Cluster:
    """A scheduler, and members with the settings of a service's workers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.members: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start(
            "scheduler", "--scheduler-file", str(self.file), "--port", "0", "--no-dashboard"
        )
        until(self._listens)

    def _start(self, *arguments: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        with (self.folder / "dask-log").open("ab") as log:
            command = [sys.executable, "-m", "dask", *arguments, "--host", "127.0.0.1"]
            return processes.spawn(command, env=env, stdout=log, stderr=log)

    def _listens(self) -> bool:
        try:
            self.address = json.loads(self.file.read_text())["address"]
        except (OSError, ValueError):
            return False
        return True

    def add(self, env: dict[str, str]) -> subprocess.Popen[bytes]:
        member = self._start(
            "worker", self.address, "--nthreads", "1", "--no-dashboard", "--no-nanny", env=env
        )
        self.members.append(member)
        return member

    def computing(self) -> list[tuple[int, int]]:
        """Each member, and its process in which pieces are computed."""
        return [
            (member.pid, child.pid)
            for member in self.members
            if member.poll() is None
            for child in psutil.Process(member.pid).children()
            if "workers.supervisor.member" in _command(child)
        ]

    def close(self) -> None:
        for process in (*self.members, self.scheduler):
            processes.stop(process, 5.0)


def _command(process: psutil.Process) -> str:
    """The command of a process; "" of one that has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("d"))
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory, cluster: Cluster) -> Iterator[Workers]:
    """One worker, whose pieces the two members of the cluster compute."""
    address = cluster.address.replace("tcp://", "dask://")
    workers = Workers(tmp_path_factory.mktemp("c"), 1, engine=address)
    for _ in range(2):
        cluster.add(workers.environment())
    yield workers
    workers.close()


def helpers(workers: Workers, cluster: Cluster) -> list[int]:
    """Members whose processes have a folder for a piece now."""
    root = workers.settings.scratch_dir
    return [member for member, pid in cluster.computing() if any(root.glob(f"w-{pid}-*/job_*"))]


def first_helper(workers: Workers, cluster: Cluster) -> int:
    """A member as soon as one is at work."""
    seen: list[int] = []

    def any_is() -> bool:
        seen[:] = helpers(workers, cluster)
        return bool(seen)

    until(any_is)
    return seen[0]


def test_members_compute_pieces_and_are_lost(workers: Workers, cluster: Cluster) -> None:
    """The result is that of one worker: with two members, one killed, and the cluster gone."""
    request, _ = workers.submit(6, nap_s=30.0)
    until(lambda: len(helpers(workers, cluster)) == 2)
    workers.parts.ledger.cancel("t", request.id)
    assert workers.ended(request).status == "cancelled"
    until(lambda: not helpers(workers, cluster))
    workers.clean(request)

    assert workers.right(*workers.submit(9, nap_s=0.3), 9).attempt == 1

    request, label = workers.submit(8, nap_s=2.0)
    os.kill(first_helper(workers, cluster), signal.SIGKILL)
    assert workers.right(request, label, 8).attempt == 1

    request, label = workers.submit(7, nap_s=2.0)
    first_helper(workers, cluster)
    os.kill(cluster.scheduler.pid, signal.SIGKILL)
    assert workers.right(request, label, 7).attempt == 1
    workers.right(*workers.submit(3), 3)


def test_another_version_does_not_help() -> None:
    with pytest.raises(RuntimeError, match=r"the worker 0\.0"):
        engine.help_with("job_1", "0.0")


def test_a_cluster_without_its_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carriers, "find_spec", lambda _: None)
    settings = WorkerSettings(engine="dask://127.0.0.1:8786")
    with pytest.raises(FatalError, match=r"umbel\[dask\]"):
        carriers.carrier(settings, Unused())


class Unused:
    def invite(self, queue: str, job_id: str, most: int) -> None:
        raise AssertionError

    def waits(self, queue: str) -> bool:
        raise AssertionError

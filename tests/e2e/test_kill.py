"""kill -9 of any process: every accepted job ends, with one result, and nothing is left behind; an
API that is stopped breaks no request."""

from __future__ import annotations

import http.client
import io
import os
import signal
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psutil
import pytest

from tests.e2e.conftest import PATIENCE_S, Service, command, running, until
from tests.workers.waiting_kit import gone

TRIVIAL = {"method": "l2h", "inputs": {"logits": [[2.0, 0.0, 0.5], [0.0, 2.0, 1.5], [0.5, 1, 2]]}}

N_CLIENTS = 8


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("killed") / "data") as service:
        yield service


@pytest.fixture
def own(kept: Service) -> Service:
    """One service for all, started again after a test that ends it: such tests come last, since a
    start takes more than ten seconds of a core."""
    if kept.process.poll() is not None:
        kept.start()
    return kept


def upload(service: Service, n_points: int, n_features: int) -> str:
    points = np.random.default_rng(0).normal(size=(n_points, n_features))
    buffer = io.BytesIO()
    np.save(buffer, points)
    answer = service.client.post(
        "/v1/datasets",
        content=buffer.getvalue(),
        headers={"Content-Type": "application/x-npy"},
    )
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def hac(dataset: str) -> dict[str, Any]:
    return {"method": "hac", "inputs": {"features": dataset}, "params": {"linkage": "average"}}


def busy_child(service: Service) -> psutil.Process | None:
    """A job's process that is computing."""
    for process in service.children():
        try:
            if process.cpu_times().user > 0.12:
                return process
        except psutil.Error:
            continue
    return None


def await_busy(service: Service) -> psutil.Process:
    children: list[psutil.Process] = []

    def look() -> bool:
        child = busy_child(service)
        children.extend([child] if child else [])
        return bool(children)

    until(look, why=service.log)
    return children[0]


def kill_child(service: Service, child: psutil.Process) -> None:
    child.kill()


def kill_template(service: Service, child: psutil.Process) -> None:
    psutil.Process(child.ppid()).kill()


def kill_worker(service: Service, child: psutil.Process) -> None:
    psutil.Process(psutil.Process(child.ppid()).ppid()).kill()


def kill_server(service: Service, child: psutil.Process) -> None:
    service.named("valkey-server")[0].kill()


def kill_api(service: Service, child: psutil.Process) -> None:
    service.named("app.cli", "api", "--fd")[0].kill()


def kill_all(service: Service, child: psutil.Process) -> None:
    service.kill()
    until(lambda: not service.processes())
    service.start()


Kill = Callable[[Service, psutil.Process], None]
"""Kills something of a service, one of whose jobs computes in this process."""

VICTIMS: dict[str, Kill] = {
    "child": kill_child,
    "template": kill_template,
    "worker": kill_worker,
    "server": kill_server,
    "api": kill_api,
    "service": kill_all,
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "victim",
    [
        *("worker", "server", "api", "service"),
        # Also killed in the tests of the workers.
        *(pytest.param(v, marks=pytest.mark.slow) for v in ("child", "template")),
    ],
)
def test_every_job_ends_once_whatever_is_killed(own: Service, victim: str) -> None:
    report(victim, kills(own, VICTIMS[victim], 1))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("victim", VICTIMS)
def test_every_job_ends_once_after_many_kills(own: Service, victim: str) -> None:
    report(victim, kills(own, VICTIMS[victim], 20))


def kills(service: Service, kill: Kill, times: int) -> list[float]:
    """Kill repeatedly under load; for each kill the seconds until a later job ended."""
    dataset = upload(service, 5_000, 32)
    recovery = []
    for _ in range(times):
        jobs = [service.submit(TRIVIAL) for _ in range(5)]
        kill_amid(service, kill, dataset, jobs)
        began = time.monotonic()
        jobs.append(submit_patiently(service, TRIVIAL))
        assert service.ended(jobs[-1])["status"] == "succeeded"
        recovery.append(time.monotonic() - began)
        for job in jobs:
            assert service.ended(job)["status"] == "succeeded"
        for job in jobs:
            published_once(service, job)
    return recovery


def kill_amid(service: Service, kill: Kill, dataset: str, jobs: list[str]) -> None:
    """Kill while a job computes; one that ends before it is seen is followed by another."""
    jobs.append(service.submit(hac(dataset)))

    def killed() -> bool:
        if service.client.get(f"/v1/jobs/{jobs[-1]}").json()["finished_at"]:
            jobs.append(service.submit(hac(dataset)))
        child = busy_child(service)
        if child is None:
            return False
        try:
            kill(service, child)
        except psutil.NoSuchProcess:
            return False
        return True

    until(killed, why=service.log)


def submit_patiently(service: Service, body: dict[str, Any]) -> str:
    """Submit like a client that retries while the service is unavailable."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            answer = service.client.post("/v1/jobs", json=body)
        except OSError as error:
            last = repr(error)
        except Exception as error:
            if not type(error).__module__.startswith("httpx"):
                raise
            last = repr(error)
        else:
            if answer.status_code == 202:
                return str(answer.json()["id"])
            assert answer.status_code == 503, answer.text
            last = answer.text
        assert time.monotonic() < deadline, f"{last}\n{service.log()}"
        time.sleep(0.02)


@pytest.mark.parametrize(
    "with_prefork", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["workers", "all"]
)
def test_workers_killed_all_at_once_are_forked_again(own: Service, with_prefork: bool) -> None:
    """From a process without credentials, where that lives; otherwise they start from nothing."""
    until(lambda: len(own.workers()) == 2 and bool(own.named("workers.prefork")), why=own.log)
    (prefork,) = own.named("workers.prefork")
    assert "UMBEL_REDIS_URL" not in prefork.environ()
    job = own.submit(hac(upload(own, 6_000, 64)))
    await_busy(own)
    before = own.workers()
    began = time.monotonic()
    for process in [*before, *([prefork] if with_prefork else [])]:
        process.kill()
    done = own.ended(job)
    print(f"the job ended {time.monotonic() - began:.2f} s after its worker was killed")
    assert (done["status"], done["attempt"]) == ("succeeded", 2)
    published_once(own, job)
    until(lambda: len(own.workers()) == 2, why=own.log)
    fresh = own.workers()
    assert not set(fresh) & set(before)
    assert {worker.ppid() for worker in fresh} == {own.process.pid}
    # The next one finds it ready.
    until(lambda: bool(own.named("workers.prefork")))
    own.named("workers.prefork")[0].kill()
    assert own.ended(own.submit(TRIVIAL))["attempt"] == 1
    assert own.workers() == fresh


def published_once(service: Service, job: str) -> None:
    """Assert that there is one terminal object and the files of one attempt."""
    store = service.data_dir / "store"
    assert (store / "jobs" / "local" / job / "end.json").exists()
    attempts = store / "attempts" / "local" / job
    until(lambda: len(list(attempts.iterdir())) == 1)
    (attempt,) = attempts.iterdir()
    assert (attempt / "tree.arrow").stat().st_size > 0


def report(victim: str, recovery: list[float]) -> None:
    print(
        f"kill -9 of {victim}, {len(recovery)} times: next job ended after a median of "
        f"{statistics.median(recovery):.2f} s, at most {max(recovery):.2f} s"
    )


def test_a_cancel_interrupts_a_c_loop(own: Service) -> None:
    job = own.submit(hac(upload(own, 10_000, 64)))
    child = await_busy(own)
    began = time.monotonic()
    answer = own.client.post(f"/v1/jobs/{job}/cancel")
    assert answer.json()["status"] == "cancelling"
    assert own.ended(job)["status"] == "cancelled"
    print(f"cancelled after {time.monotonic() - began:.2f} s")
    until(lambda: gone(child.pid))
    own.submit(TRIVIAL)


def test_a_stopped_worker_gives_its_job_back_unspent(own: Service) -> None:
    job = own.submit(hac(upload(own, 6_000, 64)))
    child = await_busy(own)
    worker = psutil.Process(psutil.Process(child.ppid()).ppid())
    began = time.monotonic()
    worker.send_signal(signal.SIGTERM)
    until(lambda: gone(worker.pid))
    took = time.monotonic() - began
    print(f"the worker ended after {took:.2f} s")
    done = own.ended(job)
    assert done["status"] == "succeeded"
    assert done["attempt"] == 1
    published_once(own, job)


def test_ctrl_c_leaves_no_process_and_a_restart_keeps_everything(own: Service) -> None:
    dataset = upload(own, 6_000, 64)
    trivial, long = own.submit(TRIVIAL), own.submit(hac(dataset))
    own.ended(trivial)
    await_busy(own)
    assert own.stop() == 0
    assert own.processes() == []
    own.start()
    assert own.ended(trivial)["status"] == "succeeded"
    assert own.ended(long)["status"] == "succeeded"
    assert own.client.get(f"/v1/datasets/{dataset}").status_code == 200
    published_once(own, long)


def test_a_second_service_on_the_same_data_is_refused(own: Service) -> None:
    done = subprocess.run(
        command(own.data_dir),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=dict(os.environ),
    )
    assert done.returncode == 2
    assert "in use by another service" in done.stderr
    assert str(own.process.pid) in done.stderr
    assert own.client.get("/readyz").status_code == 200


def test_without_keys_the_service_listens_only_locally(tmp_path: Path) -> None:
    done = subprocess.run(
        [*command(tmp_path / "data"), "--host", "0.0.0.0"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 2
    assert "Without keys" in done.stderr
    assert not (tmp_path / "data").exists()


def test_a_port_in_use_is_reported(own: Service, tmp_path: Path) -> None:
    port = own.url.rpartition(":")[2]
    done = subprocess.run(
        [*command(tmp_path / "data"), "--port", port],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 2
    assert "Cannot listen" in done.stderr


class Client(threading.Thread):
    """Sends requests one after the other over a connection that is kept; over a new one where the
    service requested it.

    `n_done` responses; `broken` are the errors of requests that had been sent. A connection that is
    refused sends no request: it is tried again.
    """

    def __init__(self, url: str) -> None:
        super().__init__()
        self._address = urlsplit(url)
        self._over = threading.Event()
        self.n_done = 0
        self.broken: list[str] = []

    def run(self) -> None:
        connection: http.client.HTTPConnection | None = None
        while not self._over.is_set():
            if connection is None:
                assert self._address.hostname
                connection = http.client.HTTPConnection(
                    self._address.hostname, self._address.port, timeout=60.0
                )
                try:
                    connection.connect()
                except OSError:
                    connection = None
                    time.sleep(0.02)
                    continue
            try:
                connection.request("GET", "/v1/methods/kmeans")
                response = connection.getresponse()
                response.read()
                assert response.status == 200
                self.n_done += 1
                closes = response.will_close
            except (OSError, http.client.HTTPException) as error:
                self.broken.append(repr(error))
                closes = True
            if closes:
                connection.close()
                connection = None

    def finish(self) -> None:
        self._over.set()
        self.join()


def test_no_request_breaks_when_the_api_is_stopped(own: Service) -> None:
    clients = [Client(own.url) for _ in range(N_CLIENTS)]
    for client in clients:
        client.start()

    def all_served() -> None:
        before = [client.n_done for client in clients]
        until(lambda: all(c.n_done > n + 5 for c, n in zip(clients, before, strict=True)))

    all_served()
    [api] = own.named("app.cli", "'api'") or own.named("app.cli", " api ")
    api.terminate()
    api.wait(30)
    all_served()
    own.client.close()
    own.process.send_signal(signal.SIGTERM)
    own.process.wait(30)
    for client in clients:
        client.finish()
    assert [error for client in clients for error in client.broken] == []


@pytest.mark.parametrize(
    "part",
    [
        "server",
        *(pytest.param(p, marks=pytest.mark.slow) for p in ("process", "worker", "template")),
    ],
)
def test_no_process_is_left_whatever_is_killed_first(own: Service, part: str) -> None:
    own.submit(hac(upload(own, 10_000, 64)))
    await_busy(own)
    if part == "worker":
        own.workers()[0].kill()
    if part == "template":
        own.templates()[0].kill()
    if part == "server":
        own.named("valkey-server")[0].kill()
    own.kill()
    until(lambda: not own.processes())

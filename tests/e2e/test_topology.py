"""The services of docker-compose.yml as separate processes: Valkey, S3, one API, two workers."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time

import httpx
import numpy as np
import psutil
from safetensors.numpy import save

from tests.e2e.client import npy
from tests.e2e.conftest import until
from tests.e2e.topology_kit import TRIVIAL, Topology, upload
from tests.workers.waiting_kit import gone


def test_a_job_runs_and_its_result_is_on_s3(topology: Topology) -> None:
    answer = topology.client.post("/v1/jobs", json=TRIVIAL, headers={"Prefer": "wait=30"})
    assert answer.status_code == 201, f"{answer.text}\n{topology.log()}"
    job = answer.json()
    assert job["status"] == "succeeded", job
    newick = topology.client.get(f"/v1/trees/{job['result']['tree']}.nwk")
    assert newick.status_code == 200
    published = [key for key in topology.stored() if job["id"] in key]
    assert any(key.endswith("/tree.arrow") for key in published)
    assert any(key.endswith("/end.json") for key in published)


def test_a_key_is_required(topology: Topology) -> None:
    bare = httpx.get(f"{topology.address}/v1/jobs")
    assert bare.status_code == 401
    assert bare.headers["content-type"] == "application/problem+json"
    assert "www-authenticate" in bare.headers
    wrong = httpx.get(
        f"{topology.address}/v1/jobs", headers={"Authorization": "Bearer umbel_wrong"}
    )
    assert wrong.status_code == 401
    assert httpx.get(f"{topology.address}/livez").status_code == 200


def test_the_key_of_another_tenant_finds_nothing(topology: Topology) -> None:
    dataset = upload(topology, np.eye(4))
    job = topology.client.post("/v1/jobs", json=TRIVIAL, headers={"Prefer": "wait=30"}).json()
    tree = f"/v1/trees/{job['result']['tree']}"
    for path in (f"/v1/datasets/{dataset}", f"/v1/jobs/{job['id']}", tree, f"{tree}.nwk"):
        assert topology.client.get(path).status_code == 200
        assert topology.other_tenant.get(path).status_code == 404
    for path in (f"/v1/datasets/{dataset}", f"/v1/jobs/{job['id']}", tree):
        assert topology.other_tenant.delete(path).status_code == 404
        assert topology.client.get(path).status_code == 200
    for resource in ("datasets", "jobs", "trees"):
        assert topology.other_tenant.get(f"/v1/{resource}").json()["items"] == []
    body = {"method": "hac", "inputs": {"features": dataset}}
    assert topology.other_tenant.post("/v1/jobs", json=body).status_code == 422


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
    print(f"a worker was killed: its job ended on the other one after {took:.2f} s")
    assert done["status"] == "succeeded", done
    assert done["attempt"] == 2
    until(lambda: gone(child.pid))
    # There is exactly one result, whatever the first attempt had written.
    until(lambda: len(trees_of(topology, job)) == 1)
    assert sum(key.endswith(f"{job}/end.json") for key in topology.stored()) == 1
    listed = topology.client.get("/v1/trees").json()["items"]
    assert [tree["job"] for tree in listed].count(job) == 1
    tree = topology.client.get(f"/v1/trees/{done['result']['tree']}?depth=0").json()
    assert tree["n_points"] == 6_000
    # The other worker still works.
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
    cached_sizes = {file.stat().st_size for file in topology.logs.glob("*/cache/*")}
    assert not cached_sizes & {len(plain), len(packed)}
    # No log contains the signed address that a job reads from.
    for log in topology.logs.glob("[aw]*.log"):
        assert "X-Amz-Signature" not in log.read_text(errors="replace"), log.name


def trees_of(topology: Topology, job: str) -> list[str]:
    return [key for key in topology.stored() if job in key and key.endswith("/tree.arrow")]


def await_rest(topology: Topology) -> None:
    """Wait until the workers have loaded their modules and are idle."""

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

    until(at_rest, why=topology.log)


def busy(topology: Topology) -> tuple[subprocess.Popen[bytes], psutil.Process]:
    """The worker whose child is computing, and the child."""
    computing: list[tuple[subprocess.Popen[bytes], psutil.Process]] = []
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
                    computing.append((worker, child))
                    return True
        return False

    until(look, why=topology.log)
    return computing[0]

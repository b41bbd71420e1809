"""A fit with several processes in a real worker: cancelled, killed, resumed, cleaned up."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import psutil
import pytest

from tests.e2e.conftest import Service, running, until
from tests.workers.waiting_kit import gone

pytestmark = [pytest.mark.slow, pytest.mark.needs("torch")]

RNG = np.random.default_rng(0)
POINTS = 10 * np.eye(6)[RNG.integers(6, size=600)] + RNG.normal(size=(600, 6))
PARAMS = {"n_internal": 31, "max_iter": 300, "n_init": 1, "processes": 2, "keep": "last"}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("processes") / "data"
    with running(folder, workers=1, UMBEL_THREADS="2", UMBEL_CHECKPOINT_S="0.1") as service:
        yield service


def submit(service: Service, **params: Any) -> str:
    buffer = io.BytesIO()
    np.save(buffer, POINTS)
    answer = service.client.post(
        "/v1/datasets", content=buffer.getvalue(), headers={"Content-Type": "application/x-npy"}
    )
    inputs = {"features": str(answer.json()["id"])}
    return service.submit({"method": "ghhc", "inputs": inputs, "params": {**PARAMS, **params}})


def followers(service: Service) -> list[psutil.Process]:
    return service.named("models.methods.hyperbolic.ball.follower_process")


def message(service: Service, job_id: str) -> str:
    job = service.client.get(f"/v1/jobs/{job_id}").json()
    assert job["status"] in ("queued", "running"), job
    return str((job["progress"] or {}).get("message", ""))


def test_several_processes_give_the_result_of_one(own: Service) -> None:
    jobs = [own.ended(submit(own, processes=n)) for n in (1, 2)]
    single, double = (job["result"] for job in jobs)
    assert jobs[1]["warnings"] == jobs[0]["warnings"]
    assert double["metrics"]["cost"] == pytest.approx(single["metrics"]["cost"], rel=1e-2)
    assert double["metrics"]["objective"] == pytest.approx(single["metrics"]["objective"], rel=1e-3)
    until(lambda: not followers(own))


def test_a_cancel_ends_all_processes(own: Service) -> None:
    job_id = submit(own, max_iter=10**6)
    until(lambda: ", objective " in message(own, job_id), why=own.log)
    assert len(followers(own)) == 1
    assert own.client.post(f"/v1/jobs/{job_id}/cancel").status_code in (200, 202)
    assert own.ended(job_id)["status"] == "cancelled"
    until(lambda: not followers(own))


@pytest.mark.parametrize("victim", ["a follower", "the job", "the worker"])
def test_a_lost_process_costs_an_attempt_and_the_fit_resumes(own: Service, victim: str) -> None:
    job_id = submit(own, max_iter=1500)
    until(lambda: ", objective " in message(own, job_id), why=own.log)
    time.sleep(0.5)
    (follower,) = followers(own)
    if victim == "a follower":
        follower.kill()
    elif victim == "the job":
        psutil.Process(follower.ppid()).kill()
    else:
        own.workers()[0].kill()
    until(lambda: gone(follower.pid))
    job = own.ended(job_id)
    assert (job["status"], job["attempt"]) == ("succeeded", 2)
    assert job["result"]["curves"]["objective"][-1][0] == 1500
    until(lambda: not followers(own))

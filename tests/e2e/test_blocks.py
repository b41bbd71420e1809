"""A classifier trained in blocks of classes on several workers: the same after any kill."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.e2e.conftest import Service, running, until
from tests.e2e.helpers_kit import at_work, stop_a_helper

N_CLASSES = 60
PARAMS = {"block_size": 4, "tol": 1e-9, "max_iter": 6}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("blocks") / "data"
    with running(folder, workers=3, UMBEL_CHECKPOINT_S="0.01") as service:
        yield service


@pytest.fixture(scope="module")
def inputs(service: Service) -> dict[str, Any]:
    """Documents of 60 classes below 6 nodes, two words of a class more frequent in its own."""
    rng = np.random.default_rng(0)
    code = rng.permutation(np.arange(3000) % N_CLASSES)
    counts = sp.random_array((3000, 400), density=0.05, rng=rng, format="lil")
    counts[np.arange(3000), 2 * code + rng.integers(2, size=3000)] = 1.0
    buffer = io.BytesIO()
    sp.save_npz(buffer, sp.csr_matrix(counts))
    content = {"Content-Type": "application/x-npz"}
    answer = service.client.post("/v1/datasets", content=buffer.getvalue(), headers=content)
    assert answer.status_code == 201, answer.text
    return {
        "features": answer.json()["id"],
        "labels": [f"c{number}" for number in code],
        "hierarchy": [f"g{number % 6}/c{number}" for number in range(N_CLASSES)],
    }


def submitted(service: Service, inputs: dict[str, Any], method: str) -> str:
    return service.submit({"method": method, "inputs": inputs, "params": PARAMS})


@pytest.fixture(scope="module")
def undisturbed(service: Service, inputs: dict[str, Any]) -> Callable[[str], dict[str, Any]]:
    """The end of a method's job."""
    return cache(lambda method: service.ended(submitted(service, inputs, method)))


def as_undisturbed(service: Service, done: dict[str, Any], expected: dict[str, Any]) -> None:
    """Assert that a job ended as another, and that nothing of its pieces is left."""
    assert done["status"] == expected["status"] == "succeeded", done
    assert done["result"]["metrics"] == expected["result"]["metrics"]
    assert done["result"]["curves"] == expected["result"]["curves"]
    store = service.data_dir / "store" / "pieces"
    until(lambda: not [path for path in store.rglob("*") if path.is_file()])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rr-svm", "rr-lr"])
def test_a_killed_helper_costs_its_block(
    service: Service,
    inputs: dict[str, Any],
    undisturbed: Callable[[str], dict[str, Any]],
    method: str,
) -> None:
    until(lambda: len(service.workers()) == 3)
    for _ in range(20):
        job = submitted(service, inputs, method)
        folder = stop_a_helper(service, job)
        done = service.ended(job)
        assert done["attempt"] == 1
        as_undisturbed(service, done, undisturbed(method))
        if folder is not None:
            return
    raise AssertionError("no helper was caught in the middle of a block")


@pytest.mark.slow
def test_after_a_killed_worker_the_next_one_goes_on_at_its_sweep(
    service: Service, inputs: dict[str, Any], undisturbed: Callable[[str], dict[str, Any]]
) -> None:
    until(lambda: len(service.workers()) == 3)
    job = submitted(service, inputs, "rr-svm")
    until(lambda: "sweep 4" in message(service, job), why=service.log)
    first = min(at_work(service, job), key=lambda entry: entry[1].stat().st_ctime)
    next(worker for worker in service.workers() if worker.pid == first[0]).kill()
    seen = set()
    while True:
        current = service.client.get(f"/v1/jobs/{job}").json()
        if current["status"] == "succeeded":
            break
        if current["attempt"] == 2 and current["progress"]:
            seen.add(current["progress"]["message"].partition(",")[0])
        time.sleep(0.02)
    assert current["attempt"] == 2
    assert not seen & {"sweep 1", "sweep 2"}
    as_undisturbed(service, current, undisturbed("rr-svm"))


def message(service: Service, job: str) -> str:
    current = service.client.get(f"/v1/jobs/{job}").json()
    assert current["status"] in ("queued", "running"), current
    return str((current["progress"] or {}).get("message", ""))

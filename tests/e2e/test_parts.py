"""One large job over several workers: the same tree however it is cut and whoever is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.data import Data
from models.registry import method
from models.tree.newick import write
from models.tree.tree import Tree
from tests.e2e.client import npy
from tests.e2e.conftest import Service, running, until
from tests.e2e.topology_kit import Topology, upload
from workers.artifacts import results

KIB = 1 << 10
PIECE_BYTES = 64 * KIB
N_CLASSES = 32
CUT = {"UMBEL_SPLIT_BYTES": str(PIECE_BYTES), "UMBEL_PIECE_BYTES": str(PIECE_BYTES)}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("parts") / "data", workers=3, **CUT) as service:
        yield service


def logits(n_pieces: int) -> np.ndarray[Any, Any]:
    """Just as many rows as are cut into so many pieces."""
    n_rows = (n_pieces * PIECE_BYTES - KIB) // (4 * N_CLASSES)
    rng = np.random.default_rng(n_pieces)
    return rng.normal(size=(n_rows, N_CLASSES)).astype(np.float32) * 3


def unsplit(values: np.ndarray[Any, Any]) -> Tree:
    used = method("l2h")
    return used.fit(Data({"logits": values}), used.Params()).tree


def submit(service: Service, values: np.ndarray[Any, Any]) -> str:
    answer = service.client.post(
        "/v1/datasets", content=npy(values), headers={"Content-Type": "application/x-npy"}
    )
    assert answer.status_code == 201, answer.text
    return service.submit({"method": "l2h", "inputs": {"logits": answer.json()["id"]}})


def published(service: Service, job: str) -> Tree:
    """The tree of the one attempt that was published; nothing else is there."""
    store = service.data_dir / "store"
    until(lambda: not [path for path in (store / "pieces").rglob("*") if path.is_file()], 15.0)
    attempts = store / "attempts" / "local" / job
    (tree,) = attempts.glob("*/" + results.TREE)
    names = {path.name for path in attempts.rglob("*") if path.is_file()}
    assert names == {results.TREE, results.LEAF_OF_POINT, results.MODEL}
    return results.load_tree(tree, tree.parent / results.LEAF_OF_POINT)


def same(one: Tree, other: Tree) -> None:
    """To the last bit."""
    for column in ("parent", "height", "size", "leaf_of_point"):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column))
    assert one.name.tolist() == other.name.tolist()
    for column, values in other.extra.items():
        np.testing.assert_array_equal(one.extra[column], values)


def at_work(service: Service, job: str) -> list[tuple[int, Path]]:
    """Workers with a folder for the job, and the folder."""
    alive = {worker.pid for worker in service.workers()}
    return [
        (pid, folder)
        for folder in (service.data_dir / "scratch").glob(f"w-*/{job}-*")
        if (pid := int(folder.parent.name.split("-")[1])) in alive
    ]


@pytest.mark.parametrize("n_pieces", [1, 2, 7])
def test_the_tree_is_that_of_the_unsplit_fit(service: Service, n_pieces: int) -> None:
    values = logits(n_pieces)
    job = submit(service, values)
    done = service.ended(job)
    assert done["status"] == "succeeded", done
    assert done["attempt"] == 1
    same(published(service, job), unsplit(values))


def test_a_helper_killed_in_the_middle_costs_only_its_piece(service: Service) -> None:
    values = logits(150)
    until(lambda: len(service.workers()) == 3)
    wanted = unsplit(values)
    for _ in range(40):
        job = submit(service, values)
        folder = stop_a_helper(service, job)
        done = service.ended(job, 60.0)
        assert done["status"] == "succeeded", done
        assert done["attempt"] == 1
        same(published(service, job), wanted)
        if folder is not None:
            return
    raise AssertionError("no helper was met in the middle of a piece")


def stop_a_helper(service: Service, job: str) -> Path | None:
    """SIGKILL a worker that computes a piece; its folder, None where it was done just before."""
    seen: list[tuple[int, Path]] = []

    def two_at_work() -> bool:
        seen[:] = at_work(service, job)
        return len({pid for pid, _ in seen}) > 1 or not running_still(service, job)

    until(two_at_work, 20.0, service.log)
    # The attempt's own folder is there before those of its pieces.
    made = {folder: folder.stat().st_ctime for _, folder in seen if folder.exists()}
    if len(made) < 2:
        return None
    victim, folder = max(seen, key=lambda found: made.get(found[1], 0.0))
    with contextlib.suppress(ProcessLookupError):
        os.kill(victim, signal.SIGSTOP)
        in_the_middle = folder.exists()
        os.kill(victim, signal.SIGKILL)
        return folder if in_the_middle else None
    return None


def running_still(service: Service, job: str) -> bool:
    status = service.client.get(f"/v1/jobs/{job}").json()["status"]
    return status in ("queued", "running")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_split_job_ends_once_and_right_after_many_kills(service: Service) -> None:
    rng = np.random.default_rng(0)
    values = {n: logits(n) for n in (2, 7, 60)}
    wanted = {n: unsplit(rows) for n, rows in values.items()}
    for _ in range(15):
        jobs = [(submit(service, values[n]), n) for n in rng.choice([2, 7, 60], size=3).tolist()]
        for _ in range(2):
            time.sleep(0.5 * float(rng.random()))
            workers = service.workers()
            if workers:
                workers[int(rng.integers(len(workers)))].kill()
        for job, n_pieces in jobs:
            done = service.ended(job, 60.0)
            assert done["status"] == "succeeded", done
            same(published(service, job), wanted[n_pieces])


@pytest.fixture(scope="module")
def _cut() -> Iterator[None]:
    """The topology's workers, started after this, cut as the service's do."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CUT.items():
            patch.setenv(name, value)
        yield


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("_cut")
def test_pieces_travel_over_s3(topology: Topology) -> None:
    values = logits(150)
    wanted = "".join(write(unsplit(values)))
    for number in range(3):
        body = {"method": "l2h", "inputs": {"logits": upload(topology, values)}}
        job = topology.client.post("/v1/jobs", json=body).json()["id"]
        until(lambda job=job: pieces_of(topology, job) != [], 30.0, topology.log)  # type: ignore[misc]
        if number == 2:
            topology.workers[0].kill()
        done = topology.ended(job)
        assert done["status"] == "succeeded", done
        until(lambda job=job: pieces_of(topology, job) == [], 20.0)  # type: ignore[misc]
        tree = done["result"]["tree"]
        assert topology.client.get(f"/v1/trees/{tree}.nwk").text.strip() == wanted.strip()


def pieces_of(topology: Topology, job: str) -> list[str]:
    return [key for key in topology.stored() if key.startswith("pieces/") and job in key]

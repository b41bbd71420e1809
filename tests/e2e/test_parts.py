"""One large job on several workers: the same tree for any number of pieces and after any kill."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from models.inputs.data import Data
from models.registry import method
from models.tree.newick import write
from models.tree.tree import Tree
from tests.e2e.client import npy
from tests.e2e.conftest import Service, running, until
from tests.e2e.helpers_kit import stop_a_helper
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
    """The smallest logits that are split into `n_pieces`."""
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
    """The tree of the only published attempt; asserts that nothing else is stored."""
    store = service.data_dir / "store"
    until(lambda: not [path for path in (store / "pieces").rglob("*") if path.is_file()])
    attempts = store / "attempts" / "local" / job
    (tree,) = attempts.glob("*/" + results.TREE)
    names = {path.name for path in attempts.rglob("*") if path.is_file()}
    assert names == {results.TREE, results.LEAF_OF_POINT, results.MODEL}
    return results.load_tree(tree, tree.parent / results.LEAF_OF_POINT)


def same(tree: Tree, expected: Tree) -> None:
    """Assert that two trees are equal to the last bit."""
    for column in ("parent", "height", "size", "leaf_of_point"):
        np.testing.assert_array_equal(getattr(tree, column), getattr(expected, column))
    assert tree.name.tolist() == expected.name.tolist()
    for column, values in expected.extra.items():
        np.testing.assert_array_equal(tree.extra[column], values)


@pytest.mark.parametrize("n_pieces", [1, 2, 7])
def test_the_tree_is_that_of_the_unsplit_fit(service: Service, n_pieces: int) -> None:
    values = logits(n_pieces)
    job = submit(service, values)
    done = service.ended(job)
    assert done["status"] == "succeeded", done
    assert done["attempt"] == 1
    same(published(service, job), unsplit(values))


def test_killing_a_helper_loses_only_its_piece(service: Service) -> None:
    values = logits(150)
    until(lambda: len(service.workers()) == 3)
    expected = unsplit(values)
    for _ in range(40):
        job = submit(service, values)
        folder = stop_a_helper(service, job)
        done = service.ended(job)
        assert done["status"] == "succeeded", done
        assert done["attempt"] == 1
        same(published(service, job), expected)
        if folder is not None:
            return
    raise AssertionError("no helper was caught in the middle of a piece")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_split_job_ends_once_and_correctly_after_many_kills(service: Service) -> None:
    rng = np.random.default_rng(0)
    values = {n: logits(n) for n in (2, 7, 60)}
    expected = {n: unsplit(rows) for n, rows in values.items()}
    for _ in range(15):
        jobs = [(submit(service, values[n]), n) for n in rng.choice([2, 7, 60], size=3).tolist()]
        for _ in range(2):
            time.sleep(0.5 * float(rng.random()))
            workers = service.workers()
            if workers:
                workers[int(rng.integers(len(workers)))].kill()
        for job, n_pieces in jobs:
            done = service.ended(job)
            assert done["status"] == "succeeded", done
            same(published(service, job), expected[n_pieces])


@pytest.fixture(scope="module")
def _cut() -> Iterator[None]:
    """The topology's workers, started after this, cut as the service's do."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CUT.items():
            patch.setenv(name, value)
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("_cut")
def test_pieces_are_exchanged_over_s3(topology: Topology) -> None:
    values = logits(150)
    expected = "".join(write(unsplit(values)))
    for number in range(3):
        body = {"method": "l2h", "inputs": {"logits": upload(topology, values)}}
        job = topology.client.post("/v1/jobs", json=body).json()["id"]
        until(lambda job=job: pieces_of(topology, job) != [], why=topology.log)  # type: ignore[misc]
        if number == 2:
            topology.workers[0].kill()
        done = topology.ended(job)
        assert done["status"] == "succeeded", done
        until(lambda job=job: pieces_of(topology, job) == [])  # type: ignore[misc]
        tree = done["result"]["tree"]
        assert topology.client.get(f"/v1/trees/{tree}.nwk").text.strip() == expected.strip()


def pieces_of(topology: Topology, job: str) -> list[str]:
    return [key for key in topology.stored() if key.startswith("pieces/") and job in key]

"""Processes that do several short jobs of one tenant, and when a new one takes over."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.workers.child.process_kit import busy, child_pool, computed_s, outcome, spec
from tests.workers.waiting_kit import gone, until
from workers.child import pool as pools
from workers.child.pool import Child, ChildPool
from workers.stores.objects.blobs import Link
from workers.work.job import Spec
from workers.work.sources import Source

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes stay on Linux only")

LOGITS = [[2.0, 0.0, 0.5], [0.0, 2.0, 1.5], [0.5, 1.0, 2.0], [2.0, 1.0, 0.0]]
MIB = 1 << 20
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def pool() -> Iterator[ChildPool]:
    with child_pool(2, threads=1, jobs=3) as pool:
        pool.fill().result()
        yield pool


@pytest.fixture(autouse=True)
def none_kept(pool: ChildPool) -> Iterator[None]:
    yield
    for kept in pool._kept:
        kept.child.kill()
    pool._kept.clear()


def small(folder: Path, tenant: str = "t", method: str = "l2h", **params: object) -> Spec:
    folder.mkdir()
    path = folder / "points.json"
    path.write_text(json.dumps(LOGITS))
    role = "logits" if method == "l2h" else "features"
    job = spec(folder, method, Source(role=role, kind="inline", path=path), **params)
    request = job.request.model_copy(update={"tenant": tenant})
    return job.model_copy(update={"request": request})


def done(pool: ChildPool, job: Spec) -> Child:
    """The child that has done the job, released."""
    child = pool.begin(job)
    assert outcome(child).error is None
    assert (job.folder / "tree.arrow").exists()
    pool.release(child, job.request.tenant)
    return child


def test_short_jobs_of_a_tenant_share_a_process_up_to_a_number(
    pool: ChildPool, tmp_path: Path
) -> None:
    pids = [done(pool, small(tmp_path / str(number))).pid for number in range(4)]
    assert pids[0] == pids[1] == pids[2] != pids[3]
    until(lambda: gone(pids[0]))


def test_no_two_tenants_share_a_process(pool: ChildPool, tmp_path: Path) -> None:
    mine = done(pool, small(tmp_path / "a", "ada")).pid
    theirs = done(pool, small(tmp_path / "b", "bob")).pid
    assert mine != theirs
    assert done(pool, small(tmp_path / "c", "ada")).pid == mine
    assert done(pool, small(tmp_path / "d", "bob")).pid == theirs


def test_between_jobs_a_process_is_stopped(pool: ChildPool, tmp_path: Path) -> None:
    child = done(pool, small(tmp_path / "a"))
    until(lambda: psutil.Process(child.pid).status() == psutil.STATUS_STOPPED)
    assert done(pool, small(tmp_path / "b")) is child


def test_a_process_waits_half_a_minute_for_the_next_job(
    pool: ChildPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = done(pool, small(tmp_path / "a"))
    pool.drop_idle()
    assert child.alive()
    monkeypatch.setattr(pools, "_KEPT_S", 0.0)
    time.sleep(0.01)
    pool.drop_idle()
    until(lambda: gone(child.pid))
    assert done(pool, small(tmp_path / "b")) is not child


def test_as_many_are_kept_as_there_are_spares(pool: ChildPool, tmp_path: Path) -> None:
    kept = [done(pool, small(tmp_path / tenant, tenant)) for tenant in "abc"]
    until(lambda: gone(kept[0].pid))
    assert kept[1].alive()
    assert kept[2].alive()


def test_a_kept_process_found_dead_is_replaced(pool: ChildPool, tmp_path: Path) -> None:
    child = done(pool, small(tmp_path / "a"))
    child.stop()
    until(lambda: not child.alive())
    assert done(pool, small(tmp_path / "b")) is not child


def test_a_failed_job_ends_its_process(pool: ChildPool, tmp_path: Path) -> None:
    job = small(tmp_path / "a", method="kmeans", n_clusters=400)
    child = pool.begin(job)
    assert outcome(child).error is not None
    pool.release(child, "t")
    until(lambda: gone(child.pid))


def test_a_job_that_is_stopped_ends_its_process(pool: ChildPool, tmp_path: Path) -> None:
    child = pool.begin(averages(tmp_path / "a", 12_000))
    until(lambda: busy(child.pid))
    pool.release(child, "t")
    until(lambda: gone(child.pid))


def test_a_long_job_ends_its_process(pool: ChildPool, tmp_path: Path) -> None:
    child = pool.begin(averages(tmp_path / "a", 12_000))
    assert outcome(child).error is None
    assert not child.stays
    child.kill()


def test_a_job_that_waits_for_the_machine_is_short_all_the_same(
    pool: ChildPool, tmp_path: Path
) -> None:
    before_s = computed_s(done(pool, small(tmp_path / "a")).pid)
    child = pool.begin(averages(tmp_path / "b", 2_000))
    until(lambda: computed_s(child.pid) > before_s + 0.05)
    child.pause()
    time.sleep(1.1)
    child.resume()
    assert outcome(child).error is None
    assert child.stays
    child.kill()


def test_a_job_with_an_address_gets_a_process_that_may_open_sockets(
    pool: ChildPool, tmp_path: Path
) -> None:
    first = done(pool, small(tmp_path / "a"))
    job = small(tmp_path / "b")
    link = Link(url="http://127.0.0.1:9/x", size=1, etag="e")
    source = job.sources[0].model_copy(update={"link": link})
    child = pool.begin(job.model_copy(update={"sources": (source,)}))
    assert child is not first
    child.kill()


def averages(folder: Path, n: int) -> Spec:
    folder.mkdir()
    path = folder / "points.npy"
    np.save(path, np.random.default_rng(0).normal(size=(n, 64)).astype(np.float32))
    source = Source(role="features", kind="dataset", path=path, format="npy")
    return spec(folder, "hac", source, linkage="average")


def test_each_job_may_use_as_much_memory_as_the_first(tmp_path: Path) -> None:
    with child_pool(1, threads=1, jobs=9, memory_bytes=60 * MIB) as pool:
        pids = {done(pool, averages(tmp_path / str(number), 2_000)).pid for number in range(4)}
        assert len(pids) == 1


def test_a_later_job_is_bounded_like_the_first(tmp_path: Path) -> None:
    with child_pool(1, threads=1, jobs=9, memory_bytes=200 * MIB) as pool:
        first = done(pool, averages(tmp_path / "a", 1_000))
        later = pool.begin(averages(tmp_path / "b", 12_000))
        assert later is first
        error = outcome(later).error
        assert error is not None
        assert error["type"] == "/problems/out-of-memory"
        later.kill()


def test_peaks_are_of_one_job(pool: ChildPool, tmp_path: Path) -> None:
    child = done(pool, averages(tmp_path / "a", 3_000))
    large = child.peak_bytes()
    assert done(pool, small(tmp_path / "b")) is child
    little = child.peak_bytes()
    assert large is not None
    assert little is not None
    assert little < large - 10 * MIB


def test_results_do_not_depend_on_earlier_jobs(pool: ChildPool, tmp_path: Path) -> None:
    """The same bytes from a fresh process and from one that has done other jobs."""

    def files(job: Spec) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in job.folder.iterdir() if path.is_file()}

    fresh = small(tmp_path / "a", "a", "kmeans", n_clusters=2, seed=3)
    done(pool, fresh)
    done(pool, small(tmp_path / "b", "b"))
    done(pool, small(tmp_path / "c", "b", "gmm", n_clusters=2, seed=1))
    later = small(tmp_path / "d", "b", "kmeans", n_clusters=2, seed=3)
    done(pool, later)
    assert files(fresh) == files(later)


WORKER = """
import sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.workers.child.test_kept import done, small
from workers.child.pool import ChildPool
from workers.child.process import ProcessLimits
pool = ChildPool(ProcessLimits(jobs=3), spares=1)
print(done(pool, small(Path({folder!r}) / "a")).pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("victim", ["worker", "template"])
def test_a_kept_process_dies_with_its_parents(victim: str, tmp_path: Path) -> None:
    code = WORKER.format(root=str(ROOT), folder=str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        kept = psutil.Process(int(worker.stdout.readline()))
        until(lambda: kept.status() == psutil.STATUS_STOPPED)
        (psutil.Process(worker.pid) if victim == "worker" else kept.parent()).kill()
        until(lambda: gone(kept.pid))
        worker.kill()

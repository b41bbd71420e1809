"""Worker processes that share a job, and are killed, stopped and disconnected."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import numpy as np
import psutil
import pytest

from tests.workers.supervisor.workers_kit import Workers
from tests.workers.waiting_kit import PATIENCE_S, until
from workers import processes
from workers.stores.objects import layout

N_WORKERS = 3


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    workers = Workers(tmp_path_factory.mktemp("c"), N_WORKERS)
    yield workers
    workers.close()


def test_a_job_resumes_from_the_checkpoint_of_a_lost_worker(workers: Workers) -> None:
    workers.fill()
    request = workers.count(30, 0.1)
    folder = layout.checkpoints("t", request.id)
    until(lambda: any(workers.parts.blobs.keys(folder)))
    os.kill(workers.parent(request), signal.SIGKILL)
    record = workers.ended(request)
    assert record.status == "succeeded", record
    assert record.attempt == 2
    assert record.result is not None
    assert record.result["metrics"]["begun"] > 0
    until(lambda: not any(workers.parts.blobs.keys(folder)))
    workers.clean(request)


@pytest.mark.parametrize("n_pieces", [1, 2, 7])
def test_the_result_does_not_depend_on_the_number_of_pieces(
    workers: Workers, n_pieces: int
) -> None:
    workers.fill()
    record = workers.right(*workers.submit(n_pieces), n_pieces)
    assert record.attempt == 1


def test_several_workers_share_the_work(workers: Workers) -> None:
    workers.fill()
    request, label = workers.submit(7, nap_s=0.5)
    helpers = workers.await_helpers(request, N_WORKERS - 1)
    assert workers.parent(request) not in helpers
    # The job's progress includes the pieces of helpers.
    until(lambda: workers.record(request).progress.fraction > 0.1)
    assert workers.record(request).progress.stage in ("reading", "napping")
    workers.right(request, label, 7)


def test_jobs_come_before_helping(workers: Workers) -> None:
    """Small jobs submitted after two large ones do not wait for them."""
    workers.fill()
    large = [workers.submit(9, nap_s=2.0) for _ in range(2)]
    for request, _ in large:
        until(lambda request=request: workers.record(request).status == "running")  # type: ignore[misc]
    workers.await_helpers(large[0][0])
    small = [workers.submit(1) for _ in range(3)]
    for request, label in small:
        workers.right(request, label, 1)
        assert not all(workers.record(request).ended for request, _ in large)
    for request, label in large:
        workers.right(request, label, 9)


def test_a_users_error_in_a_piece_fails_the_job(workers: Workers) -> None:
    workers.fill()
    for row in (10, 260):
        request, _ = workers.submit(6, nap_s=0.3, refused_row=row)
        record = workers.ended(request)
        assert (record.status, record.attempt) == ("failed", 1)
        assert record.error is not None
        assert record.error["type"] == "/problems/unusable-input"
        assert record.error["detail"] == f"Row {row} is refused."
        workers.clean(request)


def test_a_cancel_ends_the_helpers_at_once(workers: Workers) -> None:
    workers.fill()
    request, _ = workers.submit(6, nap_s=30.0)
    workers.await_helpers(request, 2)
    workers.parts.ledger.cancel("t", request.id)
    assert workers.ended(request).status == "cancelled"
    until(lambda: not workers.helpers(request))
    workers.clean(request)
    # All are free again.
    workers.right(*workers.submit(2), 2)


@pytest.mark.slow
def test_a_deleted_job_leaves_nothing(workers: Workers) -> None:
    workers.fill()
    request, _ = workers.submit(6, nap_s=1.0)
    workers.await_helpers(request, 2)
    until(lambda: bool(list(workers.parts.blobs.keys(layout.PIECES))))
    assert workers.parts.ledger.delete("t", request.id)
    until(lambda: not workers.helpers(request))
    workers.clean(request)
    assert not list(workers.parts.blobs.keys(layout.attempts("t", request.id)))


@pytest.mark.slow
def test_killing_a_helpers_child_loses_only_its_piece(workers: Workers) -> None:
    workers.fill()
    request, label = workers.submit(5, nap_s=0.6)
    helper = workers.await_helpers(request)[0]
    # A busy child listens to its supervisor in a thread; an idle one does not yet.
    busy: list[psutil.Process] = []

    def killed() -> bool:
        below = psutil.Process(helper).children(recursive=True)
        busy[:] = [p for p in below if not p.children() and p.num_threads() > 1]
        return bool(busy)

    until(killed)
    busy[0].kill()
    assert workers.right(request, label, 5).attempt == 1
    assert "was killed by SIGKILL" in (workers.folder / "log").read_text()


@pytest.mark.slow
def test_a_server_killed_midway(workers: Workers) -> None:
    workers.fill()
    request, label = workers.submit(7, nap_s=0.5)
    workers.await_helpers(request)
    workers.restart_server()
    assert workers.right(request, label, 7).attempt == 1


def test_killing_a_helper_loses_only_its_piece(workers: Workers) -> None:
    workers.fill(2)
    request, label = workers.submit(7, nap_s=0.5)
    victim = workers.await_helpers(request)[0]
    began = time.monotonic()
    os.kill(victim, signal.SIGKILL)
    record = workers.right(request, label, 7)
    print(f"a helper was killed: its job had ended {time.monotonic() - began:.2f} s later")
    assert record.attempt == 1


def test_the_attempt_of_a_killed_worker_is_repeated(workers: Workers) -> None:
    workers.fill(2)
    request, label = workers.submit(5, nap_s=0.3)
    workers.await_helpers(request)
    os.kill(workers.parent(request), signal.SIGKILL)
    assert workers.right(request, label, 5).attempt == 2


@pytest.mark.slow
def test_all_helpers_killed(workers: Workers) -> None:
    workers.fill()
    request, label = workers.submit(4, nap_s=0.5)
    for victim in workers.await_helpers(request, 2):
        os.kill(victim, signal.SIGKILL)
    assert workers.right(request, label, 4).attempt == 1


@pytest.mark.slow
def test_a_helper_that_is_stopped_gives_its_piece_back(workers: Workers) -> None:
    workers.fill()
    request, label = workers.submit(5, nap_s=3.0)
    victim = workers.await_helpers(request, 2)[0]
    worker = next(worker for worker in workers.workers if worker.pid == victim)
    worker.terminate()
    assert worker.wait(PATIENCE_S) == 0
    assert workers.right(request, label, 5).attempt == 1


@pytest.mark.slow
def test_large_jobs_for_every_worker_end(workers: Workers) -> None:
    workers.fill()
    jobs = [workers.submit(6, nap_s=0.1) for _ in range(2 * N_WORKERS)]
    for request, label in jobs:
        assert workers.right(request, label, 6).attempt == 1


@pytest.mark.slow
def test_a_server_that_loses_its_data(workers: Workers) -> None:
    workers.fill()
    request, label = workers.submit(7, nap_s=0.5)
    workers.await_helpers(request)
    workers.parts.redis.flushall()
    workers.right(request, label, 7)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_job_ends_once_and_correctly_under_random_kills(workers: Workers) -> None:
    """Rounds of jobs, some of them cancelled, while workers are killed at random."""
    rng = np.random.default_rng(int(os.environ.get("UMBEL_TEST_SEED", "0")))
    for _ in range(25):
        workers.fill()
        jobs = [
            (workers.submit(n, nap_s=0.2), n) for n in rng.choice([1, 2, 7, 12], size=3).tolist()
        ]
        cancelled = set()
        for _ in range(int(rng.integers(1, 4))):
            time.sleep(float(rng.random()))
            draw = rng.random()
            worker = workers.workers[int(rng.integers(len(workers.workers)))]
            if draw < 0.6:
                worker.kill()
                worker.wait()
            elif draw < 0.7:
                processes.stop(worker, 10.0)
            elif draw < 0.85:
                workers.restart_server()
            else:
                request = jobs[int(rng.integers(3))][0][0]
                cancelled.add(request.id)
                workers.parts.ledger.cancel("t", request.id)
        workers.fill()
        for (request, label), n_pieces in jobs:
            record = workers.ended(request)
            end = workers.parts.ledger.end_of("t", request.id)
            assert end is not None
            assert end.status == record.status
            if record.status == "succeeded":
                workers.right(request, label, n_pieces)
            elif record.status == "cancelled":
                assert request.id in cancelled
            else:
                # Killed in every attempt.
                assert (record.error or {})["type"] == "/problems/worker-lost"
                assert record.attempt == workers.settings.max_attempts
            workers.clean(request)

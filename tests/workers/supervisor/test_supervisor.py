"""A supervisor over the real ledger, store, Valkey and children."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.workers.child.process_kit import child_pool
from tests.workers.embedding.endpoint_kit import embedding
from tests.workers.phrasing.chat_kit import chatting
from tests.workers.supervisor.single_kit import LOGITS, SingleWorker
from tests.workers.waiting_kit import PATIENCE_S, gone, until
from workers.child import template
from workers.child.pool import Child, ChildPool
from workers.embedded import EmbeddedServer
from workers.errors import NoProcess
from workers.model import Request, new_id, now
from workers.stores.objects import layout
from workers.telemetry.job_counts import BYTES, Meter, counters, histograms
from workers.work.job import Spec


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(tmp_path_factory.mktemp("r"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def pool() -> Iterator[ChildPool]:
    with child_pool(1, threads=1) as pool:
        yield pool


@pytest.fixture
def bench(tmp_path: Path, server: EmbeddedServer, pool: ChildPool) -> SingleWorker:
    return SingleWorker(tmp_path, server, pool)


def busy_child() -> psutil.Process | None:
    for process in psutil.Process().children(recursive=True):
        try:
            line = " ".join(process.cmdline())
            job = "forkserver" in line and os.getsid(process.pid) == process.pid
            if job and process.cpu_times().user > 0.5:
                return process
        except (psutil.Error, ProcessLookupError):
            continue
    return None


def await_busy() -> psutil.Process:
    until(lambda: busy_child() is not None)
    child = busy_child()
    assert child is not None
    return child


@pytest.fixture
def stopped(pool: ChildPool, monkeypatch: pytest.MonkeyPatch) -> list[Child]:
    """The children that get a job from now on. Each is stopped before: as in a C loop without end,
    it answers nothing, and only killing it ends its job."""
    children: list[Child] = []

    def begin(spec: Spec) -> Child:
        child = pool.take()
        child.pause()
        child.begin(spec)
        children.append(child)
        return child

    monkeypatch.setattr(pool, "begin", begin)
    return children


def ends(thread: threading.Thread) -> None:
    """Waits for a run, but not so long that a child which stands still is given up."""
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


STILL_S = 2 * PATIENCE_S


def test_a_job_succeeds_and_leaves_no_scratch(bench: SingleWorker) -> None:
    request = bench.submit()
    bench.supervisor.run(request.id)
    record = bench.record(request)
    assert record.status == "succeeded"
    assert record.result is not None
    assert record.result["tree"] == request.id.replace("job_", "tr_")
    assert list(bench.scratch.iterdir()) == []
    tree = bench.parts.trees.load("t", record.result["tree"])
    assert tree is not None
    assert tree.n_leaves == 3


def test_a_spare_process_is_started_once_the_job_has_ended(
    bench: SingleWorker, pool: ChildPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool.fill().result()
    request = bench.submit()
    seen: list[tuple[int, str]] = []
    refill = pool.refill

    def counted() -> None:
        seen.append((len(pool._waiting), bench.record(request).status))
        refill()

    monkeypatch.setattr(pool, "refill", counted)
    bench.supervisor.run(request.id)
    assert seen == [(0, "succeeded")]
    until(lambda: len(pool._waiting) == 1)


def texts_of(bench: SingleWorker) -> Request:
    """A job, submitted, that embeds two texts."""
    request = Request(
        id=new_id("job"),
        tenant="t",
        kind="embed",
        method="embed",
        inputs={"documents": "inline"},
        created_at=now(),
    )
    bench.parts.ledger.submit(request, {"documents": b'["a fox", "the sea"]'})
    return request


def embedding_by(url: str) -> dict[str, str]:
    return {"embedding_url": url, "embedding_model": "small", "webhook_allow": "127.0.0.0/8"}


def test_texts_are_embedded_outside_the_child(
    tmp_path: Path, server: EmbeddedServer, pool: ChildPool
) -> None:
    with embedding() as endpoint:
        bench = SingleWorker(tmp_path, server, pool, **embedding_by(endpoint.url))
        request = texts_of(bench)
        bench.supervisor.run(request.id)
        record = bench.record(request)
        assert record.status == "succeeded", record.error
        dataset = bench.parts.datasets.get("t", request.id.replace("job_", "ds_"))
        assert dataset is not None
        assert dataset.shape == (2, 8)
        assert endpoint.batches == [["a fox", "the sea"]]


def test_an_embedder_that_does_not_answer_is_the_reason_of_the_failure(
    tmp_path: Path, server: EmbeddedServer, pool: ChildPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.embedding.vectors.PAUSES_S", ())
    with embedding() as endpoint:
        bench = SingleWorker(tmp_path, server, pool, **embedding_by(endpoint.url))
        request = texts_of(bench)
        endpoint.next(*[503] * bench.settings.max_attempts)
        for _ in range(bench.settings.max_attempts):
            bench.supervisor.run(request.id)
        place = endpoint.url.split("/")[2]
    record = bench.record(request)
    assert record.status == "failed"
    assert record.error is not None
    assert record.error["type"] == "/problems/unavailable"
    why = f"The embedder at {place} gave no vectors: It answered with HTTP 503."
    assert record.error["detail"] == why
    assert [each.error["detail"] for each in record.given_up] == [why] * len(record.given_up)


def test_names_are_phrased_outside_the_child(
    tmp_path: Path, server: EmbeddedServer, pool: ChildPool
) -> None:
    with chatting() as chat:
        allowed = {"naming_url": chat.url, "webhook_allow": "127.0.0.0/8"}
        bench = SingleWorker(tmp_path, server, pool, **allowed)
        fitted = bench.submit()
        bench.supervisor.run(fitted.id)

        def submit(labels: bytes) -> Request:
            request = Request(
                id=new_id("job"),
                tenant="t",
                kind="name",
                method="name",
                inputs={"labels": "inline"},
                options={
                    "tree": fitted.id.replace("job_", "tr_"),
                    "by": "model",
                    "evidence": "labels",
                },
                created_at=now(),
            )
            bench.parts.ledger.submit(request, {"labels": labels})
            return request

        request = submit(b'["a", "a", "b"]')
        bench.supervisor.run(request.id)
        record = bench.record(request)
        assert record.status == "succeeded", record.error
        assert record.result is not None
        assert record.result["naming"]["sent"]["n_nodes"] == len(chat.questions[0]) == 5
        # One that waits for an answer can be cancelled.
        chat.receiver.answers[:0] = [chat.receiver.hang]
        slow = submit(b'["a", "c", "b"]')
        thread = bench.start(slow)
        until(lambda: len(chat.receiver.requests) == 2)
        bench.parts.ledger.cancel("t", slow.id)
        thread.join()
        assert bench.record(slow).status == "cancelled"


def test_the_time_of_each_stage_and_the_memory_are_counted(bench: SingleWorker) -> None:
    before = bench.parts.job_counts.fields()
    request = bench.submit()
    bench.supervisor.run(request.id)
    fields = bench.parts.job_counts.fields()
    added = {key: number - before.get(key, 0) for key, number in fields.items()}
    for stage in ("inputs", "process", "compute", "publish"):
        counted = [key for key in added if key.startswith(f"stage l2h {stage} le:") and added[key]]
        assert len(counted) == 1, added
    memory = histograms(added, "memory", BYTES)["l2h",]
    assert memory.cumulated[-1] == 1
    # A Python process with NumPy and SciPy, and a tiny job.
    assert 40 << 20 < memory.total < 2 << 30
    assert counters(added, "attempts")["l2h", "succeeded"] == 1


def test_a_hint_for_an_unknown_job_does_nothing(bench: SingleWorker) -> None:
    bench.supervisor.run("job_none")
    request = bench.submit()
    bench.supervisor.run(request.id)
    version = bench.record(request).version
    bench.supervisor.run(request.id)
    assert bench.record(request).version == version


def test_the_users_error_is_shown_with_the_request(bench: SingleWorker) -> None:
    request = bench.submit("hac", "logits")
    bench.supervisor.run(request.id)
    record = bench.record(request)
    assert record.status == "failed"
    assert record.error is not None
    assert record.error["type"] == "/problems/wrong-input"
    assert record.error["request_id"] == "req-7"


def test_quick_work_does_not_wait_for_the_fit_in_the_slot(bench: SingleWorker) -> None:
    ledger = bench.parts.ledger
    waiting = bench.submit()
    quick = Request(
        id=new_id("job"),
        tenant="t",
        kind="import",
        method="import",
        options={"format": "newick"},
        created_at=now(),
    )
    ledger.submit(quick, {"content": b"(a,b);"})
    assert not bench.supervisor.run_quick()  # The slot is free: a hint wakes it.
    ledger.cancel("t", waiting.id)
    fit = bench.submit("hac", "features", linkage="average")
    thread = bench.start(fit)
    await_busy()
    behind = bench.submit()
    assert bench.supervisor.run_quick()
    assert bench.record(quick).status == "succeeded"
    assert bench.record(fit).status == "running"
    assert not bench.supervisor.run_quick()  # A fit does not take the room of quick work.
    assert bench.record(behind).status == "queued"
    short = behind.model_copy(update={"id": new_id("job"), "tenant": "u", "cost_s": 1.0})
    ledger.submit(short, {"logits": LOGITS})
    assert bench.supervisor.run_quick()  # Unless it is short.
    record = ledger.get("u", short.id)
    assert record is not None
    assert record.status == "succeeded"
    ledger.cancel("t", fit.id)
    thread.join()


def test_a_tenant_with_all_slots_leaves_room_for_another(
    tmp_path: Path,
    server: EmbeddedServer,
    pool: ChildPool,
    stopped: list[Child],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = SingleWorker(tmp_path, server, pool, room_s=1000.0)
    ledger = bench.parts.ledger

    def short(tenant: str) -> Request:
        job = Request(
            id=new_id("job"),
            tenant=tenant,
            kind="fit",
            method="l2h",
            inputs={"logits": "inline"},
            created_at=now(),
            cost_s=1.0,
        )
        ledger.submit(job, {"logits": LOGITS})
        return job

    jobs, threads = [], []
    for run in (lambda: bench.supervisor.run("job_none"), bench.supervisor.run_quick):
        assert not bench.supervisor.run_guest()
        jobs.append(short("t"))
        threads.append(threading.Thread(target=run))
        threads[-1].start()
        until(lambda: len(stopped) == len(jobs))
    monkeypatch.undo()
    behind = short("t")
    assert not bench.supervisor.run_guest()
    other = short("u")
    assert bench.supervisor.run_guest()
    record = ledger.get("u", other.id)
    assert record is not None
    assert record.status == "succeeded"
    assert not bench.supervisor.run_guest()
    assert bench.record(behind).status == "queued"
    for job in jobs:
        ledger.cancel("t", job.id)
    for thread in threads:
        ends(thread)
    assert not bench.supervisor.run_guest()
    bench.supervisor.run("job_none")
    assert bench.record(behind).status == "succeeded"


@pytest.mark.parametrize(("quick_slots", "first"), [(1, "fit"), (0, "import")])
def test_a_free_slot_also_runs_quick_work(
    tmp_path: Path, server: EmbeddedServer, pool: ChildPool, quick_slots: int, first: str
) -> None:
    bench = SingleWorker(tmp_path, server, pool, quick_slots=quick_slots)
    quick = Request(
        id=new_id("job"),
        tenant="t",
        kind="import",
        method="import",
        options={"format": "newick"},
        created_at=now(),
    )
    bench.parts.ledger.submit(quick, {"content": b"(a,b);"})
    jobs = {"import": quick, "fit": bench.submit()}
    bench.supervisor.run("job_none")
    assert {kind for kind, job in jobs.items() if bench.record(job).ended} == {first}
    bench.supervisor.run("job_none")
    assert {bench.record(job).status for job in jobs.values()} == {"succeeded"}


def test_a_hint_prefers_the_jobs_of_its_queue(
    tmp_path: Path, server: EmbeddedServer, pool: ChildPool
) -> None:
    bench = SingleWorker(tmp_path, server, pool)
    cpu = bench.submit()
    gpu = cpu.model_copy(update={"id": new_id("job"), "queue": "gpu"})
    bench.parts.ledger.submit(gpu, {"logits": LOGITS})
    bench.supervisor.run(cpu.id, "gpu")
    assert [bench.record(job).status for job in (cpu, gpu)] == ["queued", "succeeded"]
    bench.supervisor.run(cpu.id, "gpu")
    assert bench.record(cpu).status == "succeeded"


def test_an_input_deleted_meanwhile_fails_the_job(bench: SingleWorker) -> None:
    request = bench.submit()
    bench.parts.blobs.delete(layout.inline("t", request.id, "logits"))
    bench.supervisor.run(request.id)
    record = bench.record(request)
    assert record.error is not None
    assert record.error["type"] == "/problems/input-deleted"


def test_a_cancel_interrupts_a_c_loop(
    tmp_path: Path, server: EmbeddedServer, pool: ChildPool, stopped: list[Child]
) -> None:
    bench = SingleWorker(tmp_path, server, pool, still_s=STILL_S)
    request = bench.submit()
    thread = bench.start(request)
    until(lambda: len(stopped) == 1)
    bench.parts.ledger.cancel("t", request.id)
    ends(thread)
    assert bench.record(request).status == "cancelled"
    until(lambda: gone(stopped[0].pid))
    assert list(bench.scratch.iterdir()) == []


def test_a_stopped_child_counts_as_crashed(
    tmp_path: Path,
    server: EmbeddedServer,
    pool: ChildPool,
    stopped: list[Child],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = SingleWorker(tmp_path, server, pool, still_s=3.0)
    request = bench.submit()
    ends(bench.start(request))
    until(lambda: gone(stopped[0].pid))
    record = bench.record(request)
    assert (record.status, record.attempt) == ("queued", 1)
    # The next child runs; on a busy machine it may wait longer than that for a core.
    monkeypatch.undo()
    patient = bench.settings.model_copy(update={"still_s": STILL_S})
    monkeypatch.setattr(bench.supervisor, "_settings", patient)
    bench.supervisor.run(request.id)
    record = bench.record(request)
    assert (record.status, record.attempt) == ("succeeded", 2)


@pytest.mark.parametrize(
    "happens",
    [
        "killed",
        pytest.param("stopped", marks=pytest.mark.slow),
        pytest.param("stopped, then killed", marks=pytest.mark.slow),
    ],
)
def test_a_lost_template_costs_no_attempt(
    tmp_path: Path, server: EmbeddedServer, happens: str
) -> None:
    still_s = 3.0 if happens == "stopped" else 600.0
    with child_pool(0, still_s=still_s, threads=1) as own:
        bench = SingleWorker(tmp_path, server, own)
        own.drop(own.take())
        pid = template.pid()
        assert pid is not None
        if happens != "killed":
            os.kill(pid, signal.SIGSTOP)
        request = bench.submit()
        if happens == "killed":
            os.kill(pid, signal.SIGKILL)
        thread = bench.start(request)
        if happens == "stopped, then killed":
            until(lambda: bench.record(request).status == "running")
            time.sleep(0.5)  # The starting child waits for the template's reply.
            os.kill(pid, signal.SIGKILL)
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
        record = bench.record(request)
        assert (record.status, record.attempt) == ("succeeded", 1)
        assert template.pid() != pid


def test_a_child_that_dies_before_its_job_costs_no_attempt(
    bench: SingleWorker, pool: ChildPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = pool.take
    children: list[Child] = []

    def dying() -> Child:
        child = take()
        children.append(child)
        if len(children) == 1:
            os.kill(child.pid, signal.SIGKILL)
            until(lambda: not child.alive())
        return child

    monkeypatch.setattr(pool, "take", dying)
    request = bench.submit()
    bench.supervisor.run(request.id)
    record = bench.record(request)
    assert (record.status, record.attempt) == ("succeeded", 1)
    assert len(children) == 2


def test_a_job_for_which_no_process_starts_is_left_for_later(
    bench: SingleWorker, pool: ChildPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> Child:
        raise NoProcess("none starts")

    request = bench.submit()
    with monkeypatch.context() as patch:
        patch.setattr(pool, "take", fail)
        bench.supervisor.run(request.id)
    record = bench.record(request)
    assert (record.status, record.attempt) == ("queued", 0)
    bench.supervisor.run(request.id)
    assert bench.record(request).status == "queued"  # Not before it is due.


def test_a_cancel_interrupts_the_start_of_a_process(tmp_path: Path, server: EmbeddedServer) -> None:
    with child_pool(0, still_s=600.0, threads=1) as own:
        bench = SingleWorker(tmp_path, server, own)
        own.drop(own.take())
        pid = template.pid()
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        try:
            request = bench.submit()
            thread = bench.start(request)
            until(lambda: bench.record(request).status == "running")
            bench.parts.ledger.cancel("t", request.id)
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
            assert bench.record(request).status == "cancelled"
        finally:
            os.kill(pid, signal.SIGCONT)
        late = own.take()
        assert late.alive()
        late.kill()


@pytest.mark.parametrize("n_bytes", [0, 300])
def test_a_full_disk_is_reported(
    tmp_path: Path,
    server: EmbeddedServer,
    pool: ChildPool,
    monkeypatch: pytest.MonkeyPatch,
    n_bytes: int,
) -> None:
    """A limit on the size of a file stands in for a full disk; each file of a result exceeds it."""
    bench = SingleWorker(tmp_path, server, pool)
    take = pool.take

    def restricted() -> Child:
        child = take()
        resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
        return child

    request = bench.submit()
    with monkeypatch.context() as patch:
        patch.setattr(pool, "take", restricted)
        for attempt in range(bench.settings.max_attempts):
            assert bench.record(request).error is None
            bench.supervisor.run(request.id)
            assert bench.record(request).attempt == attempt + 1
    record = bench.record(request)
    assert record.status == "failed"
    assert record.error is not None
    assert record.error["type"] == "/problems/full"
    end = bench.parts.ledger.end_of("t", request.id)
    assert end is not None
    assert (end.error, end.files) == (record.error, ())
    assert list(bench.parts.blobs.keys(layout.attempts("t", request.id))) == []
    assert list(bench.scratch.iterdir()) == []


@pytest.mark.usefixtures("stopped")
def test_a_deadline_ends_the_job(tmp_path: Path, server: EmbeddedServer, pool: ChildPool) -> None:
    bench = SingleWorker(tmp_path, server, pool, job_timeout_s=1.0, still_s=STILL_S)
    request = bench.submit()
    ends(bench.start(request))
    record = bench.record(request)
    assert record.status == "failed"
    assert record.error is not None
    assert record.error["type"] == "/problems/deadline-exceeded"


def test_a_stopping_worker_gives_its_job_back_unspent(
    tmp_path: Path, server: EmbeddedServer, pool: ChildPool, stopped: list[Child]
) -> None:
    bench = SingleWorker(tmp_path, server, pool, still_s=STILL_S)
    request = bench.submit()
    thread = bench.start(request)
    until(lambda: len(stopped) == 1)
    bench.supervisor.stop(0.3)
    assert bench.supervisor.wait_idle(PATIENCE_S)
    ends(thread)
    record = bench.record(request)
    assert (record.status, record.attempt) == ("queued", 0)
    until(lambda: gone(stopped[0].pid))
    second = bench.submit()
    bench.supervisor.run(second.id)
    assert bench.record(second).status == "queued"


def test_the_lease_is_kept_while_the_child_does_not_answer(
    tmp_path: Path, server: EmbeddedServer, pool: ChildPool, stopped: list[Child]
) -> None:
    """As while C code keeps the interpreter: here the child is stopped for longer than a lease."""
    bench = SingleWorker(tmp_path, server, pool, lease_s=6.0, still_s=STILL_S)
    request = bench.submit()
    thread = bench.start(request)
    until(lambda: len(stopped) == 1)
    swept = 0
    resumes = time.monotonic() + 7.5
    while time.monotonic() < resumes:
        swept += bench.parts.ledger.sweep()
        assert thread.is_alive()
        thread.join(0.1)
    stopped[0].resume()
    ends(thread)
    assert swept == 0
    record = bench.record(request)
    assert (record.status, record.attempt) == ("succeeded", 1)


def test_a_lost_lease_drops_the_result(
    tmp_path: Path, server: EmbeddedServer, pool: ChildPool, stopped: list[Child]
) -> None:
    bench = SingleWorker(tmp_path, server, pool, still_s=STILL_S)
    request = bench.submit()
    thread = bench.start(request)
    until(lambda: len(stopped) == 1)
    # Another worker takes the job, as if this one had been silent; the record decides.
    client, key = bench.parts.redis, f"{bench.settings.key_prefix}job:{request.id}"
    client.hset(key, "fence", "another")
    ends(thread)
    assert bench.record(request).status == "running"
    assert list(bench.parts.blobs.keys(layout.attempts("t", request.id))) == []


def test_a_job_continues_while_redis_is_unreachable(
    tmp_path: Path, pool: ChildPool, stopped: list[Child]
) -> None:
    own = EmbeddedServer(tmp_path / "redis")
    own.start()
    try:
        bench = SingleWorker(tmp_path, own, pool, lease_s=60.0, still_s=STILL_S)
        request = bench.submit()
        thread = bench.start(request)
        until(lambda: len(stopped) == 1)
        assert own.pid is not None
        os.kill(own.pid, signal.SIGKILL)
        until(lambda: not own.alive())
        stopped[0].resume()
        until(lambda: gone(stopped[0].pid))
        assert thread.is_alive()
        own.ensure()
        ends(thread)
        record = bench.record(request)
        assert (record.status, record.attempt) == ("succeeded", 1)
    finally:
        own.stop()


def test_progress_includes_the_remaining_time(bench: SingleWorker) -> None:
    from workers.model import Advance, Claim
    from workers.supervisor.interrupts import Heartbeat
    from workers.supervisor.pieces import AttemptPieces
    from workers.supervisor.supervisor import _Attempt

    ledger = bench.parts.ledger
    request = bench.submit()
    claim = ledger.claim(request.id, "w")
    assert isinstance(claim, Claim)
    heartbeat = Heartbeat(lambda advance: ledger.beat(claim, advance), 0.05, request)
    pieces = AttemptPieces(ledger.pieces, claim, bench.settings)
    attempt = _Attempt(
        claim,
        pieces,
        lambda number: None,
        Path("shared"),
        heartbeat,
        time.monotonic() + 60,
        lambda: None,
        60.0,
        Meter(bench.parts.redis, bench.settings, "hac"),
        lambda: False,
        lambda: False,
        60.0,
    )
    attempt._began -= 10.0
    heartbeat.carry(attempt._with_eta(Advance(fraction=0.25, stage="merging")))
    until(lambda: bench.record(request).progress.stage == "merging")
    heartbeat.stop()
    eta_s = bench.record(request).progress.eta_s
    assert eta_s is not None
    assert 29.0 < eta_s < 32.0


def test_supervisor_and_worker_import_nothing_that_only_later_work_needs() -> None:
    code = (
        "import sys, workers.worker, workers.supervisor.supervisor; "
        "late = ('torch', 'sklearn', 'numba', 'httpcore', 'h11'); "
        "print([name for name in late if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

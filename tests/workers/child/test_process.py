"""One process per job: its outcome, its limits, and that it never outlives its worker."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing import Pipe
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import psutil
import pytest

from tests.workers.child.process_kit import busy, child_pool, long_job, outcome, spec
from tests.workers.waiting_kit import PATIENCE_S, gone, until
from workers.child import template as templates
from workers.child.pool import Child, ChildPool
from workers.errors import FatalError, TransientError
from workers.supervisor.interrupts import CancelRequested, Heartbeat, Interrupts
from workers.work.job import Spec
from workers.work.sources import Source

LOGITS = [[2.0, 0.0, 0.5], [0.0, 2.0, 1.5], [0.5, 1.0, 2.0], [2.0, 1.0, 0.0]]
MIB = 1 << 20
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def pool() -> Iterator[ChildPool]:
    with child_pool(1, threads=2, later=True) as pool:
        pool.fill().result()
        yield pool


@pytest.fixture
def small(tmp_path: Path) -> Spec:
    """A trivial `l2h` job."""
    path = tmp_path / "logits.json"
    path.write_text(json.dumps(LOGITS))
    return spec(tmp_path, "l2h", Source(role="logits", kind="inline", path=path))


@pytest.fixture
def long(tmp_path: Path) -> Spec:
    """A job that spends several seconds in one C call."""
    return long_job(tmp_path)


def test_a_child_runs_its_job_and_ends(pool: ChildPool, small: Spec) -> None:
    child = pool.take()
    child.begin(small)
    done = outcome(child)
    assert done.error is None
    assert done.tree is not None
    assert done.tree["n_leaves"] == 3
    assert (small.folder / "tree.arrow").stat().st_size > 0
    until(lambda: gone(child.pid))
    pool.drop(child)


def test_each_job_has_a_process_of_its_own_in_its_own_session(pool: ChildPool) -> None:
    first, second = pool.take(), pool.take()
    assert first.pid != second.pid
    for child in (first, second):
        until(lambda pid=child.pid: os.getsid(pid) == pid)  # type: ignore[misc]
        child.kill()
        assert gone(child.pid)


def test_a_long_job_goes_on_with_less_priority(
    pool: ChildPool, long: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All its threads; a spare process keeps its priority."""
    monkeypatch.setattr("workers.child.pool.LONG_S", 0.1)
    monkeypatch.setattr("workers.supervisor.interrupts._LOOK_EVERY_S", 0.0)
    child, spare = pool.take(), pool.take()
    child.begin(long)
    heartbeat = cast(Heartbeat, SimpleNamespace(lease="on"))
    interrupts = Interrupts(heartbeat, time.monotonic() + PATIENCE_S, lambda: None)

    def nice(pid: int) -> set[int]:
        threads = [int(thread) for thread in os.listdir(f"/proc/{pid}/task")]
        return {os.getpriority(os.PRIO_PROCESS, thread) for thread in threads}

    before = nice(child.pid)
    if max(before) == 19:
        pytest.skip("the tests have the least priority themselves")

    def attend(_: object) -> None:
        if nice(child.pid) != before:
            raise CancelRequested

    with pytest.raises(CancelRequested):
        interrupts.listen(child, attend)
    assert max(before) < min(nice(child.pid))
    assert nice(spare.pid) == before
    for each in (child, spare):
        each.kill()


def test_the_template_runs_one_thread_and_no_torch(pool: ChildPool) -> None:
    child = pool.take()
    template = psutil.Process(psutil.Process(child.pid).ppid())
    assert template.num_threads() == 1
    assert not any("torch" in mapped.path for mapped in template.memory_maps())
    child.kill()


def test_a_job_inherits_no_secrets_of_its_worker() -> None:
    """What a child passes on to its own children."""
    code = (
        "import subprocess; from workers.child import template; "
        "context = template.begin(1, later=True); "
        "child = context.Process(target=subprocess.call, args=(['env'],)); "
        "child.start(); child.join()"
    )
    secrets = {"UMBEL_REDIS_URL": "redis://:sesame@h", "AWS_SECRET_ACCESS_KEY": "sesame"}
    secrets["OTEL_EXPORTER_OTLP_HEADERS"] = "authorization=sesame"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **secrets},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert "OPENBLAS_NUM_THREADS=1" in done.stdout
    assert "sesame" not in done.stdout + done.stderr
    assert "UMBEL_" not in done.stdout
    assert "OTEL_" not in done.stdout


def test_a_spare_found_dead_is_replaced(pool: ChildPool, small: Spec) -> None:
    pool.fill().result()
    os.kill(pool._waiting[0].pid, signal.SIGKILL)
    until(lambda: not pool._waiting[0].alive())
    child = pool.take()
    child.begin(small)
    assert outcome(child).error is None
    pool.drop(child)


def test_the_error_names_the_signal_that_killed_a_child(pool: ChildPool, long: Spec) -> None:
    child = pool.take()
    child.begin(long)
    until(lambda: busy(child.pid))
    os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(TransientError, match="SIGKILL"):
        outcome(child)
    pool.drop(child)


def test_a_killed_template_is_replaced(
    pool: ChildPool, long: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By one that loads what a job needs first, and the rest after the job has its process."""
    steps: list[str] = []
    begin, complete = templates.begin, templates.complete

    def began(threads: int, *, later: bool = False) -> object:
        before, context = templates.pid(), begin(threads, later=later)
        if templates.pid() != before:
            steps.append("first" if later else "all")
        return context

    def completed() -> None:
        steps.append("rest")
        complete()

    monkeypatch.setattr(templates, "begin", began)
    monkeypatch.setattr(templates, "complete", completed)
    child = pool.take()
    template = psutil.Process(child.pid).ppid()
    child.begin(long)
    until(lambda: busy(child.pid))
    os.kill(template, signal.SIGKILL)
    until(lambda: gone(child.pid))
    with pytest.raises(TransientError):
        outcome(child)
    pool.drop(child)
    after = pool.take()
    assert psutil.Process(after.pid).ppid() != template
    after.kill()
    until(lambda: steps == ["first", "rest"])
    pool._starter.submit(lambda: None).result()


def test_a_template_that_other_code_has_waited_for_is_replaced(pool: ChildPool) -> None:
    """A library that waits for any child takes its status, too."""
    lost = templates.pid()
    assert lost is not None
    os.kill(lost, signal.SIGKILL)
    os.waitpid(lost, 0)
    pool.drop(pool._starter.submit(pool._start).result())
    assert templates.pid() not in (None, lost)
    pool._starter.submit(lambda: None).result()


def test_kill_ends_a_child_inside_a_c_loop(pool: ChildPool, long: Spec) -> None:
    child = pool.take()
    child.begin(long)
    until(lambda: busy(child.pid))
    child.kill()
    assert gone(child.pid)
    # It did not end by itself.
    assert not (long.folder / "tree.arrow").exists()


def test_memory_is_bounded(tmp_path: Path) -> None:
    with child_pool(0, memory_bytes=200 * MIB, threads=1) as pool:
        child = pool.take()
        child.begin(long_job(tmp_path))
        error = outcome(child).error
        assert error is not None
        assert error["type"] == "/problems/out-of-memory"


def test_a_large_mapped_file_does_not_count_as_memory(tmp_path: Path) -> None:
    path = tmp_path / "logits.npy"
    logits = np.lib.format.open_memmap(path, "w+", np.float32, (1_000_000, 100))
    logits[:, 0] = 1.0
    logits[::2, 1] = 2.0
    del logits
    with child_pool(0, memory_bytes=300 * MIB, threads=1) as pool:
        child = pool.take()
        source = Source(role="logits", kind="dataset", path=path, format="npy")
        child.begin(spec(tmp_path, "l2h", source))
        assert outcome(child).error is None


def test_an_internal_error_reveals_nothing(pool: ChildPool, small: Spec) -> None:
    child = pool.take()
    small.folder.rmdir()
    child.begin(small)
    error = outcome(child).error
    assert error is not None
    assert error["type"] == "/problems/internal"
    assert str(small.folder) not in json.dumps(error)
    pool.drop(child)


def test_a_missing_input_is_the_users_error(pool: ChildPool, small: Spec) -> None:
    small.sources[0].path.unlink()
    child = pool.take()
    child.begin(small)
    error = outcome(child).error
    assert error is not None
    assert error["type"] == "/problems/input-deleted"
    pool.drop(child)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b'{"outcome": 3}',
        b'{"outcome": {"result": []}}',
        b'{"surprise": 1}',
        b'{"advance": {"fraction": "much"}}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_a_malformed_message_is_a_fault(text: bytes) -> None:
    with pytest.raises(FatalError):
        answering(text).receive(PATIENCE_S)


def test_an_oversized_message_is_a_fault() -> None:
    ours, theirs = Pipe()

    def chatter() -> None:
        with contextlib.suppress(OSError):
            theirs.send_bytes(b" " * (17 * MIB))

    sender = threading.Thread(target=chatter)
    sender.start()
    with pytest.raises(FatalError, match="too long"):
        Child(Silent(), ours).receive(PATIENCE_S)
    ours.close()
    sender.join(PATIENCE_S)
    assert not sender.is_alive()


class Silent:
    """Stands in for a process that stays alive: its sentinel never becomes ready."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        self.sentinel = self._read


def answering(text: bytes) -> Child:
    ours, theirs = Pipe()
    theirs.send_bytes(text)
    return Child(Silent(), ours)


WORKER = """
import sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.workers.child.process_kit import busy, long_job
from tests.workers.waiting_kit import until
from workers.child import template
from workers.child.pool import ChildPool
from workers.child.process import ProcessLimits
pool = ChildPool(ProcessLimits(threads=2), spares=2)
pool._starter.submit(template.begin, 2, later=True).result()
child = pool.take()
pool.fill().result()
child.begin(long_job(Path({folder!r})))
until(lambda: busy(child.pid))
print("busy", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("victim", ["worker", "template"])
def test_no_process_is_left_when_a_parent_is_killed(victim: str, tmp_path: Path) -> None:
    code = WORKER.format(root=str(ROOT), folder=str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"busy\n"
        family = psutil.Process(worker.pid).children(recursive=True)
        template = next(p for p in family if "forkserver" in " ".join(p.cmdline()))
        jobs = template.children()
        assert len(jobs) >= 2
        (psutil.Process(worker.pid) if victim == "worker" else template).kill()
        for process in jobs:
            until(lambda pid=process.pid: gone(pid))  # type: ignore[misc]
        worker.kill()
        for process in family:
            until(lambda pid=process.pid: gone(pid))  # type: ignore[misc]

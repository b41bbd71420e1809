"""A worker process: Celery's consumer over a real Valkey, bad messages, lost connections."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis.retry

from tests.workers.waiting_kit import PATIENCE_S, until
from umbel import floors
from workers import processes
from workers.assembly import Assembly, assemble
from workers.broker import StrictTransport, make_app
from workers.embedded import EmbeddedServer
from workers.jobs.hints import message, sender
from workers.model import Record, Request, new_id, now
from workers.processes import FolderLock
from workers.settings import WorkerSettings
from workers.supervisor.scratch import left_by_dead, own_scratch

LOGITS = json.dumps([[2.0, 0.0, 0.5], [0.0, 2.0, 1.5], [0.5, 1.0, 2.0]]).encode()


class WorkerProcess:
    """A server, a worker process connected to it, and their ledger."""

    def __init__(self, folder: Path) -> None:
        self.server = EmbeddedServer(folder / "redis")
        self.server.start()
        self.settings = WorkerSettings(
            redis_url=self.server.url,
            store_url=f"file://{folder / 'store'}",
            scratch_dir=folder / "scratch",
            lease_s=60.0,
            resend_s=1.0,
            sweep_s=0.3,
        )
        self.log = folder / "log"
        self.parts: Assembly = assemble(self.settings, sender(self.settings), message)
        env = {
            **os.environ,
            "UMBEL_REDIS_URL": self.server.url,
            "UMBEL_STORE_URL": self.settings.store_url,
            "UMBEL_SCRATCH_DIR": str(self.settings.scratch_dir),
            "UMBEL_LEASE_S": "60",
            "UMBEL_RESEND_S": "1",
            "UMBEL_SWEEP_S": "0.3",
        }
        with self.log.open("wb") as log:
            self.worker = processes.spawn(
                floors.command("workers.main"), env=env, stdout=log, stderr=log
            )
        until(lambda: self.parts.ledger.workers.n_alive() > 0)

    def redis(self) -> redis.Redis:
        return redis.Redis.from_url(self.server.url)

    def submit(self) -> Request:
        request = Request(
            id=new_id("job"),
            tenant="t",
            kind="fit",
            method="l2h",
            inputs={"logits": "inline"},
            created_at=now(),
        )
        self.parts.ledger.submit(request, {"logits": LOGITS})
        return request

    def record(self, request: Request) -> Record:
        record = self.parts.ledger.get("t", request.id)
        assert record is not None
        return record

    def succeeds(self) -> None:
        """A trivial job succeeds."""
        request = self.submit()
        until(lambda: self.record(request).ended)
        assert self.record(request).status == "succeeded"

    def logged(self) -> list[dict[str, Any]]:
        """The lines of its log; the last one may be incomplete."""
        text = self.log.read_text()
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def restart_server(self) -> None:
        assert self.server.pid is not None
        os.kill(self.server.pid, signal.SIGKILL)
        until(lambda: not self.server.alive())
        self.server.ensure()

    def close(self) -> None:
        processes.stop(self.worker, 10.0)
        self.server.stop()


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    bench = WorkerProcess(tmp_path_factory.mktemp("w"))
    yield bench
    bench.close()


def envelope(**changes: object) -> str:
    message = {
        "body": "W1siam9iX3giXSwge30sIHt9XQ==",
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {"task": "umbel.run", "id": "1", "lang": "py"},
        "properties": {
            "delivery_tag": "1",
            "delivery_info": {"exchange": "", "routing_key": "cpu"},
            "body_encoding": "base64",
        },
    }
    return json.dumps({**message, **changes})


def test_jobs_run_one_after_the_other_without_a_pause(bench: WorkerProcess) -> None:
    # A thread that becomes free must not wait for the event loop's next tick, up to a second: that
    # would happen each time, where another program takes the cores only now and then.
    assert any(without_pause(bench) for _ in range(5))


def without_pause(bench: WorkerProcess) -> bool:
    """Whether 20 jobs take half a second each, or the time between them is less than they take: on
    a busy machine both are long."""
    requests = [bench.submit() for _ in range(20)]
    began = time.monotonic()
    until(lambda: all(bench.record(request).ended for request in requests))
    took = time.monotonic() - began
    records = [bench.record(request) for request in requests]
    assert {record.status for record in records} == {"succeeded"}
    times = sorted((at(record.started_at), at(record.finished_at)) for record in records)
    jobs = [end - start for start, end in times]
    pauses = [start - end for (_, end), (start, _) in pairwise(times)]
    return took < 10.0 or statistics.median(pauses) < statistics.median(jobs)


def at(text: str | None) -> float:
    assert text is not None
    return datetime.fromisoformat(text).timestamp()


POISON = {
    "no JSON": "{",
    "nothing": "",
    "no UTF-8": b"\xff\xfe",
    "a number": "3",
    "a list": "[1]",
    "an empty object": "{}",
    "deeply nested": "[" * 200_000,
    "properties are no object": envelope(properties=3),
    "no delivery tag": envelope(properties={}),
    "body is not base64": envelope(body="%%%"),
    "body is no text": envelope(body=3),
    "body is not JSON": envelope(body="e30ee30e"),
    "body has another shape": envelope(body="e30="),
    "no headers": envelope(headers=None),
    "headers are a list": envelope(headers=[1]),
    "unknown task": envelope(headers={"task": "os.system", "id": "2", "lang": "py"}),
    "a pickle": envelope(**{"content-type": "application/x-python-serialize"}),
    "unknown type": envelope(**{"content-type": "text/surprise"}),
    "unknown encoding": envelope(**{"content-encoding": "rot13"}),
    "argument is no id": envelope(body="W1tbMV1dLCB7fSwge31d"),
    "too many arguments": envelope(body="W1sxLCAyLCAzXSwge30sIHt9XQ=="),
    "no arguments": envelope(body="W10="),
}


@pytest.mark.parametrize("kind", POISON)
def test_a_malformed_message_does_not_end_the_worker(bench: WorkerProcess, kind: str) -> None:
    bench.redis().lpush(f"{bench.settings.key_prefix}queue:cpu", POISON[kind])
    bench.succeeds()
    assert bench.worker.poll() is None
    assert "Unrecoverable" not in bench.log.read_text()


@pytest.mark.parametrize(
    "url", ["unix://:secret@/tmp/valkey.sock?db=0", "redis://:secret@h:1/0", "rediss://h:1/0"]
)
def test_every_kind_of_address_gets_the_strict_transport(url: str) -> None:
    connection = make_app(WorkerSettings(redis_url=url)).connection_for_read()
    assert connection.get_transport_cls() is StrictTransport


def test_an_idle_worker_survives_a_server_restart(bench: WorkerProcess) -> None:
    for _ in range(3):
        bench.restart_server()
        bench.succeeds()
    assert bench.worker.poll() is None


def test_a_worker_waits_for_an_unreachable_server(bench: WorkerProcess) -> None:
    assert bench.server.pid is not None
    os.kill(bench.server.pid, signal.SIGKILL)
    time.sleep(4.0)
    assert bench.worker.poll() is None
    bench.server.ensure()
    bench.succeeds()


def test_a_job_with_a_lost_hint_still_runs(bench: WorkerProcess) -> None:
    bench.restart_server()
    request = bench.submit()
    bench.redis().delete(f"{bench.settings.key_prefix}queue:cpu")
    until(lambda: bench.record(request).ended)
    assert bench.record(request).status == "succeeded"


def test_the_log_consists_of_json_lines(bench: WorkerProcess) -> None:
    bench.succeeds()
    # The job ends before its worker logs it.
    until(lambda: any("succeeded" in line["message"] for line in bench.logged()))


def test_the_log_of_a_job_has_its_id_also_from_its_process(bench: WorkerProcess) -> None:
    request = Request(
        id=new_id("job"),
        tenant="t",
        kind="fit",
        method="l2h",
        inputs={"logits": "inline"},
        params={"aggregation": "no such thing"},
        created_at=now(),
        request_id="req-9",
    )
    bench.parts.ledger.submit(request, {"logits": LOGITS})
    until(lambda: bench.record(request).status == "failed")
    of_job: list[dict[str, Any]] = []

    def complete() -> bool:
        # Celery names the job among the arguments of its task.
        of_job[:] = [
            entry
            for entry in bench.logged()
            if request.id in json.dumps(entry) and not entry["logger"].startswith("celery")
        ]
        # Lines of its process and of its worker come in any order.
        ended = any(entry["message"] == "the job has ended" for entry in of_job)
        return ended and any(entry["logger"] == "umbel.job" for entry in of_job)

    until(complete)
    assert all(entry["job_id"] == request.id for entry in of_job)
    assert all(entry["request_id"] == "req-9" for entry in of_job)
    messages = [str(entry["message"]) for entry in of_job]
    assert "attempt 1 of a job by l2h begins" in messages
    [fault] = [entry for entry in of_job if entry["logger"] == "umbel.job"]
    assert fault["level"] == "error"
    assert "no such thing" in fault["traceback"]


def test_workers_started_together_leave_each_others_folders_alone(tmp_path: Path) -> None:
    (tmp_path / "w-1-left").mkdir()
    (tmp_path / "w-1-left" / "file").touch()
    (tmp_path / "w-1-left" / "job_a1-f0").mkdir()

    def start(_: int) -> tuple[Path, FolderLock]:
        folder, lock, attempts = own_scratch(tmp_path)
        left.extend(attempts)
        return folder, lock

    left: list[tuple[str, str]] = []
    with ThreadPoolExecutor(8) as pool:
        own = list(pool.map(start, range(200)))
    assert sorted(tmp_path.glob("w-*")) == sorted(folder for folder, _ in own)
    for folder, lock in own:
        assert (folder / "lock").exists()
        lock.close()
    assert left == [("job_a1", "f0")]
    own_scratch(tmp_path)[1].close()
    assert len(list(tmp_path.glob("w-*"))) == 1


def test_a_dead_worker_is_noticed_by_those_beside_it(tmp_path: Path) -> None:
    """One that is stopped holds its lock: it is not dead."""
    assert left_by_dead(tmp_path / "nowhere") == []
    own, lock, _ = own_scratch(tmp_path)
    (own / "job_mine-f1").mkdir()
    stopped = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time; from pathlib import Path\n"
            "from workers.supervisor.scratch import own_scratch\n"
            "own, lock, _ = own_scratch(Path(sys.argv[1]))\n"
            "(own / 'job_a1-f0').mkdir()\n"
            "print(flush=True); time.sleep(600)",
            str(tmp_path),
        ],
        stdout=subprocess.PIPE,
    )
    try:
        assert stopped.stdout is not None
        stopped.stdout.readline()
        os.kill(stopped.pid, signal.SIGSTOP)
        assert left_by_dead(tmp_path) == []
        with (tmp_path / "lock").open("r+") as door:
            fcntl.flock(door, fcntl.LOCK_EX)
            assert left_by_dead(tmp_path) == [], "it waits for nobody"
    finally:
        stopped.kill()
        stopped.wait()
    assert left_by_dead(tmp_path) == [("job_a1", "f0")]
    assert left_by_dead(tmp_path) == []
    assert (own / "job_mine-f1").exists()
    lock.close()


def test_a_refused_hint_fails_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    send = sender(WorkerSettings(redis_url=f"unix://{tmp_path}/nobody.sock?db=0"))
    naps: list[float] = []
    monkeypatch.setattr(redis.retry, "sleep", naps.append)
    with pytest.raises(Exception, match="connecting"):
        send("cpu", "job_x")
    assert naps == [], "it is not tried again"


def test_sigterm_ends_an_idle_worker_and_leaves_nothing(bench: WorkerProcess) -> None:
    family = psutil.Process(bench.worker.pid).children(recursive=True)
    bench.worker.terminate()
    assert bench.worker.wait(PATIENCE_S) == 0
    _, alive = psutil.wait_procs(family, PATIENCE_S)
    assert alive == []
    assert bench.parts.ledger.workers.n_alive() == 0
    assert list(bench.settings.scratch_dir.glob("w-*")) == []


@pytest.mark.parametrize(
    ("env", "arguments", "message"),
    [
        ({}, [], "UMBEL_REDIS_URL"),
        (
            {"UMBEL_REDIS_URL": "redis://h", "UMBEL_STORE_URL": "file:///x"},
            ["--queues", "tpu"],
            "no queue 'tpu'",
        ),
    ],
)
def test_wrong_settings_are_reported(
    env: dict[str, str], arguments: list[str], message: str
) -> None:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("UMBEL_")}
    done = subprocess.run(
        [sys.executable, "-m", "umbel", "worker", *(arguments or ["--queues", "cpu"])],
        env={**plain, **env},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 2
    assert message in done.stderr

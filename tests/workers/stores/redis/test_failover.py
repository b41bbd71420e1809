"""A replica takes over that lacks the last writes: what was accepted ends, and once."""

from __future__ import annotations

from pathlib import Path

import redis

from tests.workers.jobs_kit import Sent, end, request, result_folder
from tests.workers.stores.redis.started_kit import Started
from tests.workers.waiting_kit import until
from workers import processes
from workers.assembly import assemble
from workers.settings import WorkerSettings


def test_what_replication_had_not_copied_is_found_in_the_store(
    started: Started, settings: WorkerSettings, tmp_path: Path, sent: Sent
) -> None:
    master = started.server()
    replica = started.server("--replicaof", f"127.0.0.1 {master}")

    def at(port: int) -> WorkerSettings:
        return settings.model_copy(update={"redis_url": f"redis://127.0.0.1:{port}/0"})

    def hint(queue: str, job_id: str) -> None:
        sent.append((queue, job_id))

    before = assemble(at(master), hint)
    before.ledger.rebuild()
    waiting, running, ended, late_end, later = (request() for _ in range(5))
    for job in (waiting, running, ended, late_end):
        before.ledger.submit(job, {"features": b"[[1.0]]"})
    claims = {job.id: before.ledger.claim(job.id, "w") for job in (running, ended, late_end)}
    claim = claims[ended.id]
    assert claim is not None
    assert before.ledger.finish(claim, end(claim), result_folder(tmp_path / "one"))
    copy = redis.Redis(port=replica, decode_responses=True)
    record = f"{settings.key_prefix}job:{ended.id}"
    until(lambda: copy.hget(record, "status") == "succeeded")
    copy.replicaof("NO", "ONE")
    # From here on nothing is copied: a job more, and the end of another.
    before.ledger.submit(later, {"features": b"[[1.0]]"})
    second = claims[late_end.id]
    assert second is not None
    assert before.ledger.finish(second, end(second), result_folder(tmp_path / "two"))
    processes.stop(started.running.pop(master), 2.0)

    after = assemble(at(replica), hint)
    assert copy.exists(f"{settings.key_prefix}job:{later.id}") == 0
    statuses = {}
    for name, job in (("waiting", waiting), ("later", later), ("ended", ended), ("late", late_end)):
        after.ledger.ensure_built()
        state = after.ledger.get("ada", job.id)
        statuses[name] = None if state is None else state.status
    assert statuses == {
        "waiting": "queued",
        "later": "queued",
        "ended": "succeeded",
        "late": "succeeded",
    }
    # A worker whose lease was copied goes on; the others are taken once.
    first = claims[running.id]
    assert first is not None
    assert after.ledger.finish(first, end(first), result_folder(tmp_path / "three"))
    for job in (waiting, later):
        taken = after.ledger.claim(job.id, "w")
        assert taken is not None
        assert after.ledger.claim(job.id, "w") is None
    assert after.ledger.claim(late_end.id, "w") is None

"""kill -9 of a job's process in the middle of its work, of every kind: the job ends once."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.main import create_app
from tests.app.conftest import make_settings
from tests.app.creation.posts_kit import FIT, LEARN, Post, post_of
from tests.workers.child.held_kit import Lease, leases
from tests.workers.child.process_kit import child_pool
from tests.workers.supervisor.single_kit import SingleWorker
from tests.workers.waiting_kit import PATIENCE_S, until
from workers.artifacts.datasets import CONTENT
from workers.child.pool import Child, ChildPool
from workers.embedded import EmbeddedServer
from workers.kinds.registry import kinds
from workers.model import Record, sibling
from workers.stores.objects import layout
from workers.work.job import Spec

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="leases on files are Linux's"
)
KINDS = [kind.name for kind in kinds() if not kind.embeds]
"""Those that need no endpoint; the others: `tests/e2e/test_client_embeddings.py`."""
TENANT, ATTEMPTS = "local", 2


class Killing:
    """An API and a worker whose jobs run when the test says so, and whose processes it kills."""

    def __init__(self, client: TestClient, worker: SingleWorker, sent: list[str]) -> None:
        self.client, self.worker, self._sent = client, worker, sent
        self.ledger = worker.parts.ledger
        self.tree = sibling(self._fitted(FIT), "tr")
        self.model = sibling(self._fitted(LEARN), "md")

    def _fitted(self, body: dict[str, Any]) -> str:
        job = self.sent(Post("/v1/jobs", body))
        self.run(job)
        assert self.record(job).status == "succeeded", self.record(job).error
        return job

    def submit(self, kind: str) -> str:
        """The id of a job of this kind, which waits for its turn alone."""
        earlier = set(self._sent)
        post = post_of(self.client, kind, self.tree, self.model)
        for job in set(self._sent) - earlier:
            self.run(job)
        return self.sent(post)

    def sent(self, post: Post) -> str:
        earlier = set(self._sent)
        answer = post.send(self.client, {}, Prefer="wait=0")
        assert answer.status_code in (201, 202), answer.text
        (job,) = set(self._sent) - earlier
        return job

    def run(self, job: str) -> None:
        self.worker.supervisor.run(job)

    def record(self, job: str) -> Record:
        record = self.ledger.get(TENANT, job)
        assert record is not None
        return record

    def kill_amid(self, job: str, pool: ChildPool, monkeypatch: pytest.MonkeyPatch) -> None:
        """Run an attempt whose process is killed where it opens its first input."""
        begun: SimpleQueue[tuple[Child, list[Lease]]] = SimpleQueue()
        begin = pool.begin

        def held(spec: Spec) -> Child:
            on_inputs = leases(spec)
            child = begin(spec)
            begun.put((child, on_inputs))
            return child

        with monkeypatch.context() as patch:
            patch.setattr(pool, "begin", held)
            thread = threading.Thread(target=self.run, args=(job,))
            thread.start()
            child, on_inputs = begun.get(timeout=PATIENCE_S)
            try:
                until(lambda: any(lease.wanted() for lease in on_inputs) or not thread.is_alive())
                assert self.record(job).status == "running"
                os.kill(child.pid, signal.SIGKILL)
            finally:
                for lease in on_inputs:
                    lease.end()
                thread.join()

    def left(self, job: str) -> dict[str, bytes]:
        """What a job left, by the name of the file: all of it by the attempt that ended the job."""
        end = self.ledger.end_of(TENANT, job)
        assert end is not None
        root = layout.attempts(TENANT, job)
        blobs = self.worker.parts.blobs
        contents = {key.removeprefix(root): blobs.get(key) for key in blobs.keys(root)}
        assert {name.partition("/")[0] for name in contents} <= {end.fence}
        of_dataset = layout.dataset(TENANT, sibling(job, "ds"), CONTENT)
        made = {CONTENT: blobs.get(of_dataset)} if blobs.size(of_dataset) is not None else {}
        return {name.partition("/")[2]: content for name, content in contents.items()} | made

    def result(self, job: str) -> Any:
        """Its result, but for its own id and how long it took."""
        text = json.dumps(self.record(job).result).replace(job.partition("_")[2], "OWN")
        return json.loads(text, object_hook=_without_seconds)


def _without_seconds(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if name != "seconds"}


@pytest.fixture(scope="module")
def pool() -> Iterator[ChildPool]:
    with child_pool(1, threads=1) as pool:
        yield pool


@pytest.fixture(scope="module")
def killing(tmp_path_factory: pytest.TempPathFactory, pool: ChildPool) -> Iterator[Killing]:
    server = EmbeddedServer(tmp_path_factory.mktemp("r"))
    server.start()
    folder, sent = tmp_path_factory.mktemp("killing"), list[str]()
    # The API sweeps too: with another number of attempts it would queue a job that has ended.
    settings = make_settings(server, folder, max_attempts=ATTEMPTS)
    app = create_app(settings, lambda queue, job: sent.append(job))
    with TestClient(app, base_url="http://127.0.0.1:8000", client=("127.0.0.1", 50000)) as client:
        worker = SingleWorker(folder, server, pool, lease_s=60.0, max_attempts=ATTEMPTS)
        yield Killing(client, worker, sent)
    server.stop()


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_job_ends_once_with_its_result(
    killing: Killing, pool: ChildPool, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    undisturbed = killing.submit(kind)
    killing.run(undisturbed)
    record = killing.record(undisturbed)
    assert (record.status, record.attempt) == ("succeeded", 1), record.error
    job = killing.submit(kind)
    killing.kill_amid(job, pool, monkeypatch)
    record = killing.record(job)
    assert (record.status, record.attempt) == ("queued", 1)
    check_retry(record)
    for _ in range(2):
        killing.run(job)
        record = killing.record(job)
        assert (record.status, record.attempt) == ("succeeded", 2), record.error
    check_retry(record)
    assert killing.result(job) == killing.result(undisturbed)
    assert killing.left(job) == killing.left(undisturbed)
    assert list(killing.worker.scratch.iterdir()) == []


def check_retry(record: Record) -> None:
    """The record shows that the first attempt was lost with its process."""
    assert record.retry is not None
    assert (record.retry.attempt, record.retry.counted) == (1, True)
    assert record.retry.error["type"] == "/problems/process-lost"
    assert "SIGKILL" in record.retry.error["detail"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_killed_at_every_attempt_fails_once(
    killing: Killing, pool: ChildPool, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    job = killing.submit(kind)
    for _ in range(ATTEMPTS):
        killing.kill_amid(job, pool, monkeypatch)
    killing.run(job)
    record = killing.record(job)
    assert (record.status, record.attempt, record.result) == ("failed", ATTEMPTS, None)
    assert record.error is not None
    assert record.error["type"] == "/problems/worker-lost"
    check_retry(record)
    assert killing.left(job) == {}
    assert list(killing.worker.scratch.iterdir()) == []

"""A stand-in for the worker: each job runs in a thread of the test.

It works like a worker from the claim to the published files, except for the child process.
"""

from __future__ import annotations

import threading
from pathlib import Path

from app.http.dependencies import Service
from models.errors import UsageError
from workers.child.run import run
from workers.embedding.vectors import Attempt, asks_embedder, embedded
from workers.errors import problem_of
from workers.model import Advance, Claim, End, now
from workers.phrasing.names import asks_model, phrased
from workers.supervisor.inputs import prepare
from workers.work.job import Outcome


class Work:
    """Runs a job for each hint. `held` keeps hints back until `release`."""

    def __init__(self, scratch: Path) -> None:
        self.service: Service | None = None
        self.sent: list[tuple[str, str]] = []
        self.held = False
        self._scratch = scratch
        self._threads: list[threading.Thread] = []

    def __call__(self, queue: str, job_id: str) -> None:
        self.sent.append((queue, job_id))
        if not self.held:
            self._start(job_id)

    def release(self) -> None:
        """Run the jobs of held hints to their end."""
        self.held = False
        for _, job_id in self.sent:
            self._start(job_id)
        self.join()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _start(self, job_id: str) -> None:
        thread = threading.Thread(target=self._run, args=[job_id])
        thread.start()
        self._threads.append(thread)

    def _run(self, job_id: str) -> None:
        assert self.service is not None
        ledger = self.service.ledger
        claim = ledger.claim(job_id, "test")
        if claim is None:
            return
        folder = self._scratch / claim.fence
        folder.mkdir(parents=True)
        outcome = self._outcome(claim, folder)
        end = End(
            job=job_id,
            status="succeeded" if outcome.error is None else "failed",
            attempt=claim.attempt,
            fence=claim.fence,
            started_at=claim.started_at,
            finished_at=now(),
            result=outcome.result,
            tree=outcome.tree,
            warnings=outcome.warnings,
            error=outcome.error,
        )
        ledger.finish(claim, end, folder if outcome.error is None else None)

    def _outcome(self, claim: Claim, folder: Path) -> Outcome:
        assert self.service is not None
        parts = self.service

        def report(advance: Advance) -> None:
            parts.ledger.beat(claim, advance)

        try:
            spec = prepare(claim.request, parts.blobs, parts.datasets, parts.trees, folder, 1)
        except UsageError as error:
            return Outcome(error=problem_of(error))
        outcome = run(spec, report)
        if asks_model(claim.request, outcome):
            settings, redis = parts.settings, parts.redis
            outcome = phrased(settings, redis, claim.request, outcome, folder)
        if asks_embedder(claim.request, outcome):
            settings, redis = parts.settings, parts.redis
            lent = Attempt(self._scratch)
            outcome = embedded(settings, redis, claim.request, outcome, folder, lent)
        return outcome

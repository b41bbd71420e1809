"""Requests whose inputs are resolved in a store."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from models.errors import UsageError
from tests.workers.jobs_kit import request
from workers.artifacts.datasets import CONTENT, Dataset
from workers.assembly import Assembly
from workers.child.run import run
from workers.model import Claim, End, Request, new_id, now
from workers.stores.objects import layout
from workers.supervisor.inputs import prepare
from workers.work.job import Outcome, Spec

LOGITS = [[4.0, 3.0, 0.0], [3.0, 4.0, 0.0], [0.0, 1.0, 5.0], [5.0, 3.5, 1.0]]


class StoredInputs:
    """Requests whose inputs are resolved in a store."""

    def __init__(self, parts: Assembly, folder: Path) -> None:
        self.parts = parts
        self._folder = folder

    def prepared(self, job: Request) -> Spec:
        folder = self._folder / job.id
        folder.mkdir()
        parts = self.parts
        return prepare(job, parts.blobs, parts.datasets, parts.trees, folder, threads=2)

    def refused(self, job: Request) -> UsageError:
        with pytest.raises(UsageError) as caught:
            self.prepared(job)
        return caught.value

    def dataset(self, content: bytes, **facts: Any) -> str:
        fields: dict[str, Any] = {
            "id": new_id("ds"),
            "tenant": "ada",
            "name": None,
            "role": None,
            "status": "ready",
            "format": "json",
            "member": None,
            "shape": None,
            "dtype": None,
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
            "created_at": now(),
            "problem": None,
        }
        record = Dataset(**fields | facts)
        self.parts.blobs.put(layout.dataset(record.tenant, record.id, CONTENT), content)
        self.parts.datasets.create(record)
        return record.id

    def finished(self, **changed: Any) -> tuple[Request, Outcome]:
        """A job on inline logits, run and published."""
        job = request(method="l2h", params={}, inputs={"logits": "inline"}, **changed)
        ledger = self.parts.ledger
        ledger.submit(job, {"logits": json.dumps(LOGITS).encode()})
        claim = ledger.claim(job.id, "w")
        assert claim is not None
        spec = self.prepared(job)
        outcome = run(spec, lambda _: None)
        assert ledger.finish(claim, _end(claim, outcome), spec.folder)
        return job, outcome


def _end(claim: Claim, outcome: Outcome) -> End:
    assert outcome.error is None
    return End(
        job=claim.request.id,
        status="succeeded",
        attempt=claim.attempt,
        fence=claim.fence,
        started_at=claim.started_at,
        finished_at=now(),
        result=outcome.result,
        tree=outcome.tree,
    )

"""A worker without Celery, over the real ledger, store and Valkey."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np

from workers.assembly import Assembly, assemble
from workers.child.pool import ChildPool
from workers.embedded import EmbeddedServer
from workers.model import Record, Request, new_id, now
from workers.settings import WorkerSettings
from workers.supervisor.supervisor import Supervisor

LOGITS = json.dumps([[2.0, 0.0, 0.5], [0.0, 2.0, 1.5], [0.5, 1.0, 2.0]]).encode()


class SingleWorker:
    """A worker without Celery: jobs are run by calling the supervisor."""

    def __init__(self, folder: Path, server: EmbeddedServer, pool: ChildPool, **more: Any) -> None:
        self.settings = WorkerSettings(
            redis_url=server.url,
            store_url=f"file://{folder / 'store'}",
            scratch_dir=folder / "scratch",
            key_prefix=f"{folder.name}:",
            lease_s=more.pop("lease_s", 60.0),
            heartbeat_s=0.2,
            **more,
        )
        self.sent: list[str] = []
        self.parts: Assembly = assemble(self.settings, lambda queue, job: self.sent.append(job))
        self.parts.ledger.rebuild()
        self.scratch = folder / "scratch" / "w"
        self.scratch.mkdir(parents=True)
        self.supervisor = Supervisor(
            self.settings,
            self.parts,
            pool,
            scratch=self.scratch,
            threads=1,
            worker="w",
            queues=("cpu", "gpu"),
        )

    def submit(self, method: str = "l2h", role: str = "logits", **params: Any) -> Request:
        """A job on an inline input: three rows of logits, or enough points to take a while."""
        content = LOGITS if role == "logits" else points()
        request = Request(
            id=new_id("job"),
            tenant="t",
            kind="fit",
            method=method,
            inputs={role: "inline"},
            params=params,
            created_at=now(),
            request_id="req-7",
        )
        self.parts.ledger.submit(request, {role: content})
        return request

    def start(self, request: Request) -> threading.Thread:
        thread = threading.Thread(target=self.supervisor.run, args=(request.id,))
        thread.start()
        return thread

    def record(self, request: Request) -> Record:
        record = self.parts.ledger.get("t", request.id)
        assert record is not None
        return record


def points(n_points: int = 12_000) -> bytes:
    """Points that take `hac` some seconds, nearly all in one C call."""
    values = np.random.default_rng(0).normal(size=(n_points, 16)).round(2)
    return json.dumps(values.tolist()).encode()

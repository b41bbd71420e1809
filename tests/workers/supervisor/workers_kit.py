"""Worker processes that share a job; `slow-count` and `row-argmax` are among their methods."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import redis

from tests.workers.waiting_kit import until
from umbel import floors
from workers import processes
from workers.assembly import Assembly, assemble
from workers.embedded import EmbeddedServer
from workers.jobs.hints import sender
from workers.model import Record, Request, new_id, now
from workers.settings import WorkerSettings
from workers.stores.objects import layout

EXTRA = Path(__file__).parents[1] / "extra"
PIECE_BYTES = 1_000


class Workers:
    """So many workers that share a Valkey and a store. more : further settings."""

    def __init__(self, folder: Path, number: int, **more: Any) -> None:
        self.folder, self.number = folder, number
        self.server = EmbeddedServer(folder / "redis")
        self.server.start()
        self.settings = WorkerSettings(
            redis_url=self.server.url,
            store_url=f"file://{folder / 'store'}",
            scratch_dir=folder / "scratch",
            lease_s=6.0,
            resend_s=0.5,
            sweep_s=0.2,
            heartbeat_s=0.3,
            checkpoint_s=0.2,
            threads=1,
            split_bytes=PIECE_BYTES,
            piece_bytes=PIECE_BYTES,
            **more,
        )
        self.names = {*self.settings.model_fields_set} - {"redis_url", "store_url", "scratch_dir"}
        self.parts: Assembly = assemble(self.settings, sender(self.settings))
        self.workers: list[subprocess.Popen[bytes]] = []
        self.fill()

    def fill(self, at_least: int | None = None) -> None:
        """If fewer are alive, start the missing ones and wait until all are ready."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        if len(self.workers) >= (self.number if at_least is None else at_least):
            return
        env = self.environment()
        while len(self.workers) < self.number:
            with (self.folder / "log").open("ab") as log:
                command = floors.command("workers.main")
                self.workers.append(processes.spawn(command, env=env, stdout=log, stderr=log))
        until(lambda: set(self.ready()) == {worker.pid for worker in self.workers})

    def environment(self) -> dict[str, str]:
        """That of a worker."""
        values = {name: getattr(self.settings, name) for name in self.names}
        return {
            **os.environ,
            **{f"UMBEL_{name.upper()}": str(value) for name, value in values.items()},
            "UMBEL_REDIS_URL": self.server.url,
            "UMBEL_STORE_URL": self.settings.store_url,
            "UMBEL_SCRATCH_DIR": str(self.settings.scratch_dir),
            "PYTHONPATH": os.pathsep.join([str(EXTRA), *os.environ.get("PYTHONPATH", "").split()]),
        }

    def ready(self) -> list[int]:
        """The processes of the workers that are ready."""
        seconds, _ = self.parts.redis.time()
        names = self.parts.redis.zrangebyscore("umbel:workers", seconds - 5, "+inf")
        pids = {worker.pid for worker in self.workers}
        return [pid for name in names if (pid := int(name.rsplit("-", 2)[1])) in pids]

    def submit(self, n_pieces: int, **params: Any) -> tuple[Request, np.ndarray[Any, Any]]:
        """A job whose input is large enough for `n_pieces`, and its expected labels."""
        values = np.random.default_rng(n_pieces).integers(100, 999, size=(50 * n_pieces, 3))
        content = json.dumps(values.tolist()).encode().ljust(n_pieces * PIECE_BYTES)
        assert len(content) == n_pieces * PIECE_BYTES
        request = Request(
            id=new_id("job"),
            tenant="t",
            kind="fit",
            method="row-argmax",
            inputs={"features": "inline"},
            params=params,
            created_at=now(),
        )
        self.parts.ledger.submit(request, {"features": content})
        return request, values.argmax(axis=1)

    def count(self, n_steps: int, nap_s: float, tenant: str = "t", **fields: Any) -> Request:
        """A job of `slow-count`, which saves a checkpoint at each step."""
        request = Request(
            id=new_id("job"),
            tenant=tenant,
            kind="fit",
            method="slow-count",
            inputs={"features": "inline"},
            params={"n_steps": n_steps, "nap_s": nap_s},
            created_at=now(),
            **fields,
        )
        self.parts.ledger.submit(request, {"features": b"[[1.0], [2.0]]"})
        return request

    def record(self, request: Request) -> Record:
        record = self.parts.ledger.get(request.tenant, request.id)
        assert record is not None
        return record

    def ended(self, request: Request) -> Record:
        until(lambda: self.record(request).ended)
        return self.record(request)

    def right(self, request: Request, label: np.ndarray[Any, Any], n_pieces: int) -> Record:
        """Assert that the job succeeds with these labels and leaves no piece."""
        record = self.ended(request)
        assert record.status == "succeeded", record
        assert record.result is not None
        assert record.result["metrics"] == {"n_pieces": n_pieces}
        tree = self.parts.trees.load("t", record.result["tree"])
        assert tree is not None
        leaf_names = np.array([tree.name[leaf] for leaf in tree.leaf_of_point.tolist()])
        np.testing.assert_array_equal(leaf_names.astype(int), label)
        self.clean(request)
        return record

    def clean(self, request: Request) -> None:
        """Assert that nothing is left of its pieces, nor of workers on them."""
        until(lambda: not any(request.id in key for key in self.parts.blobs.keys(layout.PIECES)))
        until(lambda: not self.parts.redis.keys(f"umbel:board:{request.id}*"))
        until(lambda: not self.at_work(request))
        names = {
            key.rpartition("/")[2]
            for key in self.parts.blobs.keys(layout.attempts("t", request.id))
        }
        assert names <= {"tree.arrow", "leaf_of_point.npy"}

    def parent(self, request: Request) -> int:
        """The process that runs the attempt."""
        name = self.parts.redis.hget(f"umbel:job:{request.id}", "worker")
        assert name is not None
        return int(name.rsplit("-", 2)[1])

    def at_work(self, request: Request) -> list[tuple[int, str]]:
        """Live workers with a folder for the job, and the fence or token in its name."""
        alive = {worker.pid for worker in self.workers if worker.poll() is None}
        return [
            (pid, folder.name.rpartition("-")[2])
            for folder in self.settings.scratch_dir.glob(f"w-*/{request.id}-*")
            if (pid := int(folder.parent.name.split("-")[1])) in alive
        ]

    def helpers(self, request: Request) -> list[int]:
        """Processes of workers that compute one of its pieces."""
        at_work = self.at_work(request)  # First: an attempt has its fence before its folder.
        fence = self.parts.redis.hget(f"umbel:job:{request.id}", "fence")
        return [pid for pid, name in at_work if name != fence]

    def await_helpers(self, request: Request, number: int = 1) -> list[int]:
        """The helpers as soon as there are that many; between two pieces one is none."""
        seen: list[int] = []

        def enough() -> bool:
            seen[:] = self.helpers(request)
            return len(seen) >= number

        until(enough)
        return seen

    def restart_server(self) -> None:
        assert self.server.pid is not None
        os.kill(self.server.pid, signal.SIGKILL)
        until(lambda: not self.server.alive())
        time.sleep(0.5)
        self.server.ensure()
        until(self.answers)

    def answers(self) -> bool:
        """Whether the server has read its data back."""
        try:
            return bool(self.parts.redis.ping())
        except redis.ConnectionError:
            return False

    def close(self) -> None:
        for worker in self.workers:
            processes.stop(worker, 10.0)
        self.server.stop()

"""Rolling restarts under load: clients that repeat nothing, and what failed for them."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.chaos.parts_kit import Parts
from tests.chaos.storm_kit import LONGER, PATIENCE_S, TRIVIAL, await_ready
from tests.e2e.client import ENDED

MOST_OPEN = 20
"""A client submits nothing while so many of its jobs have not ended."""


@dataclass
class Rolled:
    """What clients saw. attempts : of jobs that needed more than one. longest_s : of a request."""

    n_rolls: int = 0
    n_requests: int = 0
    n_jobs: int = 0
    failed: list[str] = field(default_factory=list)
    not_succeeded: list[str] = field(default_factory=list)
    attempts: list[str] = field(default_factory=list)
    longest_s: float = 0.0
    took_s: float = 0.0

    def __str__(self) -> str:
        rows = {
            "rolling restarts": self.n_rolls,
            "requests": self.n_requests,
            "failed requests": len(self.failed),
            "jobs": self.n_jobs,
            "jobs that did not succeed": len(self.not_succeeded),
            "jobs that needed more than one attempt": len(self.attempts),
            "longest request": f"{self.longest_s:.2f} s",
            "the whole": f"{self.took_s:.0f} s",
        }
        return "\n".join(f"{name:<40}{value}" for name, value in rows.items())

    def failures(self) -> Sequence[str]:
        """What must not have happened."""
        return [
            *(f"request: {text}" for text in self.failed),
            *(f"job: {text}" for text in self.not_succeeded),
            *(f"attempts: {text}" for text in self.attempts),
        ]


class Client:
    """Submits and reads jobs, one request after the other.

    keeps : whether it keeps its connection, or has a new one for each request.
    """

    def __init__(self, parts: Parts, result: Rolled, over: threading.Event, *, keeps: bool) -> None:
        limits = httpx.Limits(max_keepalive_connections=1 if keeps else 0)
        self._client = httpx.Client(base_url=parts.url, timeout=60.0, limits=limits)
        self._result = result
        self._over = over
        self._open: list[str] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def join(self) -> None:
        self._thread.join()
        self._client.close()

    def _run(self) -> None:
        deadline: float | None = None
        for number in itertools.count():
            if self._over.is_set():
                deadline = deadline or time.monotonic() + PATIENCE_S
                if not self._open or time.monotonic() > deadline:
                    break
            elif len(self._open) < MOST_OPEN:
                self._submit(LONGER if number % 5 == 0 else TRIVIAL)
            self._read()
            self._call("GET", "/v1/jobs?limit=5")
            time.sleep(0.02)
        self._result.not_succeeded += [f"{job_id}: has not ended" for job_id in self._open]

    def _submit(self, body: dict[str, Any]) -> None:
        answer = self._call("POST", "/v1/jobs", json=body)
        if answer is not None:
            self._result.n_jobs += 1
            self._open.append(answer.json()["id"])

    def _read(self) -> None:
        """The job that has been open for longest."""
        if not self._open:
            return
        job_id = self._open.pop(0)
        answer = self._call("GET", f"/v1/jobs/{job_id}")
        job = {"status": "unknown"} if answer is None else answer.json()
        if job["status"] not in ENDED:
            self._open.append(job_id)
        elif job["status"] != "succeeded":
            self._result.not_succeeded.append(f"{job_id}: {job['status']} {job['error']}")
        elif job["attempt"] > 1:
            self._result.attempts.append(f"{job_id}: {job['attempt']}")

    def _call(self, method: str, path: str, **more: Any) -> httpx.Response | None:
        began = time.monotonic()
        self._result.n_requests += 1
        try:
            answer = self._client.request(method, path, **more)
        except httpx.TransportError as error:
            self._result.failed.append(f"{method} {path}: {error!r}")
            return None
        self._result.longest_s = max(self._result.longest_s, time.monotonic() - began)
        if answer.is_success:
            return answer
        self._result.failed.append(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
        return None


def roll(parts: Parts, n_rolls: int, n_clients: int = 4) -> Rolled:
    """Restart every process of the API and every worker, `n_rolls` times, under load."""
    result, over, began = Rolled(), threading.Event(), time.monotonic()
    await_ready(parts)
    clients = [Client(parts, result, over, keeps=n % 2 == 0) for n in range(n_clients)]
    try:
        for _ in range(n_rolls):
            parts.roll()
            result.n_rolls += 1
    finally:
        over.set()
        for client in clients:
            client.join()
    result.took_s = time.monotonic() - began
    return result

"""The workers: which are alive, and what each does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

import redis

from workers.settings import WorkerSettings
from workers.stores.redis.client import translated

WORKER_S = 15.0
"""A worker that has not reported within this time counts as gone."""

_COMPILING_S = 5.0
"""A worker that compiles reports it more often than this."""

_FORGOTTEN_S = 10 * WORKER_S


@dataclass(frozen=True, slots=True)
class WorkerState:
    """What a worker has reported last. queues : whose jobs it takes. running : its jobs."""

    id: str
    queues: tuple[str, ...]
    running: tuple[str, ...]
    seen_at: str


class WorkerBook:
    """All workers of one Redis. Threads may share it."""

    def __init__(self, client: redis.Redis, settings: WorkerSettings) -> None:
        self._client = client
        self._prefix = settings.key_prefix
        self._alive = f"{settings.key_prefix}workers"
        self._doing = f"{settings.key_prefix}workers_doing"

    def seen(self, worker: str, queues: Sequence[str] = (), running: Sequence[str] = ()) -> bool:
        """Note that a worker is alive, and what it does; whether it is paused."""
        doing = json.dumps({"queues": list(queues), "running": list(running)})
        with translated():
            now = self._now()
            pipe = self._client.pipeline(transaction=False)
            pipe.zadd(self._alive, {worker: now})
            pipe.hset(self._doing, worker, doing)
            pipe.hexists(f"{self._prefix}pauses", f"worker {worker}")
            pipe.zrangebyscore(self._alive, "-inf", now - _FORGOTTEN_S)
            *_, paused, old = pipe.execute()
            if old:
                self._client.zrem(self._alive, *old)
                self._client.hdel(self._doing, *old)
        return bool(paused)

    def compiling(self, worker: str) -> None:
        """Note that a worker compiles what it needs before it takes jobs."""
        with translated():
            self._client.set(f"{self._prefix}compiling", worker, px=int(1000 * _COMPILING_S))

    def any_compiles(self) -> bool:
        with translated():
            return bool(self._client.exists(f"{self._prefix}compiling"))

    def left(self, worker: str) -> None:
        """Note that a worker has left."""
        with translated():
            self._client.zrem(self._alive, worker)
            self._client.hdel(self._doing, worker)

    def n_alive(self) -> int:
        with translated():
            return self._client.zcount(self._alive, self._now() - WORKER_S, "+inf")

    def gone(self, worker: str, since: str) -> bool:
        """Whether a worker has not been heard of for long, nor did anybody name it since then."""
        age_s = (datetime.now(UTC) - datetime.fromisoformat(since)).total_seconds()
        if age_s < _FORGOTTEN_S:
            return False
        with translated():
            seen = self._client.zscore(self._alive, worker)
            return seen is None or float(seen) < self._now() - _FORGOTTEN_S

    def all(self) -> list[WorkerState]:
        """Those that are alive, by id."""
        with translated():
            since = self._now() - WORKER_S
            pipe = self._client.pipeline(transaction=False)
            pipe.zrangebyscore(self._alive, since, "+inf", withscores=True)
            pipe.hgetall(self._doing)
            alive, doing = cast("tuple[list[tuple[str, float]], dict[str, str]]", pipe.execute())
        states = []
        for worker, seen in sorted(alive):
            does = json.loads(doing.get(worker, "{}"))
            at = datetime.fromtimestamp(seen, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            queues, running = does.get("queues", ()), does.get("running", ())
            states.append(WorkerState(worker, tuple(queues), tuple(running), at))
        return states

    def _now(self) -> float:
        seconds, micros = self._client.time()
        return seconds + micros / 1e6

"""Boards in Redis: the pieces of a fit that is cut, by attempt. Changed by the Lua scripts only.

A board belongs to a job and the fence of its attempt: each script looks whether that attempt runs
and is not asked to end, so pieces of an attempt that is over are neither taken nor kept.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import redis

from workers.settings import WorkerSettings
from workers.stores.redis.client import Scripts, translated

_LEASE_S = 5.0


@dataclass(frozen=True, slots=True)
class Step:
    """What an attempt does next: "take" a piece; fetch what a helper has "done", which lies under
    `token`; "wait"; or, where the board is "lost", go on alone."""

    kind: Literal["take", "done", "wait", "lost"]
    number: int = 0
    token: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """A piece that was taken: whose it is, its number, and what it is, as JSON."""

    fence: str
    number: int
    piece: str


@dataclass(frozen=True, slots=True)
class AttemptId:
    """One attempt of a job."""

    job: str
    fence: str
    tenant: str


class Boards:
    """All boards of one Redis. Threads may share it."""

    def __init__(self, client: redis.Redis, settings: WorkerSettings) -> None:
        self._client = client
        self._prefix = settings.key_prefix
        self._settings = settings
        self._scripts = Scripts(client, settings.key_prefix)

    def post(self, at: AttemptId, first: int, pieces: Sequence[str]) -> bool:
        """Put `pieces` up, numbered from `first`, in place of earlier ones; False: it is over."""
        lease = self._lease()
        said = self._scripts("board_post", at.job, at.fence, at.tenant, lease, first, *pieces)
        return bool(said == "on")

    def next(self, at: AttemptId, seen: int, finished: Collection[int]) -> Step:
        """What the attempt does next, which has `seen` so many done and `finished` these itself."""
        kind, *more = self._scripts("board_next", at.job, at.fence, seen, *finished)
        if not more:
            return Step(kind)
        number, _, token = more[0].partition(" ")
        return Step(kind, int(number), token)

    def take(self, job_id: str, token: str) -> Taken | None:
        """Take a free piece of the attempt that runs, under a lease; None where there is none."""
        most = self._settings.max_attempts
        answer = self._scripts("board_take", job_id, token, self._lease(), most)
        return Taken(answer[0], int(answer[1]), answer[2]) if answer else None

    def tell(
        self,
        job_id: str,
        fence: str,
        number: int,
        token: str,
        what: Literal["beat", "done", "back", "forgiven", "own"],
    ) -> bool:
        """What a helper says of its piece (see the script); False where it has it no more."""
        said = self._scripts("board_tell", job_id, fence, number, token, self._lease(), what)
        return bool(said == "on")

    def free(self, at: AttemptId) -> int:
        """Number of pieces that a helper could take now."""
        with translated():
            seconds, micros = self._client.time()
            key = f"{self._prefix}board:{at.job}:{at.fence}:left"
            return self._client.zcount(key, "-inf", seconds * 1000 + micros // 1000)

    def close(self, at: AttemptId) -> bool:
        """Take the board away; False where a helper may still be at work on it."""
        return bool(self._scripts("board_close", at.job, at.fence, at.tenant))

    def over(self, limit: int) -> list[AttemptId]:
        """Boards to clean up after; handed out again after a while unless `forget` is called."""
        again = _ms(self._settings.resend_s)
        rows = self._scripts("board_sweep", limit, self._lease(), again)
        return [AttemptId(*row.split(" ")) for row in rows]

    def forget(self, at: AttemptId) -> None:
        """What lay of a board in the store is gone."""
        with translated():
            self._client.zrem(f"{self._prefix}boards", f"{at.job} {at.fence} {at.tenant}")

    def _lease(self) -> int:
        return _ms(lease_s(self._settings))


def lease_s(settings: WorkerSettings) -> float:
    """How long a helper may be silent.

    Less than a worker that has a job: the child waits for it in the end, and if it lives after all,
    a piece was computed twice and no more.
    """
    return min(settings.lease_s, _LEASE_S)


def _ms(seconds: float) -> int:
    return int(seconds * 1000)

"""What may be removed: by its age or expiry, unless something that is kept needs it.

Redis's clock gives all times, so that no other clock decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, cast

import redis

from workers.model import ENDED, earliest_suffix, sibling
from workers.settings import WorkerSettings
from workers.stores.redis.client import Scripts, translated

GONE_S = 600.0
"""No request takes longer from looking its inputs up until its job is accepted."""


@dataclass(frozen=True, slots=True)
class Removable:
    """A dataset or job in Redis.

    since : when it was made or, a job, ended. finished : whether it may go by its own
    state. needed_by : the datasets and jobs that need it as long as they are kept.
    """

    id: str
    tenant: str
    n_bytes: int
    since: datetime | None
    finished: bool
    needed_by: tuple[str, ...]


class Removal:
    """Datasets and jobs that may go, of one Redis. Threads may share it."""

    def __init__(self, client: redis.Redis, settings: WorkerSettings) -> None:
        self._client = client
        self._prefix = settings.key_prefix
        self._scripts = Scripts(client, settings.key_prefix)

    def now(self) -> datetime:
        with translated():
            seconds, micros = self._client.time()
        return datetime.fromtimestamp(seconds + micros / 1e6, UTC)

    def tenants(self) -> list[str]:
        """All tenants that have anything."""
        with translated():
            return sorted(cast("set[str]", self._client.smembers(f"{self._prefix}tenants")))

    def expired(self, now: datetime) -> list[str]:
        """Datasets and jobs whose own expiry has passed, the longest ago first."""
        with translated():
            ms = int(now.timestamp() * 1000)
            return cast(
                "list[str]", self._client.zrangebyscore(f"{self._prefix}expiries", "-inf", ms)
            )

    def datasets(self, tenant: str, before: datetime | None = None) -> list[str]:
        """A tenant's datasets, the oldest first; those made before a time."""
        return self._older(f"datasets:{tenant}", "ds_", before)

    def jobs(self, tenant: str, before: datetime | None = None) -> list[str]:
        """A tenant's jobs, and the jobs of its imported trees, the oldest first."""
        jobs = self._older(f"jobs:{tenant}", "job_", before)
        trees = self._older(f"trees:{tenant}", "tr_", before)
        return sorted({*jobs, *(sibling(tree, "job") for tree in trees)})

    def described(self, ids: Sequence[str]) -> Iterator[Removable]:
        """What exists of the ids."""
        with translated():
            pipe = self._client.pipeline(transaction=False)
            for own_id in ids:
                kind = "job" if own_id.startswith("job_") else "dataset"
                pipe.hmget(
                    f"{self._prefix}{kind}:{own_id}",
                    ["tenant", "bytes", "status", "finished_at", "hook"],
                )
                pipe.smembers(f"{self._prefix}needed:{own_id}")
            rows = pipe.execute()
        for own_id, fields, by in zip(ids, rows[::2], rows[1::2], strict=True):
            tenant, n_bytes, status, finished_at, hook = cast("list[str | None]", fields)
            if tenant is None:
                continue
            is_job = own_id.startswith("job_")
            yield Removable(
                id=own_id,
                tenant=tenant,
                n_bytes=int(n_bytes or 0),
                since=datetime.fromisoformat(finished_at) if finished_at else None,
                finished=not is_job or (status in ENDED and hook != "pending"),
                needed_by=tuple(sorted(by)),
            )

    def keepers(self, ids: Sequence[str]) -> dict[str, bool]:
        """The ids that exist, with whether they still run."""
        with translated():
            pipe = self._client.pipeline(transaction=False)
            for own_id in ids:
                if own_id.startswith("job_"):
                    pipe.hget(f"{self._prefix}job:{own_id}", "status")
                else:
                    pipe.hget(f"{self._prefix}dataset:{own_id}", "tenant")
            rows = cast("list[str | None]", pipe.execute())
        return {
            own_id: own_id.startswith("job_") and row not in ENDED
            for own_id, row in zip(ids, rows, strict=True)
            if row is not None
        }

    def retire(self, own_id: str) -> tuple[Literal["ok", "absent", "unfinished", "needed"], str]:
        """Take a dataset or job for removal: no new job may need it from now on.

        Returns what came of it, and for "ok" the tenant, for "needed" by what. May be repeated.
        """
        answer = self._scripts("retire", own_id)
        return answer[0], answer[1] if len(answer) > 1 else ""

    def retired(self, own_id: str) -> None:
        """It was removed."""
        self._scripts("retired", own_id, int(GONE_S * 1000))

    def going(self) -> dict[str, str]:
        """What was taken for removal and may not have been removed, with its tenant."""
        with translated():
            return cast("dict[str, str]", self._client.hgetall(f"{self._prefix}going"))

    def _older(self, name: str, prefix: str, before: datetime | None) -> list[str]:
        end = "+" if before is None else f"({prefix}{earliest_suffix(before)}"
        with translated():
            return cast("list[str]", self._client.zrangebylex(f"{self._prefix}{name}", "-", end))

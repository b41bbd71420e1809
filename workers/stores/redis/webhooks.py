"""The queue of webhooks in Redis: who sends which, and when. Changed only by the Lua scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

import redis

from workers.settings import WorkerSettings
from workers.stores.redis.client import Scripts, translated

PER_RECEIVER = 4
PER_TENANT = 8
"""The number of webhooks that all processes together send at a time to one host and port, and for
one tenant: so a receiver that does not answer does not hold up others."""


@dataclass(frozen=True, slots=True)
class WebhookLease:
    """The right to send a job's webhook, for a limited time.

    attempts : number of earlier attempts.
    """

    job: str
    tenant: str
    attempts: int
    token: str


class WebhookQueue:
    """The webhooks to be sent, of all tenants. Threads may share it."""

    def __init__(self, client: redis.Redis, settings: WorkerSettings) -> None:
        self._client = client
        self._prefix = settings.key_prefix
        self._scripts = Scripts(client, settings.key_prefix)

    def take(self, token: str, limit: int, lease_s: float) -> list[WebhookLease]:
        """Take at most `limit` due webhooks; they are due again when their leases end."""
        rows = self._scripts(
            "hook_take", token, limit, int(lease_s * 1000), PER_RECEIVER, PER_TENANT
        )
        return [WebhookLease(job, tenant, attempts, token) for job, tenant, attempts in rows]

    def report(
        self,
        lease: WebhookLease,
        status: Literal["delivered", "failed", "pending"],
        *,
        attempts: int,
        after_s: float = 0.0,
        reason: str | None = None,
    ) -> Literal["ok", "gone", "lost"]:
        """Record the result of an attempt; "pending": the webhook is due again `after_s` from now.

        Returns "gone" if there is no such record, "lost" if the lease has ended and another process
        has one.
        """
        answer = self._scripts(
            "hook_tell",
            lease.job,
            lease.token,
            status,
            attempts,
            int(after_s * 1000),
            reason or "",
        )
        return cast("Literal['ok', 'gone', 'lost']", answer)

    def counts(self) -> dict[str, int]:
        """Number of jobs with a webhook, by its status."""
        with translated():
            counts = cast("dict[str, str]", self._client.hgetall(f"{self._prefix}hook_counts"))
        return {name: int(number) for name, number in counts.items()}

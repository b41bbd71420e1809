"""The queue of webhooks in Redis: who sends which, and when. Changed only by the Lua scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
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
    """The right to send a webhook, for a limited time.

    job : whose it is; of a move of an alias what `move_entry` gives. attempts : number of earlier
    attempts. slow : whether its receiver did not answer soon the last time.
    """

    job: str
    tenant: str
    attempts: int
    token: str
    slow: bool = False


def move_entry(tenant: str, alias: str, number: int) -> str:
    """What stands for a job where the webhook is that of a move of an alias."""
    return f"{tenant}/{alias}/{number:09d}"


class WebhookQueue:
    """The webhooks to be sent, of all tenants. Threads may share it."""

    def __init__(self, client: redis.Redis, settings: WorkerSettings) -> None:
        self._client = client
        self._prefix = settings.key_prefix
        self._scripts = Scripts(client, settings.key_prefix)

    def put(self, entry: str, tenant: str, place: str) -> bool:
        """Make the webhook of a move due now, unless it is; entry : by `move_entry`. place : host
        and port of its receiver."""
        return bool(self._scripts("hook_put", entry, f"{tenant} {place}"))

    def moves(self, entries: Sequence[str]) -> list[dict[str, str]]:
        """What is kept of the webhooks of moves; nothing of those that are not due or are sent."""
        pipe = self._client.pipeline(transaction=False)
        for entry in entries:
            pipe.hgetall(f"{self._prefix}hook:{entry}")
        with translated():
            return cast("list[dict[str, str]]", pipe.execute())

    def take(
        self,
        token: str,
        limit: int,
        lease_s: float,
        *,
        slow: int | None = None,
        sent_here: Mapping[str, int] = MappingProxyType({}),
    ) -> list[WebhookLease]:
        """Take at most `limit` due webhooks; they are due again when their leases end.

        A tenant gets no more of them than leave as many senders free as it has then.

        slow : how many may go to receivers that did not answer soon the last time; None: all.
        sent_here : by tenant, how many webhooks this process sends now.
        """
        rows = self._scripts(
            "hook_take",
            token,
            limit,
            int(lease_s * 1000),
            PER_RECEIVER,
            PER_TENANT,
            limit if slow is None else slow,
            *(each for pair in sorted(sent_here.items()) for each in pair),
        )
        return [
            WebhookLease(job, tenant, attempts, token, bool(is_slow))
            for job, tenant, attempts, is_slow in rows
        ]

    def report(
        self,
        lease: WebhookLease,
        status: Literal["delivered", "failed", "pending"],
        *,
        attempts: int,
        after_s: float = 0.0,
        reason: str | None = None,
        slow: bool | None = None,
    ) -> Literal["ok", "gone", "lost"]:
        """Record the result of an attempt; "pending": the webhook is due again `after_s` from now.

        slow : whether its receiver did not answer soon; None: that is not known.

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
            "" if slow is None else int(slow),
        )
        return cast("Literal['ok', 'gone', 'lost']", answer)

    def counts(self) -> dict[str, int]:
        """Number of jobs with a webhook, by its status, and with them the moves of aliases whose
        webhook is due, or was sent or given up since Redis was empty."""
        with translated():
            counts = cast("dict[str, str]", self._client.hgetall(f"{self._prefix}hook_counts"))
        return {name: int(number) for name, number in counts.items()}

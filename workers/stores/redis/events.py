"""The events of jobs: one capped stream for each, written by the scripts of `records`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, cast

import redis

from workers.stores.redis.client import translated

KEPT = 100
"""Events that a stream keeps; the scripts drop older ones."""

_ID = re.compile(r"(\d{1,15})-(\d{1,15})")


@dataclass(frozen=True, slots=True)
class Event:
    """One entry. `kind` is "progress", "log" or "done"; `status` is the job's at that time.

    id : `<base>-<number>`; numbers have no gaps within a base. The base changes when the record is
        restored after a loss of Redis.
    """

    id: str
    kind: str
    status: str
    data: dict[str, Any]

    def follows(self, earlier: str) -> bool:
        """Whether nothing lies between `earlier` and this event."""
        base, _, number = earlier.partition("-")
        return self.id == f"{base}-{int(number) + 1}"


def is_id(text: str) -> bool:
    """Whether `text` may be an event's id."""
    return _ID.fullmatch(text) is not None


def order(event_id: str) -> tuple[int, int]:
    """The place of an event, given by its id, among its job's events."""
    base, _, number = event_id.partition("-")
    return int(base), int(number)


class Events:
    """The streams of all jobs of one Redis. Threads may share it."""

    def __init__(self, client: redis.Redis, prefix: str) -> None:
        self._client = client
        self._prefix = prefix

    def after(self, job_id: str, event_id: str | None = None) -> list[Event]:
        """The events after `event_id` that are still kept, oldest first; all of them for None."""
        start = "-" if event_id is None else f"({event_id}"
        with translated():
            rows = self._client.xrange(self._key(job_id), start, "+")
        return [_event(*row) for row in cast("list[tuple[str, dict[str, str]]]", rows)]

    def _key(self, job_id: str) -> str:
        return f"{self._prefix}events:{job_id}"


def _event(event_id: str, fields: dict[str, str]) -> Event:
    return Event(event_id, fields["event"], fields["status"], json.loads(fields["data"]))

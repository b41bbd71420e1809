"""What the connections of one server share: their limits, the line of those that wait to be read,
and when refusals are due."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from uvicorn.server import ServerState

from app.http.buckets import Bucket, Buckets
from app.http.door import site_of
from app.http.machine import Machine
from app.http.readers import Readers
from app.settings import Settings

REPORT_S = 10.0
"""The log says at most this often that there are too many connections."""

PER_S = 100.0
"""Refusals a second of one address before its requests are read whole, ..."""
BURST = 200.0
"""... after a rest so many at once, ..."""
LONGEST_S = 10.0
"""... and none waits for longer: who is refused in a loop hurries no more than others do."""

_log = logging.getLogger("umbel")


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What one connection may do, and how many there may be. Times are in seconds."""

    connections: int
    header_bytes: int
    headers: int
    header_s: float
    body_s: float
    keep_alive_s: float

    @classmethod
    def of(cls, settings: Settings, connections: int) -> ConnectionLimits:
        return cls(
            connections=connections,
            header_bytes=settings.max_header_bytes,
            headers=settings.max_headers,
            header_s=settings.header_timeout_s,
            body_s=settings.body_timeout_s,
            keep_alive_s=settings.keep_alive_s,
        )


class State(ServerState):
    """What the connections of one server share."""

    def __init__(self, limits: ConnectionLimits) -> None:
        super().__init__()
        self.limits = limits
        self.draining = False
        """Whether every further response closes its connection."""
        self._reported_at = -REPORT_S
        self._readers: Readers | None = None
        self._machine = Machine()
        self._refusals: Buckets[str, Bucket] = Buckets(Bucket, BURST, PER_S, self._machine.clock)

    def readers_on(self, loop: asyncio.AbstractEventLoop) -> Readers:
        """The line of connections whose bytes wait to be parsed."""
        if self._readers is None:
            own = self._machine
            self._readers = Readers(
                lambda seconds, call: loop.call_later(seconds / own.ease, call), own.clock
            )
        return self._readers

    def report_full(self, now: float) -> None:
        """Log that there are too many connections, unless that was logged just now."""
        if now - self._reported_at >= REPORT_S:
            self._reported_at = now
            _log.warning(
                "%d connections are open, more than UMBEL_MAX_CONNECTIONS or the limit of "
                "descriptors allow (%d): new ones get 503",
                len(self.connections),
                self.limits.connections,
            )

    def due_in(self, client: tuple[str, int] | None) -> float:
        """After how many seconds one more refusal of this client's address is due."""
        bucket = self._refusals.of(site_of(client[0]) if client else "")
        bucket.left = max(bucket.left - 1, -PER_S * LONGEST_S)
        return max(0.0, -bucket.left / PER_S / self._machine.ease)

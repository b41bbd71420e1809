"""The door: how much of the event loop one address has without a key while tenants are there.

The page, its files, the reference, the document and probes need no key, and take a millisecond
each, so an address that requests them as fast as it can would fill the loop. Nothing is refused:
what is beyond a share of the loop's time waits in a line, one request after the other, so that any
number of connections costs no more than one. A probe waits for so short a time that nobody takes
the process for dead. Where no tenant is there, nothing waits.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from anyio.lowlevel import RunVar

from app.http.buckets import Bucket, Buckets
from app.http.machine import machine
from app.http.pacing import timed
from app.http.presence import Presence, presence
from app.http.turns import require_client

SHARE = 0.15
"""How much of the event loop's time one address has."""
BURST_S = 0.6
"""Seconds of the loop that wait for nothing after a rest: the files of several pages."""
LEAST_S = 0.001
"""What a request counts at least: reading and logging it are not in what is measured."""
MOST_S = 0.15
"""And at most, so that nobody waits for longer than a second behind one."""
PROBE_S = 0.15
"""A probe waits no longer, ..."""
PROBES = 8
"""... where no more of its address wait; others stand in line: they would fill the loop."""
_SITE_BITS = 64
"""One client has all addresses of IPv6 that begin with the same bits, so many."""


@dataclass(slots=True)
class _Line(Bucket):
    """left : in seconds of the loop. turn : of its first. n_short : requests that wait for
    `PROBE_S` at most."""

    n_short: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def in_use(self) -> bool:
        return self.turn.locked()


class Door:
    """The lines of one event loop, by address."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        presence: Presence | None = None,
    ) -> None:
        self._sleep = sleep
        self._presence = presence or Presence(clock)
        self._lines: Buckets[str, _Line] = Buckets(_Line, BURST_S, SHARE, clock)

    async def serve(
        self, answer: Callable[[], Awaitable[None]], peer: str, *, probe: str = ""
    ) -> None:
        """Await `answer()` once it is its turn, and count the loop's time that it takes.

        probe : which probe it is, if one: it waits in a line with others like it, for `PROBE_S` at
            most where it is one of the first `PROBES`.

        Raises ClientDisconnect where the client has left meanwhile.
        """
        line = self._lines.of(f"{probe} {site_of(peer)}")
        if self._full(line):
            short = bool(probe) and line.n_short < PROBES
            line.n_short += short
            try:
                with suppress(TimeoutError):
                    async with asyncio.timeout(PROBE_S if short else None), line.turn:
                        await self._wait(line)
            finally:
                line.n_short -= short
        line.left -= LEAST_S

        def count(seconds: float) -> None:
            line.left -= seconds

        try:
            await timed(answer().__await__(), count)
        finally:
            # Whoever is served while nobody is there owes a moment at most.
            line.left = max(line.left, -MOST_S if self._presence.others("") else -LEAST_S)

    async def _wait(self, line: _Line) -> None:
        while self._full(line):
            require_client()
            await self._sleep(max(-line.left / SHARE, LEAST_S))

    def _full(self, line: _Line) -> bool:
        self._lines.fill(line)
        return line.left < 0 and self._presence.others("")


def site_of(peer: str) -> str:
    """Whose an address is: itself, of IPv6 its first 64 bits; any other text unchanged."""
    with suppress(ValueError):
        address = ipaddress.ip_address(peer)
        if isinstance(address, ipaddress.IPv6Address):
            mapped = address.ipv4_mapped
            if mapped is not None:
                return str(mapped)
            return str(ipaddress.ip_network((int(address), _SITE_BITS), strict=False))
    return peer


_door: RunVar[Door] = RunVar("door")


def door() -> Door:
    """The lines of this event loop."""
    try:
        return _door.get()
    except LookupError:
        own = Door(machine().clock, machine().sleep, presence())
        _door.set(own)
        return own

"""Readers: how much of the event loop goes into bytes that take long to be parsed.

A body in pieces of one byte, or a thousand requests at once, take the parser a hundred times as
long as a body of their length, before anything checks whether their tenant has had its share. So a
connection that sends such bytes holds them back and stands in a line, which is served for a part of
the loop's time, by turns of tenants, or of addresses where nobody is known yet.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

SHARE = 0.25
"""How much of the event loop's time the line has."""
TURN_S = 0.002
"""For how long it is served in a row."""
LONGEST_S = 0.05
"""A turn that took longer counts as this."""
HELD_BYTES = 64 << 20
"""What all connections may hold back together."""


class Reader(Protocol):
    """A connection that holds bytes back."""

    @property
    def whose(self) -> str: ...

    def read_on(self) -> None:
        """Parse a few of the bytes, and stand in line again where some are left."""


class Readers:
    """The line of one event loop.

    later : calls a function after so many seconds. clock, work : the time, and the time of this
    thread, in seconds.
    """

    def __init__(
        self,
        later: Callable[[float, Callable[[], None]], object],
        clock: Callable[[], float] = time.monotonic,
        work: Callable[[], float] = time.thread_time,
    ) -> None:
        self._later = later
        self._clock = clock
        self._work = work
        self._whose: dict[Reader, str] = {}
        # Those who wait, by whose they are; whoever has had a turn goes to the end.
        self._waiting: OrderedDict[str, OrderedDict[Reader, None]] = OrderedDict()
        self._next_at = 0.0
        self._awaited = False
        self._bytes: dict[str, int] = {}

    @property
    def n_bytes(self) -> int:
        """What connections hold back."""
        return sum(self._bytes.values())

    def count(self, whose: str, n_bytes: int) -> None:
        """Count what a connection holds back from now on, or, below 0, no longer."""
        self._bytes[whose] = self._bytes.get(whose, 0) + n_bytes
        if not self._bytes[whose]:
            del self._bytes[whose]

    def is_full(self, whose: str) -> bool:
        """Whether too much is held back, and `whose` holds no less than the mean of all."""
        held = self.n_bytes
        return held > HELD_BYTES and self._bytes.get(whose, 0) * len(self._bytes) >= held

    def stand(self, reader: Reader) -> None:
        """Stand in line, once."""
        if reader in self._whose:
            return
        whose = self._whose[reader] = reader.whose
        self._waiting.setdefault(whose, OrderedDict())[reader] = None
        self._wait()

    def leave(self, reader: Reader) -> None:
        """Leave it, where the reader stands in it."""
        whose = self._whose.pop(reader, None)
        if whose is not None:
            readers = self._waiting[whose]
            del readers[reader]
            if not readers:
                del self._waiting[whose]

    def _wait(self) -> None:
        if self._waiting and not self._awaited:
            self._awaited = True
            self._later(max(0.0, self._next_at - self._clock()), self._serve)

    def _serve(self) -> None:
        began, took = self._work(), 0.0
        try:
            while self._waiting and took < TURN_S:
                whose, readers = next(iter(self._waiting.items()))
                self._waiting.move_to_end(whose)
                reader = next(iter(readers))
                self.leave(reader)
                reader.read_on()
                took = self._work() - began
        finally:
            # Whatever happened to one of them, the others wait for their turn.
            self._next_at = self._clock() + min(took, LONGEST_S) * (1 / SHARE - 1)
            self._awaited = False
            self._wait()

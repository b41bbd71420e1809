"""Presence: whether another tenant is there, so that what one costs the others matters."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from anyio.lowlevel import RunVar

NEAR_S = 2.0
"""For so long after its request a tenant counts as one that is there."""

SHORT_S = 0.5
"""A request that has been answered for longer, as streams and those that wait are, may wait for
whatever else is done."""


class Presence:
    """Who has sent requests to one event loop lately, and whose are being answered. It costs the
    same for any number of tenants."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # The tenant of the last request, when it was, and when the last one of any other was.
        self._latest, self._latest_at, self._others_at = "", -math.inf, -math.inf
        # Requests that are being answered, by number, the oldest first: whose, and since when.
        self._numbers = count()
        self._open: dict[int, tuple[str, float]] = {}
        self._n_open: Counter[str] = Counter()
        # Pieces of work for a tenant that are done or wait for their turn.
        self._n_pieces: Counter[str] = Counter()

    def note(self, tenant: str) -> None:
        """Note a request of this tenant."""
        if tenant != self._latest:
            self._latest, self._others_at = tenant, self._latest_at
        self._latest_at = self._clock()

    def others(self, tenant: str) -> bool:
        """Whether any other tenant is there: it has sent a request lately, or waits for work."""
        if len(self._n_pieces) > (tenant in self._n_pieces):
            return True
        other = self._others_at if tenant == self._latest else self._latest_at
        return self._clock() - other < NEAR_S

    @contextmanager
    def at_work(self, tenant: str) -> Iterator[None]:
        """Count a tenant as there, however long a piece of work for it takes; not an empty one."""
        if not tenant:
            yield
            return
        self._n_pieces[tenant] += 1
        try:
            yield
        finally:
            self._n_pieces[tenant] -= 1
            if not self._n_pieces[tenant]:
                del self._n_pieces[tenant]

    def begin(self, tenant: str) -> int:
        """A request of this tenant begins to be answered; its number, for `end`."""
        number = next(self._numbers)
        self._open[number] = (tenant, self._clock())
        self._n_open[tenant] += 1
        return number

    def end(self, number: int) -> None:
        tenant, _ = self._open.pop(number, ("", 0.0))
        if tenant:
            self._n_open[tenant] -= 1
            if not self._n_open[tenant]:
                del self._n_open[tenant]

    def served(self, but: str) -> Iterator[str]:
        """The tenants, but for this one, of whose requests one begun within `SHORT_S` is being
        answered."""
        now = self._clock()
        while self._open:
            number = next(iter(self._open))
            if now - self._open[number][1] < SHORT_S:
                break
            self.end(number)
        return (tenant for tenant in self._n_open if tenant != but)


_presence: RunVar[Presence] = RunVar("presence")


def presence() -> Presence:
    """Who is at this event loop."""
    try:
        return _presence.get()
    except LookupError:
        own = Presence()
        _presence.set(own)
        return own

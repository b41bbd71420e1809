"""Pace: how many requests a second one caller may have answered while others are there.

Cheap requests, refused ones above all, need no queue of `app.http.turns`, but a thousand of them a
second fill the event loop, so that whatever others do in threads gets the interpreter late. So each
tenant has a bucket of requests, which are not refused but wait until they are due; a tenant that is
alone waits for nothing. Links, and addresses that are refused without a key, have buckets that hold
always. Large documents count as several requests.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from anyio.lowlevel import RunVar

from app.http.problems import Refused
from app.http.turns import AGAIN_S, Taker

PER_S = 100.0
"""Requests a second of one caller, while others are there."""
BURST = 200.0
"""Requests that wait for nothing after a rest."""
LONGEST_S = 10.0
"""A request that would wait longer is refused."""
NEAR_S = 2.0
"""For so long after its request a tenant counts as one that is there."""
BYTES = 16 << 10
"""So much of a document counts as one request more."""
_KEPT = 10_000


@dataclass(slots=True)
class _Bucket:
    """left : requests that wait for nothing; below 0: that wait. at : of `left`, in seconds."""

    left: float
    at: float


class Pace:
    """The buckets of one event loop."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._buckets: dict[Taker | str, _Bucket] = {}
        # The tenant of the last request, when it was, and when the last one of any other was.
        self._latest, self._latest_at, self._others_at = "", -math.inf, -math.inf

    async def admit(self, who: Taker | str) -> None:
        """Wait until a request of `who` is due.

        who : a tenant's caller, or the address of whoever has no key.

        Raises Refused `unavailable` where that is too long.
        """
        whose, bucket = self._of(who)
        held = self._held(whose)
        if held and bucket.left < -PER_S * LONGEST_S:
            await self._sleep(1.0)
            raise Refused(
                "unavailable",
                f"More than {PER_S * LONGEST_S:.0f} requests of yours wait already, while others "
                "are there. Send fewer at a time.",
                headers={"Retry-After": str(AGAIN_S)},
            )
        # What was sent by one who was alone is no debt, beyond a moment's.
        bucket.left = bucket.left - 1 if held else max(bucket.left - 1, -1.0)
        if held and bucket.left < 0:
            await self._sleep(-bucket.left / PER_S)

    def charge(self, who: Taker, n_bytes: int) -> None:
        """Count a document of this length; what `who` sends next waits."""
        whose, bucket = self._of(who)
        floor = -PER_S if self._held(whose) else -1.0
        bucket.left = min(bucket.left, max(bucket.left - n_bytes / BYTES, floor))

    def _of(self, who: Taker | str) -> tuple[Taker | str, _Bucket]:
        now = self._clock()
        if isinstance(who, Taker) and not who.link:
            who = Taker(who.tenant)
            if who.tenant != self._latest:
                self._latest, self._others_at = who.tenant, self._latest_at
            self._latest_at = now
        bucket = self._buckets.get(who)
        if bucket is None:
            if len(self._buckets) >= _KEPT:
                self._forget(now)
            bucket = self._buckets[who] = _Bucket(BURST, now)
        bucket.left = min(BURST, bucket.left + (now - bucket.at) * PER_S)
        bucket.at = now
        return who, bucket

    def _held(self, who: Taker | str) -> bool:
        """Whether the bucket of `who` holds: another tenant is there, or it is no tenant's."""
        if isinstance(who, str) or who.link:
            return True
        other = self._others_at if who.tenant == self._latest else self._latest_at
        return self._clock() - other < NEAR_S

    def _forget(self, now: float) -> None:
        """Keep nothing of those who have rested."""
        self._buckets = {
            who: bucket
            for who, bucket in self._buckets.items()
            if bucket.left + (now - bucket.at) * PER_S < BURST
        }


_pace: RunVar[Pace] = RunVar("pace")


def pace() -> Pace:
    """The buckets of this event loop."""
    try:
        return _pace.get()
    except LookupError:
        own = Pace()
        _pace.set(own)
        return own

"""The machine: how much of the processor the event loop gets when it wants it.

Shares and rates are meant of a loop that runs whenever it has work. Where other processes take most
of the machine, a hundred requests a second of one caller would be all that the loop can do, and
another caller would wait behind them. So whoever paces counts by a clock that slows down with the
loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from anyio.lowlevel import RunVar

LEAST = 0.25
"""The clock goes no slower than this."""
LOOK_S = 0.25
"""So often it is seen how fast the loop is."""
_IDLE_S = 0.01
"""A loop that has wanted less than this meanwhile counts as one that runs at once."""

_SCHEDULED = Path("/proc/thread-self/schedstat")


def scheduled() -> tuple[float, float]:
    """The seconds that this thread has run, and that it has waited for a processor; zeros where the
    system does not say (Linux does)."""
    with suppress(OSError, ValueError, IndexError):
        ran, waited, *_ = _SCHEDULED.read_bytes().split()
        return int(ran) / 1e9, int(waited) / 1e9
    return 0.0, 0.0


class Machine:
    """That of one event loop; use it on its thread.

    time : in seconds. scheduled : as the function of this name.
    """

    def __init__(
        self,
        time: Callable[[], float] = time.monotonic,
        scheduled: Callable[[], tuple[float, float]] = scheduled,
    ) -> None:
        self._time, self._scheduled = time, scheduled
        self._at = self._looked_at = time()
        self._ran, self._waited = scheduled()
        self._clock = 0.0
        self.ease = 1.0
        """How much of the processor the loop got lately of what it wanted, at least `LEAST`."""

    def clock(self) -> float:
        """Seconds, of which fewer go by the less the loop gets of the processor."""
        at = self._time()
        self._clock += (at - self._at) * self.ease
        self._at = at
        if at - self._looked_at >= LOOK_S:
            self._looked_at = at
            self._look()
        return self._clock

    async def sleep(self, seconds: float) -> None:
        """Sleep for so many seconds of `clock`, by how fast that is now."""
        await asyncio.sleep(seconds / self.ease)

    def _look(self) -> None:
        (ran, waited), (ran_before, waited_before) = self._scheduled(), (self._ran, self._waited)
        self._ran, self._waited = ran, waited
        wanted = ran - ran_before + waited - waited_before
        ease = (ran - ran_before) / wanted if wanted > _IDLE_S else 1.0
        # Half of what was, so that a moment counts for little.
        self.ease = max(LEAST, (self.ease + min(ease, 1.0)) / 2)


_machine: RunVar[Machine] = RunVar("machine")


def machine() -> Machine:
    """That of this event loop."""
    try:
        return _machine.get()
    except LookupError:
        own = Machine()
        _machine.set(own)
        return own

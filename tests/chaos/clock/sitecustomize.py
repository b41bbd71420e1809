"""Python loads this first, where its folder is in PYTHONPATH: `time.sleep` under libfaketime.

It waits until a moment of the monotonic clock, which libfaketime (0.9.10) takes for one of the
clock that it moves, so that every call fails; `select` works.
"""

from __future__ import annotations

import select
import time


def sleep(seconds: float, /) -> None:
    """As `time.sleep`."""
    select.select([], [], [], seconds)


time.sleep = sleep

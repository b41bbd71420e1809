"""Whether a process still computes: one that is stopped, or waits for ever, uses no CPU time."""

from __future__ import annotations

import time

import psutil

_LOOKS = 10
"""How often a process is looked at within the time for which it may stand still."""


class Stillness:
    """Watches the CPU time of a process and of everything that it started.

    limit_s : how long it may stand still.
    """

    def __init__(self, pid: int, limit_s: float) -> None:
        self.pid = pid
        self._limit_s = limit_s
        self._moved_at = self._looked_at = time.monotonic()
        self._cpu_s: float | None = None

    def reset(self) -> None:
        """Count from now: it has shown otherwise that it is alive."""
        self._moved_at = self._looked_at = time.monotonic()
        self._cpu_s = None

    def exceeded(self) -> bool:
        """Whether its CPU time has not changed for longer than the limit.

        Cheap: the process is looked at only now and then. False for one that is gone.
        """
        now = time.monotonic()
        if now - self._looked_at < self._limit_s / _LOOKS:
            return False
        self._looked_at = now
        cpu_s = _cpu_s(self.pid)
        if cpu_s is None or cpu_s != self._cpu_s:
            self._cpu_s, self._moved_at = cpu_s, now
        return now - self._moved_at > self._limit_s


def _cpu_s(pid: int) -> float | None:
    """The CPU time of a process and its descendants in seconds; None if it is gone."""
    try:
        process = psutil.Process(pid)
        own = process.cpu_times()
        descendants = process.children(recursive=True)
    except psutil.Error:
        return None
    total = own.user + own.system + own.children_user + own.children_system
    for descendant in descendants:
        try:
            times = descendant.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system
    return float(total)

"""Waiting for conditions that must soon hold."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil


def until(true: Callable[[], bool], within_s: float = 60.0) -> None:
    """Waits for a condition; generously, because a busy machine is slow."""
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True

"""Waiting for conditions that must soon hold."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil

PATIENCE_S = 240.0
"""How long a test waits for what must happen: on a busy machine that takes many times as long as on
a quiet one, and no test measures it. Less than pytest's own limit, so that the test says what it
waited for."""


def until(true: Callable[[], bool], within_s: float = PATIENCE_S) -> None:
    """Waits for a condition."""
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True

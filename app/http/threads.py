"""Calls that block, in threads, as part of what their request takes of the interpreter."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

from anyio import CapacityLimiter, to_thread

from app.http.pacing import meter

_T = TypeVar("_T")
_Given = TypeVarTuple("_Given")


async def run_sync(
    function: Callable[[*_Given], _T],
    *given: *_Given,
    limiter: CapacityLimiter | None = None,
) -> _T:
    """As anyio's `to_thread.run_sync`; the thread's CPU seconds count for the caller's pace, where
    it has one: threads share one interpreter."""
    own = meter.get()
    if own is None:
        return await to_thread.run_sync(function, *given, limiter=limiter)
    took = [0.0]

    def timed() -> _T:
        began = time.thread_time()
        try:
            return function(*given)
        finally:
            took[0] = time.thread_time() - began

    try:
        return await to_thread.run_sync(timed, limiter=limiter)
    finally:
        own.add(took[0])

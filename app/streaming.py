"""Large answers: made piece by piece in threads, few at a time.

Whatever opens a whole tree runs here. So many of them can wait for one another, but they leave
threads and the interpreter to the rest: a million-node answer keeps no light request waiting.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

AT_ONCE = 4

_T = TypeVar("_T")
_limiter: RunVar[CapacityLimiter] = RunVar("large")


async def in_turn(function: Callable[[], _T]) -> _T:
    """What `function` gives, called in a thread once fewer than `AT_ONCE` others run."""
    try:
        limiter = _limiter.get()
    except LookupError:
        limiter = CapacityLimiter(AT_ONCE)
        _limiter.set(limiter)
    return await to_thread.run_sync(function, limiter=limiter)


async def pieces(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The chunks, each made in a turn of its own: a slow reader keeps nobody's turn."""
    while (chunk := await in_turn(lambda: next(chunks, None))) is not None:
        yield chunk

"""Large answers: made piece by piece in threads, few at a time.

What opens a large tree waits for its turn, so it leaves threads and the interpreter to the rest: a
million-node answer keeps no light request waiting. Small trees need no turn.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Literal, TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

from workers.artifacts.trees import TreeRecord

Turn = Literal["export", "look", "png"]
"""What waits for its like only: whole trees being written, looks at parts of trees, renderers."""

AT_ONCE = 2
LARGE = 50_000
"""Nodes and points together from which a tree is large."""

_T = TypeVar("_T")
_limiters: RunVar[dict[Turn, CapacityLimiter]] = RunVar("large answers")


def turn(record: TreeRecord, like: Literal["export", "look"]) -> Turn | None:
    """The turn that work on this tree needs."""
    return like if record.n_nodes + record.n_points >= LARGE else None


async def in_turn(function: Callable[[], _T], which: Turn | None) -> _T:
    """What `function` gives, called in a thread, once fewer than `AT_ONCE` of its like run."""
    if which is None:
        return await to_thread.run_sync(function)
    try:
        limiters = _limiters.get()
    except LookupError:
        limiters = {}
        _limiters.set(limiters)
    limiter = limiters.setdefault(which, CapacityLimiter(AT_ONCE))
    return await to_thread.run_sync(function, limiter=limiter)


async def pieces(chunks: Iterator[bytes], which: Turn = "export") -> AsyncIterator[bytes]:
    """The chunks, each made in a turn of its own: a slow reader keeps nobody's turn."""
    while (chunk := await in_turn(lambda: next(chunks, None), which)) is not None:
        yield chunk

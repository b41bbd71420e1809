"""Large responses: made piece by piece in threads, few at a time.

Work on a large tree waits for its turn, so it leaves threads and the interpreter to other requests:
a response with a million nodes does not delay small ones. Small trees need no turn.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal, TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from starlette.responses import Response, StreamingResponse

from workers.artifacts.trees import TreeRecord

Queue = Literal["export", "look", "png", "json"]
"""Whole trees being written, views of parts of trees, renderers, JSON documents being opened: each
kind has its own queue."""

AT_ONCE = 2
LARGE = 50_000
"""A tree is large from this number of nodes and points together."""
WHOLE_BYTES = 256 << 10
"""A response of up to this many bytes is sent whole, with its length; a longer one is streamed."""

_T = TypeVar("_T")
_limiters: RunVar[dict[Queue, CapacityLimiter]] = RunVar("large answers")


@dataclass(frozen=True, slots=True)
class Turn:
    """The queue for some work, and whether the work has to wait there."""

    queue: Queue
    waits: bool


def turn(record: TreeRecord, queue: Queue) -> Turn:
    """The turn of work on this tree; it waits if the tree is large."""
    return Turn(queue, record.n_nodes + record.n_points >= LARGE)


async def in_turn(function: Callable[[], _T], turn: Turn) -> _T:
    """The result of `function`, called in a thread; at most `AT_ONCE` per queue run at a time."""
    if not turn.waits:
        return await to_thread.run_sync(function)
    try:
        limiters = _limiters.get()
    except LookupError:
        limiters = {}
        _limiters.set(limiters)
    limiter = limiters.setdefault(turn.queue, CapacityLimiter(AT_ONCE))
    return await to_thread.run_sync(function, limiter=limiter)


async def streamed(
    chunks: Iterator[bytes], turn: Turn, media: str = "application/json"
) -> Response:
    """The chunks as one body, made in turns: whole if it is short, else streamed.

    Errors within the first `WHOLE_BYTES` are raised here, before a status is sent.
    """

    def begin() -> tuple[bytes, bytes | None]:
        """The first chunks, and the next one if the body is long."""
        start = bytearray()
        for chunk in chunks:
            if len(start) > WHOLE_BYTES:
                return bytes(start), chunk
            start += chunk
        return bytes(start), None

    start, following = await in_turn(begin, turn)
    if following is None:
        return Response(start, media_type=media)
    pieces = chain([start, following], chunks)
    return StreamingResponse(_pieces(pieces, turn.queue), media_type=media)


async def _pieces(chunks: Iterator[bytes], queue: Queue) -> AsyncIterator[bytes]:
    """The chunks, each made in its own turn: a slow reader does not hold up others."""
    turn = Turn(queue, waits=True)
    while (chunk := await in_turn(lambda: next(chunks, None), turn)) is not None:
        yield chunk

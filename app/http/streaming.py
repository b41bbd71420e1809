"""Large responses: made piece by piece in threads, few at a time, and ended with their connection.

Work on a large tree waits for its turn (`app.http.turns`), so it leaves threads and the interpreter
to other requests: a response with a million nodes does not delay small ones. What a long response
holds is let go when its client leaves, and how many there are is bounded by tenant and by link.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from app.http import threads
from app.http.pacing import meter
from app.http.presence import presence
from app.http.turns import Queue, queue, require_client, taker
from workers.artifacts.trees import TreeRecord

LARGE = 50_000
"""A tree is large from this number of nodes and points together."""
WHOLE_BYTES = 256 << 10
"""A response of up to this many bytes is sent whole; a longer one is streamed."""
_PIECE_BYTES = 64 << 10
"""How much of a content that is there already is given to the connection at a time."""

_T = TypeVar("_T")
_limiters: RunVar[CapacityLimiter] = RunVar("threads of turns")


@dataclass(frozen=True, slots=True)
class Turn:
    """The queue for some work, and whether the work has to wait there; if not, it has the turns of
    small work."""

    queue: Queue
    waits: bool

    @property
    def at(self) -> Queue:
        return self.queue if self.waits else "small"


def turn(record: TreeRecord, queue: Queue) -> Turn:
    """The turn of work on this tree; it waits if the tree is large."""
    return Turn(queue, record.n_nodes + record.n_points >= LARGE)


async def in_turn(function: Callable[[], _T], turn: Turn, *, patient: bool = False) -> _T:
    """The result of `function`, called in a thread when it is the caller's turn.

    patient : as in `FairQueue.turn`, which says what is raised.
    """
    turns, who = queue(turn.at), taker.get()
    with presence().at_work(who.tenant):
        async with turns.turn(who, patient=patient):
            own = meter.get()
            if own is None:
                return await threads.run_sync(function, limiter=_limiter())
            with own.holds(lambda: turns.holds_up(who.tenant)):
                await own.give_way()
                return await threads.run_sync(function, limiter=_limiter())


def _limiter() -> CapacityLimiter:
    """None in effect: the turns are the bound, and others' threads are no reason to wait."""
    try:
        return _limiters.get()
    except LookupError:
        limiter = CapacityLimiter(math.inf)
        _limiters.set(limiter)
        return limiter


async def streamed(
    chunks: Iterator[bytes], turn: Turn, media: str = "application/json"
) -> Response:
    """The chunks as one body, made in turns: whole if it is short, else streamed.

    Errors within the first `WHOLE_BYTES` are raised here, before a status is sent; ClientDisconnect
    as soon as the client has left.
    """

    def begin() -> tuple[bytes, bytes | None]:
        """The first chunks, and the next one if the body is long."""
        start = bytearray()
        for chunk in chunks:
            require_client()
            if len(start) > WHOLE_BYTES:
                return bytes(start), chunk
            start += chunk
        return bytes(start), None

    start, following = await in_turn(begin, turn)
    if following is None:
        return whole(start, media)
    return Stream(_joined([*_pieces(start), following], chunks), Turn(turn.queue, True), media)


def whole(content: bytes, media: str, headers: Mapping[str, str] | None = None) -> Response:
    """The content with its length; a long one in pieces, as its client takes them."""
    if len(content) <= WHOLE_BYTES:
        return Response(content, media_type=media, headers=headers)
    length = {"Content-Length": str(len(content))}
    return Stream(_joined(_pieces(content), ()), None, media, headers={**(headers or {}), **length})


def _pieces(content: bytes) -> Iterator[bytes]:
    starts = range(0, len(content), _PIECE_BYTES)
    return (content[start : start + _PIECE_BYTES] for start in starts)


def _joined(first: Iterable[bytes], chunks: Iterable[bytes]) -> Generator[bytes]:
    """Both, as a generator, which lets go of them when it is closed."""
    yield from first
    yield from chunks


class Stream(StreamingResponse):
    """A long response, made no faster than its client reads it.

    It is one of a bounded number of the caller's, and whatever it was made of is let go as soon as
    it has ended or its client has left; not when a collector finds it. Nothing is cancelled for
    that: the trace of an exception would keep the last pieces.

    turn : of each piece, in which it is made in a thread; None for pieces that are there already.
    """

    def __init__(
        self,
        chunks: Iterable[bytes],
        turn: Turn | None,
        media: str,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__((), status, headers, media)
        self._chunks = _joined((), chunks)
        self._turn = turn

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with queue("stream").turn(taker.get()):
                left = asyncio.create_task(self.listen_for_disconnect(receive))
                try:
                    await self._send(send, left)
                finally:
                    left.cancel()
        finally:
            self._chunks.close()

    async def _send(self, send: Send, left: asyncio.Task[None]) -> None:
        head = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **head})
        while not left.done():
            piece = await self._next()
            more = piece is not None
            await send({"type": "http.response.body", "body": piece or b"", "more_body": more})
            if not more:
                return

    async def _next(self) -> bytes | None:
        """The next piece: a slow reader does not hold up others."""
        if self._turn is None:
            return next(self._chunks, None)
        return await in_turn(lambda: next(self._chunks, None), self._turn, patient=True)

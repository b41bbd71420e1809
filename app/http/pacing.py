"""Pace: how many requests a second one caller may have answered while others are there.

Cheap requests, refused ones above all, need no queue of `app.http.turns`, but a thousand of them a
second fill the event loop, so that whatever others do in threads gets the interpreter late. So each
tenant has a bucket of requests, which are not refused but wait until they are due; a tenant that is
alone waits for nothing. Links, and addresses that are refused without a key, have buckets that hold
always. Large documents count as several requests, and so does what takes the interpreter long,
which threads share: with others there, a tenant gets about `PER_S * WORK_S` of it. Whoever has
had more lately also lets the requests of others go first, within the burst too, before each piece
of work in a thread and each step on the loop, so that these are as fast where the machine is busy
and has less to share.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import coroutine
from typing import Any

from anyio.lowlevel import RunVar
from starlette.types import Message, Receive

from app.http.buckets import Bucket, Buckets
from app.http.machine import machine
from app.http.presence import Presence, presence
from app.http.problems import Refused
from app.http.turns import AGAIN_S, Taker

PER_S = 100.0
"""Requests a second of one caller, while others are there."""
BURST = 200.0
"""Requests that wait for nothing after a rest."""
LONGEST_S = 10.0
"""A request that would wait longer is refused."""
BYTES = 16 << 10
"""So much of a document counts as one request more."""
WORK_S = 0.003
"""So many seconds of the event loop or of a thread count as one request more."""
MOST_WORK_S = 0.6
"""No more than this counts for one request, so that nobody waits for long behind one large tree."""
UNPACKED_S = 8e-9
"""Seconds that a byte takes which a client need not send: to be unpacked, hashed and stored."""
SHORT_PIECE = 16 << 10
"""Pieces of a body that are shorter than this take longer than their bytes, ..."""
PIECE_S = 75e-6
"""... each so long, to be handed from the connection to what reads them."""
GATHERS_S = 0.05
"""For so long they are gathered of a caller who has had more than is due."""
FEW = 20.0
"""Whoever has so much less than a whole burst has sent more than is due, and gives way."""
GIVES_WAY_S = 0.25
"""For so long a request of such a caller waits until others have their answers, and for so long
again its pieces of work in threads and its steps on the loop, all together, ..."""
PIECE_GIVES_WAY_S = 0.05
"""... each for so long at most, ..."""
_LOOK_S = 0.01
"""... looking so often, ..."""
_AT_ONCE = 8
"""... and where more wait, as much less often: looking takes time of the loop."""
_COUNTED_S = 0.01


class Pace:
    """The buckets of one event loop."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        presence: Presence | None = None,
    ) -> None:
        self._clock = clock
        self._presence = presence or Presence(clock)
        self._sleep = sleep
        self._buckets: Buckets[Taker | str, Bucket] = Buckets(Bucket, BURST, PER_S, clock)
        self._n_looking = 0

    async def admit(self, who: Taker | str) -> None:
        """Wait until a request of `who` is due.

        who : a tenant's caller, or the address of whoever has no key.

        Raises Refused `unavailable` where that is too long.
        """
        whose, bucket = self._of(who)
        held = self._held(whose)
        if held and bucket.left < -PER_S * LONGEST_S:
            await self._sleep(1.0)
            raise Refused(
                "unavailable",
                f"More than {PER_S * LONGEST_S:.0f} requests of yours wait already, while others "
                "are there. Send fewer at a time.",
                headers={"Retry-After": str(AGAIN_S)},
            )
        # What was sent by one who was alone is no debt, beyond a moment's.
        bucket.left = bucket.left - 1 if held else max(bucket.left - 1, -1.0)
        if held and bucket.left < 0:
            await self._sleep(-bucket.left / PER_S)
        if isinstance(who, Taker):
            await self.give_way(who, GIVES_WAY_S)

    async def give_way(
        self, who: Taker, longest_s: float, held_up: Callable[[], bool] = lambda: False
    ) -> float:
        """Where `who` has had more than is due lately, wait until the short requests are answered
        of tenants that have had less than `who` (`gives_way`).

        held_up : whether others wait for what `who` holds meanwhile; then it goes on.

        Returns the seconds waited. O(tenants with short requests) before it waits.
        """
        began, waited = self._clock(), 0.0
        while max(waited, self._clock() - began) < longest_s - _LOOK_S / 2:
            if not self.gives_way(who) or held_up():
                break
            self._n_looking += 1
            try:
                seldom = _LOOK_S * (1 + self._n_looking // _AT_ONCE)
                pause = min(seldom, longest_s - waited)
                await self._sleep(pause)
            finally:
                self._n_looking -= 1
            waited += pause
        return max(waited, self._clock() - began) if waited else 0.0

    def gives_way(self, who: Taker) -> bool:
        """Whether `who` has had more than is due lately, and short requests are being answered of
        tenants that have had less than `who`, so that no two wait for one another. O(tenants with
        short requests)."""
        _, bucket = self._of(who, seen=False)
        if bucket.left > BURST - FEW:
            return False
        others = self._presence.served(who.tenant)
        return any(self._buckets.left(Taker(each)) > bucket.left for each in others)

    def charge(self, who: Taker, n_bytes: int) -> None:
        """Count a document of this length; what `who` sends next waits."""
        whose, bucket = self._of(who)
        floor = -PER_S if self._held(whose) else -1.0
        bucket.left = min(bucket.left, max(bucket.left - n_bytes / BYTES, floor))

    def spend(self, who: Taker, seconds: float) -> None:
        """Count the interpreter's time that a request took; what `who` sends next waits."""
        whose, bucket = self._of(who)
        left = bucket.left - seconds / WORK_S
        bucket.left = left if self._held(whose) else min(bucket.left, max(left, -1.0))

    async def unpack(self, who: Taker, n_bytes: int) -> None:
        """Count content that was unpacked, and wait until it is due."""
        self.spend(who, n_bytes * UNPACKED_S)
        whose, bucket = self._of(who)
        if self._held(whose) and bucket.left < 0:
            await self._sleep(min(-bucket.left / PER_S, LONGEST_S))

    async def gather(self, who: Taker) -> None:
        """Count a short piece of a body, and let more of it come first, where `who` has had more
        than is due lately while others are there."""
        self.spend(who, PIECE_S)
        whose, bucket = self._of(who, seen=False)
        if self._held(whose) and bucket.left < BURST - FEW:
            await self._sleep(GATHERS_S)

    def _of(self, who: Taker | str, *, seen: bool = True) -> tuple[Taker | str, Bucket]:
        if isinstance(who, Taker) and not who.link:
            who = Taker(who.tenant)
            if seen:
                self._presence.note(who.tenant)
        return who, self._buckets.of(who)

    def _held(self, who: Taker | str) -> bool:
        """Whether the bucket of `who` holds: another tenant is there, or it is no tenant's."""
        if isinstance(who, str) or who.link:
            return True
        return self._presence.others(who.tenant)


_pace: RunVar[Pace] = RunVar("pace")


def pace() -> Pace:
    """The buckets of this event loop."""
    try:
        return _pace.get()
    except LookupError:
        own = Pace(machine().clock, machine().sleep, presence())
        _pace.set(own)
        return own


def in_pieces(receive: Receive, who: Taker) -> Receive:
    """`receive`, where a body that comes in short pieces is paced."""

    async def paced() -> Message:
        message = await receive()
        if message.get("more_body", False) and len(message["body"]) < SHORT_PIECE:
            await pace().gather(who)
        return message

    return paced


class Meter:
    """What the request that is being answered has taken of the interpreter. Use it on its loop."""

    def __init__(self, who: Taker) -> None:
        self._who = who
        self._counted = 0.0
        self._waiting = 0.0
        self._patience = GIVES_WAY_S
        self._held_up: Callable[[], bool] = lambda: False

    async def give_way(self) -> None:
        """Before a piece of work in a thread, and a step on the loop: as `Pace.give_way`,
        `GIVES_WAY_S` in all."""
        longest = min(PIECE_GIVES_WAY_S, self._patience)
        if longest > 0:
            self._patience -= await pace().give_way(self._who, longest, self._held_up)

    def pause(self) -> Generator[Any, Any, None] | None:
        """What to await before the next step on the loop, if anything."""
        if self._patience > 0 and pace().gives_way(self._who) and not self._held_up():
            return self.give_way().__await__()
        return None

    @contextmanager
    def holds(self, held_up: Callable[[], bool]) -> Iterator[None]:
        """Within it the request holds what others may wait for: whether they do."""
        before, self._held_up = self._held_up, held_up
        try:
            yield
        finally:
            self._held_up = before

    def add(self, seconds: float) -> None:
        """Count seconds of the loop or of a thread, at most `MOST_WORK_S` in all."""
        self._waiting += seconds
        if self._waiting >= _COUNTED_S:
            self.end()

    def end(self) -> None:
        """Count what has not been counted yet."""
        seconds = min(self._waiting, MOST_WORK_S - self._counted)
        self._waiting = 0.0
        if seconds > 0:
            self._counted += seconds
            pace().spend(self._who, seconds)


meter: ContextVar[Meter | None] = ContextVar("meter", default=None)
"""The meter of the request that is being answered; None for those without a key."""


async def metered(answer: Awaitable[None], who: Taker) -> None:
    """Await `answer`, and count the time that its steps take on the event loop as that of `who`;
    `app.http.threads` adds that of threads. Before each step it may give way (`Meter.pause`)."""
    own, number = Meter(who), presence().begin(who.tenant)
    meter.set(own)
    try:
        await timed(answer.__await__(), own.add, own.pause)
    finally:
        presence().end(number)
        own.end()


@coroutine
def timed(
    answer: Generator[Any, Any, None],
    add: Callable[[float], None],
    pause: Callable[[], Generator[Any, Any, None] | None] = lambda: None,
) -> Generator[Any, Any, None]:
    """As `yield from answer`, `add` getting the seconds of each step; no exception stays in its
    frame. pause : gives what to wait for before the next step."""
    value: Any = None
    thrown: BaseException | None = None
    while True:
        began = time.thread_time()
        try:
            awaited = answer.send(value) if thrown is None else answer.throw(thrown)
        except StopIteration:
            return
        finally:
            thrown = None
            add(time.thread_time() - began)
        try:
            value = yield awaited
            if (pausing := pause()) is not None:
                yield from pausing
        except GeneratorExit:
            answer.close()
            raise
        except BaseException as error:
            thrown = error

"""Turns: whose work is done next where only so much is done at a time.

Each kind of work has its queue in each process of the API. Tenants take turns, and within a tenant
its keys and links: next is who has least under way, then who was served longest ago. No tenant may
fill a queue, nor a link what its tenant may have, so that the first request of another one waits
for nobody. Too many that wait, or a wait that is too long, are refused with 503. Who waits leaves
with its connection, and takes no turn.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Literal

from anyio.lowlevel import RunVar
from starlette.requests import ClientDisconnect

from app.http.presence import SHORT_S, presence
from app.http.problems import Refused

LONGEST_WAIT_S = 30.0
AGAIN_S = 2
"""When a client that was refused may try again."""


@dataclass(frozen=True, slots=True)
class Taker:
    """Whose work it is. name : of the key or link; empty for keys that have no id."""

    tenant: str = ""
    name: str = ""
    link: bool = False


taker: ContextVar[Taker] = ContextVar("taker", default=Taker())  # noqa: B039
"""Who sent the request that is being answered; `app.http.security.Gate` sets it."""

gone: ContextVar[asyncio.Future[None] | None] = ContextVar("gone", default=None)
"""Done once the connection of the request that is being answered has ended; None: it is not known.
`app.http.observability.Observed` sets it."""


def require_client() -> None:
    """Raises ClientDisconnect if the client has left. Threads may call it."""
    connection = gone.get()
    if connection is not None and connection.done():
        raise ClientDisconnect


@dataclass(frozen=True, slots=True)
class Room:
    """How much of a kind of work is done at a time: in all, for a tenant, and for a link.

    waiting, waiting_link : how many more of a tenant and of a link may wait. beside : for a tenant
    while another one is there; None: as many as otherwise.
    """

    in_all: int
    tenant: int
    link: int
    waiting: int = 32
    waiting_link: int = 16
    beside: int | None = None


Queue = Literal[
    "request", "small", "export", "look", "draw", "render", "json", "parse", "file", "stream"
]

ROOMS: dict[Queue, Room] = {
    # Whoever is alone may send any number: the one who comes next waits for these alone.
    "request": Room(1_000_000, 8, 4, 100_000, 10_000),
    # Threads that share one interpreter: two of a tenant would take no less time than one.
    "export": Room(2, 1, 1),
    "look": Room(2, 1, 1),
    "draw": Room(2, 1, 1),
    "parse": Room(2, 1, 1, 256, 64),
    "small": Room(8, 4, 2, 256, 64, beside=1),
    # Processes.
    "render": Room(3, 2, 1, beside=1),
    "json": Room(3, 2, 1, beside=1),
    # What waits for the store, and for clients.
    "file": Room(16, 8, 4, 256, 64),
    "stream": Room(64, 32, 8),
}
"""`request`: any request, until it is answered or takes long. `export`, `look`: whole large trees
being written, and views of parts of them. `draw`: pictures. `small`: the same of small trees, and
lists. `render`: PNG and PDF. `json`: large documents being opened, `parse`: shorter ones. `file`:
stored files being read. `stream`: long responses that a client is reading."""


class FairQueue:
    """The turns of one kind of work. Use it on one event loop."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._running: Counter[Taker | str] = Counter()
        self._n_running = 0
        self._waiting: dict[Taker, deque[asyncio.Future[None]]] = {}
        self._served: dict[Taker | str, int] = {}
        self._clock = count(1)

    @property
    def n_running(self) -> int:
        return self._n_running

    @property
    def n_waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    def holds_up(self, tenant: str) -> bool:
        """Whether another tenant waits. O(callers that wait)."""
        return any(each.tenant != tenant for each in self._waiting)

    @asynccontextmanager
    async def turn(self, who: Taker, *, patient: bool = False) -> AsyncIterator[None]:
        """Wait for a turn of `who`, and hold it.

        patient : for work that has begun: it is never refused.

        Raises Refused `unavailable` if too many wait, or after `LONGEST_WAIT_S`; ClientDisconnect
        once the client has left.
        """
        await self.begin(who, patient=patient)
        try:
            yield
        finally:
            self.end(who)

    async def begin(self, who: Taker, *, patient: bool = False) -> None:
        """As `turn`, which `end` ends."""
        require_client()
        if who in self._waiting or not self._may_run(who):
            await self._wait(who, patient)
        else:
            self._start(who)

    async def _wait(self, who: Taker, patient: bool) -> None:
        if not patient:
            self._require_few(who)
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        connection = gone.get()

        def leave(_: asyncio.Future[None]) -> None:
            self._leave(who, granted)
            if not granted.done():
                granted.set_exception(ClientDisconnect)

        self._waiting.setdefault(who, deque()).append(granted)
        if connection is not None:
            connection.add_done_callback(leave)
        try:
            async with asyncio.timeout(None if patient else LONGEST_WAIT_S):
                await granted
        except BaseException as error:
            if granted.done() and not granted.cancelled() and granted.exception() is None:
                self.end(who)
            else:
                self._leave(who, granted)
            if isinstance(error, TimeoutError):
                raise _busy(f"nothing was free for {LONGEST_WAIT_S:g} s") from None
            raise
        finally:
            if connection is not None:
                connection.remove_done_callback(leave)

    def _require_few(self, who: Taker) -> None:
        of_link = len(self._waiting.get(who, ())) if who.link else 0
        of_tenant = sum(
            len(waiting) for each, waiting in self._waiting.items() if each.tenant == who.tenant
        )
        if of_link >= self._room.waiting_link:
            raise _busy(f"{of_link} requests of this link wait already")
        if of_tenant >= self._room.waiting:
            raise _busy(f"{of_tenant} requests of your tenant wait already")

    def _may_run(self, who: Taker) -> bool:
        room, most = self._room, self._room.tenant
        if room.beside is not None and presence().others(who.tenant):
            most = room.beside
        return (
            self._n_running < room.in_all
            and self._running[who.tenant] < most
            and (not who.link or self._running[who] < room.link)
        )

    def _start(self, who: Taker) -> None:
        self._n_running += 1
        now = next(self._clock)
        for each in (who, who.tenant):
            self._running[each] += 1
            self._served[each] = now

    def end(self, who: Taker) -> None:
        self._n_running -= 1
        for each in (who, who.tenant):
            self._running[each] -= 1
        self._forget(who)
        self._grant()

    def _grant(self) -> None:
        """Give turns to those who wait, as many as are free."""
        while able := [each for each in self._waiting if self._may_run(each)]:
            who = min(able, key=self._rank)
            granted = self._waiting[who].popleft()
            if not self._waiting[who]:
                del self._waiting[who]
            # One that was cancelled has not left yet.
            if not granted.cancelled():
                self._start(who)
                granted.set_result(None)

    def _rank(self, who: Taker) -> tuple[int, int, int, int]:
        tenant = who.tenant
        return (
            *(self._running[tenant], self._served.get(tenant, 0)),
            *(self._running[who], self._served.get(who, 0)),
        )

    def _leave(self, who: Taker, granted: asyncio.Future[None]) -> None:
        waiting = self._waiting.get(who)
        if waiting is not None and granted in waiting:
            waiting.remove(granted)
            if not waiting:
                del self._waiting[who]
        self._forget(who)

    def _forget(self, who: Taker) -> None:
        """Keep nothing of those who neither wait nor have anything under way."""
        tenants = {each.tenant for each in self._waiting}
        for each, waits in ((who, who in self._waiting), (who.tenant, who.tenant in tenants)):
            if not self._running[each] and not waits:
                del self._running[each]
                self._served.pop(each, None)


def _busy(why: str) -> Refused:
    return Refused(
        "unavailable",
        f"The service is busy with requests like this one: {why}. Try again.",
        headers={"Retry-After": str(AGAIN_S)},
    )


_queues: RunVar[dict[Queue, FairQueue]] = RunVar("turns")


def queue(name: Queue) -> FairQueue:
    """The queue of this event loop."""
    try:
        queues = _queues.get()
    except LookupError:
        queues = {}
        _queues.set(queues)
    return queues.setdefault(name, FairQueue(ROOMS[name]))


class Place:
    """A request's place among the few of its tenant that are answered at a time. It is given up
    once the request has taken `SHORT_S`, or when it only waits from then on."""

    def __init__(self) -> None:
        self._end: Callable[[], None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def take(self, who: Taker) -> None:
        """Wait for it; raises as `FairQueue.turn`."""
        requests = queue("request")
        await requests.begin(who)
        self._end = partial(requests.end, who)
        self._timer = asyncio.get_running_loop().call_later(SHORT_S, self.leave)
        place.set(self)

    def leave(self) -> None:
        if self._end is not None and self._timer is not None:
            self._timer.cancel()
            self._end()
            self._end = None


place: ContextVar[Place | None] = ContextVar("place", default=None)
"""That of the request that is being answered."""


def give_place_up() -> None:
    """Let the tenant's next request go on: this one waits for something that takes no time here."""
    own = place.get()
    if own is not None:
        own.leave()

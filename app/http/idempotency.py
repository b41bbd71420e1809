"""`Idempotency-Key`: the same key and body get the first response again.

A key belongs to one tenant and one route. Before anything is created, the key is reserved in Redis
together with the id of the new resource, a fingerprint of the request and the process that answers
it; afterwards the response is stored beside it. A repeat gets that response. If the process died in
between, a repeat looks up the resource by the reserved id, and finishes what was begun with that
id, so nothing is created twice. While the first request may still be in progress, a repeat must not
answer for it: what is there already may be taken back, as by a request whose last step got no
answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, cast

from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import WatchError
from starlette.responses import Response

from app.http import threads
from app.http.lives import Lives
from app.http.problems import Refused
from app.http.streaming import WHOLE_BYTES
from workers.errors import TransientError
from workers.jobs.interrupted import SUBMISSION_S
from workers.stores.redis.client import translated

PENDING_S = SUBMISSION_S
"""A reservation without a response for this long belongs to a process that died, whether or not
that can be seen."""

AGAIN_S = 0.25
"""How long to wait before what Redis did not answer is sent again."""

LARGEST_ANSWER = WHOLE_BYTES
"""A longer response is not stored; a repeat is answered from the resource itself."""

KEPT_HEADERS = ("content-type", "location", "retry-after", "preference-applied", "etag", "link")

Make = Callable[[], Awaitable[Response]]
Again = Callable[[str], Awaitable[Response | None]]


_log = logging.getLogger(__name__)


MOST_TURNS = 8
"""How often a reservation is replaced anew where the connection ends meanwhile."""


class Reservations:
    """The reservations of one process, on one event loop.

    keep_s : how long a key is remembered. lives : which processes are alive.
    """

    def __init__(self, redis: Redis, prefix: str, keep_s: int, lives: Lives) -> None:
        self.redis = redis
        self.prefix = prefix
        self.keep_s = keep_s
        self.lives = lives
        # By place and token: what is to be there instead of the reservation, None: nothing.
        # Requests that repeat a key during an outage each owe their own.
        self._owed: dict[tuple[str, str], str | None] = {}
        self._any = asyncio.Event()

    def once(self, tenant: str, route: str, key: str | None) -> Once:
        """For one request."""
        return Once(self, tenant, route, key)

    def reserve(self, place: str, reservation: str) -> str | None:
        """Reserve; what was reserved before, or None. Blocks, as the next two do."""
        if self.redis.set(place, reservation, nx=True, ex=self.keep_s):
            return None
        # It may have expired between the two calls: then the second attempt reserves it.
        earlier: Any = self.redis.get(place) or self.redis.set(
            place, reservation, nx=True, get=True, ex=self.keep_s
        )
        # Its own, if the call was repeated since its answer was lost.
        return None if earlier == reservation else earlier

    def age_s(self, place: str) -> float:
        """How long ago the place was last written, by the clock of Redis, which all processes
        share; 0 for one that has just ended."""
        left_ms = self.redis.pttl(place)
        return self.keep_s - left_ms / 1000 if left_ms >= 0 else 0.0

    def take_over(self, place: str, earlier: str, reservation: str) -> bool:
        """Reserve what a dead process had reserved; False if another request was faster."""
        return self._replace(place, lambda current: current == earlier, reservation)

    def settle(self, place: str, token: str, value: str | None) -> None:
        """Put a value, if None nothing, in the place of the reservation with this token; nothing
        happens where another request has it by now, which may be for the same id."""
        self._replace(place, lambda current: json.loads(current).get("token") == token, value)

    def _replace(self, place: str, fits: Callable[[str], bool], value: str | None) -> bool:
        for _ in range(MOST_TURNS):
            with self.redis.pipeline() as pipe, contextlib.suppress(WatchError):
                cast(Any, pipe).watch(place)
                current = cast("str | None", pipe.get(place))
                # It was put by an earlier turn whose answer was lost.
                if current == value:
                    return True
                if current is not None and not fits(current):
                    return False
                pipe.multi()
                if value is None:
                    pipe.delete(place)
                else:
                    pipe.set(place, value, ex=self.keep_s)
                pipe.execute()
                return True
            # Another request was faster, or the connection ended, which is all that redis-py says
            # while it watches: the next turn sees which.
        raise RedisConnectionError("every connection ended while it watched")

    def owe(self, place: str, token: str, value: str | None) -> None:
        """Have `send_owed` do what `settle` could not."""
        self._owed[place, token] = value
        self._any.set()

    def settled(self, place: str, token: str) -> None:
        """Send nothing older for it again."""
        self._owed.pop((place, token), None)

    async def send_owed(self) -> None:
        """Settle what Redis did not answer, as long as the process lives: until then repeats of a
        request that is over are refused."""
        while True:
            await self._any.wait()
            for at, value in list(self._owed.items()):
                try:
                    await call(self.settle, *at, value)
                except TransientError:
                    await asyncio.sleep(AGAIN_S)
                    continue
                except Exception:
                    _log.exception("an idempotency key is not free before its time")
                if self._owed.get(at, "") == value:
                    del self._owed[at]
            if not self._owed:
                self._any.clear()


class Once:
    """One POST.

    Without a key, `answer` simply creates the resource.
    scope : the key with its route, for `workers.model.Request.idempotency_key`: the ledger keeps it
        with the job, so a job is not created twice even if Redis lost everything in between.
    """

    def __init__(self, process: Reservations, tenant: str, route: str, key: str | None) -> None:
        self._process = process
        self.key = key
        self.scope = None if key is None else f"{route}\n{key}"
        digest = hashlib.sha256(f"{route}\0{key}".encode()).hexdigest()
        self._place = f"{process.prefix}once:{tenant}:{digest}"
        self._token = self._reservation = ""

    async def begun(self) -> bool:
        """Whether an earlier request had this key; False without one."""
        return self.key is not None and bool(await call(self._process.redis.exists, self._place))

    async def answer(
        self,
        new_id: str,
        fingerprint: bytes,
        make: Make,
        again: Again,
        finish: Again | None = None,
    ) -> Response:
        """The first response to this key; `make` creates it if this is the first request.

        new_id : id of the resource that `make` creates.
        fingerprint : everything in the request that determines what is created.
        again : gives the response for an existing id; None if there is no such resource. Called
            once the resource was `made`, or the first request is over.
        finish : the same for an id with which a dead process may have begun; finishes what it
            began. None if nothing is left of it that could come to life.

        `make` raises only if it created nothing. Raises Refused `idempotency-mismatch` for another
        fingerprint, `conflict` while the first request is in progress.
        """
        if self.key is None:
            return await make()
        digest = hashlib.sha256(fingerprint).hexdigest()
        # Ids need not differ.
        self._token = secrets.token_hex(8)
        self._reservation = reservation = json.dumps(
            {
                "id": new_id,
                "mark": digest,
                "token": self._token,
                "by": self._process.lives.name,
                "made": False,
                "answer": None,
            }
        )
        earlier = await self._reserved(self._process.reserve, reservation)
        if earlier is not None:
            kept = json.loads(earlier)
            if kept["mark"] != digest:
                raise Refused(
                    "idempotency-mismatch",
                    f"Idempotency-Key {self.key!r} was used with another body; use a new key.",
                )
            if kept["answer"] is not None:
                return _replay(kept["answer"])
            abandoned = await call(
                self._process.age_s, self._place
            ) >= PENDING_S or await threads.run_sync(
                self._process.lives.is_dead, kept.get("by", "")
            )
            # A reservation of an earlier version says neither whether it was made, nor by whom.
            is_settled = abandoned or kept.get("made", True)
            repeated = await again(kept["id"]) if is_settled else None
            if repeated is None and abandoned and finish is not None:
                repeated = await finish(kept["id"])
            if repeated is not None:
                repeated.headers["Idempotent-Replayed"] = "true"
                return repeated
            if not abandoned or not await self._reserved(
                self._process.take_over, earlier, reservation
            ):
                raise Refused(
                    "conflict",
                    "The first request with this Idempotency-Key is still in progress.",
                    headers={"Retry-After": "1"},
                )
        try:
            response = await make()
        except Exception:
            await self._settle(None)
            raise
        if response.status_code < 300:
            # A streamed response has no body to store; a repeat is answered from the resource.
            body = getattr(response, "body", None)
            short = body is not None and len(body) <= LARGEST_ANSWER
            await self.made(_kept(response) if short else None)
        return response

    async def made(self, response: dict[str, Any] | None = None) -> None:
        """Let repeats be answered: the resource exists, and will not be taken back.

        Called by a `make` that goes on for long after that. If Redis does not answer, that is sent
        again, and repeats wait for it.
        """
        if self.key is None:
            return
        kept = json.dumps({**json.loads(self._reservation), "made": True, "answer": response})
        await self._settle(kept)

    async def _reserved(self, reserve: Callable[..., Any], *args: str) -> Any:
        try:
            return await call(reserve, self._place, *args)
        except TransientError:
            # It may have been reserved nevertheless.
            self._process.owe(self._place, self._token, None)
            raise

    async def _settle(self, value: str | None) -> None:
        try:
            await call(self._process.settle, self._place, self._token, value)
        except TransientError:
            self._process.owe(self._place, self._token, value)
        else:
            self._process.settled(self._place, self._token)


async def call(function: Callable[..., Any], *args: Any) -> Any:
    """Call on a thread; raises TransientError where Redis does not answer."""
    return await threads.run_sync(_translated, function, *args)


def _translated(function: Callable[..., Any], *args: Any) -> Any:
    with translated():
        return function(*args)


def _kept(response: Response) -> dict[str, Any]:
    headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
    return {
        "status": response.status_code,
        "headers": headers,
        "body": bytes(response.body).decode("latin-1"),
    }


def _replay(kept: dict[str, Any]) -> Response:
    headers = {**kept["headers"], "idempotent-replayed": "true"}
    return Response(kept["body"].encode("latin-1"), status_code=kept["status"], headers=headers)

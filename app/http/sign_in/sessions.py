"""Sessions of people, in Redis: found by the SHA-256 of the cookie, which is kept nowhere.

They are not rebuilt where Redis loses them: people sign in again.
"""

from __future__ import annotations

import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from redis import Redis

from app.http import threads
from workers.artifacts.keys import digest_of
from workers.stores.redis.client import translated

KNOWN_S = 2.0
"""How long what Redis says of a session holds: one that was ended elsewhere ends within this."""
CHECKING_S = 15
"""For how long a check keeps others from beginning; longer than the issuer may take."""
_KEPT = 4096
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Person:
    """Who signed in. id : `usr_` and 26 characters, the same at each sign-in. groups : the
    groups of the settings that the person was in. until : Unix time at which the session ends.
    token : the issuer's, by which it knows whose session is to end at sign-out. refresh : by which
    it says anew who is in which group, or ''. checked : Unix time at which it last did."""

    id: str
    name: str
    groups: tuple[str, ...]
    since: float
    until: float
    token: str = ""
    refresh: str = ""
    checked: float = 0.0

    @property
    def expires_at(self) -> datetime:
        return datetime.fromtimestamp(self.until, UTC)


class Sessions:
    """The sessions of one Redis. Use it on one event loop."""

    def __init__(self, redis: Redis, prefix: str) -> None:
        self._redis = redis
        self._prefix = prefix
        self._known: OrderedDict[str, tuple[Person | None, float]] = OrderedDict()

    async def begin(self, person: Person) -> str:
        """A new session; the value of its cookie. Raises what Redis does."""
        secret = secrets.token_urlsafe(32)
        place = self._place(digest_of(secret))
        left = max(1, int(person.until - time.time()))
        content = json.dumps(asdict(person))
        await _called(lambda: self._redis.set(place, content, ex=left))
        return secret

    async def find(self, secret: str) -> Person | None:
        """Who has this cookie; None for one that opens nothing. Raises what Redis does."""
        digest = digest_of(secret)
        person, until = self._known.get(digest, (None, 0.0))
        if time.monotonic() >= until:
            stored = await _called(lambda: self._redis.get(self._place(digest)))
            person = None if stored is None else _person(stored)
            self._keep(digest, person)
        return person if person is not None and time.time() < person.until else None

    async def change(self, secret: str, person: Person) -> None:
        """Keep what the issuer says anew of a session that has not ended meanwhile."""
        digest = digest_of(secret)
        place, content = self._place(digest), json.dumps(asdict(person))
        kept = await _called(lambda: self._redis.set(place, content, xx=True, keepttl=True))
        self._keep(digest, person if kept else None)

    async def may_check(self, secret: str) -> Literal["yes", "no", "failed"]:
        """Whether the caller may have a session checked now: one of all processes, since a refresh
        token may be good for one use only. "failed": the check of a moment ago did."""
        place = f"{self._place(digest_of(secret))}:check"
        if await _called(lambda: self._redis.set(place, "begun", nx=True, ex=CHECKING_S)):
            return "yes"
        return "failed" if await _called(lambda: self._redis.get(place)) == "failed" else "no"

    async def check_failed(self, secret: str) -> None:
        place = f"{self._place(digest_of(secret))}:check"
        await _called(lambda: self._redis.set(place, "failed", ex=CHECKING_S))

    async def end(self, secret: str) -> None:
        """End a session: here at once, in other processes within two seconds."""
        digest = digest_of(secret)
        await _called(lambda: self._redis.delete(self._place(digest)))
        self._keep(digest, None)

    def ended(self, digest: str) -> bool:
        """Whether this process knows that the session of a cookie with this digest has ended."""
        return digest in self._known and self._known[digest][0] is None

    def _keep(self, digest: str, person: Person | None) -> None:
        self._known[digest] = person, time.monotonic() + KNOWN_S
        self._known.move_to_end(digest)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)

    def _place(self, digest: str) -> str:
        return f"{self._prefix}session:{digest}"


def _person(stored: Any) -> Person | None:
    try:
        value = json.loads(stored)
        return Person(
            id=str(value["id"]),
            name=str(value["name"]),
            groups=tuple(map(str, value["groups"])),
            since=float(value["since"]),
            until=float(value["until"]),
            token=str(value.get("token", "")),
            refresh=str(value.get("refresh", "")),
            checked=float(value.get("checked", 0.0)),
        )
    except (ValueError, KeyError, TypeError):
        return None


async def _called(call: Callable[[], T]) -> T:
    def translating() -> T:
        with translated():
            return call()

    return await threads.run_sync(translating)

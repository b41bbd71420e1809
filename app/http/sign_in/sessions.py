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
from typing import Any, TypeVar

from anyio import to_thread
from redis import Redis

from workers.artifacts.keys import digest_of
from workers.stores.redis.client import translated

KNOWN_S = 2.0
"""How long what Redis says of a session holds: one that was ended elsewhere ends within this."""
_KEPT = 4096
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Person:
    """Who signed in. id : `usr_` and 26 characters, the same at each sign-in. groups : the
    groups of the settings that the person was in. until : Unix time at which the session ends.
    token : the issuer's, by which it knows whose session is to end at sign-out."""

    id: str
    name: str
    groups: tuple[str, ...]
    since: float
    until: float
    token: str = ""

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
        )
    except (ValueError, KeyError, TypeError):
        return None


async def _called(call: Callable[[], T]) -> T:
    def translating() -> T:
        with translated():
            return call()

    return await to_thread.run_sync(translating)

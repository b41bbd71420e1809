"""Requests a second: one bucket for each tenant, one for each key with its own limit, and
one for each link.

A bucket holds ten seconds' worth of requests, at least one, and fills at the limit's rate. The API
processes share the buckets in Redis: one script for each request, and none where nothing is
limited. Where Redis does not answer within a quarter of a second requests are let through, and for
the next second not counted at all: nearly all of them then meet the same Redis and get 503, the
others need nothing of it. The quotas of what is kept and queued are different: where they cannot be
read, nothing is accepted.

The answers have the fields of draft-ietf-httpapi-ratelimit-headers-10, `RateLimit-Policy` and
`RateLimit`.
"""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass
from typing import Any, cast

from redis.asyncio import Redis
from redis.exceptions import RedisError
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.keyring import Access
from app.http.problems import MOST_INTEGER, Refused, respond
from app.settings import Settings
from workers.settings import of_tenant
from workers.stores.redis.client import options, source

WINDOW_S = 10
ANSWER_S = 0.25
AWAY_S = 1.0
_log = logging.getLogger("umbel")


@dataclass(frozen=True, slots=True)
class Bucket:
    """A limit. name : as the response calls it. place : what tells it from others in Redis."""

    name: str
    place: str
    per_s: float

    @property
    def size(self) -> int:
        return max(1, math.floor(self.per_s * WINDOW_S))

    @property
    def window_s(self) -> int:
        return min(math.ceil(self.size / self.per_s), MOST_INTEGER)

    @property
    def policy(self) -> str:
        return f'"{self.name}";q={min(self.size, MOST_INTEGER)};w={self.window_s}'


@dataclass(frozen=True, slots=True)
class BucketState:
    """What a bucket has left, and after how many seconds it has one request more, and is full."""

    bucket: Bucket
    left: int
    next_s: float
    full_s: float

    @property
    def field(self) -> str:
        seconds = self.full_s if self.left else self.next_s
        return f'"{self.bucket.name}";r={self.left};t={min(math.ceil(seconds), MOST_INTEGER)}'


class Rates:
    """The buckets of one Redis. Use it on one event loop."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client: Redis | None = None
        self._script: Any = None
        self._away_until = 0.0

    def buckets(self, access: Access) -> list[Bucket]:
        """The limits of a caller; often none."""
        buckets = []
        per_s = of_tenant(self._settings.quota_requests_per_s, access.tenant)
        if per_s is not None:
            buckets.append(Bucket("tenant", access.tenant, per_s))
        if access.key is not None and access.key.limits.requests_per_s is not None:
            place = f"{access.tenant}:{access.key.id}"
            buckets.append(Bucket("key", place, access.key.limits.requests_per_s))
        if access.share is not None:
            place = f"{access.tenant}:{access.share.id}"
            buckets.append(Bucket("link", place, self._settings.share_requests_per_s))
        return buckets

    async def take(self, buckets: list[Bucket], n: int = 1) -> list[BucketState] | None:
        """Take `n` requests out of all buckets, or, if one of them has too few, out of none.

        The states afterwards, with -1 left in those that had too few; None where Redis is away.
        """
        if time.monotonic() < self._away_until:
            return None
        if self._client is None:
            own = {**options(), "socket_timeout": ANSWER_S, "socket_connect_timeout": ANSWER_S}
            self._client = Redis.from_url(self._settings.redis_url, **own)
            self._script = self._client.register_script(source("rate"))
        arguments: list[str | int | float] = [self._settings.key_prefix, n]
        for bucket in buckets:
            arguments += [bucket.place, bucket.size, bucket.per_s]
        try:
            rows = cast("list[list[Any]]", await self._script(keys=[], args=arguments))
        except (RedisError, OSError) as error:
            self._away_until = time.monotonic() + AWAY_S
            _log.warning("requests are not counted: %s", type(error).__name__)
            return None
        return [
            BucketState(bucket, int(left), float(next_s), float(full_s))
            for bucket, (left, next_s, full_s) in zip(buckets, rows, strict=True)
        ]

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None


class Limiter:
    """ASGI middleware inside `Gate`: counts a caller's requests, refuses those beyond the limit."""

    def __init__(self, app: ASGIApp, rates: Rates) -> None:
        self.app = app
        self._rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        access: Access | None = scope.get("state", {}).get("access")
        buckets = [] if access is None else self._rates.buckets(access)
        states = await self._rates.take(buckets) if buckets else None
        if states is None:
            await self.app(scope, receive, send)
            return
        fields = {
            "RateLimit-Policy": ", ".join(state.bucket.policy for state in states),
            "RateLimit": ", ".join(_not_negative(state).field for state in states),
        }
        short = [state for state in states if state.left < 0]
        if short:
            refused = _refused(short, fields)
            request_id = scope["state"].get("request_id")
            await respond(request_id, refused.problem, refused.headers)(scope, receive, send)
            return

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in fields.items():
                    headers[name] = f"{headers[name]}, {value}" if name in headers else value
            await send(message)

        await self.app(scope, receive, send_on)


def _not_negative(state: BucketState) -> BucketState:
    """The state as the header gives it: never below 0."""
    return BucketState(state.bucket, max(0, state.left), state.next_s, state.full_s)


def _refused(short: list[BucketState], fields: dict[str, str]) -> Refused:
    state = max(short, key=lambda state: state.next_s)
    whose = {"key": "This key", "link": "This link"}.get(state.bucket.name, "Your tenant")
    return Refused(
        "too-many-requests",
        f"{whose} may send {state.bucket.per_s:g} requests a second, on average over "
        f"{WINDOW_S} seconds; try again in {math.ceil(state.next_s)} s.",
        headers={**fields, "Retry-After": str(max(1, math.ceil(state.next_s)))},
        **{"violated-policies": [state.bucket.name for state in short]},
    )

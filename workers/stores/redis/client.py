"""The connection to Redis (or Valkey): short timeouts, Lua scripts, errors of `workers.errors`."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Any, cast

import redis
import redis.asyncio
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.backoff import NoBackoff
from redis.commands.core import Script
from redis.exceptions import (
    AuthenticationError,
    ClusterDownError,
    ConnectionError,
    InvalidResponse,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
    TimeoutError,
    TryAgainError,
)
from redis.maint_notifications import MaintNotificationsConfig
from redis.retry import Retry
from redis.sentinel import Sentinel

from workers.errors import NO_DISK, NO_MEMORY, StoreFull, StoreUnavailable
from workers.stores.redis.address import Watched, watched

CONNECT_S = 1.0
ANSWER_S = 5.0

_AWAY = (
    ConnectionError,
    TimeoutError,
    AuthenticationError,
    NoPermissionError,
    ReadOnlyError,
    # A replica whose primary is away, or a node of a cluster that is not whole.
    ClusterDownError,
    TryAgainError,
    # A server that was started between the two steps of a call.
    NoScriptError,
    InvalidResponse,
)
"""Errors that say nothing of the command: the server cannot, or may not, answer now."""

_KEEPALIVE = {
    "socket_keepalive_options": {
        number: seconds
        for name, seconds in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
        if (number := getattr(socket, name, None)) is not None
    }
}


def options() -> dict[str, Any]:
    """Options of every client: an unreachable Redis is noticed within about a second.

    A connection that went stale while idle is retried once, immediately; every script may safely
    run twice. Timeouts are not retried.
    """
    return {
        "decode_responses": True,
        "socket_connect_timeout": CONNECT_S,
        "socket_timeout": ANSWER_S,
        "health_check_interval": 30,
        # With them a connection is used again although it holds what nobody has read.
        "maint_notifications_config": MaintNotificationsConfig(enabled=False),
    }


def connect(url: str, answer_s: float = ANSWER_S) -> redis.Redis:
    """A client that threads may share; connects on first use, and waits `answer_s` for an answer.

    The kernel and not a PING finds connections that died while idle: a server whose disk is full
    answers reads, but no PING.
    """
    retry = Retry(NoBackoff(), 1, supported_errors=(ConnectionError,))
    kept = {} if url.startswith("unix://") else {"socket_keepalive": True, **_KEEPALIVE}
    own = {**options(), "socket_timeout": answer_s, "health_check_interval": 0, **kept}
    server = watched(url)
    if server is None:
        return redis.Redis.from_url(url, retry=retry, **own)
    sentinels = cast(Any, Sentinel)(server.sentinels, sentinel_kwargs=sentinel_options(server))
    return cast(
        "redis.Redis", sentinels.master_for(server.name, retry=retry, **login(server), **own)
    )


def connect_async(url: str) -> redis.asyncio.Redis:
    """As `connect`, for asyncio; reads wait for any time, as a subscriber does."""
    own = {**options(), "socket_timeout": None}
    server = watched(url)
    if server is None:
        return redis.asyncio.Redis.from_url(url, **own)
    sentinels = cast(Any, AsyncSentinel)(server.sentinels, sentinel_kwargs=sentinel_options(server))
    return cast("redis.asyncio.Redis", sentinels.master_for(server.name, **login(server), **own))


def sentinel_options(server: Watched) -> dict[str, Any]:
    """Options of connections to sentinels."""
    return {
        "socket_connect_timeout": CONNECT_S,
        "socket_timeout": CONNECT_S,
        "password": server.sentinel_password,
    }


def login(server: Watched) -> dict[str, Any]:
    return {"username": server.username, "password": server.password, "db": server.db}


@contextmanager
def translated() -> Iterator[None]:
    """Converts errors of Redis to errors of a store.

    An error in a command is our fault and is left unchanged.
    """
    try:
        yield
    except OutOfMemoryError as error:
        raise StoreFull(NO_MEMORY) from error
    except _AWAY as error:
        raise StoreUnavailable(f"Redis does not answer: {type(error).__name__}") from error
    except ResponseError as error:
        # A pipeline says first which of its commands failed.
        text = str(error).rpartition("caused error: ")[2]
        if text.startswith("OOM"):
            raise StoreFull(NO_MEMORY) from error
        if text.startswith("MISCONF"):
            raise StoreFull(NO_DISK) from error
        if text.startswith(("NOREPLICAS", "UNKILLABLE", "BUSY")):
            raise StoreUnavailable(f"Redis does not answer: {text}") from error
        raise


@cache
def source(name: str) -> str:
    """The Lua script `name` after `shared.lua`; its first line stays first."""
    folder = files("workers.stores.redis") / "lua"
    first, _, rest = (folder / f"{name}.lua").read_text().partition("\n")
    shared = (folder / "shared.lua").read_text()
    return f"{first}\n{shared}\n{rest}"


class Scripts:
    """The Lua scripts over one client; each call is one atomic step."""

    def __init__(self, client: redis.Redis, prefix: str) -> None:
        self._client = client
        self._prefix = prefix
        self._scripts: dict[str, Script] = {}

    def __call__(self, name: str, *arguments: str | int) -> Any:
        script = self._scripts.get(name)
        if script is None:
            script = self._scripts[name] = self._client.register_script(source(name))
        with translated():
            return script(keys=[], args=[self._prefix, *arguments])

"""The server of the API: descriptors, the watch over connections, and an end that breaks nothing.

On SIGTERM it accepts no more connections, answers what arrives on open ones with
`Connection: close`, and waits for what is under way, `shutdown_s` at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import socket
from collections.abc import Callable
from typing import cast

import uvicorn
from fastapi import FastAPI

from app.http.connection_state import ConnectionLimits, State
from app.http.connections import Connection
from app.settings import Settings

CHECK_TICKS = 5
"""Connections are checked once in so many ticks; a tick is 0.1 s."""

HELD_UP_S = 1.5
"""If more than this lies between two checks, the loop itself was held up: deadlines move."""

IDLE_S = 1.0
"""When the server ends, a connection without a request for this long is closed: a client that
sends requests one after the other learns from a response that it must connect anew."""

RESERVED = 128
"""Descriptors for other things than connections: Redis, the store, libraries, the log."""

_log = logging.getLogger("umbel")


class Server(uvicorn.Server):
    """A server of `app`.

    on_drain : called when the end begins, on the event loop; requests that only wait should end.
    """

    def __init__(
        self,
        app: FastAPI,
        settings: Settings,
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        on_drain: Callable[[], None] = lambda: None,
    ) -> None:
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            http=Connection,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            # A pipelined request would begin with what the one before has set, such as whose time
            # it takes: a proxy's connection carries several tenants' requests.
            reset_contextvars=True,
            timeout_keep_alive=cast("int", settings.keep_alive_s),
            timeout_graceful_shutdown=1,
        )
        super().__init__(config)
        self._shutdown_s = settings.shutdown_s
        self._on_drain = on_drain
        self.state = State(
            ConnectionLimits.of(settings, connections_allowed(settings.max_connections))
        )
        self.server_state = self.state
        self._checked_at = 0.0

    async def on_tick(self, counter: int) -> bool:
        if counter % CHECK_TICKS == 0:
            self._check()
        return await super().on_tick(counter)

    def _check(self) -> None:
        now = asyncio.get_running_loop().time()
        held_up = now - self._checked_at
        self._checked_at = now
        for connection in list(self._connections):
            if held_up > HELD_UP_S:
                connection.postpone(held_up)
            else:
                connection.check(now)

    @property
    def _connections(self) -> set[Connection]:
        return cast("set[Connection]", self.server_state.connections)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._drain(sockets or [])
        await super().shutdown(sockets)

    async def _drain(self, sockets: list[socket.socket]) -> None:
        """Accept nothing more; wait until no connection is left, `shutdown_s` at most."""
        self.state.draining = True
        for connection in list(self._connections):
            connection.drain()
        for server in self.servers:
            server.close()
        for listener in sockets:
            listener.close()
        self._on_drain()
        loop = asyncio.get_running_loop()
        began = loop.time()
        while self._connections and not self.force_exit:
            now = loop.time()
            if now - began >= self._shutdown_s:
                break
            self._check()
            for connection in list(self._connections):
                if now - began >= IDLE_S:
                    connection.close_if_idle(now - IDLE_S)
            await asyncio.sleep(0.02)


def connections_allowed(wanted: int) -> int:
    """The bound on connections: `wanted`, or fewer where the process may have few descriptors.

    The limit of descriptors is raised as far as the system allows. A request may need a descriptor
    besides that of its connection, for the file that it reads or writes.
    """
    descriptors = _raised_descriptors()
    possible = max(1, (descriptors - RESERVED) // 2)
    if possible < wanted:
        _log.warning(
            "at most %d connections instead of %d: the process may have %d descriptors",
            possible,
            wanted,
            descriptors,
        )
    return min(wanted, possible)


def _raised_descriptors() -> int:
    """The limit of descriptors of this process, raised from the soft to the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if soft == resource.RLIM_INFINITY else soft

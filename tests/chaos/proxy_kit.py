"""A TCP proxy that misbehaves on request: between the service and Redis, or and its S3 store."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Literal

Mode = Literal["pass", "delay", "swallow", "refuse", "error", "busy", "cut"]
"""What happens to a connection's data.

"delay": each part is held for `DELAY_S`; "swallow": nothing arrives, and the connection stays open;
"refuse": connections are closed at once; "error", "busy": each request gets 500 or 503 SlowDown, as
from S3; "cut": a response breaks off after `CUT_BYTES`.
"""

DELAY_S = 0.2
CUT_BYTES = 300
_BLOCK = 1 << 16
_STATUS = {"error": ("500 Internal Server Error", "InternalError"),
           "busy": ("503 Slow Down", "SlowDown")}  # fmt: skip


class Proxy:
    """Forwards connections to `port` of this machine; `mode` may change at any time."""

    def __init__(self, port: int) -> None:
        self.mode: Mode = "pass"
        self._target = port
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self._server = self._call(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port: int = self._server.sockets[0].getsockname()[1]

    def cut_all(self) -> None:
        """Break all connections; new ones are forwarded as `mode` says."""
        self._call(self._abort())

    def close(self) -> None:
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5.0)

    def _call(self, coroutine):  # type: ignore[no-untyped-def]
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10.0)

    async def _end(self) -> None:
        # A server is its loop's: closed by another thread it may be closed twice.
        self._server.close()
        await self._abort()

    async def _abort(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            if self.mode == "refuse":
                writer.transport.abort()
                return
            if self.mode in _STATUS:
                await self._answer(reader, writer, *_STATUS[self.mode])
                return
            behind, ahead = await asyncio.open_connection("127.0.0.1", self._target)
            self._writers.add(ahead)
            try:
                tasks = [
                    asyncio.create_task(self._forward(reader, ahead, response=False)),
                    asyncio.create_task(self._forward(behind, writer, response=True)),
                ]
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            finally:
                self._writers.discard(ahead)
                ahead.close()
        except OSError:
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, response: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(_BLOCK):
                while self.mode == "swallow":
                    await asyncio.sleep(0.05)
                if self.mode == "delay":
                    await asyncio.sleep(DELAY_S)
                if self.mode == "cut" and response:
                    writer.write(data[:CUT_BYTES])
                    await writer.drain()
                    return
                if self.mode in ("refuse", *_STATUS):
                    return
                writer.write(data)
                await writer.drain()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, status: str, code: str
    ) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            await reader.readuntil(b"\r\n\r\n")
            body = f"<Error><Code>{code}</Code><Message>Chaos.</Message></Error>"
            head = f"HTTP/1.1 {status}\r\nContent-Type: application/xml\r\nConnection: close\r\n"
            writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
            await writer.drain()

"""The two drivers: each runs operations over its own kind of connection, and does nothing else."""

from __future__ import annotations

import time
import weakref
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import httpx

from umbel_client.core.steps import (
    AskSettings,
    Open,
    Operation,
    ReadLine,
    Reply,
    Request,
    Send,
    Settings,
    Sleep,
    Step,
)
from umbel_client.version import VERSION

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

_CONNECT_S = 10.0
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class Driver:
    """Runs operations over one `httpx.Client`, which is opened when it is first needed.

    Threads may share it. It can be copied and pickled: the copy has the same settings and a
    connection of its own.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._client: httpx.Client | None = None
        self._answered = False

    def run(self, operation: Operation[T]) -> T:
        """The result of an operation; raises what it raises."""
        result: Any = None
        failure: BaseException | None = None
        stream = _Stream()
        while True:
            try:
                step = operation.send(result) if failure is None else operation.throw(failure)
            except StopIteration as end:
                stream.shut()
                value: T = end.value
                return value
            except BaseException:
                stream.shut()
                raise
            result = failure = None
            try:
                result = self._do(step, stream)
            # The operation decides what follows, also after Ctrl-C.
            except BaseException as error:
                failure = error

    def close(self) -> None:
        """Close the connection; the next operation opens it again."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def __getstate__(self) -> dict[str, Any]:
        return {"settings": self.settings, "_client": None, "_answered": False}

    def __deepcopy__(self, _: object) -> Driver:
        return Driver(self.settings)

    def _do(self, step: Step, stream: _Stream) -> Any:
        match step:
            case AskSettings():
                return self.settings, self._answered
            case Send(request):
                client = self._opened()
                reply = _reply(client.send(client.build_request(**_arguments(request))))
                self._answered = True
                return reply
            case Sleep(seconds):
                time.sleep(seconds)
            case Open(request):
                stream.shut()
                client = self._opened()
                response = client.send(client.build_request(**_arguments(request)), stream=True)
                stream.begin(response)
                if response.status_code >= 400:
                    response.read()
                return _reply(response)
            case ReadLine():
                return stream.line()
        return None

    def _opened(self) -> httpx.Client:
        if self._client is None:
            transport = httpx.HTTPTransport(verify=False) if _is_local(self.settings) else None
            self._client = httpx.Client(
                base_url=self.settings.url, headers=_headers(self.settings), transport=transport
            )
            weakref.finalize(self, self._client.close)
        return self._client


class _Stream:
    """The response that one operation reads by lines."""

    def __init__(self) -> None:
        self._response: httpx.Response | None = None
        self._lines: Iterator[str] = iter(())

    def begin(self, response: httpx.Response) -> None:
        self._response, self._lines = response, response.iter_lines()

    def line(self) -> str | None:
        return next(self._lines, None)

    def shut(self) -> None:
        if self._response is not None:
            response, self._response, self._lines = self._response, None, iter(())
            response.close()


class AsyncDriver:
    """Runs operations over one `httpx.AsyncClient`, under asyncio; otherwise as `Driver`.

    Operations may run at the same time. Another event loop gets a connection of its own.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._client: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._answered = False

    async def run(self, operation: Operation[T]) -> T:
        """The result of an operation; raises what it raises."""
        result: Any = None
        failure: BaseException | None = None
        stream = _AsyncStream()
        while True:
            try:
                step = operation.send(result) if failure is None else operation.throw(failure)
            except StopIteration as end:
                await stream.shut()
                value: T = end.value
                return value
            except BaseException:
                await stream.shut()
                raise
            result = failure = None
            try:
                result = await self._do(step, stream)
            # The operation decides what follows, also after the task was cancelled.
            except BaseException as error:
                failure = error

    async def aclose(self) -> None:
        """Close the connection; the next operation opens it again."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def __getstate__(self) -> dict[str, Any]:
        plain = {"_client": None, "_loop": None, "_answered": False}
        return {"settings": self.settings, **plain}

    def __deepcopy__(self, _: object) -> AsyncDriver:
        return AsyncDriver(self.settings)

    async def _do(self, step: Step, stream: _AsyncStream) -> Any:
        match step:
            case AskSettings():
                return self.settings, self._answered
            case Send(request):
                client = self._opened()
                reply = _reply(await client.send(client.build_request(**_arguments(request))))
                self._answered = True
                return reply
            case Sleep(seconds):
                import asyncio

                await asyncio.sleep(seconds)
            case Open(request):
                await stream.shut()
                client = self._opened()
                fresh = client.build_request(**_arguments(request))
                response = await client.send(fresh, stream=True)
                stream.begin(response)
                if response.status_code >= 400:
                    await response.aread()
                return _reply(response)
            case ReadLine():
                return await stream.line()
        return None

    def _opened(self) -> httpx.AsyncClient:
        import asyncio

        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._loop = loop
            local = _is_local(self.settings)
            self._client = httpx.AsyncClient(
                base_url=self.settings.url,
                headers=_headers(self.settings),
                transport=httpx.AsyncHTTPTransport(verify=False) if local else None,
            )
        return self._client


class _AsyncStream:
    """The response that one operation reads by lines."""

    def __init__(self) -> None:
        self._response: httpx.Response | None = None
        self._lines: AsyncIterator[str] | None = None

    def begin(self, response: httpx.Response) -> None:
        self._response, self._lines = response, response.aiter_lines()

    async def line(self) -> str | None:
        if self._lines is None:
            return None
        return await anext(self._lines, None)

    async def shut(self) -> None:
        if self._response is not None:
            response, self._response, self._lines = self._response, None, None
            await response.aclose()


def _headers(settings: Settings) -> dict[str, str]:
    headers = {"User-Agent": f"umbel-client/{VERSION}"}
    if settings.key is not None:
        headers["Authorization"] = f"Bearer {settings.key}"
    if _is_local(settings):
        headers["Accept-Encoding"] = "identity"  # To compress takes longer than to send.
    return headers


def _is_local(settings: Settings) -> bool:
    """Whether the service is plain HTTP on this machine: no proxy and no certificates, which take
    longer to load than a request takes."""
    address = urlsplit(settings.url)
    return address.scheme == "http" and address.hostname in _LOOPBACK


def _arguments(request: Request) -> dict[str, Any]:
    return {
        "method": request.method,
        "url": request.path,
        "params": dict(request.query) or None,
        "headers": dict(request.headers),
        "content": request.content,
        "timeout": httpx.Timeout(request.timeout_s, connect=_CONNECT_S),
    }


def _reply(response: httpx.Response) -> Reply:
    # The body of a response that is read by lines is not there yet.
    content = response.content if response.is_stream_consumed else b""
    return Reply(response.status_code, response.headers, content)

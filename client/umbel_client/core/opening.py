"""The HTTP client under a connection: blocking, and for asyncio."""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx

from umbel_client.core.messages import Request, Settings
from umbel_client.errors import InputError
from umbel_client.quoting import shown
from umbel_client.version import VERSION

_CONNECT_S = 10.0
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


def place() -> object:
    """Where a client works: blocking ones everywhere."""
    return None


def opened(settings: Settings, owner: object) -> httpx.Client:
    """A client that is closed with its owner at the latest."""
    transport = httpx.HTTPTransport(verify=False) if _is_local(settings) else None
    client = httpx.Client(base_url=settings.url, headers=_headers(settings), transport=transport)
    weakref.finalize(owner, client.close)
    return client


def async_place() -> object:
    """Where a client for asyncio works: another event loop needs another one."""
    import asyncio

    return asyncio.get_running_loop()


def async_opened(settings: Settings, _owner: object) -> httpx.AsyncClient:
    """As `opened`, for asyncio; nobody can close it when its owner has gone."""
    transport = httpx.AsyncHTTPTransport(verify=False) if _is_local(settings) else None
    return httpx.AsyncClient(base_url=settings.url, headers=_headers(settings), transport=transport)


def arguments_of(request: Request) -> dict[str, Any]:
    """A request as the arguments of `build_request`."""
    return {
        "method": request.method,
        "url": request.path,
        "params": dict(request.query) or None,
        "headers": dict(request.headers),
        "content": request.content,
        "timeout": httpx.Timeout(request.timeout_s, connect=_CONNECT_S),
    }


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


SLICE_BYTES = 1 << 18
"""Bytes of content that are handed to a socket at a time: what it does not take at once is copied
each time."""


class Slices(httpx.ByteStream):
    """The content of a request, some bytes at a time, until it is released: a response refers to
    its request in a circle, which the collector of garbage may leave for long."""

    def __init__(self, content: bytes) -> None:
        super().__init__(b"")
        self._content = content

    def release(self) -> None:
        """Forget the content."""
        self._content = b""

    def _starts(self) -> range:
        return range(0, len(self._content), SLICE_BYTES)

    def __iter__(self) -> Iterator[bytes]:
        for start in self._starts():
            yield self._content[start : start + SLICE_BYTES]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for start in self._starts():
            yield self._content[start : start + SLICE_BYTES]


def built(
    client: httpx.Client | httpx.AsyncClient, request: Request
) -> tuple[httpx.Request, Slices]:
    """A request in the form in which it goes out, and its content.

    Raises InputError for an id or a text that no address can hold.
    """
    content = request.content or b""
    arguments = arguments_of(request)
    if content:
        length = {"Content-Length": str(len(content))}
        arguments |= {"content": None, "headers": {**arguments["headers"], **length}}
    try:
        made = client.build_request(**arguments)
    except httpx.InvalidURL as error:
        raise InputError(
            "address", f"{shown(request.path)} cannot be requested: {error}."
        ) from None
    slices = Slices(content)
    if content:
        made.stream = slices
    return made, slices

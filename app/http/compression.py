"""Text and JSON compressed by zstd or gzip for clients that accept it; packed requests unpacked.

A request body may be packed (`Content-Encoding: gzip` or `zstd`). It is unpacked here, in pieces as
it arrives, so that every route reads, bounds and hashes the content itself; the header and the
length, which is of the packed body, are taken away. Other codings are refused.

The coding with the larger weight in `Accept-Encoding` is taken, zstd where both have the same, none
where `identity` has a larger one still. Starlette's responder compresses, large pieces in threads.
Here is which responses, and the rules of RFC 9110 for ETags: each compressed form is another
representation, with its own strong ETag, `"...-gzip"` or `"...-zstd"`, so that If-Match and ranges
stay exact. Conditions on it are conditions on the plain form, for every route.

Events, parts by Range, images and binary forms go as they are. Lengths of compressed responses tell
secrets only where someone else makes a browser send requests with the victim's rights, and sees
their own text beside the secret (BREACH): here a key is sent by the caller's own code in a header,
never by a browser by itself, and the service without keys refuses other pages (`security`). What is
secret, the key that signs webhooks, is in a response too short to be compressed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Literal

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipResponder
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http import threads
from app.http.pacing import pace
from app.http.problems import Refused, respond
from app.http.turns import taker
from models.errors import UsageError, shown
from workers.formats.packed import Coding, Unpacker, zstd_module

SHORTEST = 1024
"""Bytes: a shorter response does not get shorter by more than its header gets longer."""

LEVEL = 1
"""zlib's level. A tree of 400,000 nodes as JSON, 29 MB, becomes 4.8 MB in about 0.25 s of work;
with level 4 it becomes 4.3 MB."""

THREAD_BYTES = 16 << 10
"""A longer piece is compressed in a thread; here it would hold up others for more than 0.3 ms."""

ZSTD_LEVEL = 3
"""Its window is 2 MiB, below the 8 MiB of RFC 9659."""

_WEIGHT = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")
_TEXT = re.compile(r"text/(?!event-stream)|application/(.+\+)?json|image/svg\+xml")
CODINGS: dict[str, Coding] = {"gzip": "gzip", "x-gzip": "gzip", "zstd": "zstd"}
"""What a body may be packed by."""

_CONDITIONS = (b"if-match", b"if-none-match", b"if-range")
_SUFFIX = re.compile(rb'-(gzip|zstd)"')
_OF_PACKED = (b"content-encoding", b"content-length")


class Compressed:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        coding = _stated_coding(headers)
        if coding in CODINGS:
            receive = _unpacked(receive, CODINGS[coding])
            scope["headers"] = [pair for pair in scope["headers"] if pair[0] not in _OF_PACKED]
        elif coding:
            await _refusal(scope, coding)(scope, receive, send)
            return
        known = _compressed_etags(headers)
        scope["headers"] = [_plain(*pair) for pair in scope["headers"]]
        chosen = coding_for(headers)
        if chosen is not None:
            responder = _RESPONDERS[chosen](self.app, known)
            await responder(scope, receive, send)
        else:
            await self.app(scope, receive, _varying(send))


class _Responder(GZipResponder):
    """One response. known : ETags of compressed forms that the client has."""

    def __init__(self, app: ASGIApp, known: frozenset[str]) -> None:
        super().__init__(app, SHORTEST, LEVEL, thread_minimum_size=THREAD_BYTES)
        self._known = known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                etag, coding = headers.get("etag"), headers.get("content-encoding")
                own = None if etag is None else f'{etag[:-1]}-{self.content_encoding}"'
                unchanged = message["status"] == 304 and own in self._known
                if (
                    own is not None
                    and self.chosen
                    and (coding == self.content_encoding or unchanged)
                ):
                    headers["ETag"] = own
            await send(message)

        self.chosen = True
        await super().__call__(scope, receive, send_on)

    async def send_with_compression(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = Headers(raw=message["headers"])
            media_type = _media_type(headers)
            # What comes compressed, as the files of the page do, has its own ETag already.
            self.chosen = "content-encoding" not in headers
            if not _TEXT.match(media_type):
                self.exclude_content_types = (media_type,)
        await super().send_with_compression(message)


class _ByZstd(_Responder):
    content_encoding = "zstd"

    @cached_property
    def _by_zstd(self) -> Any:
        return zstd_module().ZstdCompressor(level=ZSTD_LEVEL)

    def _compress_body(self, body: bytes, more_body: bool) -> bytes:
        by = self._by_zstd
        packed: bytes = by.compress(body, by.FLUSH_BLOCK if more_body else by.FLUSH_FRAME)
        return packed


_RESPONDERS: dict[str, type[_Responder]] = {"zstd": _ByZstd, "gzip": _Responder}
"""What an answer may be packed by, the preferred first."""


def _unpacked(receive: Receive, coding: Coding) -> Receive:
    """The body unpacked, in pieces that are made in threads.

    Raises Refused: `malformed` for content that is not of this coding or breaks off, `too-large`
    for content that grows too much.
    """
    unpacker = Unpacker(coding)
    pieces: Iterator[bytes] = iter(())
    ended = done = False

    def following() -> bytes | None:
        try:
            piece = next(pieces, None)
            if piece is None and ended:
                unpacker.end()
        except UsageError as error:
            code = "too-large" if error.code == "archive-bomb" else "malformed"
            raise Refused(code, f"Content-Encoding is {coding}: {error.detail}") from None
        return piece

    async def receive_on() -> Message:
        nonlocal pieces, ended, done
        while not done:
            piece = await threads.run_sync(following)
            if piece is not None:
                await pace().unpack(taker.get(), len(piece))
                return {"type": "http.request", "body": piece, "more_body": True}
            if ended:
                done = True
                return {"type": "http.request", "body": b"", "more_body": False}
            message = await receive()
            if message["type"] != "http.request":
                return message
            pieces = unpacker.feed(message.get("body", b""))
            ended = not message.get("more_body", False)
        return await receive()

    return receive_on


def _stated_coding(headers: Headers) -> str:
    """The coding of a body; "" where it is not packed. Several lines are one list (RFC 9110)."""
    stated = ",".join(headers.getlist("content-encoding")).lower().split(",")
    parts = (part.strip() for part in stated)
    return ", ".join(part for part in parts if part not in ("identity", ""))


def takes_gzip(request: Mapping[str, str]) -> bool:
    """Whether `gzip` is among the codings of the client, and not with weight 0."""
    return _weights(request).get("gzip", 0.0) > 0


def coding_for(request: Mapping[str, str]) -> Literal["zstd", "gzip"] | None:
    """The coding that a client likes best; None: none is as good as `identity`, or accepted."""
    weights = _weights(request)
    zstd, gzip = weights.get("zstd", 0.0), weights.get("gzip", 0.0)
    if max(zstd, gzip) <= 0 or weights.get("identity", 0.0) > max(zstd, gzip):
        return None
    return "zstd" if zstd >= gzip else "gzip"


def _weights(request: Mapping[str, str]) -> dict[str, float]:
    """The weight of each coding that `Accept-Encoding` names; 0 for a spoilt one."""
    weights = {}
    for part in request.get("accept-encoding", "").split(","):
        coding, *parameters = (each.strip().lower() for each in part.split(";"))
        weight = next((each[2:] for each in parameters if each.startswith("q=")), "1")
        weights[coding] = float(weight) if _WEIGHT.fullmatch(weight) else 0.0
    return weights


def _varying(send: Send) -> Send:
    """Tell caches that a response would have been compressed for another client."""

    async def send_on(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] != 206:
            headers = MutableHeaders(scope=message)
            long = int(headers.get("content-length", SHORTEST)) >= SHORTEST
            stated = "accept-encoding" in headers.get("vary", "").lower()
            if long and not stated and _TEXT.match(_media_type(headers)):
                headers.add_vary_header("Accept-Encoding")
        await send(message)

    return send_on


def _media_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _plain(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """A header of a request, with a condition on a compressed form put on the plain one."""
    return (name, _SUFFIX.sub(b'"', value)) if name in _CONDITIONS else (name, value)


def _compressed_etags(headers: Mapping[str, str]) -> frozenset[str]:
    etags = (etag.strip() for etag in headers.get("if-none-match", "").split(","))
    return frozenset(
        etag.removeprefix("W/") for etag in etags if etag.endswith(('-gzip"', '-zstd"'))
    )


def _refusal(scope: Scope, coding: str) -> ASGIApp:
    refused = Refused(
        "unsupported-format",
        f"The body is compressed by {shown(coding, 40)} (Content-Encoding); accepted are gzip, "
        "zstd and identity. Formats such as Parquet and npz are compressed by themselves.",
    )
    request_id = scope.get("state", {}).get("request_id")
    return respond(request_id, refused.problem, {"Accept-Encoding": "gzip, zstd"})

"""Stored objects as responses: whole, in part by `Range`, or 304 for clients that have them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from starlette.responses import Response

from app.http.dependencies import Service
from app.http.etags import matches, require_match
from app.http.problems import Refused
from app.http.streaming import Stream, Turn
from workers.errors import Damaged, Missing
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.digests import require_whole

_RANGE = re.compile(r"bytes\s*=\s*([0-9]{0,19})\s*-\s*([0-9]{0,19})", re.IGNORECASE)


@dataclass(frozen=True)
class ByteRange:
    """The bytes [start, end) of a content of `length` bytes."""

    start: int
    end: int
    length: int

    @property
    def content_range(self) -> str:
        return f"bytes {self.start}-{self.end - 1}/{self.length}"


def byte_range(header: str | None, length: int) -> ByteRange | None:
    """The range in a `Range` header; None for the whole.

    Several ranges, other units and unreadable headers give the whole, as RFC 9110 allows. Raises
    Refused `range-not-satisfiable` (416) for a range outside the content.
    """
    match = _RANGE.fullmatch(header.strip()) if header else None
    if match is None or match.group(1, 2) == ("", ""):
        return None
    first, last = match.group(1, 2)
    if first == "":
        start, end = max(0, length - int(last)), length
    else:
        start = int(first)
        if last != "" and int(last) < start:
            return None
        end = length if last == "" else min(int(last) + 1, length)
    if start >= end:
        raise Refused(
            "range-not-satisfiable",
            f"The content has {length} bytes; the range is outside of them.",
            headers={"Content-Range": f"bytes */{length}"},
        )
    return ByteRange(start, end, length)


REFUSALS = (
    *("unauthenticated", "forbidden", "not-found", "precondition-failed"),
    *("range-not-satisfiable", "unavailable", "damaged"),
)
"""The problems of a route that serves a content."""


CHECKED_FIRST = 16 << 20
"""Contents up to this length are compared with their digest before the first byte is sent."""


def _read(
    blobs: Blobs, key: str, sha256: str, start: int, end: int, length: int
) -> Iterator[bytes]:
    """The bytes [start, end) of an object; Damaged, now or before the last of all bytes is given,
    where its SHA-256 is another one. A part of a long one is not compared."""
    if length <= CHECKED_FIRST:
        require_whole(blobs, key, sha256)
        return blobs.read(key, start, end)
    pieces = blobs.read(key, start, end)
    return _compared(pieces, key, sha256) if end - start == length else pieces


def _compared(pieces: Iterator[bytes], key: str, sha256: str) -> Iterator[bytes]:
    digest, waiting = hashlib.sha256(), b""
    for piece in pieces:
        digest.update(piece)
        if waiting:
            yield waiting
        waiting = piece
    if digest.hexdigest() != sha256:
        raise Damaged(key, f"its sha256 is {digest.hexdigest()}, not {sha256}")
    yield waiting


def serve(
    service: Service,
    key: str,
    *,
    length: int,
    sha256: str,
    name: str,
    range_: str | None,
    if_range: str | None,
    if_none_match: str | None,
    if_match: str | None = None,
) -> Response:
    """The object `key`: 200, 206 for a range, 304 if the client has it.

    name : the file name that a browser saves it under. Raises Refused `range-not-satisfiable`,
    `precondition-failed` if the header If-Match names another ETag, and `not-found`.
    """
    etag = f'"{sha256}"'
    headers = {
        "ETag": etag,
        "Accept-Ranges": "bytes",
        "Content-Disposition": f'attachment; filename="{name}"',
    }
    require_match(if_match, etag)
    if matches(if_none_match, etag):
        return Response(status_code=304, headers=headers)
    whole = if_range is not None and not matches(if_range, etag, weak=False)
    part = None if whole else byte_range(range_, length)
    start, end = (part.start, part.end) if part else (0, length)
    headers["Content-Length"] = str(end - start)
    if part:
        headers["Content-Range"] = part.content_range
    try:
        pieces = _read(service.blobs, key, sha256, start, end, length)
    except Missing:
        raise Refused(
            "not-found",
            f"The store has no object {key}: it was removed just now, or is lost (`umbel verify`).",
        ) from None
    return Stream(
        pieces,
        Turn("file", waits=True),
        "application/octet-stream",
        status=206 if part else 200,
        headers=headers,
    )

"""ETag and If-None-Match."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from fastapi import Request
from pydantic import BaseModel
from starlette.responses import Response


def etag_of(content: bytes) -> str:
    """A strong ETag, quotes included, of the bytes of a response."""
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def matches(header: str | None, etag: str, *, weak: bool = True) -> bool:
    """Whether `etag` is among those of an If-None-Match header; `weak` False compares strongly."""
    if header is None:
        return False
    for candidate in header.split(","):
        text = candidate.strip()
        if text == "*":
            return True
        if text.startswith("W/"):
            if not weak:
                continue
            text = text[2:]
        if text == etag:
            return True
    return False


def answer(
    request: Request,
    body: BaseModel,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    etag: str | None = None,
) -> Response:
    """The body as JSON with an ETag (of its bytes, unless given), or 304 if the client has it."""
    content = body.model_dump_json().encode()
    etag = etag or etag_of(content)
    headers = {**(headers or {}), "ETag": etag}
    if request.method in ("GET", "HEAD") and matches(request.headers.get("if-none-match"), etag):
        return Response(status_code=304, headers=headers)
    return Response(content, status_code=status, headers=headers, media_type="application/json")

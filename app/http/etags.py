"""ETag, If-None-Match and If-Match."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated

from fastapi import Header, Request
from pydantic import BaseModel
from starlette.responses import Response

from app.http.problems import Refused

IfMatch = Annotated[
    str | None,
    Header(description="Only if its ETag is one of these, else 412; `*`: if it exists."),
]


def etag_of(content: bytes) -> str:
    """A strong ETag, quotes included, of the bytes of a response."""
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def matches(header: str | None, etag: str, *, weak: bool = True) -> bool:
    """Whether an If-None-Match header lists `etag`; `weak` False compares strongly."""
    if header is None or not (etag in header or "*" in header):
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


def body_etag(body: BaseModel) -> str:
    """The ETag of a body, as `answer` gives it."""
    return etag_of(body.model_dump_json().encode())


def require_match(header: str | None, *etags: str) -> None:
    """Evaluate If-Match for something that exists and has these ETags now, in its forms.

    Raises Refused `precondition-failed` if the header names none of them.
    """
    if header is not None and not any(matches(header, etag, weak=False) for etag in etags):
        raise changed_meanwhile()


def changed_meanwhile() -> Refused:
    """The refusal of a change that was made for something that has changed since."""
    return Refused(
        "precondition-failed",
        "It has changed since the ETag in If-Match was read; read it again, and repeat the "
        "request with the new ETag if it still applies.",
    )


def answer(
    request: Request,
    body: BaseModel,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    etag: str | None = None,
) -> Response:
    """The body as JSON with an ETag (of its bytes, unless given), or 304 if the client has it.

    Raises Refused `precondition-failed` for a GET whose If-Match names another ETag.
    """
    content = body.model_dump_json().encode()
    etag = etag or etag_of(content)
    headers = {**(headers or {}), "ETag": etag}
    if request.method in ("GET", "HEAD"):
        require_match(request.headers.get("if-match"), etag)
        if matches(request.headers.get("if-none-match"), etag):
            return Response(status_code=304, headers=headers)
    return Response(content, status_code=status, headers=headers, media_type="application/json")

"""Request bodies: bounded, strict JSON, parsed off the event loop when large."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine
from typing import Any

from anyio import to_thread
from fastapi import Request
from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.responses import Response

from app.http.problems import Refused

INLINE_BYTES = 64 << 10
"""Bodies up to this length are parsed on the event loop, in well under a millisecond."""

# A number that may be infinite as a float: a long exponent, or very many digits.
_HUGE = re.compile(rb"[eE]\+?0*[1-9]\d{2,}|(?<!\d)\d{300}")


class StrictRequest(Request):
    """A request whose body is bounded and whose JSON is strict."""

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            limit = self.app.state.settings.max_json_bytes
            self._body = await read_bounded(self, limit, "A body of JSON")
        return self._body

    async def json(self) -> Any:
        body = await self.body()
        if len(body) <= INLINE_BYTES:
            return parse_json(body)
        return await to_thread.run_sync(parse_json, body)


class StrictRoute(APIRoute):
    """The route class of every router with JSON bodies: `APIRouter(route_class=StrictRoute)`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        takes_json = self.body_field is not None

        async def strict(request: Request) -> Response:
            if takes_json:
                require_json(request)
            return await handler(StrictRequest(request.scope, request.receive))

        return strict


def require_json(request: Request) -> None:
    """Refuse a body that is not declared as JSON (415); one without a Content-Type is JSON."""
    stated = request.headers.get("content-type")
    if stated is None:
        # FastAPI passes on a body without a type as bytes.
        request.scope["headers"] = [
            *request.scope["headers"],
            (b"content-type", b"application/json"),
        ]
        return
    media = stated.partition(";")[0].strip().lower()
    if media != "application/json" and not media.endswith("+json"):
        raise Refused("unsupported-format", f"This path takes application/json, not {media!r}.")


def too_large(what: str, limit: int) -> Refused:
    return Refused("too-large", f"{what} may have at most {limit} bytes.", limit=limit)


def content_length(request: Request) -> int | None:
    """The length of the body declared by the client; None if it declares none."""
    stated = request.headers.get("content-length")
    if stated is None:
        return None
    if not stated.isascii() or not stated.isdigit():
        raise Refused("malformed", "Content-Length is not a number of bytes.")
    return int(stated)


async def read_bounded(request: Request, limit: int, what: str) -> bytes:
    """The whole body. Raises Refused `too-large` as soon as it is known to exceed `limit`."""
    stated = content_length(request)
    if stated is not None and stated > limit:
        raise too_large(what, limit)
    pieces = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > limit:
            raise too_large(what, limit)
        pieces.append(piece)
    return b"".join(pieces)


def parse_json(body: bytes) -> Any:
    """The value of a JSON text.

    Raises Refused: `malformed` (400) for what is not JSON, nested too deep or not UTF-8,
    `invalid-request` (422) for what some parsers accept: NaN, Infinity, a number too large for a
    float, a lone surrogate.
    """
    try:
        value = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise _refusal(body, str(error)) from None
    # A regular expression over a long body would hold the interpreter lock; the walk does not.
    if (len(body) > INLINE_BYTES or _HUGE.search(body)) and _has_infinite(value):
        raise Refused(
            "invalid-request",
            "The body has a number that is too large for a 64-bit float; every number must be "
            "finite.",
        )
    return value


def _refusal(body: bytes, message: str) -> Refused:
    if "number out of range" in message:
        return Refused("invalid-request", f"The body has a number that is too large: {message}.")
    try:
        # As text: given bytes, it would also accept UTF-16 and a byte order mark.
        json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return Refused("malformed", f"The body is not valid JSON: {message}.")
    if "recursion limit" in message:
        return Refused("malformed", f"The body is nested too deeply: {message}.")
    return Refused(
        "invalid-request",
        "The body has NaN, Infinity or half of a surrogate pair, which JSON cannot carry: "
        f"{message}.",
    )


def _has_infinite(value: Any) -> bool:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, float):
            if item in (float("inf"), float("-inf")):
                return True
        elif isinstance(item, int):
            if item.bit_length() > 1024:
                return True
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, dict):
            stack.extend(item.values())
    return False

"""Request bodies: bounded, strict JSON, parsed off the event loop when large."""

from __future__ import annotations

import errno
import mmap
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, ClassVar

from fastapi import Request
from starlette.responses import Response

from app.http import threads
from app.http.aliased import aliased_body
from app.http.late import LateRoute
from app.http.pacing import pace
from app.http.problems import Refused
from app.http.streaming import Turn, in_turn
from app.http.turns import taker
from workers.child.json_body import body_apart
from workers.formats import strict_json
from workers.formats.refusals import by_curl
from workers.formats.strict_json import Bound, NotStrict
from workers.stores.objects.streams import batches

INLINE_BYTES = 64 << 10
"""Bodies up to this length are parsed on the event loop, in well under a millisecond."""

APART_BYTES = 1 << 20
"""A longer body is parsed in a separate process, which also checks its inputs' long lists."""

BATCH_BYTES = 1 << 20
"""A longer body that is no JSON is kept in a file, written so much at a time."""


class StrictRequest(Request):
    """A request whose body is bounded and whose JSON is strict."""

    def __init__(self, request: Request, bound: Bound) -> None:
        super().__init__(request.scope, request.receive)
        self._bound = bound

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            limit = self.app.state.settings.max_json_bytes
            self._body = await read_bounded(self, limit, "A body of JSON")
        return self._body

    async def json(self) -> Any:
        value = await self._value()
        access = self.scope["state"].get("access")
        if access is not None:
            service = self.app.state.service
            value = await aliased_body(value, access.tenant, service.aliases)
            if access.reach is not None:
                await service.reached.require(access, value)
        return value

    async def _value(self) -> Any:
        body = await self.body()
        pace().charge(taker.get(), len(body))
        if len(body) <= INLINE_BYTES:
            return parse_json(body, self._bound)
        if len(body) <= APART_BYTES:
            parse = Turn("parse", waits=True)
            return await in_turn(lambda: parse_json(body, self._bound), parse)
        return await in_turn(lambda: _parse_apart(body, self._bound), Turn("json", waits=True))


class StrictRoute(LateRoute):
    """The route class of every router with JSON bodies: `APIRouter(route_class=StrictRoute)`."""

    bound: ClassVar = Bound()

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        takes_json = self.body_field is not None

        async def strict(request: Request) -> Response:
            if takes_json:
                require_json(request)
            return await handler(StrictRequest(request, self.bound))

        return strict


class RowsRoute(StrictRoute):
    """For bodies with long lists of rows; their models stop at the first that is wrong."""

    bound: ClassVar = Bound(numbers=False)


class PartsRoute(StrictRoute):
    """For bodies with a number and a digest for each part of an upload."""

    bound: ClassVar = Bound(40_000)


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
        own = by_curl(media, "application/json")
        raise Refused(
            "unsupported-format", f"This path takes application/json, not {media!r}{own}."
        )


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
    """The whole body. Raises Refused `too-large` once it is known to exceed `limit`."""
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


async def read_mapped(request: Request, limit: int, what: str, folder: Path) -> memoryview:
    """As `read_bounded`, a long body in a file in `folder` that has no name, and goes with the
    view: a body takes no memory but its pages that are in use, which the system can take back.

    Raises Refused `full` where there is no room for that file.
    """
    stated = content_length(request)
    if stated is not None and stated > limit:
        raise too_large(what, limit)
    head, size = bytearray(), 0
    with ExitStack() as closed:
        file: IO[bytes] | None = None
        async for batch in batches(request.stream(), BATCH_BYTES):
            size += len(batch)
            if size > limit:
                raise too_large(what, limit)
            if file is None and size <= BATCH_BYTES:
                head += batch
                continue
            try:
                if file is None:
                    file = closed.enter_context(await threads.run_sync(_nameless, folder))
                    await threads.run_sync(_add, file, bytes(head))
                    head.clear()
                await threads.run_sync(_add, file, batch)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                raise Refused("full", f"There is no room to receive {size} bytes.") from error
        if file is None:
            return memoryview(bytes(head))
        return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))


def _nameless(folder: Path) -> IO[bytes]:
    folder.mkdir(0o700, parents=True, exist_ok=True)
    return TemporaryFile(dir=folder)


def _add(file: IO[bytes], batch: bytes) -> None:
    file.write(batch)
    file.flush()


def parse_json(body: bytes, bound: Bound | None = None) -> Any:
    """The value of a JSON text, of no more values than `bound` allows, if it is given.

    Raises Refused `malformed` (400) and `invalid-request` (422).
    """
    try:
        value = strict_json.parse_json(body)
        if bound is not None:
            strict_json.require_few(value, bound)
        return value
    except NotStrict as error:
        raise Refused(error.code, error.detail) from None


def _parse_apart(body: bytes, bound: Bound) -> Any:
    try:
        return body_apart(body, bound)
    except NotStrict as error:
        raise Refused(error.code, error.detail) from None

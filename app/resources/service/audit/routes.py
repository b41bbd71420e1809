"""The audit log: pages of lines, and all of them as JSON lines."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import AwareDatetime

from app.http import threads
from app.http.dependencies import Caller, Service, ServiceDep
from app.http.forms import Form, by_accept
from app.http.keyring import Access
from app.http.late import LateRoute
from app.http.paging import Page, Paging, example_page, paging
from app.http.problems import Refused, responses
from app.http.queries import ONLY_KNOWN
from app.http.streaming import Stream, Turn
from app.resources.service.audit.schemas import EXAMPLE, AuditBody
from workers.artifacts import audit
from workers.stores.redis.cursor import bad_cursor

router = APIRouter(tags=["operators"], dependencies=ONLY_KNOWN, route_class=LateRoute)

_OBJECTS = 200
"""Objects that one page reads, at most: where few lines are wanted it may have fewer than its
limit, also none, and a cursor."""
_REFUSALS = ("unauthenticated", "forbidden", "invalid-request", "unavailable", "damaged")


async def _wanted(
    caller: Caller,
    since: Annotated[
        AwareDatetime | None, Query(description="Only what was at this time or later.")
    ] = None,
    until: Annotated[AwareDatetime | None, Query(description="Only what was earlier.")] = None,
    tenant: Annotated[str | None, Query(max_length=63, description="Only of this tenant.")] = None,
    actor: Annotated[
        str | None, Query(max_length=100, description="Only of this key or link.")
    ] = None,
    action: Annotated[
        str | None,
        Query(max_length=200, description="Only actions that begin so, as `DELETE` or `sign-in`."),
    ] = None,
) -> audit.Filter:
    """What the caller may see of what is wanted. Raises Refused `forbidden`."""
    if caller.role != "admin" or caller.share is not None:
        raise Refused(
            "forbidden",
            "The audit log is read with a key of the role `admin` (`umbel keys new --role admin`).",
        )
    if not _sees_all(caller):
        if tenant not in (None, caller.tenant):
            raise Refused(
                "forbidden",
                "A key of the settings reads what its own tenant did; a key of the store with the "
                "role `admin` reads all.",
            )
        tenant = caller.tenant
    return audit.Filter(since=since, until=until, tenant=tenant, actor=actor, action=action)


def _sees_all(caller: Access) -> bool:
    """Keys of the settings have no role, and are of their tenants."""
    return caller.key is not None or caller.local


Wanted = Annotated[audit.Filter, Depends(_wanted)]
_LIST: Form[audit.Filter] = Form("json", "application/json", lambda _: iter(()))
_LINES: Form[audit.Filter] = Form("jsonl", "application/x-ndjson", lambda _: iter(()))
_FORMS = (_LIST, _LINES)


def _with_lines(documented: dict[str, Any]) -> dict[str, Any]:
    """The response of a list, which is also given as JSON lines."""
    lines = {"schema": {"type": "string"}, "example": json.dumps(EXAMPLE) + "\n"}
    return {**documented, "content": {**documented["content"], _LINES.media: lines}}


Logged = Annotated[Paging, paging("newest", counted=False)]


@router.get(
    "/v1/audit",
    operation_id="list_audit",
    summary="Who changed what",
    response_model=Page[AuditBody],
    responses={
        200: _with_lines(example_page(EXAMPLE)),
        **responses(*_REFUSALS, "not-acceptable"),
    },
)
async def list_audit(
    request: Request, response: Response, service: ServiceDep, wanted: Wanted, paging: Logged
) -> Any:
    """Changes, sign-ins, removals of what has expired and uses of links, the newest first: of one
    process exactly, of several to within seconds. What other processes of the API wrote in the last
    seconds may be missing. A page may have fewer lines than `limit`, also none, and be followed by
    others. For keys of the role `admin`; a key of the settings sees its tenant's.

    As `application/x-ndjson`, also at `/v1/audit.jsonl`, all of them, a line for each.
    """
    if by_accept(request.headers.get("accept"), _FORMS) is _LINES:
        return await export_audit(service, wanted)
    after = _after(paging.position)
    read = await threads.run_sync(lambda: _page(service, wanted, paging.limit, after))
    page, following = read
    response.headers["Cache-Control"] = "no-store"
    return paging.page(response, page, None if following is None else _cursor(following))


@router.get("/v1/audit.jsonl", include_in_schema=False, response_class=Response)
async def export_audit(service: ServiceDep, wanted: Wanted) -> Response:
    """All that the list has, in its order, as JSON lines."""
    await threads.run_sync(_shipped, service)

    def lines() -> Iterator[bytes]:
        for _, event in audit.found(service.blobs, wanted):
            if event is not None:
                yield event.model_dump_json().encode() + b"\n"

    headers = {"Cache-Control": "no-store"}
    return Stream(lines(), Turn("file", waits=True), "application/x-ndjson", headers=headers)


def _shipped(service: Service) -> None:
    writer = service.audit.writer
    if writer is not None:
        writer.ship()


def _page(
    service: Service, wanted: audit.Filter, limit: int, after: str
) -> tuple[list[AuditBody], str | None]:
    if not after:
        _shipped(service)
    page: list[AuditBody] = []
    n_objects = 0
    for position, event in audit.found(service.blobs, wanted, after):
        if event is None:
            n_objects += 1
            if n_objects >= _OBJECTS:
                return page, position
            continue
        page.append(AuditBody.model_validate(event.model_dump()))
        if len(page) >= limit:
            return page, position
    return page, None


def _cursor(position: str) -> str:
    return base64.urlsafe_b64encode(position.encode()).decode().rstrip("=")


def _after(cursor: str | None) -> str:
    """The position that a cursor names. Raises UsageError `bad-cursor`."""
    if cursor is None:
        return ""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        position = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        position = ""
    if not audit.POSITION.fullmatch(position):
        raise bad_cursor()
    return position

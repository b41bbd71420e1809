"""From a PATCH to a changed name, description or list of tags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from app.creation.allowances import room_of
from app.creation.annotation_schemas import EXAMPLE, Changes
from app.http import threads
from app.http.bodies import StrictRoute
from app.http.dependencies import Caller, Service, ServiceDep
from app.http.etags import IfMatch, answer, body_etag, require_match
from app.http.keyring import Access
from app.http.problems import refused_at, responses
from workers.model import Annotation


class Annotated(Protocol):
    """What has a name, a description and tags."""

    @property
    def name(self) -> str | None: ...
    @property
    def description(self) -> str | None: ...
    @property
    def tags(self) -> Sequence[str]: ...


T = TypeVar("T", bound=Annotated)

_PATCH: dict[str, Any] = {
    "requestBody": {
        "content": {
            "application/merge-patch+json": {
                "schema": {"$ref": "#/components/schemas/Changes"},
                "example": EXAMPLE,
            }
        }
    }
}


def annotated(
    service: Service,
    caller: Access,
    own_id: str,
    changes: Changes,
    look: Callable[[], T],
    etags_of: Callable[[T], Sequence[str]],
    if_match: str | None,
) -> T:
    """What `look` gives once the changes are stored.

    look : reads it, and raises Refused `not-found` where it is gone. etags_of : those that a client
        may have of it. if_match : the header; its condition holds for what is replaced, whichever
        other writer was faster.

    Raises Refused `precondition-failed`, OverLimit. Blocks.
    """

    def current() -> Annotation:
        shown = look()
        require_match(if_match, *etags_of(shown))
        return Annotation(name=shown.name, description=shown.description, tags=tuple(shown.tags))

    def alter(before: Annotation) -> Annotation:
        after = changes.applied(before)
        reach = caller.reach
        if reach is not None and not reach.has(own_id, after.tags):
            raise refused_at(
                "forbidden",
                "This key reaches it by its tags alone: leave one of the key's tags.",
                "tags",
            )
        return after

    # Before anything is read for it: only an owner may learn that it exists.
    look()
    service.annotations.change(caller.tenant, own_id, current, alter, room_of(service, caller))
    return look()


def mount_patch(
    router: APIRouter,
    noun: str,
    own_id: Any,
    model: type[BaseModel],
    example: dict[str, Any],
    look: Callable[[Service, str, str], T],
    *,
    more: str,
    path: str = "/{%s_id}",
    etags_of: Callable[[T], Sequence[str]] | None = None,
    body_of: Callable[[T], BaseModel] | None = None,
) -> None:
    """Add the PATCH of name, description and tags.

    own_id : checks the id in the path. look : reads the thing, given the service, the tenant and
    the id; blocks, raises Refused `not-found`. more : what else the description says. etags_of : as
    of `annotated`, the first one that of the answer. body_of : what is answered. None for a body:
    it is answered, with its own ETag.
    """

    def body_for(shown: T) -> BaseModel:
        body = shown if body_of is None else body_of(shown)
        assert isinstance(body, BaseModel)
        return body

    def tags_for(shown: T) -> Sequence[str]:
        return [body_etag(body_for(shown))] if etags_of is None else etags_of(shown)

    async def update(
        request: Request,
        service: ServiceDep,
        caller: Caller,
        body: Changes,
        own_id: str = own_id,
        if_match: IfMatch = None,
    ) -> Response:
        def change() -> T:
            read = partial(look, service, caller.tenant, own_id)
            return annotated(service, caller, own_id, body, read, tags_for, if_match)

        shown = await threads.run_sync(change)
        return answer(request, body_for(shown), etag=tags_for(shown)[0])

    router.add_api_route(
        path % noun if "%s" in path else path,
        update,
        methods=["PATCH"],
        operation_id=f"update_{noun}",
        summary=f"Change a {noun}'s name, description or tags",
        description=f"A JSON merge patch: what is left out stays, null removes. {more}",
        response_model=model,
        openapi_extra=_PATCH,
        responses={
            200: {
                "description": "Its current state.",
                "headers": {"ETag": {"description": "Its ETag now.", "schema": {"type": "string"}}},
                "content": {"application/json": {"example": {**example, **EXAMPLE}}},
            },
            **responses(
                "malformed",
                "unauthenticated",
                "forbidden",
                "not-found",
                "precondition-failed",
                "quota-exceeded",
                "too-large",
                "unsupported-format",
                "invalid-request",
                "unavailable",
                "full",
            ),
        },
        route_class_override=StrictRoute,
    )

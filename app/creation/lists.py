"""One way to list things: filters, pages, the `Link` header, the document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Annotated, Any, TypeVar

from anyio import to_thread
from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel

from app.creation.annotation_schemas import LONGEST_NAME, MOST_TAGS, Tag
from app.http.dependencies import Caller, Service, ServiceDep
from app.http.paging import LINK_HEADER, Cursor, Limit, Page, example_page, next_link
from app.http.problems import ANYWHERE, responses

Stored = TypeVar("Stored")
Item = TypeVar("Item", bound=BaseModel)
Filters = dict[str, Any]
ReadPage = Callable[..., tuple[Sequence[Stored], str | None]]
"""Reads a page of what is stored for a tenant, newest first, and gives the cursor of the next.

Takes the tenant and, by keyword, `name`, `tags`, `words`, `limit`, `cursor`, `reach` and the
filters of its kind alone. Blocks. Raises UsageError `bad-cursor`."""


async def _shared(
    name: Annotated[
        str | None,
        Query(max_length=LONGEST_NAME, description="Only those with exactly this name."),
    ] = None,
    tags: Annotated[
        tuple[Tag, ...],
        Query(
            alias="tag",
            max_length=MOST_TAGS,
            description="Only those with this tag; several times: with all of the tags.",
        ),
    ] = (),
    search: Annotated[
        str | None,
        Query(
            alias="q",
            max_length=200,
            description="Only those that have each of these words, in any case and anywhere, in "
            "their name, description, tags, id or method.",
        ),
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Filters:
    """The query of every list.

    Name and words are looked for in a bounded number of entries for each page, so that a page may
    have fewer items than `limit`, even none, and a `next_cursor`.
    """
    words = tuple((search or "").casefold().split())
    return {"name": name, "tags": tags, "words": words, "limit": limit, "cursor": cursor}


async def _nothing() -> Filters:
    return {}


def mount_list(
    router: APIRouter,
    path: str,
    noun: str,
    model: type[Item],
    body_of: Callable[[Stored], Item],
    example: dict[str, Any],
    pages: Callable[[Service], ReadPage[Stored]],
    *,
    description: str,
    only: Callable[..., Awaitable[Filters]] = _nothing,
) -> None:
    """Add the GET of a list.

    body_of : what is shown of one. pages : where they are read. only : a dependency, the filters
    beside those that every list has.
    """

    async def listed(
        request: Request,
        response: Response,
        service: ServiceDep,
        caller: Caller,
        own: Filters = Depends(only),
        shared: Filters = Depends(_shared),
    ) -> Page[Item]:
        page = partial(pages(service), caller.tenant, reach=caller.reach, **own, **shared)
        stored, following = await to_thread.run_sync(page)
        response.headers.update(next_link(request, following))
        return Page(items=[body_of(each) for each in stored], next_cursor=following)

    router.add_api_route(
        path,
        listed,
        methods=["GET"],
        operation_id=f"list_{noun}s",
        summary=f"{noun.capitalize()}s, newest first",
        description=description,
        response_model=Page[model],  # type: ignore[valid-type]
        responses={
            200: {"headers": LINK_HEADER, **example_page(example)},
            **responses(*ANYWHERE),
        },
    )

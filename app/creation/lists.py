"""One way to list things: filters, pages, the `Link` header, the document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel

from app.creation.annotation_schemas import LONGEST_NAME, MOST_TAGS, Tag
from app.http.dependencies import Caller, Service, ServiceDep
from app.http.paging import ByTime, Page, Words, example_page
from app.http.problems import ANYWHERE, responses
from app.http.streaming import Turn, in_turn
from workers.stores.redis.pages import Listing

Stored = TypeVar("Stored")
Item = TypeVar("Item", bound=BaseModel)
Filters = dict[str, Any]
ReadList = Callable[..., Listing[Stored]]
"""Gives what is stored for a tenant.

Takes the tenant and, by keyword, `name`, `tags`, `words`, `reach` and the filters of its kind
alone. Blocks."""

NameFilter = Annotated[
    str | None,
    Query(alias="name", max_length=LONGEST_NAME, description="Only those with exactly this name."),
]


async def _shared(
    name: NameFilter = None,
    tags: Annotated[
        tuple[Tag, ...],
        Query(
            alias="tag",
            max_length=MOST_TAGS,
            description="Only those with this tag; several times: with all of the tags.",
        ),
    ] = (),
    search: Words = None,
) -> Filters:
    """What lists of things with names and tags are filtered by.

    Name and words are looked for in a bounded number of entries for each page, so that a page may
    have fewer items than `limit`, even none, and a `next_cursor`.
    """
    return {"name": name, "tags": tags, "words": tuple((search or "").casefold().split())}


async def _nothing() -> Filters:
    return {}


def mount_list(
    router: APIRouter,
    path: str,
    noun: str,
    model: type[Item],
    body_of: Callable[[Stored], Item],
    example: dict[str, Any],
    things: Callable[[Service], ReadList[Stored]],
    *,
    description: str,
    only: Callable[..., Awaitable[Filters]] = _nothing,
    operation_id: str | None = None,
    refusals: Sequence[str] = (),
    is_documented: bool = True,
) -> None:
    """Add the GET of a list.

    body_of : what is shown of one. things : where they are read. only : a dependency, the filters
    beside those that every list has. refusals : problems that not every list has. is_documented :
    whether the document has it.
    """

    of_items: type[Page[Item]] = Page[model]  # type: ignore[valid-type]

    async def listed(
        response: Response,
        service: ServiceDep,
        caller: Caller,
        paging: ByTime,
        own: Filters = Depends(only),
        shared: Filters = Depends(_shared),
    ) -> Response:
        def written() -> bytes:
            listing = things(service)(caller.tenant, reach=caller.reach, **own, **shared)
            stored, following = listing.page(
                paging.limit, paging.position, oldest=paging.sort == "oldest"
            )
            count = listing.count() if paging.counts else None
            page = paging.page(response, map(body_of, stored), following, count)
            # FastAPI would write it on the event loop, where 200 items hold up everybody.
            return of_items(**dict(page)).model_dump_json(by_alias=True).encode()

        content = await in_turn(written, Turn("small", waits=True))
        return Response(content, media_type="application/json", headers=dict(response.headers))

    router.add_api_route(
        path,
        listed,
        methods=["GET"],
        operation_id=operation_id or f"list_{noun}s",
        summary=f"{noun.capitalize()}s, newest first",
        description=description,
        response_model=of_items,
        responses={200: example_page(example), **responses(*ANYWHERE, *refusals)},
        include_in_schema=is_documented,
    )

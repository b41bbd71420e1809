"""Paged lists: `limit` and `cursor` in, `next_cursor` and a `Link` header out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Query, Request
from pydantic import BaseModel, Field

from app.http.addresses import address, path_of

Limit = Annotated[int, Query(ge=1, le=200, description="The most items on the page.")]
Cursor = Annotated[
    str | None, Query(max_length=512, description="`next_cursor` of the previous page.")
]

LINK_HEADER: dict[str, Any] = {
    "Link": {
        "description": "The next page, if there is one.",
        "schema": {"type": "string"},
        "example": '</v1/jobs?cursor=abc>; rel="next"',
    }
}


def example_page(item: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a response, for the document: a last page with this item."""
    return {"content": {"application/json": {"example": {"items": [item], "next_cursor": None}}}}


def next_link(request: Request, cursor: str | None) -> dict[str, str]:
    """The `Link` header with the address of the next page; none on the last one."""
    if cursor is None:
        return {}
    query = request.url.include_query_params(cursor=cursor).query
    path = address(request, path_of(request.scope))
    return {"Link": f'<{path}?{query}>; rel="next"'}


Item = TypeVar("Item")


class Page(BaseModel, Generic[Item]):
    """One page of a list, newest first."""

    items: list[Item]
    next_cursor: str | None = Field(
        description="The `cursor` of the next page; null on the last page.", examples=[None]
    )

"""Lists, the one pattern of all of them: `limit`, `cursor`, `sort` and `count` in; `items`,
`next_cursor`, `count` and a `Link` header out.

A list whose things are read page by page is mounted by `app.creation.lists`; one that is short
enough to be read whole is cut into pages by `Paging.cut`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Annotated, Any, Generic, Literal, TypeVar

from fastapi import Depends, Query, Request, Response
from pydantic import Field

from app.http.addresses import address, path_of
from app.http.dependencies import Caller
from app.http.keyring import Access
from app.http.late import LateModel
from workers.model import mentions
from workers.stores.redis.cursor import bad_cursor

Limit = Annotated[int, Query(ge=1, le=200, description="The most items on the page.")]
Cursor = Annotated[
    str | None,
    Query(
        max_length=512,
        description="`next_cursor` of the page before; filters and sort as there.",
    ),
]
Count = Annotated[bool, Query(description="Whether to count what the whole list has.")]
Words = Annotated[
    str | None,
    Query(
        alias="q",
        max_length=200,
        description="Only those that have each of these words, in any case and anywhere, in "
        "their ids, names, descriptions or tags.",
    ),
]

SORTS = {
    "newest": "the newest first",
    "oldest": "the oldest first",
    "name": "by name",
}
"""What a list may be sorted by."""

LINK_HEADER: dict[str, Any] = {
    "Link": {
        "description": "The next page, if there is one.",
        "schema": {"type": "string"},
        "example": '</v1/jobs?cursor=abc>; rel="next"',
    }
}

_ABOUT_THE_PAGE = frozenset({"limit", "cursor", "count", "sort"})
_SEAL = 8
"""The characters of a cursor that say which list it is of."""
_COMPARED = 48
"""The characters of a name by which things are sorted."""

Item = TypeVar("Item")
T = TypeVar("T")


class Page(LateModel, Generic[Item]):
    """One page of a list."""

    items: list[Item]
    next_cursor: str | None = Field(
        description="The `cursor` of the next page; null on the last page.", examples=[None]
    )
    count: int | None = Field(
        None,
        description="How many the whole list has; null without `count=true`, and where more than "
        "10,000 entries would have to be read for it.",
    )


@dataclass(frozen=True, slots=True)
class Paging:
    """Which page of a list is wanted.

    position : where the page begins, as the list wrote it into `cursor`; None: at the start.
    """

    request: Request
    limit: int
    position: str | None
    sort: str
    counts: bool
    seal: str

    def cursor(self, position: str | None) -> str | None:
        """The cursor of the page that begins there; it is good for this list alone, with its
        filters and its sort, for this tenant."""
        return None if position is None else f"{self.seal}{position}"

    def page(
        self,
        response: Response,
        items: Iterable[Item],
        following: str | None,
        count: int | None = None,
    ) -> Page[Item]:
        """A page, with its `Link` header. following : where the next one begins."""
        cursor = self.cursor(following)
        response.headers.update(next_link(self.request, cursor))
        return Page(items=list(items), next_cursor=cursor, count=count if self.counts else None)

    def cut(
        self,
        response: Response,
        things: Iterable[T],
        body_of: Callable[[T], Item],
        *,
        own: Callable[[T], str],
        when: Callable[[T], str] = lambda _: "",
        name: Callable[[T], str | None] = lambda _: "",
    ) -> Page[Item]:
        """The page of a list that has been read whole.

        own, when, name : of a thing its id, when it was made, as text that sorts by time, and what
        it is called. O(n log n). Raises UsageError `bad-cursor`.
        """
        backwards = self.sort == "newest"

        def rank(thing: T) -> tuple[str, str]:
            if self.sort == "name":
                return (name(thing) or "").casefold()[:_COMPARED], own(thing)
            return when(thing), own(thing)

        ranked = sorted(((rank(thing), thing) for thing in things), key=lambda each: each[0])
        if backwards:
            ranked.reverse()
        count = len(ranked)
        if self.position is not None:
            after = _read(self.position)
            if backwards:
                ranked = [each for each in ranked if each[0] < after]
            else:
                ranked = [each for each in ranked if each[0] > after]
        shown = ranked[: self.limit]
        following = _written(shown[-1][0]) if len(ranked) > self.limit else None
        return self.page(response, (body_of(thing) for _, thing in shown), following, count)


def paging(*sorts: str, limit: int = 50, counted: bool = True) -> Any:
    """A dependency that gives the `Paging` of a list.

    sorts : that the list has, of `SORTS`, its usual one first; none: it has one order. limit : the
    items of a page where the request does not say. counted : whether it can be counted.
    """

    async def wanted(request: Request, caller: Access, **query: Any) -> Paging:
        """Raises UsageError `bad-cursor` for the cursor of another list."""
        sort = query.get("sort", "")
        seal = _seal(request, caller.tenant, sort)
        cursor: str | None = query["cursor"]
        if cursor is not None and (cursor[:_SEAL] != seal or len(cursor) == _SEAL):
            raise bad_cursor()
        position = None if cursor is None else cursor[_SEAL:]
        counts = query.get("count", False)
        return Paging(request, query["limit"], position, sort, counts, seal)

    taken: dict[str, tuple[Any, Any]] = {
        "request": (Request, Parameter.empty),
        "caller": (Caller, Parameter.empty),
        "limit": (Limit, limit),
        "cursor": (Cursor, None),
    }
    if counted:
        taken["count"] = (Count, False)
    if sorts:
        orders = "; ".join(f"`{sort}`: {SORTS[sort]}" for sort in sorts)
        order = Query(description=f"The order: {orders}.")
        taken["sort"] = (Annotated[Literal[sorts], order], sorts[0])
    parameters = [
        Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for name, (kind, default) in taken.items()
    ]
    # FastAPI reads the parameters of a dependency from its signature.
    wanted.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return Depends(wanted)


ByTime = Annotated[Paging, paging("newest", "oldest")]
ByTimeOrName = Annotated[Paging, paging("newest", "oldest", "name")]
ByName = Annotated[Paging, paging("name", "newest", "oldest")]
InOrder = Annotated[Paging, paging()]
"""The paging of a list whose things have one order."""


def having(words: str | None, *texts: str | None) -> bool:
    """Whether each of the words of `q` is in one of the texts."""
    return mentions(tuple((words or "").casefold().split()), *texts)


def example_page(item: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a response, for the document: a last page with this item."""
    page = {"items": [item], "next_cursor": None, "count": None}
    return {"content": {"application/json": {"example": page}}, "headers": LINK_HEADER}


def next_link(request: Request, cursor: str | None) -> dict[str, str]:
    """The `Link` header with the address of the next page; none on the last one."""
    if cursor is None:
        return {}
    query = request.url.include_query_params(cursor=cursor).query
    path = address(request, path_of(request.scope))
    return {"Link": f'<{path}?{query}>; rel="next"'}


def _seal(request: Request, tenant: str, sort: str) -> str:
    """What is the same for all pages of a list, in short."""
    filters = sorted(
        (name, value)
        for name, value in request.query_params.multi_items()
        if name not in _ABOUT_THE_PAGE
    )
    known = json.dumps([tenant, path_of(request.scope), sort, filters]).encode()
    return base64.urlsafe_b64encode(hashlib.sha256(known).digest())[:_SEAL].decode()


def _written(rank: Sequence[str]) -> str:
    text = json.dumps(rank, ensure_ascii=False).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def _read(position: str) -> tuple[str, str]:
    """Raises UsageError `bad-cursor` for what `_written` does not give."""
    try:
        padded = position + "=" * (-len(position) % 4)
        read = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        key, own = read
    except (binascii.Error, UnicodeDecodeError, ValueError, TypeError):
        raise bad_cursor() from None
    if not isinstance(key, str) or not isinstance(own, str):
        raise bad_cursor()
    return key, own

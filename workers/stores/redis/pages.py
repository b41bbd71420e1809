"""Pages of the sorted lists of jobs, datasets and trees, also of those that a filter leaves."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import redis

from workers.stores.redis.client import translated
from workers.stores.redis.cursor import decode, encode

T = TypeVar("T")

SCANNED = 1000
"""The most entries that are read for one page."""

_AT_ONCE = 200


def page_of(
    client: redis.Redis,
    key: str,
    limit: int,
    cursor: str | None,
    read: Callable[[Sequence[str]], Sequence[T | None]],
) -> tuple[list[T], str | None]:
    """The next items of the sorted set `key`, the last id first, and the next page's cursor.

    read : the items of ids; None for those that do not belong to the page, or are gone.

    Where few belong, a page ends after `SCANNED` entries: it may have fewer items than `limit`,
    even none, and a cursor. O(limit) where all belong. UsageError `bad-cursor`.
    """

    def following(last: str | None, wanted: int) -> list[str]:
        highest = "+" if last is None else f"({last}"
        ids = client.zrevrangebylex(key, highest, "-", start=0, num=wanted)
        return cast("list[str]", ids)

    return _paged(following, limit, cursor, read)


def page_of_set(
    client: redis.Redis,
    key: str,
    limit: int,
    cursor: str | None,
    read: Callable[[Sequence[str]], Sequence[T | None]],
) -> tuple[list[T], str | None]:
    """As `page_of`, of a set without an order, which is read whole: O(n log n)."""
    with translated():
        ascending = sorted(cast("set[str]", client.smembers(key)))

    def following(last: str | None, wanted: int) -> list[str]:
        end = len(ascending) if last is None else bisect_left(ascending, last)
        return ascending[max(0, end - wanted) : end][::-1]

    return _paged(following, limit, cursor, read)


def _paged(
    following: Callable[[str | None, int], list[str]],
    limit: int,
    cursor: str | None,
    read: Callable[[Sequence[str]], Sequence[T | None]],
) -> tuple[list[T], str | None]:
    """following : gives so many ids after one, or from the first."""
    items: list[T] = []
    left = SCANNED
    last = None if cursor is None else decode(cursor)
    with translated():
        while left > 0:
            wanted = min(limit - len(items) + 1 if left == SCANNED else _AT_ONCE, left)
            ids = following(last, wanted)
            for own_id, item in zip(ids, read(ids), strict=True):
                if item is not None and len(items) == limit:
                    return items, None if last is None else encode(last)
                last = own_id
                if item is not None:
                    items.append(item)
            if len(ids) < wanted:
                return items, None
            left -= wanted
    return items, None if last is None else encode(last)


def rarest(client: redis.Redis, keys: Sequence[str]) -> str:
    """The shortest of some sorted sets."""
    with translated():
        pipe = client.pipeline(transaction=False)
        for key in keys:
            pipe.zcard(key)
        lengths = cast("list[int]", pipe.execute())
    return keys[lengths.index(min(lengths))]

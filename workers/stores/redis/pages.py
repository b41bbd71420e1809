"""Pages of the sorted lists of jobs, datasets and trees, also of those that a filter leaves."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import redis

from workers.stores.redis.client import translated
from workers.stores.redis.cursor import decode, encode

T = TypeVar("T")
U = TypeVar("U")

SCANNED = 1000
"""The most entries that are read for one page."""

SIEVED = 20_000
"""The most entries that are looked at for one page where a sieve leaves few of them to read."""

COUNTED = 10_000
"""The most entries that are read to count those that belong to a list."""

_AT_ONCE = 200
_SIEVED_AT_ONCE = 1000

Read = Callable[[Sequence[str]], Sequence[T | None]]
"""The items of ids; None for those that do not belong to the list, or are gone."""


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """What belongs to a list, in the order of ids.

    following : gives so many ids beyond one, or from the first, of which the newest or the oldest
    come first. length : the number of ids. whole : whether all of them belong. sieve : leaves out
    ids of entries that cannot belong, at less cost than `read`.
    """

    following: Callable[[str | None, int, bool], list[str]]
    length: Callable[[], int]
    read: Read[T]
    whole: bool = False
    sieve: Callable[[list[str]], list[str]] | None = None

    def page(
        self, limit: int, cursor: str | None, *, oldest: bool = False
    ) -> tuple[list[T], str | None]:
        """The next items, the last id first, or with `oldest` the first one, and the next page's
        cursor.

        Where few belong, a page ends after `SCANNED` entries, or `SIEVED` with a sieve: it may have
        fewer items than `limit`, even none, and a cursor. O(limit) where all belong. UsageError
        `bad-cursor`.
        """
        items: list[T] = []
        left, looked = SCANNED, SIEVED
        last = None if cursor is None else decode(cursor)
        with translated():
            while left > 0 and looked > 0:
                wanted = min(limit - len(items) + 1 if left == SCANNED else _AT_ONCE, left)
                if self.sieve is not None:
                    wanted = min(_SIEVED_AT_ONCE, looked)
                ids = self.following(last, wanted, oldest)
                looked -= len(ids)
                for some in self._sieved(ids):
                    if left <= 0:
                        return items, None if last is None else encode(last)
                    for own_id, item in zip(some, self.read(some), strict=True):
                        if item is not None and len(items) == limit:
                            return items, None if last is None else encode(last)
                        last = own_id
                        if item is not None:
                            items.append(item)
                    left -= len(some)
                if len(ids) < wanted:
                    return items, None
                last = ids[-1]
        return items, None if last is None else encode(last)

    def _sieved(self, ids: list[str]) -> Iterator[list[str]]:
        """The ids that may belong, as many as are read at once."""
        kept = ids if self.sieve is None else self.sieve(ids)
        return (kept[at : at + _AT_ONCE] for at in range(0, len(kept), _AT_ONCE))

    def count(self) -> int | None:
        """How many belong. O(1) where all do; else each is read, and None stands for lists of more
        than `COUNTED` entries."""
        with translated():
            n_entries = self.length()
            if self.whole:
                return n_entries
            if n_entries > COUNTED:
                return None
            n_items, last = 0, None
            while ids := self.following(last, _SIEVED_AT_ONCE, False):
                for some in self._sieved(ids):
                    n_items += sum(item is not None for item in self.read(some))
                last = ids[-1]
        return n_items

    def made(self, made: Callable[[T], U]) -> Listing[U]:
        """The same list of what is made of each item."""

        def read(ids: Sequence[str]) -> list[U | None]:
            return [None if item is None else made(item) for item in self.read(ids)]

        return Listing(self.following, self.length, read, self.whole, self.sieve)


def listing_of(
    client: redis.Redis,
    key: str,
    read: Read[T],
    *,
    whole: bool = False,
    sieve: Callable[[list[str]], list[str]] | None = None,
) -> Listing[T]:
    """The list of the sorted set `key`."""

    def following(last: str | None, wanted: int, oldest: bool) -> list[str]:
        if oldest:
            ids = client.zrangebylex(key, "-" if last is None else f"({last}", "+", 0, wanted)
        else:
            ids = client.zrevrangebylex(key, "+" if last is None else f"({last}", "-", 0, wanted)
        return cast("list[str]", ids)

    return Listing(following, lambda: client.zcard(key), read, whole, sieve)


def listing_of_set(client: redis.Redis, key: str, read: Read[T]) -> Listing[T]:
    """The list of a set without an order, which is read whole: O(n log n)."""
    with translated():
        ascending = sorted(cast("set[str]", client.smembers(key)))

    def following(last: str | None, wanted: int, oldest: bool) -> list[str]:
        if oldest:
            start = 0 if last is None else bisect_right(ascending, last)
            return ascending[start : start + wanted]
        end = len(ascending) if last is None else bisect_left(ascending, last)
        return ascending[max(0, end - wanted) : end][::-1]

    return Listing(following, lambda: len(ascending), read)


def rarest(client: redis.Redis, keys: Sequence[str]) -> str:
    """The shortest of some sorted sets."""
    with translated():
        pipe = client.pipeline(transaction=False)
        for key in keys:
            pipe.zcard(key)
        lengths = cast("list[int]", pipe.execute())
    return keys[lengths.index(min(lengths))]

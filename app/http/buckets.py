"""Buckets that fill by themselves: what a caller or an address may still take before it waits."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

KEPT = 10_000


@dataclass(slots=True)
class Bucket:
    """left : what may be taken without a wait; below 0: that waits. at : when it was so, in
    seconds."""

    left: float
    at: float

    @property
    def in_use(self) -> bool:
        """Whether it is kept although it is full."""
        return False


K = TypeVar("K", bound=Hashable)
B = TypeVar("B", bound=Bucket)


class Buckets(Generic[K, B]):
    """A bucket for each key, full at first. kind : of the buckets. full : what one holds. per_s :
    what it gains a second. Once there are `KEPT`, those that have rested are forgotten."""

    def __init__(
        self,
        kind: Callable[[float, float], B],
        full: float,
        per_s: float,
        clock: Callable[[], float],
    ) -> None:
        self._kind = kind
        self._full = full
        self._per_s = per_s
        self._clock = clock
        self._buckets: dict[K, B] = {}

    def of(self, key: K) -> B:
        """The bucket of a key, with what it has now."""
        bucket = self._buckets.get(key)
        if bucket is None:
            if len(self._buckets) >= KEPT:
                self._forget()
            bucket = self._buckets[key] = self._kind(self._full, self._clock())
        self.fill(bucket)
        return bucket

    def fill(self, bucket: B) -> None:
        """Add what it has gained."""
        bucket.left, bucket.at = self._left(bucket), self._clock()

    def left(self, key: K) -> float:
        """What the bucket of a key has now; none is made."""
        bucket = self._buckets.get(key)
        return self._full if bucket is None else self._left(bucket)

    def _left(self, bucket: B) -> float:
        gained = (self._clock() - bucket.at) * self._per_s
        return min(self._full, bucket.left + gained)

    def _forget(self) -> None:
        self._buckets = {
            key: bucket
            for key, bucket in self._buckets.items()
            if bucket.in_use or self._left(bucket) < self._full
        }

"""The quarantine: marks beside damaged objects, so that nobody is served what they hold.

A mark is an object `quarantine/<key>` that says what is wrong with `<key>`; the object itself stays
where it is, so that no reader takes it for deleted. Whoever reads it, or asks for one that is lost,
gets `Damaged`; everything else is served. A mark goes with what it is of, and when
`workers.stores.verify` finds the object whole.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ConfigDict

from workers.errors import Damaged, Missing, TransientError
from workers.model import now
from workers.stores.objects.blobs import Blobs, Link
from workers.stores.objects.layout import QUARANTINE
from workers.stores.objects.seals import read_model, sealed

FRESH_S = 5.0
"""How old what a process knows of the marks may be."""


class Mark(BaseModel):
    """why : what is wrong, to follow the name of the object. owner : what the object belongs to."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    why: str
    owner: str
    at: str


def mark(blobs: Blobs, key: str, why: str, owner: str) -> None:
    """Put an object into quarantine; a mark that is there is replaced."""
    content = Mark(why=why, owner=owner, at=now()).model_dump_json().encode()
    blobs.put(QUARANTINE + key, sealed(QUARANTINE + key, content))


def unmark(blobs: Blobs, key: str) -> None:
    blobs.delete(QUARANTINE + key)


def marks(blobs: Blobs) -> dict[str, Mark]:
    """All marks, by the keys of what they are of."""
    found = {}
    for place in blobs.keys(QUARANTINE):
        with suppress(Missing):
            found[place.removeprefix(QUARANTINE)] = _read(blobs, place)
    return found


def guarded(blobs: Blobs) -> Blobs:
    """The same store for those that serve and compute: what is in quarantine is `Damaged`."""
    return cast(Blobs, _Guarded(blobs))


class _Guarded:
    """Threads may share it. One listing of the marks every `FRESH_S` while objects are read."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._lock = threading.Lock()
        self._marked: frozenset[str] = frozenset()
        self._listed_at = -FRESH_S

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return getattr(self._blobs, name)

    def get(self, key: str) -> bytes:
        self._require_unmarked(key)
        return self._blobs.get(key)

    def read(self, key: str, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        self._require_unmarked(key)
        return self._blobs.read(key, start, end)

    def local_path(self, key: str) -> Path:
        self._require_unmarked(key)
        return self._blobs.local_path(key)

    def link(self, key: str) -> Link | None:
        self._require_unmarked(key)
        return self._blobs.link(key)

    def size(self, key: str) -> int | None:
        """As of any store, but that what was lost is not taken for what was deleted."""
        size = self._blobs.size(key)
        if size is None:
            self._require_unmarked(key)
        return size

    def delete(self, key: str) -> None:
        self._blobs.delete(key)
        if key in self._known():
            unmark(self._blobs, key)

    def delete_under(self, prefix: str) -> None:
        self._blobs.delete_under(prefix)
        within = prefix.removesuffix("/") + "/"
        for key in self._known():
            if key.startswith(within) or key == prefix:
                unmark(self._blobs, key)

    def _require_unmarked(self, key: str) -> None:
        if key not in self._known():
            return
        with suppress(Missing):
            raise Damaged(key, _read(self._blobs, QUARANTINE + key).why)

    def _known(self) -> frozenset[str]:
        with self._lock:
            if time.monotonic() < self._listed_at + FRESH_S:
                return self._marked
            self._listed_at = time.monotonic()
        with suppress(TransientError):
            places = self._blobs.keys(QUARANTINE)
            self._marked = frozenset(place.removeprefix(QUARANTINE) for place in places)
        return self._marked


def _read(blobs: Blobs, place: str) -> Mark:
    try:
        return read_model(blobs, place, Mark)
    except Damaged:
        return Mark(why="it is in quarantine, by a mark that is damaged itself", owner="", at="")

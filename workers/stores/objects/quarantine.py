"""The quarantine: marks beside damaged objects, so that nobody is served what they hold.

A mark is an object `quarantine/<key>` that says what is wrong with `<key>`; the object itself stays
where it is, so that no reader takes it for deleted. Whoever reads it, or asks for one that is lost,
gets `Damaged`; everything else is served. A mark goes with what it is of, and when
`workers.stores.verify` finds the object whole.
"""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

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
    return _Guarded(blobs)


class _Guarded:
    """Threads may share it. One listing of the marks every `FRESH_S` while objects are read."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self.place = blobs.place
        self._lock = threading.Lock()
        self._marked: frozenset[str] = frozenset()
        self._listed_at = -FRESH_S

    def strays(self, prefix: str) -> Iterator[str]:
        return self._blobs.strays(prefix)

    def put(self, key: str, data: bytes, *, create: bool = False) -> None:
        self._blobs.put(key, data, create=create)

    def put_all(self, objects: Mapping[str, bytes | memoryview]) -> None:
        self._blobs.put_all(objects)

    def put_file(self, key: str, path: Path) -> None:
        self._blobs.put_file(key, path)

    def put_files(self, files: Mapping[str, Path], then: tuple[str, bytes] | None = None) -> None:
        self._blobs.put_files(files, then)

    async def put_stream(self, key: str, chunks: AsyncIterator[bytes]) -> int:
        return await self._blobs.put_stream(key, chunks)

    def keys(self, prefix: str) -> Iterator[str]:
        return self._blobs.keys(prefix)

    def sizes(self, prefix: str) -> Iterator[tuple[str, int]]:
        return self._blobs.sizes(prefix)

    def free_bytes(self) -> int | None:
        return self._blobs.free_bytes()

    def remove_leftovers(self) -> None:
        self._blobs.remove_leftovers()

    def ping(self) -> None:
        self._blobs.ping()

    def require_usable(self) -> None:
        self._blobs.require_usable()

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

"""The interface of the object store, and the rules for its keys.

`local.py` and `bucket.py` implement it. Keys are `/`-separated, made by the server, and
checked: no empty part, no `.` or `..`. A write that has returned is durable and whole; a reader
never sees a partial one. All calls block; the API runs them in threads.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field


class Link(BaseModel):
    """A temporary address of one object: whoever has it may read that object and no other.

    url : a secret; it must not be logged, shown or kept.
    size, etag : of the current object.
    """

    model_config = ConfigDict(frozen=True)

    url: str = Field(repr=False)
    size: int
    etag: str


class Blobs(Protocol):
    """Raises `StoreUnavailable`, `StoreFull`, `Missing` and `AlreadyThere` of `workers.errors`."""

    place: str
    """Where it is, as the address of the settings; also with the endpoint or account where it has
    one."""

    def strays(self, prefix: str) -> Iterator[str]:
        """What lies at or under `prefix` and is no object: links, devices, pipes. None is
        followed."""
        ...

    def put(self, key: str, data: bytes, *, create: bool = False) -> None:
        """Store `data`, durable on return. With `create`, AlreadyThere if the key is taken."""
        ...

    def put_all(self, objects: Mapping[str, bytes | memoryview]) -> None:
        """Store several new objects, durable together on return; AlreadyThere if a key is taken.

        Cheaper than one by one. The last one is stored last; if this raises, some may be there.
        """
        ...

    def put_file(self, key: str, path: Path) -> None:
        """Store a local file, which must not change afterwards; it is left in place."""
        ...

    def put_files(self, files: Mapping[str, Path], then: tuple[str, bytes] | None = None) -> None:
        """As `put_file` for several; if this raises, some may be there.

        then : key and content of an object that appears, create-only, when all of them are durable;
            AlreadyThere if its key is taken. Cheaper than a `put` afterwards.
        """
        ...

    async def put_stream(self, key: str, chunks: AsyncIterator[bytes]) -> int:
        """Store what `chunks` yields, in constant memory; returns the number of bytes.

        If `chunks` raises, nothing is left under `key` and the error is passed on.
        """
        ...

    def get(self, key: str) -> bytes:
        """The whole content; for small objects. Missing if there is none."""
        ...

    def read(self, key: str, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The bytes [start, end) in pieces of about 1 MiB."""
        ...

    def size(self, key: str) -> int | None:
        """Length in bytes, None where there is no such key."""
        ...

    def local_path(self, key: str) -> Path:
        """A local file with the content, to be read or memory-mapped and not changed.

        The file itself for the local store; for a bucket a download kept in a bounded cache.
        """
        ...

    def link(self, key: str) -> Link | None:
        """An address at which the object can be read by range; None where `local_path` is better:
        for a local store, and for an object that fits in the cache.
        """
        ...

    def keys(self, prefix: str) -> Iterator[str]:
        """All keys that start with `prefix` (whole parts), in any order. A folder's hidden files,
        as file managers leave them, are no objects."""
        ...

    def sizes(self, prefix: str) -> Iterator[tuple[str, int]]:
        """As `keys`, with the length of each object in bytes."""
        ...

    def delete(self, key: str) -> None:
        """Remove one object; nothing happens where there is none."""
        ...

    def delete_under(self, prefix: str) -> None:
        """Remove every object under `prefix`."""
        ...

    def free_bytes(self) -> int | None:
        """The free space; None if the store does not report it (buckets)."""
        ...

    def remove_leftovers(self) -> None:
        """Remove what processes that died have left half-written. O(files being written)."""
        ...

    def ping(self) -> None:
        """StoreUnavailable where the store cannot be reached or written."""
        ...

    def require_usable(self) -> None:
        """FatalError, whose text is for the operator, where the store refuses the credentials, is
        not there, or does not keep what `create` promises. It writes what `ping` does."""
        ...


def checked(key: str) -> str:
    """`key` itself; ValueError where a part is empty, `.`, `..`, or holds a NUL or a backslash."""
    parts = key.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\0" in key or "\\" in key:
        raise ValueError(f"not a key of the object store: {key!r}")
    return key


def checked_prefix(prefix: str) -> str:
    """`prefix` without its last `/`, checked like a key."""
    return checked(prefix.removesuffix("/"))

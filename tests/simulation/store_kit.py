"""An object store in memory; each object of a larger write is one step."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from tests.simulation.world_kit import World
from workers.errors import AlreadyThere, Missing, StoreUnavailable
from workers.stores.objects.blobs import Link

T = TypeVar("T")


class MemoryBlobs:
    """`Blobs` over a dict that all processes share.

    on_write : called with key and content after each write. folder : for local files.
    """

    def __init__(self, world: World, folder: Path) -> None:
        self._folder = folder
        self.objects: dict[str, bytes] = {}
        self.on_write: Callable[[str, bytes], None] = lambda key, data: None
        self._world = world

    def put(self, key: str, data: bytes, *, create: bool = False) -> None:
        self._call(f"put {key}", lambda: self._put(key, data, create=create))

    def put_all(self, objects: Mapping[str, bytes | memoryview]) -> None:
        for key, data in objects.items():
            try:
                self.put(key, bytes(data), create=True)
            except AlreadyThere:  # It was written twice, as `BucketBlobs` may.
                if self.get(key) != data:
                    raise

    def put_file(self, key: str, path: Path) -> None:
        self.put(key, path.read_bytes())

    def put_files(self, files: Mapping[str, Path], then: tuple[str, bytes] | None = None) -> None:
        for key, path in files.items():
            self.put_file(key, path)
        if then is not None:
            self.put(*then, create=True)

    async def put_stream(self, key: str, chunks: AsyncIterator[bytes]) -> int:
        data = b"".join([chunk async for chunk in chunks])
        self.put(key, data)
        return len(data)

    def get(self, key: str) -> bytes:
        data = self._call(f"get {key}", lambda: self.objects.get(key))
        if data is None:
            raise Missing(key)
        return data

    def read(self, key: str, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        yield self.get(key)[start:end]

    def size(self, key: str) -> int | None:
        data = self._call(f"size {key}", lambda: self.objects.get(key))
        return None if data is None else len(data)

    def local_path(self, key: str) -> Path:
        data = self.get(key)
        path = self._folder / hashlib.sha1(key.encode()).hexdigest()
        path.write_bytes(data)
        return path

    def link(self, key: str) -> Link | None:
        return None

    def keys(self, prefix: str) -> Iterator[str]:
        return iter(self._call(f"list {prefix}", lambda: self._under(prefix)))

    def sizes(self, prefix: str) -> Iterator[tuple[str, int]]:
        for key in self.keys(prefix):
            if (data := self.objects.get(key)) is not None:
                yield key, len(data)

    def delete(self, key: str) -> None:
        self._call(f"delete {key}", lambda: self.objects.pop(key, None))

    def delete_under(self, prefix: str) -> None:
        for key in self.keys(prefix):
            self.delete(key)

    def free_bytes(self) -> int | None:
        return None

    def remove_leftovers(self) -> None:
        return None

    def require_usable(self) -> None:
        pass

    def ping(self) -> None:
        return None

    def _under(self, prefix: str) -> list[str]:
        start = prefix if not prefix or prefix.endswith("/") else f"{prefix}/"
        return sorted(key for key in self.objects if key.startswith(start))

    def _put(self, key: str, data: bytes, *, create: bool) -> None:
        if create and key in self.objects:
            raise AlreadyThere(key)
        self.objects[key] = data
        self.on_write(key, data)

    def _call(self, label: str, do: Callable[[], T]) -> T:
        return self._world.call(label, do, lambda: StoreUnavailable("the store does not answer"))

"""The bytes of what users add to a dataset or job afterwards: annotations, editions, links.

Redis counts them by folder, in the use of the tenant and the key that the dataset or job counts in,
and no longer once its record is dropped. What is counted is always what a listing of the folder
finds after a change, so that writers at once, repeats and a rebuild come to the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext

import redis

from workers.model import sibling
from workers.settings import WorkerSettings
from workers.stores.objects.blobs import Blobs
from workers.stores.redis.client import Scripts, translated

Room = Callable[[int], AbstractContextManager[None]]
"""Holds room for that many bytes while they are written and counted; entering raises OverLimit."""


def unlimited(n_bytes: int) -> AbstractContextManager[None]:
    """A room without a limit."""
    return nullcontext()


class Beside:
    """The folders beside all datasets and jobs. Threads may share it; every call blocks."""

    def __init__(self, blobs: Blobs, client: redis.Redis, settings: WorkerSettings) -> None:
        self._blobs = blobs
        self._client = client
        self._prefix = settings.key_prefix
        self._scripts = Scripts(client, settings.key_prefix)

    def count(self, folder: str) -> None:
        """Count a folder's present size. A listing, and one more after the count: whoever counts
        last has seen every change."""
        owner = owner_of(folder)
        kind = "job" if owner.startswith("job_") else "dataset"
        size = self._size(folder)
        while True:
            self._scripts("beside", kind, owner, folder, size)
            counted, size = size, self._size(folder)
            if counted == size:
                return

    def recount(self, owner: str) -> None:
        """Count all folders of a dataset or job that were counted before."""
        for folder in self.counted([owner])[0]:
            self.count(folder)

    def counted(self, owners: Iterable[str]) -> list[list[str]]:
        """The folders of each of these datasets and jobs that are counted. One round trip."""
        with translated():
            pipe = self._client.pipeline(transaction=False)
            for owner in owners:
                pipe.hkeys(f"{self._prefix}beside:{owner}")
            return [[str(name) for name in names] for names in pipe.execute()]

    def _size(self, folder: str) -> int:
        return sum(size for _, size in self._blobs.sizes(folder))


def owner_of(folder: str) -> str:
    """The dataset or job that a folder of `layout` is beside; that of links is named by a tree."""
    own_id = folder.split("/")[2]
    return sibling(own_id, "job") if own_id.startswith("tr_") else own_id


def folder_beside(name: str) -> str | None:
    """The counted folder of an object, by its name below its dataset or job; None for others."""
    parts = name.split("/")
    return f"{parts[0]}/{parts[1]}/" if parts[0] in ("annotations", "editions") else None

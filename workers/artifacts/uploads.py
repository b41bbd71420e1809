"""Uploads in parts: each part is a separate object, until all are combined into a dataset.

Redis only counts their bytes. An upload exists while its `upload.json` does, a part while an empty
object exists whose name holds its number, length and hash. A part that is sent again replaces the
earlier one; an interrupted request leaves none. Only the first dataset made from an upload counts;
the upload refers to it until it is forgotten.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from workers.artifacts.datasets import META, Dataset
from workers.errors import AlreadyThere, Damaged, Missing, StoreUnavailable
from workers.formats.column_roles import Choice
from workers.model import made_at, new_id
from workers.stores.erasure import counted_later
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.seals import read_model, sealed
from workers.stores.objects.streams import store
from workers.stores.redis.usage import Usage

MOST_PARTS = 10_000
MOST_OPEN = 1_000
"""Uploads of a tenant that are not complete: each is an object, and few bytes count."""

_UPLOAD, _DATASET = "upload.json", "dataset.json"


class Upload(BaseModel):
    """The future dataset of an upload, as described in the request that began it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    tenant: str
    name: str | None
    role: str | None
    member: str | None
    media_type: str | None
    created_at: str
    n_features: int | None = None
    choice: Choice = Choice()
    key: str | None = None
    expires_at: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()


class Part(BaseModel):
    """A part in the store. `stamp` distinguishes it from others of its number."""

    model_config = ConfigDict(frozen=True)

    number: int
    bytes: int
    sha256: str
    stamp: str


class Parts:
    """Uploads in parts, of all tenants. Threads may share it.

    The bytes of parts count in what their tenant uses, until they are removed.
    erase : removes what is left of a dataset, as `Datasets.erase`.
    """

    def __init__(
        self, blobs: Blobs, usage: Usage, erase: Callable[[str, str], object] | None = None
    ) -> None:
        self._blobs = blobs
        self._usage = usage
        self._erase = erase

    def create(self, upload: Upload) -> None:
        key = layout.upload(upload.tenant, upload.id, _UPLOAD)
        self._blobs.put(key, sealed(key, upload.model_dump_json().encode()), create=True)

    def get(self, tenant: str, upload_id: str) -> Upload | None:
        """The upload; None if there is none, if it is gone, or if it belongs to another tenant."""
        try:
            return read_model(self._blobs, layout.upload(tenant, upload_id, _UPLOAD), Upload)
        except Missing:
            return None

    async def receive(self, upload: Upload, number: int, chunks: AsyncIterator[bytes]) -> Part:
        """Stream one part into the store; it does not exist before `add`, nor if this raises."""
        stamp = new_id("part")
        stored = await store(self._blobs, self._bytes(upload, number, stamp), chunks)
        return Part(number=number, bytes=stored.length, sha256=stored.sha256, stamp=stamp)

    def add(self, upload: Upload, part: Part) -> bool:
        """Make the part exist, replacing any other with its number.

        False, with nothing left, if the upload is gone by now. O(1) for the first part of a number;
        O(parts) for a further one.
        """
        self._blobs.put(self._mark(upload, part), b"")
        if self.get(upload.tenant, upload.id) is None:
            self.delete(upload.tenant, upload.id)
            return False
        if self._count(upload, part):
            # Whichever of several at a time counts last finds them all.
            there = sorted(self._all(upload, part.number), key=lambda each: each.stamp)
            for other in there[:-1]:
                self.drop(upload, other)
            if there and there[-1].stamp != part.stamp:
                self._count(upload, there[-1])
        return True

    def _count(self, upload: Upload, part: Part) -> bool:
        """Count a part in place of an earlier one with its number; whether there was one."""
        return self._usage.put_part(upload.tenant, upload.key, upload.id, part.number, part.bytes)

    def drop(self, upload: Upload, part: Part) -> None:
        """Remove a part, added or not."""
        self._blobs.delete(self._mark(upload, part))
        self._blobs.delete(self._bytes(upload, part.number, part.stamp))

    def list(self, upload: Upload) -> list[Part]:
        """The newest part of each number, in order."""
        newest: dict[int, Part] = {}
        for part in self._all(upload):
            other = newest.get(part.number)
            if other is None or other.stamp < part.stamp:
                newest[part.number] = part
        return [newest[number] for number in sorted(newest)]

    def read(self, upload: Upload, parts: Iterable[Part]) -> Iterator[bytes]:
        """The bytes of the parts in order, in pieces of about 1 MiB.

        Raises Missing if a part was replaced or removed meanwhile.
        """
        for part in parts:
            yield from self._blobs.read(self._bytes(upload, part.number, part.stamp))

    def completed(self, upload: Upload) -> Dataset | None:
        """The dataset that its parts were combined into, even if that does not exist yet."""
        try:
            key = layout.upload(upload.tenant, upload.id, _DATASET)
            return read_model(self._blobs, key, Dataset)
        except Missing:
            return None

    def complete(self, upload: Upload, dataset: Dataset) -> Dataset:
        """Record the dataset of the upload.

        Returns the one already recorded if another was faster.
        """
        key = layout.upload(upload.tenant, upload.id, _DATASET)
        try:
            self._blobs.put(key, sealed(key, dataset.model_dump_json().encode()), create=True)
        except AlreadyThere:
            return self.completed(upload) or dataset
        return dataset

    def reopen(self, upload: Upload) -> None:
        """Forget the dataset if its bytes were lost before it existed."""
        self._blobs.delete(layout.upload(upload.tenant, upload.id, _DATASET))

    def clear(self, upload: Upload) -> None:
        """Remove the parts of an upload that is complete."""
        for folder in ("parts/", "bytes/"):
            self._blobs.delete_under(layout.upload(upload.tenant, upload.id, folder))
        self._usage.drop_parts(upload.id)

    def delete(self, tenant: str, upload_id: str) -> None:
        """Remove an upload and its parts, and the content of a dataset that was never created from
        it; nothing happens where there is none."""
        self._blobs.delete(layout.upload(tenant, upload_id, _UPLOAD))
        self._erase_unfinished(tenant, upload_id)
        self._blobs.delete_under(layout.upload(tenant, upload_id))
        counted_later(lambda: self._usage.drop_parts(upload_id))

    def _erase_unfinished(self, tenant: str, upload_id: str) -> None:
        if self._erase is None:
            return
        try:
            key = layout.upload(tenant, upload_id, _DATASET)
            dataset = read_model(self._blobs, key, Dataset)
        except (Missing, Damaged):
            return
        if self._blobs.size(layout.dataset(tenant, dataset.id, META)) is None:
            self._erase(tenant, dataset.id)

    def recount(self) -> set[str]:
        """Count all parts in the store again; returns the uploads that have some."""
        uploads: set[tuple[str, str]] = set()
        for tenant, upload_id, rest in layout.parts(self._blobs.keys("uploads/"), 3):
            if rest.startswith("parts/"):
                uploads.add((tenant, upload_id))
        for tenant, upload_id in uploads:
            upload = None
            with suppress(Damaged):
                upload = self.get(tenant, upload_id)
            if upload is not None:
                for part in self.list(upload):
                    self._count(upload, part)
        return {upload_id for _, upload_id in uploads}

    def forget(self, tenant: str, before: datetime) -> int:
        """Remove the tenant's uploads that received nothing since `before`.

        Returns the number of the others that are not complete. O(parts of the tenant).
        """
        newest: dict[str, datetime] = {}
        complete = set[str]()
        for key in self._blobs.keys(layout.upload(tenant)):
            upload_id, _, rest = key.removeprefix(layout.upload(tenant)).partition("/")
            if rest == _DATASET:
                complete.add(upload_id)
            stamp = upload_id if rest in (_UPLOAD, _DATASET) else rest.split(".")[1]
            when = made_at(stamp)
            if when is not None:
                newest[upload_id] = max(when, newest.get(upload_id, when))
        old = [upload_id for upload_id, when in newest.items() if when < before]
        for upload_id in old:
            with suppress(StoreUnavailable):
                self.delete(tenant, upload_id)
        return len(newest.keys() - complete - set(old))

    def _all(self, upload: Upload, number: int | None = None) -> Iterator[Part]:
        folder = layout.upload(upload.tenant, upload.id, "parts/")
        for key in self._blobs.keys(folder):
            own, stamp, length, sha256 = key.removeprefix(folder).split(".")
            if number is None or int(own) == number:
                yield Part(number=int(own), bytes=int(length), sha256=sha256, stamp=stamp)

    def _mark(self, upload: Upload, part: Part) -> str:
        name = f"parts/{part.number}.{part.stamp}.{part.bytes}.{part.sha256}"
        return layout.upload(upload.tenant, upload.id, name)

    def _bytes(self, upload: Upload, number: int, stamp: str) -> str:
        return layout.upload(upload.tenant, upload.id, f"bytes/{number}.{stamp}")

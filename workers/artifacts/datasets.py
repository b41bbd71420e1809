"""Uploaded datasets: bytes in the store, facts beside them, a list in Redis."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from workers.artifacts.annotations import newest
from workers.errors import (
    AlreadyThere,
    Damaged,
    Missing,
    Problem,
    StoreUnavailable,
    TransientError,
)
from workers.formats.column_roles import Choice, Column
from workers.model import Annotation, made_at, new_id, sibling
from workers.stores.erasure import drop_and_remove, erase_job
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.digests import Checks
from workers.stores.objects.job_files import put_once
from workers.stores.objects.seals import read_model, read_sealed, sealed
from workers.stores.objects.streams import Stored, store
from workers.stores.reach import Reach
from workers.stores.redis.index import Index
from workers.stores.redis.pages import Listing
from workers.stores.redis.records import Records, expiry_ms
from workers.stores.redis.reserve import release

CONTENT = "content"
META = "meta.json"
INSPECTED = "inspected.json"
STATEMENTS = "statements.json"


_COMPARED = 100
"""The most datasets of one content that `same` looks at."""

_ALIKE = ("sha256", "bytes", "format", "name", "role", "member", "n_features", "tree", "choice")


class Dataset(BaseModel):
    """The facts of an upload. `member` names one of several arrays in a file.

    shape, dtype : None until known. `sha256` and `bytes` describe the content as uploaded.
    n_features : the declared number of features of a libsvm file; None: that of its largest index.
    choice : the columns that the uploader chose. columns : of a table, with what each is used
    as; None until known, and where the columns have no names. warnings : what was decided or left
    out.
    tree : the tree whose rows these labels are of, if they were made from statements about it.
    key : the key of the store by which it was made. expires_at : when it may be removed.
    name, description, tags : as changed since (`workers.artifacts.annotations`).
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    tenant: str
    name: str | None
    role: str | None
    status: Literal["ready", "inspecting", "invalid"]
    format: str
    member: str | None
    shape: tuple[int, ...] | None
    dtype: str | None
    bytes: int
    sha256: str
    created_at: str
    problem: Problem | None
    n_features: int | None = None
    choice: Choice = Choice()
    columns: tuple[Column, ...] | None = None
    warnings: tuple[str, ...] = ()
    tree: str | None = None
    key: str | None = None
    expires_at: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()


class Inspection(BaseModel):
    """The result of inspecting a dataset; `job` is the job that did it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    shape: tuple[int, ...] | None
    dtype: str | None
    problem: Problem | None
    job: str | None = None
    columns: tuple[Column, ...] | None = None
    warnings: tuple[str, ...] = ()


class Datasets:
    """Datasets of all tenants. Threads may share it.

    A dataset exists while its `meta.json` does. `ensure` rebuilds the lists if Redis lost them.
    """

    def __init__(
        self, blobs: Blobs, records: Records, index: Index, ensure: Callable[[], None]
    ) -> None:
        self._blobs = blobs
        self._records = records
        self._index = index
        self._ensure = ensure
        self._checks = Checks(blobs)

    async def receive(self, tenant: str, dataset_id: str, chunks: AsyncIterator[bytes]) -> Stored:
        """Stream an upload's content into the store.

        Nothing is left if `chunks` raises. The dataset does not exist before `create`.
        """
        return await store(self._blobs, self.content_key(tenant, dataset_id), chunks)

    def create(self, dataset: Dataset, *, kept: bool = False) -> None:
        """Make it exist (meta.json, create-only, then the list). On failure nothing remains, or a
        marker while the write may still arrive (`workers.jobs.inspections`).

        kept : after a failure that may pass everything stays, for requests that are repeated and go
            on with it: another one may have been answered meanwhile.
        """
        there = False
        try:
            put_once(self._blobs, layout.dataset(dataset.tenant, dataset.id, META), dataset)
            there = True
            self._list(dataset)
        except AlreadyThere:
            raise
        except BaseException as error:
            if not (kept and isinstance(error, TransientError)):
                with suppress(TransientError):
                    if not there and isinstance(error, StoreUnavailable):
                        self._watch(dataset)
                    self._remove(dataset.tenant, dataset.id)
            raise

    def _watch(self, dataset: Dataset) -> None:
        """Let sweeps remove facts that arrive later: of a write without an answer."""
        self._blobs.put(layout.completing(dataset.tenant, dataset.id, new_id("cp")), b"")

    def whole(self, tenant: str, dataset_id: str) -> bool:
        """Whether the content is there. To be called once a dataset was created for which another
        process may hold an older answer: what came back after its removal goes again."""
        if self._blobs.size(self.content_key(tenant, dataset_id)) is not None:
            return True
        self.erase(tenant, dataset_id)
        return False

    def keep_statements(self, tenant: str, dataset_id: str, content: bytes) -> None:
        """Keep what labels are made from, before `create`."""
        key = layout.dataset(tenant, dataset_id, STATEMENTS)
        self._blobs.put(key, sealed(key, content))

    def statements(self, tenant: str, dataset_id: str) -> bytes | None:
        """What the labels were made from; None for other datasets, and where there is none."""
        if self.get(tenant, dataset_id) is None:
            return None
        try:
            return read_sealed(self._blobs, layout.dataset(tenant, dataset_id, STATEMENTS))
        except Missing:
            return None

    def adopt(self, dataset: Dataset, key: str) -> None:
        """Move the object at `key`, which a job published, into a new dataset.

        May be called again: nothing happens once the object has been moved, even if the dataset was
        deleted since.
        """
        try:
            path = self._blobs.local_path(key)
            self._blobs.put_file(self.content_key(dataset.tenant, dataset.id), path)
        except Missing:
            return
        self.create(dataset)
        self._blobs.delete(key)

    def discard(self, tenant: str, dataset_id: str) -> None:
        """Remove the content of a dataset that was not created."""
        self._blobs.delete_under(layout.dataset(tenant, dataset_id))

    def get(self, tenant: str, dataset_id: str) -> Dataset | None:
        """The dataset; None if there is none or it belongs to another tenant."""
        facts = self._index.get(tenant, dataset_id)
        if facts is not None:
            return Dataset.model_validate_json(facts)
        dataset = self._stored(tenant, dataset_id)
        annotation = None if dataset is None else newest(self._blobs, tenant, dataset_id)
        if dataset is None or annotation is None:
            return dataset
        return dataset.model_copy(update=annotation.model_dump(exclude={"revision"}))

    def inspected(
        self,
        tenant: str,
        dataset_id: str,
        *,
        shape: tuple[int, ...] | None,
        dtype: str | None,
        problem: Problem | None,
    ) -> None:
        """Record the result of an inspection: ready, or invalid with the problem. Idempotent."""
        self.settle(tenant, dataset_id, shape=shape, dtype=dtype, problem=problem, job_id=None)

    def settle(
        self,
        tenant: str,
        dataset_id: str,
        *,
        shape: tuple[int, ...] | None,
        dtype: str | None,
        problem: Problem | None,
        job_id: str | None,
        columns: tuple[Column, ...] | None = None,
        warnings: tuple[str, ...] = (),
    ) -> bool:
        """As `inspected`, with the job that did it; False if the dataset is gone."""
        if self._blobs.size(layout.dataset(tenant, dataset_id, META)) is None:
            return False
        inspection = Inspection(
            shape=shape,
            dtype=dtype,
            problem=problem,
            job=job_id,
            columns=columns,
            warnings=warnings,
        )
        key = layout.dataset(tenant, dataset_id, INSPECTED)
        with suppress(AlreadyThere):
            content = sealed(key, inspection.model_dump_json().encode())
            self._blobs.put(key, content, create=True)
        dataset = self._stored(tenant, dataset_id)
        if dataset is None:
            self.discard(tenant, dataset_id)
            return False
        self._index.change(dataset_id, dataset.model_dump_json())
        return True

    def listing(
        self,
        tenant: str,
        *,
        role: str | None = None,
        name: str | None = None,
        tags: Sequence[str] = (),
        words: Sequence[str] = (),
        reach: Reach | None = None,
    ) -> Listing[Dataset]:
        """Datasets of this role and name, with all of the tags and words, that `reach` has."""
        self._ensure()
        found = self._index.listing(
            tenant, group=role or "", name=name, tags=tags, words=words, reach=reach
        )
        return found.made(Dataset.model_validate_json)

    def page(
        self, tenant: str, *, limit: int = 50, cursor: str | None = None, **filters: Any
    ) -> tuple[list[Dataset], str | None]:
        """What `listing` has, newest first, and the next page's cursor. Raises UsageError
        `bad-cursor`."""
        return self.listing(tenant, **filters).page(limit, cursor)

    def same(
        self, dataset: Dataset, made_after: datetime | None = None, reach: Reach | None = None
    ) -> Dataset | None:
        """The newest dataset of the tenant that a new one would only repeat: the same content, read
        in the same way, under the same name, which is not invalid and will not go earlier.

        made_after : older ones may go earlier. reach : what the uploader reaches; None: all.
        """
        for facts in self._index.with_content(dataset.tenant, dataset.sha256, _COMPARED):
            other = Dataset.model_validate_json(facts)
            when = made_at(other.id)
            if made_after is not None and (when is None or when < made_after):
                break
            if reach is not None and not reach.has(other.id, other.tags):
                continue
            read_alike = all(getattr(other, name) == getattr(dataset, name) for name in _ALIKE)
            if read_alike and other.status != "invalid" and _stays_as_long(other, dataset):
                return other
        return None

    def delete(self, tenant: str, dataset_id: str) -> bool:
        """Remove it with its inspection; False where there is none."""
        if self.get(tenant, dataset_id) is None:
            return False
        self.erase(tenant, dataset_id)
        return True

    def erase(self, tenant: str, dataset_id: str) -> None:
        """Remove a dataset with its inspection, or what an interrupted removal has left of it."""
        inspection = None
        with suppress(Damaged):
            inspection = self._inspection(tenant, dataset_id)
        self._remove(tenant, dataset_id)
        if inspection is not None and inspection.job is not None:
            erase_job(self._blobs, self._records, tenant, inspection.job)

    def content_key(self, tenant: str, dataset_id: str) -> str:
        """The key of the bytes as uploaded."""
        return layout.dataset(tenant, dataset_id, CONTENT)

    def content(self, dataset: Dataset) -> Path:
        """A local file with its content. Missing where it is gone, Damaged where it is not what was
        uploaded."""
        return self._checks.path(self.content_key(dataset.tenant, dataset.id), dataset.sha256)

    def restore(self, tenant: str, dataset_id: str) -> bool:
        """List a dataset of the store; True if it was missing from the list."""
        if self._index.counted(dataset_id):
            return False
        dataset = self._stored(tenant, dataset_id)
        if dataset is None:
            return False
        self._list(dataset)
        if self._stored(tenant, dataset_id) is None:
            # It was deleted meanwhile, perhaps before it was listed.
            self._index.drop(dataset_id)
        return True

    def _list(self, dataset: Dataset) -> None:
        self._index.put(
            dataset.tenant,
            dataset.id,
            dataset.model_dump_json(),
            dataset.role or "",
            n_bytes=dataset.bytes,
            key=dataset.key,
            needs="" if dataset.tree is None else sibling(dataset.tree, "job"),
            expires=expiry_ms(dataset.expires_at),
            digest=dataset.sha256,
            annotation=_annotation(dataset).shown() if dataset.tags else "",
        )

    def _remove(self, tenant: str, dataset_id: str) -> None:
        self._blobs.delete(layout.dataset(tenant, dataset_id, META))
        drop_and_remove(
            lambda: self._index.drop(dataset_id),
            lambda: self._blobs.delete_under(layout.dataset(tenant, dataset_id)),
            lambda: self._records.removals.note(tenant, dataset_id),
            lambda: release(self._records.client),
        )
        # A request that completes its upload again may have brought it back in between; one that
        # does so from now on finds no content (`whole`).
        if self._blobs.size(layout.dataset(tenant, dataset_id, META)) is not None:
            self._blobs.delete(layout.dataset(tenant, dataset_id, META))
            self._index.drop(dataset_id)

    def _stored(self, tenant: str, dataset_id: str) -> Dataset | None:
        try:
            dataset = read_model(self._blobs, layout.dataset(tenant, dataset_id, META), Dataset)
        except Missing:
            return None
        inspection = self._inspection(tenant, dataset_id)
        if inspection is None:
            return dataset
        changed: dict[str, Any] = {
            "status": "ready",
            "shape": inspection.shape,
            "dtype": inspection.dtype,
            "columns": inspection.columns,
            "warnings": inspection.warnings,
        }
        if inspection.problem is not None:
            changed = {"status": "invalid", "problem": inspection.problem}
        return dataset.model_copy(update=changed)

    def _inspection(self, tenant: str, dataset_id: str) -> Inspection | None:
        try:
            return read_model(
                self._blobs, layout.dataset(tenant, dataset_id, INSPECTED), Inspection
            )
        except Missing:
            return None


def _annotation(dataset: Dataset) -> Annotation:
    """A dataset's annotation from when it was made."""
    return Annotation(name=dataset.name, description=dataset.description, tags=dataset.tags)


def _stays_as_long(other: Dataset, dataset: Dataset) -> bool:
    """Whether a dataset expires no earlier than another one."""
    if other.expires_at is None:
        return True
    if dataset.expires_at is None:
        return False
    return datetime.fromisoformat(other.expires_at) >= datetime.fromisoformat(dataset.expires_at)

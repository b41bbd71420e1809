"""What users say of their datasets, jobs, trees and models: name, description and tags, as changed.

Each change is a separate object, create-only, whose number follows the last one; the highest
counts. So of two writers at once one is refused and looks again, on every kind of store. Objects
below the highest are removed, but for the last: a copy of the store that lists while a change is
made has one of both. The highest is never removed before what it belongs to. So a writer that was
late by several changes, and finds its number free again, sees a higher one beside its own. That one
names the changes it was made from: where the writer's own is not among them, it is taken back.

Redis has the highest revision for lists and reads, and is made again from the store.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from workers.artifacts.beside import Beside, Room, unlimited
from workers.errors import AlreadyThere, Missing
from workers.model import Annotation, sibling
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.job_files import REQUEST
from workers.stores.objects.seals import read_model, sealed
from workers.stores.redis.index import Index
from workers.stores.redis.records import Records

# A writer that others overtake by more changes than this before it lists them makes its own again.
CHANGES_NAMED = 64


@dataclass(frozen=True, slots=True)
class Annotations:
    """The annotations of all tenants. Threads may share it."""

    blobs: Blobs
    records: Records
    datasets: Index
    trees: Index
    beside: Beside

    def change(
        self,
        tenant: str,
        own_id: str,
        current: Callable[[], Annotation | None],
        alter: Callable[[Annotation], Annotation],
        room: Room = unlimited,
    ) -> bool:
        """Replace what `current` gives by what `alter` makes of it; durable on return.

        current : reads it, again after each writer that was faster, and may raise a refusal; None
            where the thing is gone.
        room : for the bytes of the change.

        False if the thing is gone.
        """
        while True:
            last = self.restore(tenant, own_id)
            revision = last.revision
            before = current()
            if before is None:
                return False
            after = alter(before)
            if after.says_the_same(before):
                return True
            own_change = secrets.token_hex(4)
            changes = (*last.changes, own_change)[-CHANGES_NAMED:]
            after = after.model_copy(update={"revision": revision + 1, "changes": changes})
            key = layout.annotation(tenant, own_id, after.revision)
            content = sealed(key, after.model_dump_json().encode())
            with room(len(content)):
                try:
                    kept = self._keep(tenant, own_id, after, content)
                finally:
                    self.beside.count(layout.annotations_of(tenant, own_id))
            if kept is not None:
                return kept

    def _keep(self, tenant: str, own_id: str, after: Annotation, content: bytes) -> bool | None:
        """Write a change; False if the thing is gone, None where another writer was faster."""
        key = layout.annotation(tenant, own_id, after.revision)
        try:
            self.blobs.put(key, content, create=True)
        except AlreadyThere:
            return None
        highest = newest(self.blobs, tenant, own_id)
        if highest is not None and after.changes[-1] not in highest.changes:
            self.blobs.delete(key)
            return None
        if not self._exists(tenant, own_id):
            self.blobs.delete_under(layout.annotations_of(tenant, own_id))
            return False
        self._show(own_id, after)
        for earlier in _revisions(self.blobs, tenant, own_id):
            if earlier < after.revision - 1:
                self.blobs.delete(layout.annotation(tenant, own_id, earlier))
        return True

    def restore(self, tenant: str, own_id: str) -> Annotation:
        """Bring Redis into line with the store; returns the last change, revision 0 without one."""
        annotation = newest(self.blobs, tenant, own_id)
        if annotation is None:
            return Annotation()
        self._show(own_id, annotation)
        return annotation

    def _show(self, own_id: str, annotation: Annotation) -> None:
        text = annotation.shown()
        if own_id.startswith("job_"):
            self.records.annotate(own_id, annotation.revision, text)
        elif own_id.startswith("ds_"):
            self.datasets.annotate(own_id, annotation.revision, text)
        elif own_id.startswith("tr_"):
            self.trees.annotate(own_id, annotation.revision, text)
        # Models have no record: they are read from the store.

    def _exists(self, tenant: str, own_id: str) -> bool:
        if own_id.startswith("ds_"):
            return self.blobs.size(layout.dataset(tenant, own_id, "meta.json")) is not None
        return self.blobs.size(layout.job(tenant, sibling(own_id, "job"), REQUEST)) is not None


def newest(blobs: Blobs, tenant: str, own_id: str) -> Annotation | None:
    """The annotation that counts, from the store; None if nothing was changed."""
    while True:
        revision = max(_revisions(blobs, tenant, own_id), default=0)
        if not revision:
            return None
        try:
            return read_model(blobs, layout.annotation(tenant, own_id, revision), Annotation)
        except Missing:
            continue  # It was replaced twice meanwhile, or went with what it belongs to.


def _revisions(blobs: Blobs, tenant: str, own_id: str) -> list[int]:
    return [
        int(key.rpartition("/")[2]) for key in blobs.keys(layout.annotations_of(tenant, own_id))
    ]

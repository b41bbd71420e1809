"""Editions of trees: every change is a separate object, and none is ever changed.

The objects of an edition are numbered from 1 and create-only: of two writers who have seen the same
last change one is refused. Nothing below the last number is removed before the edition is, so a
number is never free twice. Now and then the changes so far are written once more, together, so that
an edition is read by few reads; these copies may be missing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter

from models.editions.state import EditionState, Operation
from models.tree.tree import Tree
from workers.artifacts.beside import Room, unlimited
from workers.errors import AlreadyThere, Damaged, Missing, OverLimit
from workers.model import new_id, now, sibling
from workers.stores.erasure import counted_later
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.seals import parsed, read_model, read_sealed, sealed

MOST_EDITIONS = 100
"""The most editions of one tree."""
MOST_CHANGES = 2000
MOST_BYTES = 1 << 20
"""The size of all changes of an edition, as kept."""
TOGETHER = 64
"""After so many changes they are written once more, together."""

_KEPT = 64
"""Editions whose changes stay in memory."""


class Change(BaseModel):
    """One change of an edition.

    by : the name of the key that made it, or its id; None for one that is not of the store.
    kind : `create` is the first, with the operations that it starts from; `title` gives a name;
        `undo` and `redo` take back and repeat the last `edit` that holds, or was taken back.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    number: int
    at: str
    by: str | None
    kind: Literal["create", "edit", "undo", "redo", "title"]
    operations: tuple[Operation, ...] = ()
    name: str | None = None


CHANGES = TypeAdapter(list[Change])


@dataclass(frozen=True)
class Edition:
    """An edition after `changes`."""

    id: str
    tenant: str
    changes: Sequence[Change]

    @property
    def tree(self) -> str:
        """The id of its tree."""
        return tree_of(self.id)

    @property
    def revision(self) -> int:
        return self.changes[-1].number

    @cached_property
    def name(self) -> str | None:
        return next(
            each.name for each in reversed(self.changes) if each.kind in ("create", "title")
        )

    @cached_property
    def steps(self) -> tuple[list[Change], list[Change]]:
        """The edits that hold, and those that were taken back and can be repeated, next one last.
        A new edit ends what can be repeated."""
        done: list[Change] = []
        undone: list[Change] = []
        for change in self.changes:
            if change.kind == "edit":
                done.append(change)
                undone = []
            elif change.kind == "undo":
                undone.append(done.pop())
            elif change.kind == "redo":
                done.append(undone.pop())
        return done, undone

    @cached_property
    def operations(self) -> list[Operation]:
        """The operations that hold, in their order."""
        changes = [self.changes[0], *self.steps[0]]
        return [operation for change in changes for operation in change.operations]

    @cached_property
    def n_bytes(self) -> int:
        return sum(len(change.model_dump_json()) for change in self.changes)

    def state(self, tree: Tree) -> EditionState:
        """The differences from its tree. O(operations)."""
        state = EditionState(tree)
        state.apply(self.operations)
        return state


def tree_of(own_id: str) -> str:
    """The id of the tree of an edition or a share, whose ids begin with that of their tree."""
    return f"tr_{own_id.partition('_')[2][:26]}"


def id_beside(tree_id: str, prefix: str) -> str:
    """A new id of something that belongs to a tree: it begins with the tree's, then sorts by its
    time."""
    return f"{prefix}_{tree_id.partition('_')[2]}{new_id('x').partition('_')[2]}"


class Editions:
    """The editions of all tenants. Threads may share it; every call blocks.

    count : called with the folder of an edition after a change (`Beside.count`).
    """

    def __init__(self, blobs: Blobs, count: Callable[[str], None]) -> None:
        self._blobs = blobs
        self._count = count
        self._lock = threading.Lock()
        self._read: OrderedDict[tuple[str, str], list[Change]] = OrderedDict()

    def create(
        self,
        tenant: str,
        edition_id: str,
        *,
        by: str | None,
        name: str | None,
        operations: Sequence[Operation] = (),
        room: Room = unlimited,
    ) -> Edition:
        """A new edition, durable on return. room : for its bytes."""
        first = Change(
            number=1, at=now(), by=by, kind="create", operations=tuple(operations), name=name
        )
        self._put(tenant, edition_id, first, room)
        return Edition(edition_id, tenant, [first])

    def get(self, tenant: str, edition_id: str) -> Edition | None:
        """The current edition; None if there is none. One listing, and a read of each change that
        this process has not read."""
        numbers, copies = set[int](), [0]
        for key in self._blobs.keys(layout.edition(tenant, edition_id)):
            name = key.rpartition("/")[2]
            if name.startswith(_COPY):
                copies.append(int(name.removeprefix(_COPY)))
            else:
                numbers.add(int(name))
        if 1 not in numbers:
            return None
        own = (tenant, edition_id)
        with self._lock:
            changes = list(self._read.get(own, ()))
        if len(changes) < max(copies):
            changes = self._copy(tenant, edition_id, max(copies)) or changes
        try:
            for number in range(len(changes) + 1, max(numbers) + 1):
                place = layout.edition(tenant, edition_id, f"{number:06d}")
                changes.append(read_model(self._blobs, place, Change))
        except Missing:
            return None  # It is being removed.
        with self._lock:
            self._read[own] = changes
            self._read.move_to_end(own)
            while len(self._read) > _KEPT:
                self._read.popitem(last=False)
        return Edition(edition_id, tenant, changes[: max(numbers)])

    def of_tree(self, tenant: str, tree_id: str) -> list[str]:
        """The ids of the editions of a tree, the newest first."""
        folder = layout.editions_of(tenant, sibling(tree_id, "job"))
        ids = {key.removeprefix(folder).partition("/")[0] for key in self._blobs.keys(folder)}
        return sorted(ids, reverse=True)

    def change(self, edition: Edition, change: Change, room: Room = unlimited) -> Edition | None:
        """The edition with a change whose number follows its last, durable on return; None where
        another writer was faster, or it was removed. room : for its bytes."""
        tenant, edition_id = edition.tenant, edition.id
        try:
            self._put(tenant, edition_id, change, room)
        except AlreadyThere:
            return None
        if self._blobs.size(layout.edition(tenant, edition_id, f"{1:06d}")) is None:
            self.delete(tenant, edition_id)
            return None
        changed = Edition(edition_id, tenant, [*edition.changes, change])
        if change.number % TOGETHER == 0:
            with suppress(OverLimit):
                self._write_copy(changed, room)
        return changed

    def delete(self, tenant: str, edition_id: str) -> None:
        """Remove an edition. Its first change goes first: without it there is none."""
        self._blobs.delete(layout.edition(tenant, edition_id, f"{1:06d}"))
        self._blobs.delete_under(layout.edition(tenant, edition_id))
        counted_later(lambda: self._count(layout.edition(tenant, edition_id)))
        with self._lock:
            self._read.pop((tenant, edition_id), None)

    def _put(self, tenant: str, edition_id: str, change: Change, room: Room) -> None:
        key = layout.edition(tenant, edition_id, f"{change.number:06d}")
        content = sealed(key, change.model_dump_json().encode())
        with room(len(content)):
            self._blobs.put(key, content, create=True)
            self._count(layout.edition(tenant, edition_id))

    def _write_copy(self, edition: Edition, room: Room) -> None:
        number = edition.revision
        copy = layout.edition(edition.tenant, edition.id, f"{_COPY}{number:06d}")
        content = sealed(copy, CHANGES.dump_json(list(edition.changes)))
        with room(len(content)):
            self._blobs.put(copy, content)
            earlier = layout.edition(edition.tenant, edition.id, f"{_COPY}{number - TOGETHER:06d}")
            self._blobs.delete(earlier)
            self._count(layout.edition(edition.tenant, edition.id))

    def _copy(self, tenant: str, edition_id: str, number: int) -> list[Change] | None:
        try:
            copy = layout.edition(tenant, edition_id, f"{_COPY}{number:06d}")
            return parsed(copy, read_sealed(self._blobs, copy), CHANGES)
        except (Missing, Damaged):
            return None  # The changes themselves are read.


_COPY = "to."
"""How the names of copies of the changes up to a number begin."""

"""What takes no jobs for now: a lane, a tenant, a method, a worker. The store has the pauses; Redis
has a copy that the scripts read, and nothing is taken while that copy may lack one."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import cast

from workers.errors import Missing
from workers.model import SCOPES, Pause, Scope
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.seals import read_model, sealed
from workers.stores.redis.client import Scripts, translated
from workers.stores.redis.records import Records
from workers.stores.redis.workers import WorkerBook

KNOWN = "known"
"""The field that says that Redis has all pauses of the store."""

SYNC_S = 10.0
"""How often one of all processes compares Redis with the store."""

_COMPARING_S = 600
"""How long a comparison may take until Redis forgets that it began."""


class Pauses:
    """All pauses. Threads may share it."""

    def __init__(self, blobs: Blobs, records: Records, workers: WorkerBook) -> None:
        self._blobs = blobs
        self._records = records
        self._workers = workers
        self._scripts = Scripts(records.client, records.prefix)
        self._key = f"{records.prefix}pauses"

    def put(self, pause: Pause) -> None:
        """Pause what it names, or change the reason; jobs that run go on. A worker also gives back
        those that have a checkpoint."""
        key = layout.pause(pause.scope, pause.name)
        self._blobs.put(key, sealed(key, pause.model_dump_json().encode()))
        self._set(pause)

    def remove(self, scope: Scope, name: str) -> bool:
        """End a pause: what waited for it is taken in its turn. False if there was none."""
        key = layout.pause(scope, name)
        there = self._blobs.size(key) is not None
        self._blobs.delete(key)
        return bool(self._scripts("pause", scope, name, "")) or there

    def all(self) -> list[Pause]:
        """By scope and name."""
        with translated():
            fields = cast("dict[str, str]", self._records.client.hgetall(self._key))
        texts = (text for field, text in fields.items() if field != KNOWN)
        return in_order(Pause.model_validate_json(text) for text in texts)

    def sync(self) -> None:
        """Bring Redis into line with the store, and forget workers that are gone.

        Redis that loses its data meanwhile lacks pauses, so nothing is taken until the next time.
        """
        token = secrets.token_hex(8)
        with translated():
            name = f"{self._records.prefix}comparing:{token}"
            self._records.client.set(name, 1, ex=_COMPARING_S)
        kept: set[tuple[Scope, str]] = set()
        for pause in self._stored():
            if pause.scope == "worker" and self._workers.gone(pause.name, pause.since):
                self._blobs.delete(layout.pause(pause.scope, pause.name))
                continue
            kept.add((pause.scope, pause.name))
            self._set(pause)
        for pause in self.all():
            # It may be newer than the list of the store: a pause is put there first.
            key = layout.pause(pause.scope, pause.name)
            if (pause.scope, pause.name) not in kept and self._blobs.size(key) is None:
                self._scripts("pause", pause.scope, pause.name, "")
        self._scripts("pause", "", token, "")

    def sweep(self) -> None:
        """`sync` now and then."""
        if self._records.only_one("pauses", SYNC_S):
            self.sync()

    def _set(self, pause: Pause) -> None:
        self._scripts("pause", pause.scope, pause.name, pause.model_dump_json())

    def _stored(self) -> Iterable[Pause]:
        for key in sorted(self._blobs.keys(layout.PAUSES)):
            scope, slash, _ = key.removeprefix(layout.PAUSES).partition("/")
            if scope not in SCOPES or not slash:
                continue
            try:
                yield read_model(self._blobs, key, Pause)
            except Missing:  # It has just been removed.
                continue


def in_order(pauses: Iterable[Pause]) -> list[Pause]:
    """By scope and name."""
    return sorted(pauses, key=lambda pause: (SCOPES.index(pause.scope), pause.name))

"""Removals of which Redis could not be informed, since its disk is full: it refuses every write.

What is removed is gone from the store, and a note there, `removals/<tenant>/<id>`, says that what
Redis still has of it does not count. Whoever reads a record or a list looks at the notes while
Redis refuses writes, so that every process answers as if Redis had forgotten it; a sweep makes it
forget once it takes writes again, and removes the note last.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from redis.client import Pipeline
from redis.exceptions import ResponseError

from workers.errors import AlreadyThere, StoreFull, TransientError
from workers.model import sibling
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs

LOOKED_S = 10.0
"""How often a process looks for the notes of others while Redis takes writes."""

Forget = Callable[[str, str], None]
"""forget(tenant, id): make Redis forget it, and remove again what is left of it in the store."""

_log = logging.getLogger(__name__)


class Removals:
    """The notes of one store. Threads may share it.

    forget : by the prefix of an id, set once the parts that it needs exist.
    """

    forget: Mapping[str, Forget]

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._noted: dict[str, str] = {}
        self._lock = threading.Lock()
        self._looked_at = 0.0
        self.forget = {}

    def note(self, tenant: str, own_id: str) -> None:
        """Note that a job, dataset or tree is removed. Raises StoreFull."""
        with suppress(AlreadyThere):
            self._blobs.put(layout.removal(tenant, own_id), b"", create=True)
        with self._lock:
            self._noted[own_id] = tenant

    def execute(self, pipe: Pipeline) -> list[Any]:
        """The answers of a pipeline of reads.

        A PING goes with them: Redis refuses it while it refuses writes. Then the notes are read, so
        that `hides` knows what any process has removed before.
        """
        pipe.ping()
        *rows, refused = pipe.execute(raise_on_error=False)
        for row in rows:
            if isinstance(row, Exception):
                raise row
        if isinstance(refused, ResponseError) and str(refused).startswith("MISCONF"):
            self._look()
        elif isinstance(refused, Exception):
            raise refused
        return rows

    def hides(self, own_id: str) -> bool:
        """Whether what Redis has of a job, dataset or tree does not count."""
        if not self._noted:
            return False
        return own_id in self._noted or (
            own_id.startswith("tr_") and sibling(own_id, "job") in self._noted
        )

    @property
    def any(self) -> bool:
        """Whether anything is hidden."""
        return bool(self._noted)

    def sweep(self) -> int:
        """Complete what was noted, if Redis takes writes by now; returns the number."""
        if not self._noted and time.monotonic() < self._looked_at + LOOKED_S:
            return 0
        self._look()
        n_done = 0
        for own_id, tenant in sorted(self._noted.items()):
            try:
                self.forget[own_id.partition("_")[0]](tenant, own_id)
            except StoreFull:
                break
            except TransientError as error:
                _log.warning("the removal of %s is completed later: %s", own_id, error)
                continue
            self._blobs.delete(layout.removal(tenant, own_id))
            with self._lock:
                self._noted.pop(own_id, None)
            n_done += 1
        return n_done

    def _look(self) -> None:
        with self._lock:
            noted = layout.parts(self._blobs.keys(layout.REMOVALS), 2)
            self._noted = {own_id: tenant for tenant, own_id in noted}
            self._looked_at = time.monotonic()

"""Checkpoints of a long fit, kept in the store so that the next attempt resumes from the last.

The child writes a file from time to time and reports it; its supervisor stores it under a new name
and removes the previous one. Any checkpoint of a job serves any of its attempts: the fit is a
function of the job's inputs. They are removed when the job ends.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from models.arrays import Arrays
from models.method import Checkpoint
from workers.artifacts import results
from workers.errors import Missing, TransientError
from workers.model import Claim, Request
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs

FOLDER = "checkpoints"
"""The folder in which the child writes them, beside that of the result."""

_SHARE = 20.0
"""Saving takes at most one part in this many of the time."""

_log = logging.getLogger(__name__)


class FileCheckpoint(Checkpoint):
    """The child's side: files in a folder.

    last : file of an earlier attempt. report : sends the supervisor the number of a new file.
    """

    def __init__(
        self, last: Path | None, folder: Path, every_s: float, report: Callable[[int], None]
    ) -> None:
        self._last = last
        self._folder = folder
        self._every_s = every_s
        self._report = report
        self._n_saved = 0
        self._next_at = time.monotonic() + every_s

    def load(self) -> Arrays | None:
        if self._last is None:
            return None
        try:
            return results.load_arrays(self._last)
        except Exception:
            _log.warning("a checkpoint cannot be read; the fit starts anew", exc_info=True)
            return None

    def save(self, state: Arrays) -> None:
        began = time.monotonic()
        if began < self._next_at:
            return
        self._n_saved += 1
        self._folder.mkdir(exist_ok=True)
        results.save_named(state, self._folder / str(self._n_saved))
        self._report(self._n_saved)
        ended = time.monotonic()
        self._next_at = ended + max(self._every_s, _SHARE * (ended - began))


class Checkpoints:
    """The store's side, of all jobs. Threads may share it."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def latest(self, request: Request) -> Path | None:
        """A local copy of the last checkpoint of a job; None if there is none."""
        keys = list(self._blobs.keys(layout.checkpoints(request.tenant, request.id)))
        with suppress(Missing):
            return self._blobs.local_path(max(keys)) if keys else None
        return None

    def keep(self, claim: Claim, path: Path) -> None:
        """Store `path` in place of the job's other checkpoints.

        If that fails, the fit continues.
        """
        request = claim.request
        folder = layout.checkpoints(request.tenant, request.id)
        key = f"{folder}{time.time_ns():020d}.{claim.fence}"
        try:
            self._blobs.put_file(key, path)
            for other in list(self._blobs.keys(folder)):
                if other < key:
                    self._blobs.delete(other)
        except TransientError as error:
            _log.warning("job %s: a checkpoint is not kept: %s", request.id, error)

    def clear(self, request: Request) -> None:
        """Remove the checkpoints of a job that has ended."""
        self._blobs.delete_under(layout.checkpoints(request.tenant, request.id))

    def restore(self, ended: Callable[[str], bool]) -> None:
        """Remove the checkpoints of all jobs that have ended or are gone."""
        folders = {key.rpartition("/")[0] for key in self._blobs.keys(layout.CHECKPOINTS)}
        for folder in folders:
            if ended(folder.rpartition("/")[2]):
                self._blobs.delete_under(f"{folder}/")

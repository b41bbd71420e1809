"""A job's process held in the middle of its work: where it opens an input."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.workers.waiting_kit import until
from workers.work.job import Spec
from workers.work.sources import Source


class Lease:
    """A lease on a file (fcntl(2), F_SETLEASE; Linux): whoever opens the file waits until `end`.

    For 45 seconds, the kernel's usual limit.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY)
        # Not while another process has the file open: an earlier job's may still be ending.
        until(self._taken)
        # Without an owner it gets no signal when somebody waits.
        fcntl.fcntl(self._file, fcntl.F_SETOWN, 0)

    def _taken(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            fcntl.fcntl(self._file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            return True
        return False

    def wanted(self) -> bool:
        """Whether somebody waits for the file to open."""
        return fcntl.fcntl(self._file, fcntl.F_GETLEASE) != fcntl.F_WRLCK

    def end(self) -> None:
        os.close(self._file)


def leases(spec: Spec) -> list[Lease]:
    """On every file from which a job reads its inputs."""
    return [Lease(path) for path in dict.fromkeys(_files(spec.sources))]


def _files(sources: Iterable[Source | None]) -> Iterator[Path]:
    for source in sources:
        if source is not None:
            yield from (path for path in (source.path, *source.files.values()) if path is not None)
            yield from _files(source.before)

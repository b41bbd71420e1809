"""Lives: which processes of the API on this machine have ended, by the kernel's locks.

Each holds a file of a folder that they share locked as long as it lives, however it ends. A process
that is only stopped keeps its lock. The name of a file says on which boot of which machine that is:
of processes elsewhere nothing is known, nor where the file system has no locks.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import secrets
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from workers.stores.objects.temporary import boot_mark

KEPT_S = 3600.0
"""For so long after a process was found dead its file says so."""

_NAME = re.compile(r"[0-9a-f]+\.[0-9a-f]{32}")

_log = logging.getLogger(__name__)


class Lives:
    """The life of this process, and what is known of others.

    folder : shared by the processes of one machine.

    name : of this process, for `is_dead` of others; empty where its life cannot be shown.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mark = boot_mark()
        self.name = ""
        self._close: Callable[[], object] = lambda: None
        try:
            folder.mkdir(0o700, parents=True, exist_ok=True)
            self._clear()
            if self._mark:
                self._begin()
        except OSError as error:
            _log.warning("that this process has ended will not be seen by others: %s", error)

    def is_dead(self, name: str) -> bool:
        """Whether the process of this name has ended; False also where that is not known."""
        if not _NAME.fullmatch(name) or name.partition(".")[0] != self._mark or name == self.name:
            return False
        try:
            descriptor = os.open(self._folder / name, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return True

    def close(self) -> None:
        """Let others take this process for dead. It needs no call: the kernel closes the file at
        the end of the process, and not before the last of its threads is gone."""
        self._close()

    def _begin(self) -> None:
        name = f"{self._mark}.{secrets.token_hex(16)}"
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        descriptor = os.open(self._folder / name, flags, 0o600)
        self._close = finalizer = weakref.finalize(self, os.close, descriptor)
        finalizer.atexit = False
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, b"1")
        self.name = name

    def _clear(self) -> None:
        """Empty the files of processes that have ended, and remove those emptied long ago."""
        for path in self._folder.iterdir():
            if not _NAME.fullmatch(path.name):
                continue
            with (
                suppress(OSError),
                os.fdopen(os.open(path, os.O_RDWR | os.O_NOFOLLOW), "wb") as file,
            ):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                state = os.fstat(file.fileno())
                if state.st_size:
                    file.truncate(0)
                elif time.time() - state.st_mtime > KEPT_S:
                    path.unlink()

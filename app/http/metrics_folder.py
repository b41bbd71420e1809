"""The folder through which processes of the API add up their metrics, and what is left of others.

The kernel holds its lock until its owner ends, however that ends; the next service of this user
removes it then.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from workers.processes import FolderInUse, FolderLock

PREFIX = "umbel-metrics-"
_UNFINISHED = f".{PREFIX}"

_UNLOCKED_S = 3600.0
"""One that nobody has locked is removed once it is so old: its owner may still be about to."""


class MetricsFolder:
    """A folder of this process in the folder for temporary files. It is made by `make`, once the
    process can remove it when it is signalled to end.

    path : where it will be.
    """

    def __init__(self) -> None:
        self._root = Path(tempfile.gettempdir())
        self.path = self._root / f"{PREFIX}{secrets.token_hex(8)}"
        self._lock: FolderLock | None = None

    def make(self) -> None:
        """Make it, and remove the folders of processes that are gone. Raises OSError."""
        if self._lock is not None:
            return
        # Others see it under its name when it is locked.
        fresh = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=self._root))
        self._lock = FolderLock(fresh)
        fresh.rename(self.path)
        for other in self._root.glob(f"*{PREFIX}*"):
            if other != self.path:
                _clear(other)

    def remove(self) -> None:
        if self._lock is not None:
            with suppress(OSError):
                _empty(self.path)
            shutil.rmtree(self.path, ignore_errors=True)
            self._lock.close()
            self._lock = None


def _clear(folder: Path) -> None:
    """Remove a folder of this user whose owner is gone."""
    with suppress(OSError, FolderInUse):
        state = folder.lstat()
        if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.geteuid():
            return
        if folder.name.startswith(PREFIX) and (folder / "lock").exists():
            with FolderLock(folder):
                _empty(folder)
                shutil.rmtree(folder)
        elif time.time() - state.st_mtime > _UNLOCKED_S:
            (folder / "lock").unlink(missing_ok=True)
            folder.rmdir()


def _empty(folder: Path) -> None:
    """Remove all but the lock: what is left where a process dies meanwhile is found by it."""
    for path in list(folder.iterdir()):
        if path.name != "lock":
            path.unlink(missing_ok=True)

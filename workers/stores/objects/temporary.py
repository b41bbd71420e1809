"""The temporary files of a store in a folder, and what processes that died have left there.

A file is locked (flock) by the process that writes it, while it is open, and its name says
on which boot of which machine that is. There, a file that nobody has locked is abandoned, however
young it is: processes and containers of one machine share its locks. The locks of other machines on
a shared file system cannot be relied on: their files, and those without a mark, go by age.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import threading
import time
from contextlib import suppress
from pathlib import Path

STALE_S = 24 * 3600.0
"""A file that cannot be judged by its lock is abandoned if it was not written for this long."""

_BOOT = Path("/proc/sys/kernel/random/boot_id")


def boot_mark() -> str:
    """What files of this boot of this machine are marked with; empty where that is unknown."""
    try:
        return _BOOT.read_text().strip().replace("-", "")
    except OSError:
        return ""


class TemporaryFolder:
    """A folder for files that are renamed or linked when they are whole. Processes may share it.

    mark : what locked files are marked with; those with the same mark share their locks.
    """

    def __init__(self, path: Path, mark: str | None = None) -> None:
        self.path = path
        self._mark = boot_mark() if mark is None else mark

    def make(self) -> None:
        self.path.parent.mkdir(0o700, parents=True, exist_ok=True)
        self.path.mkdir(0o700, exist_ok=True)

    def fresh(self) -> Path:
        """A name that is not in use, for a file that exists for a moment only."""
        return self.path / secrets.token_hex(16)

    def create(self) -> TemporaryFile:
        """A new empty file, open and locked."""
        if self._mark:
            while (file := self._locked()) is not None:
                if os.fstat(file.number).st_nlink:
                    return file
                # A cleanup took it for abandoned before it was locked.
                file.discard()
        return TemporaryFile(self.fresh())

    def _locked(self) -> TemporaryFile | None:
        """A locked file; None if the file system has no locks."""
        file = TemporaryFile(self.path / f"{self._mark}.{secrets.token_hex(16)}")
        try:
            fcntl.flock(file.number, fcntl.LOCK_EX)
        except OSError:
            file.discard()
            return None
        return file

    def remove_leftovers(self) -> None:
        """Remove the files of processes that have ended, and folders that were being deleted."""
        with suppress(FileNotFoundError), os.scandir(self.path) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if entry.is_dir(follow_symlinks=False):
                        shutil.rmtree(entry.path, ignore_errors=True)
                    elif self._mark and entry.name.startswith(f"{self._mark}."):
                        _remove_unlocked(Path(entry.path))
                    elif time.time() - entry.stat(follow_symlinks=False).st_mtime > STALE_S:
                        os.unlink(entry.path)


class TemporaryFile:
    """A temporary file being written, by one thread at a time; closing waits for that thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.length = 0
        self._lock = threading.Lock()
        self.number = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        self._open = True

    def write(self, batch: bytes | memoryview) -> None:
        view = memoryview(batch)
        with self._lock:
            if not self._open:
                return
            self.length += len(view)
            while view:
                view = view[os.write(self.number, view) :]

    def sync(self) -> None:
        with self._lock:
            if self._open:
                os.fsync(self.number)

    def discard(self) -> None:
        """Close; remove the temporary name if it is still there."""
        with self._lock:
            if not self._open:
                return
            # Unlinked first: once it is closed, anyone may take it for abandoned.
            with suppress(FileNotFoundError):
                self.path.unlink()
            os.close(self.number)
            self._open = False


def _remove_unlocked(path: Path) -> None:
    """Remove a file that no process has locked. One that may not be opened stays."""
    try:
        number = os.open(path, os.O_WRONLY)
    except PermissionError:
        return
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    else:
        # While it is locked here, so that who has just created it sees that it is gone.
        path.unlink()
    finally:
        os.close(number)

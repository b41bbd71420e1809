"""Downloads kept on the local disk, the least recently used removed first."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from workers.errors import StoreFull

IN_USE_S = 600.0
"""A file requested within this time stays: its path may not have been opened yet."""

_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY


class Cache:
    """Files in one folder, by key and version. Threads and processes may share it.

    limit : bytes that may stay; only files in use exceed it. A file that is removed while open or
        mapped stays readable.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self._lock = threading.Lock()

    def get(self, key: str, version: str) -> Path | None:
        """The file; None if it is not in the cache."""
        path = self._path(key, version)
        try:
            os.utime(path)
        except FileNotFoundError:
            return None
        return path

    def add(self, key: str, version: str, pieces: Iterable[bytes]) -> Path:
        """The file made of `pieces`, kept whole or not at all.

        Raises StoreFull if the disk is full.
        """
        self._folder.mkdir(0o700, parents=True, exist_ok=True)
        path = self._path(key, version)
        temporary = self._folder / f"{path.name}.{secrets.token_hex(8)}.part"
        try:
            with os.fdopen(os.open(temporary, _FLAGS, 0o600), "wb") as sink:
                for piece in pieces:
                    sink.write(piece)
            temporary.replace(path)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StoreFull("the disk of the cache is full") from error
            raise
        finally:
            temporary.unlink(missing_ok=True)
        self._trim()
        return path

    def _trim(self) -> None:
        with self._lock:
            files: list[tuple[float, int, str]] = []
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    with suppress(FileNotFoundError):
                        facts = entry.stat(follow_symlinks=False)
                        files.append((facts.st_mtime, facts.st_size, entry.path))
            total = sum(size for _, size, _ in files)
            for used, size, path in sorted(files):
                if total <= self._limit or time.time() - used < IN_USE_S:
                    return
                with suppress(FileNotFoundError):
                    os.unlink(path)
                total -= size

    def _path(self, key: str, version: str) -> Path:
        return self._folder / hashlib.sha256(f"{key}\0{version}".encode()).hexdigest()

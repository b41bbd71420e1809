"""What the service makes is for its own user alone: folders 0700, files 0600.

`begin` holds for a process and those that it starts; `tighten` for what earlier versions left open.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
OWN = ("store", "redis", "scratch", "compiled", "lock", "url")
"""What the service makes in its data directory; whatever else lies there is left alone."""


def begin() -> None:
    """From now on this process, and those that it starts, open nothing they make to others."""
    os.umask(_OTHERS)


def tighten(folder: Path) -> int:
    """Close a data directory and all that the service made in it to other users; the number of
    entries that were open. No link is followed, and what another user owns is left. A folder in
    which everybody may make files (as /tmp) stays open itself. O(files)."""
    top = os.open(folder.resolve(), os.O_RDONLY | os.O_DIRECTORY)
    try:
        shared = bool(os.fstat(top).st_mode & stat.S_ISVTX)
        n_open = 0 if shared else _close(top)
        for name in OWN:
            n_open += sum(_closed(top, name))
        return n_open
    finally:
        os.close(top)


def _closed(above: int, name: str) -> Iterator[int]:
    """1 for each entry that was open, at `name` in the folder `above` and below; else 0."""
    with suppress(OSError):
        facts = os.stat(name, dir_fd=above, follow_symlinks=False)
        if stat.S_ISDIR(facts.st_mode):
            for _, _, names, number in os.fwalk(name, dir_fd=above, follow_symlinks=False):
                yield _close(number)
                for each in names:
                    yield _closed_file(number, each)
        else:
            yield _closed_file(above, name)


def _closed_file(above: int, name: str) -> int:
    """1 where a plain file was open to others and is closed now. Links and sockets are left: those
    lie in closed folders."""
    with suppress(OSError):
        facts = os.stat(name, dir_fd=above, follow_symlinks=False)
        if stat.S_ISREG(facts.st_mode) and facts.st_mode & _OTHERS:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            number = os.open(name, flags, dir_fd=above)
            try:
                return _close(number)
            finally:
                os.close(number)
    return 0


def _close(number: int) -> int:
    facts = os.fstat(number)
    if facts.st_uid != os.geteuid() or not facts.st_mode & _OTHERS:
        return 0
    os.fchmod(number, stat.S_IMODE(facts.st_mode) & ~_OTHERS)
    return 1

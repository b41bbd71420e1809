"""Compiled code at the start of a process: where it is kept, who compiles it, how that is shown.

A template that finds numba's cache cold says so to its worker by a file, which is there as long as
it compiles; of several processes with one cache, one compiles and the others wait for it.
"""

from __future__ import annotations

import fcntl
import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import models

COMPILING = "compiling, about a minute, once"
"""What is shown while a worker compiles what its first jobs need."""

NEWS = "UMBEL_TEMPLATE_NEWS"
"""The variable with the path of the file that a template makes while it compiles."""

_FOLDER = "NUMBA_CACHE_DIR"
_LOCK = "compiling.lock"

_WAIT_S = 300.0
"""How long a process waits for another one that compiles the same, before it compiles, too."""

_AGAIN_S = 0.2


def keep_in(environment: MutableMapping[str, str], scratch: Path) -> str | None:
    """Let processes with this environment keep compiled code, which numba must be able to do.

    Where it can do so neither beside the source nor in the user's cache, it gets a folder in
    `scratch`, or if that has another owner a temporary one; the line that says so, else None.
    """
    if keeps_as_usual(environment):
        return None
    folder = scratch.absolute() / "compiled"
    if not _made(folder):
        folder = Path(tempfile.mkdtemp(prefix="umbel-compiled-"))
    environment[_FOLDER] = str(folder)
    return (
        f"compiled code is kept in {folder}: neither the folder of the source nor the user's cache "
        "can be written"
    )


def keeps_as_usual(environment: Mapping[str, str]) -> bool:
    """Whether `keep_in` has nothing to do."""
    return any(_writable(Path(folder)) for folder in _usual(environment))


def _usual(environment: Mapping[str, str]) -> Iterator[Path]:
    """The folders that numba tries, in its order."""
    if folder := environment.get(_FOLDER):
        yield Path(folder)
    yield Path(next(iter(models.__path__))) / "tree"
    home = Path(environment.get("HOME") or Path.home())
    if sys.platform == "darwin":
        yield home / "Library" / "Caches" / "numba"
    else:
        yield Path(environment.get("XDG_CACHE_HOME") or home / ".cache") / "numba"


def _writable(folder: Path) -> bool:
    """Whether files can be made in a folder, or in one that is made there."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _made(folder: Path) -> bool:
    """Make a folder that no other user may write: what is read from it is executed."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.stat()
    except OSError:
        return False
    others = state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return state.st_uid == os.geteuid() and not others and _writable(folder)


@contextmanager
def alone(news: Path | None = None, tell: Callable[[], object] | None = None) -> Iterator[None]:
    """Before the first function is compiled within, wait until no other process compiles so.

    news : a file that is there from then on until the end. tell : is called once before that wait.
    """
    from models.running.loops import watched

    with ExitStack() as stack:
        begun = False
        if news is not None:
            # Even where an earlier process has left it.
            stack.callback(news.unlink, missing_ok=True)

        def begin(function: Any) -> None:
            nonlocal begun
            if begun:
                return
            begun = True
            if news is not None:
                with suppress(OSError):
                    news.touch(mode=0o600)
            if tell is not None:
                tell()
            # None where the function is one that is not kept.
            if (folder := function.stats.cache_path) is not None:
                _wait_for(stack.enter_context((Path(folder) / _LOCK).open("a")))

        stack.enter_context(watched(begin))
        yield


def _wait_for(lock: IO[str]) -> None:
    until = time.monotonic() + _WAIT_S
    while time.monotonic() < until:
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(_AGAIN_S)

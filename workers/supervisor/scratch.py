"""The folder of one process in which attempts and pieces are written first."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
from pathlib import Path

from workers.processes import FolderInUse, FolderLock


def folder_of(job_id: str, fence: str) -> str:
    """The name of the folder of an attempt."""
    return f"{job_id}-{fence}"


def attempt_of(folder: str) -> tuple[str, str]:
    """The job and the fence of the attempt that has the folder of that name."""
    job_id, _, fence = folder.partition("-")
    return job_id, fence


def own_scratch(root: Path) -> tuple[Path, FolderLock, list[tuple[str, str]]]:
    """A folder for this process alone; folders of processes that are gone are removed, and the jobs
    and fences of the attempts in them returned. The kernel holds the lock of one that is stopped.

    One process does this at a time, since a new folder that is not yet locked would look abandoned.
    """
    root.mkdir(parents=True, exist_ok=True)
    with (root / "lock").open("w") as door:
        fcntl.flock(door, fcntl.LOCK_EX)
        left = _cleared(root)
        own = root / f"w-{os.getpid()}-{secrets.token_hex(4)}"
        return own, FolderLock(own), left


def left_by_dead(root: Path) -> list[tuple[str, str]]:
    """As `own_scratch`, for a process that has its folder, or needs none: so the jobs of a worker
    that dies wait neither for their lease nor for the worker's restart.

    Waits for no other process: empty where one looks just now.
    """
    try:
        door = (root / "lock").open("r+")
    except OSError:
        return []
    with door:
        try:
            fcntl.flock(door, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return []
        return _cleared(root)


def _cleared(root: Path) -> list[tuple[str, str]]:
    """Remove the folders of dead processes; the jobs and fences of the attempts in them."""
    left = []
    for other in root.glob("w-*"):
        with contextlib.suppress(FolderInUse, OSError), FolderLock(other):
            left += [attempt_of(folder.name) for folder in other.glob("*_*-*")]
            shutil.rmtree(other, ignore_errors=True)
    return left

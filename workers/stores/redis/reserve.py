"""Room that is kept free on the disk of an embedded server, for removals when that is full.

Redis writes down also what is removed, and refuses that too where it cannot. So `umbel serve` keeps
a file beside the server's data; who removes something gives it up, and it is made again once there
is plenty of room.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import redis

from workers.stores.redis.client import translated

NAME = "umbel-reserve"
BYTES = 1 << 20
_PLENTY = 16 * BYTES


def release(client: redis.Redis) -> bool:
    """Give the reserve of the server up; False where it has none, as one on another machine."""
    with translated():
        folder = client.config_get("dir").get("dir")
    if not folder:
        return False
    try:
        (Path(folder) / NAME).unlink()
    except OSError:
        return False
    return True


def keep(folder: Path) -> bool:
    """Make the reserve in the server's folder if it is not there and there is plenty of room;
    whether it is there."""
    path = folder / NAME
    if path.exists():
        return True
    facts = os.statvfs(folder)
    if facts.f_bavail * facts.f_frsize < _PLENTY:
        return False
    try:
        number = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except OSError:
        return False
    try:
        # Random bytes: a file system that compresses would keep no room for zeros.
        os.write(number, os.urandom(BYTES))
    except OSError:
        with suppress(OSError):
            path.unlink()
        return False
    finally:
        os.close(number)
    return True

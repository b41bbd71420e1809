"""The heap of a process of the API: what was freed goes back to the system."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
_MAPPED_BYTES = 128 << 10


def return_what_is_freed() -> None:
    """Call before threads start and before Arrow is imported.

    With glibc: two arenas instead of eight a core, since each thread that has once made a piece of
    a response otherwise leaves holes in one of them; and memory of 128 KiB or more is always
    mapped, where glibc would keep up to 32 MiB after the first is freed. Elsewhere nothing is done
    there. Arrow gets its memory from this heap, unless the environment says otherwise: its usual
    allocator keeps what threads have freed.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_ARENA_MAX, 2)
        mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES)

"""The memory that this process may still use, and the refusal of jobs that need more."""

from __future__ import annotations

import resource

import psutil

from models.errors import UsageError

USABLE = 0.9
"""Largest share of the available memory that an estimate may take."""


def available() -> int:
    """The free bytes of the machine, within the limit of the process."""
    n_bytes = int(psutil.virtual_memory().available)
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        n_bytes = min(n_bytes, max(0, limit - int(psutil.Process().memory_info().vms)))
    return n_bytes


def require(method: str, needed: int, advice: str, room: int | None = None) -> None:
    """Raises UsageError if an estimate of `needed` bytes does not fit.

    method, advice : for the message: the method's id, and what to use instead.
    room : available bytes; None: those available now.
    """
    if room is None:
        room = available()
    if needed > USABLE * room:
        raise UsageError(
            f"Method {method!r} would need about {needed / 2**30:.1f} GiB for these inputs; a job "
            f"has {room / 2**30:.1f} GiB. {advice}".rstrip(),
            code="too-large",
        )

"""Room for what `Method.check_size` cannot know before inputs are read."""

from __future__ import annotations

from models import memory
from models.errors import UsageError


def require_room(method: str, needed: int, advice: str) -> None:
    """UsageError where so many bytes are not left, in the words of `Method.check_size`."""
    room = memory.left()
    if needed > 0.9 * room:
        raise UsageError(
            f"Method {method!r} would need about {needed / 2**30:.1f} GiB for these inputs; a job "
            f"has {room / 2**30:.1f} GiB. {advice}",
            code="too-large",
        )

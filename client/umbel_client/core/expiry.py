"""When a thing that the service keeps may be removed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TypeAlias

from umbel_client.errors import InputError

Expiry: TypeAlias = datetime | str | None
"""A time with its offset, as a datetime or in RFC 3339; None: the thing stays."""


def expiry(when: Expiry) -> str | None:
    """The time as the service takes it. Raises InputError for a datetime without its offset."""
    if not isinstance(when, datetime):
        return when
    if when.utcoffset() is None:
        raise InputError(
            "expires_at", f"{when.isoformat()} has no offset; give one, such as datetime.UTC."
        )
    return when.astimezone(UTC).isoformat()

"""Opaque cursors of lists that are sorted by id.

A cursor is the id of the last item of a page, so it stays valid when items come and go.
"""

from __future__ import annotations

import base64
import binascii

from models.errors import UsageError


def encode(last_id: str) -> str:
    return base64.urlsafe_b64encode(last_id.encode()).decode().rstrip("=")


def decode(cursor: str) -> str:
    """The id in a cursor. Raises UsageError `bad-cursor` for what `encode` does not give."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        last_id = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
    except (ValueError, binascii.Error) as error:
        raise bad_cursor() from error
    if not last_id or encode(last_id) != cursor or not last_id.replace("_", "").isalnum():
        raise bad_cursor()
    return last_id


def bad_cursor() -> UsageError:
    return UsageError(
        "This cursor is not of this list with these filters and this sort; leave it out to start "
        "at the first page, then use `next_cursor` of the answer.",
        code="bad-cursor",
        parameter="cursor",
    )

"""Witnesses: what shows that an object is lost to which nothing else refers.

The mark of the store's format and the secret of webhooks are single objects that a start, or the
first webhook, makes again where they are not there: so their loss would go unnoticed, and webhooks
would be signed by another secret from then on. `service/made/<name>` says that the object was made,
and its SHA-256.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress

from pydantic import BaseModel, ConfigDict

from workers.errors import AlreadyThere
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.layout import FORMAT_MARK, WEBHOOK_ROOT, WITNESSES
from workers.stores.objects.seals import sealed

WITNESSED = (FORMAT_MARK, WEBHOOK_ROOT)


class Witness(BaseModel):
    """sha256 : of the object as it was stored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    sha256: str


def witness_of(key: str) -> str:
    """The key of an object's witness."""
    return f"{WITNESSES}{key.rpartition('/')[2]}"


def note_made(blobs: Blobs, key: str, content: bytes, *, again: bool = False) -> None:
    """Store the witness of an object that is stored, if it has none. again : replace another one,
    since the object was replaced."""
    own = witness_of(key)
    digest = hashlib.sha256(content).hexdigest()
    if blobs.size(own) is not None and not again:
        return
    data = sealed(own, Witness(sha256=digest).model_dump_json().encode())
    with suppress(AlreadyThere):
        blobs.put(own, data, create=not again)

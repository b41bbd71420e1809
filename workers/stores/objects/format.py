"""The format of a store, marked in the store itself, so that no older version works on a newer one.

`service/format` says which format the newest version has written that has worked on the store. A
store without it is of format 1, which the first versions wrote without a mark. Raise `FORMAT` where
an older version would misread what is written, and say in the changelog how to upgrade.
"""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from importlib.metadata import version

from workers.errors import AlreadyThere, Damaged, FatalError, Missing, TransientError
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.layout import FORMAT_MARK
from workers.stores.objects.seals import read_sealed, sealed
from workers.stores.objects.witnesses import note_made, witness_of

FORMAT = 1


class UnreadableMark(FatalError):
    """The mark is not what a version of Umbel wrote."""

    def __init__(self) -> None:
        super().__init__(f"The store's mark {FORMAT_MARK} cannot be read; is it a store of Umbel?")


_log = logging.getLogger(__name__)


def require_readable(blobs: Blobs) -> None:
    """Raises FatalError, whose text is for the operator, if a newer version wrote the store, or the
    mark cannot be read."""
    _require_readable(_mark(blobs))


def open_store(blobs: Blobs) -> None:
    """As `require_readable` and `Blobs.require_usable`, and mark the store if it has no mark or
    that of an older version.

    Called when a process starts; a store that does not answer then is checked when it is read.
    """
    try:
        blobs.require_usable()
        mark = _mark(blobs)
        _require_readable(mark)
        if mark is None or _format_of(mark) < FORMAT:
            written = {"format": FORMAT, "version": version("umbel")}
            content = sealed(FORMAT_MARK, json.dumps(written).encode())
            with suppress(AlreadyThere):
                blobs.put(FORMAT_MARK, content, create=mark is None)
            # That of another process, where it was faster.
            note_made(blobs, FORMAT_MARK, blobs.get(FORMAT_MARK), again=True)
        elif blobs.size(witness_of(FORMAT_MARK)) is None:
            note_made(blobs, FORMAT_MARK, blobs.get(FORMAT_MARK))
    except TransientError as error:
        _log.warning("the store's format is checked later: %s", error)


def _mark(blobs: Blobs) -> bytes | None:
    try:
        return read_sealed(blobs, FORMAT_MARK)
    except Missing:
        return None
    except Damaged as error:
        raise UnreadableMark from error


def _require_readable(mark: bytes | None) -> None:
    own = 1 if mark is None else _format_of(mark)
    if own > FORMAT:
        raise FatalError(
            f"The store was written by a newer version of Umbel: it has format {own}, and this "
            f"version ({version('umbel')}) reads formats up to {FORMAT}. Install the newer "
            "version, or restore a backup from before the upgrade."
        )


def _format_of(mark: bytes) -> int:
    try:
        own = json.loads(mark)["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        own = None
    if not isinstance(own, int) or own < 1:
        raise UnreadableMark
    return own

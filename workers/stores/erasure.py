"""Removes a job from the store and from Redis, in an order that is safe to interrupt anywhere."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress

from workers.errors import StoreFull, TransientError
from workers.model import sibling
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.job_files import REQUEST
from workers.stores.redis.records import Records
from workers.stores.redis.reserve import release

ROOM_S = 5.0
"""The embedded server looks for room every second."""

_PAUSE_S = 0.25
_log = logging.getLogger(__name__)


def erase_job(blobs: Blobs, records: Records, tenant: str, job_id: str) -> None:
    """Remove an ended job with its tree, model and files.

    The request is removed first: from then on a rebuild removes the rest instead of restoring the
    job. While the record exists the removal can be repeated.
    """
    blobs.delete(layout.job(tenant, job_id, REQUEST))
    drop_and_remove(
        lambda: records.drop(job_id),
        lambda: erase_files(blobs, tenant, job_id),
        lambda: records.removals.note(tenant, job_id),
        lambda: release(records.client),
    )


def forget_job(blobs: Blobs, records: Records, tenant: str, job_id: str) -> None:
    """Complete in Redis what `erase_job` did in the store, or remove a refused submission; and what
    an attempt has stored since. Raises StoreFull where Redis still refuses."""
    blobs.delete(layout.job(tenant, job_id, REQUEST))
    records.drop(job_id)
    erase_files(blobs, tenant, job_id)


def drop_and_remove(
    drop: Callable[[], object],
    remove: Callable[[], None],
    note: Callable[[], None],
    make_room: Callable[[], object] = lambda: None,
) -> None:
    """Take something out of Redis, then out of the store.

    Where Redis has no room even for that, `note` says in the store that it is gone (see
    `Removals`), and Redis's reserve is given up (`make_room`), so that it soon finds the room.
    Where the store has no room for the note, it is repeated after the removal has made some, and
    else Redis gets a few seconds.

    Raises StoreFull if neither has any; what is in the store is gone by then.
    """
    try:
        drop()
    except StoreFull:
        noted = _done(note)
        remove()
        noted = noted or _done(note)
        with suppress(TransientError):
            make_room()
        if noted:
            return
        until = time.monotonic() + ROOM_S
        while True:
            with suppress(StoreFull):
                drop()
                return
            if time.monotonic() > until:
                drop()
                return
            time.sleep(_PAUSE_S)
    remove()


def _done(note: Callable[[], None]) -> bool:
    try:
        note()
    except StoreFull:
        return False
    return True


def counted_later(count: Callable[[], object]) -> None:
    """Count what is left after a removal. Where Redis has no room for that, what was removed stays
    counted until the next change beside it, or the next rebuild: the removal itself is done."""
    try:
        count()
    except StoreFull as error:
        _log.warning("what was removed stays counted for now: %s", error)


def erase_files(blobs: Blobs, tenant: str, job_id: str) -> None:
    """Remove everything of a job from the store."""
    blobs.delete_under(layout.shares_of(sibling(job_id, "tr")))
    blobs.delete_under(layout.attempts(tenant, job_id))
    blobs.delete_under(layout.checkpoints(tenant, job_id))
    blobs.delete(layout.open_marker(tenant, job_id))
    blobs.delete_under(layout.job(tenant, job_id))

"""The three kinds of error that cross the queue, and the problem each becomes.

The user's (`models.errors.UsageError`): failed for good, shown unchanged. Transient
(`TransientError`): the attempt is given back and tried again, at most `max_attempts` times. Ours
(everything else): failed for good when raised in the job's process, given back like a passing one
when raised in the worker around it; the user sees that it was ours and the request id, the log has
the traceback.
"""

from __future__ import annotations

import errno
from typing import Any

from models.errors import UsageError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The numbers of an OSError for a full disk."""

NO_MEMORY, NO_DISK = "Redis has no memory left", "Redis cannot write to its disk"
"""What `StoreFull` says of Redis."""

COMPARING = "comparing records with the store"
"""Why Redis gives no lists yet, after it has lost data or was started anew."""

Problem = dict[str, Any]
"""A problem of RFC 9457 as plain JSON: type, title, status, detail, then further members."""


class TransientError(Exception):
    """A condition that may pass: a store that does not answer, a full disk, a killed helper."""


class NoProcess(TransientError):
    """No process can be started for the job, which is not to blame."""


class FatalError(Exception):
    """A job's process did what none of ours does: its result or its request cannot be used."""


class NotReached(TransientError):
    """What the operator has set for the job, as an embedder, does not answer now. The message, a
    sentence, is for users."""


class StoreUnavailable(TransientError):
    """Redis or the object store cannot be reached."""


class Rebuilding(StoreUnavailable):
    """Redis has started or lost its data, and its records are being compared with the store. Its
    message says how far that is."""


class StoreFull(TransientError):
    """Redis or the object store has no room left."""


class OverLimit(Exception):
    """A request would use more than its tenant, or its key, may.

    whose : "tenant" or "key". what : a limit of `workers.settings.Limits`. used : now, with what is
    being uploaded.
    """

    def __init__(self, whose: str, what: str, used: int, limit: int) -> None:
        super().__init__(f"{whose} uses {used} of {limit} {what}")
        self.whose = whose
        self.what = what
        self.used = used
        self.limit = limit


class AlreadyThere(Exception):
    """A create-only write found the key taken."""


class Damaged(Exception):
    """What is stored is not what was stored. key : of the object."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(f"{key} is damaged: {why}")
        self.key = key
        self.why = why


class Missing(KeyError):
    """A key that is not in the store."""


def problem(code: str, title: str, status: int, detail: str, **members: Any) -> Problem:
    """A problem of RFC 9457 with the type `/problems/<code>`."""
    return {
        "type": f"/problems/{code}",
        "title": title,
        "status": status,
        "detail": detail,
        **members,
    }


def worker_lost() -> Problem:
    """Why a job is tried again whose worker ended, or was not heard of any more."""
    return problem(
        "worker-lost",
        "The job lost its worker",
        500,
        "The worker ended, or was not heard of for longer than it may be silent.",
    )


def worker_stopping() -> Problem:
    """Why a job is tried again whose worker was stopped by its operator."""
    return problem(
        "worker-stopping", "The worker was stopped", 503, "The worker stopped before the job ended."
    )


def made_room() -> Problem:
    """Why a job is tried again that made room for shorter ones."""
    return problem(
        "made-room",
        "The job made room for shorter ones",
        503,
        "Shorter jobs waited. The job goes on from its last checkpoint, if it has one.",
    )


def process_lost(error: BaseException) -> Problem:
    """Why a job is tried again whose process ended, could not be started, or was not understood."""
    how = str(error)
    detail = f"{how[:1].upper()}{how[1:]}."
    return problem("process-lost", "The process of the job was lost", 500, detail)


def problem_of(error: BaseException) -> Problem:
    """The problem of a job that failed with `error`, without internal details."""
    if isinstance(error, UsageError):
        where = {"where": error.where} if error.where else {}
        return problem(error.code, "The input cannot be used", 422, error.detail, **where)
    if isinstance(error, MemoryError):
        return problem(
            "out-of-memory",
            "The job needs more memory than a worker may use",
            422,
            "The job ran out of the memory that a worker may use. Use fewer points or features, or "
            "a method that scales.",
        )
    if isinstance(error, Damaged):
        return problem(
            "damaged",
            "What is stored is damaged",
            500,
            f"The object {error.key} in the store is not what was stored: {error.why}. Nothing was "
            "made from it. Upload the data again or repeat the job that made it, or let the "
            "operator restore a backup.",
            where={"object": error.key},
        )
    if isinstance(error, StoreFull):
        return problem(
            "full", "No room left", 507, "There is no room left where the job writes its result."
        )
    if isinstance(error, TransientError):
        why = str(error) if isinstance(error, NotReached) else "A store did not answer."
        return problem("unavailable", "Something the job needs is away", 503, why)
    return problem(
        "internal", "Something went wrong on our side", 500, "The job failed by a fault of ours."
    )

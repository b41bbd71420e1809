"""A job as clients see it: in the API's answers and in webhooks."""

from __future__ import annotations

from typing import Any

from workers.kinds.registry import kind_of
from workers.model import Record

_INTERNAL = {"tenant", "queue", "version", "submitted", "trace", "tree"}


def public(record: Record) -> dict[str, Any]:
    """The job as plain JSON; links replace what the worker recorded of its files."""
    job = record.model_dump(mode="json", exclude=_INTERNAL)
    job |= job.pop("retrying")
    if record.result is not None:
        job["result"] = kind_of(record.kind).shown(record.id, record.result)
    return job

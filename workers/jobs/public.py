"""A job as it is shown: by the API, and in what webhooks carry."""

from __future__ import annotations

from typing import Any

from workers.model import Record

_INNER = {"tenant", "queue", "version"}


def shown(record: Record) -> dict[str, Any]:
    """The job as plain JSON; links take the place of what the worker says of its files."""
    found = record.model_dump(mode="json", exclude=_INNER)
    result = record.result
    if record.kind == "predict" and result is not None:
        found["result"] = {**result, "predictions": f"/v1/jobs/{record.id}/predictions"}
    if record.kind == "evaluate" and "nodes" in (result or {}):
        found["result"] = {**(result or {}), "nodes": f"/v1/jobs/{record.id}/nodes"}
    return found

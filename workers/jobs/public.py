"""A job as clients see it: in the API's answers and in webhooks."""

from __future__ import annotations

from typing import Any

from workers.model import Record, sibling

_INTERNAL = {"tenant", "queue", "version", "submitted", "trace", "tree"}


def public(record: Record) -> dict[str, Any]:
    """The job as plain JSON; links replace what the worker recorded of its files."""
    job = record.model_dump(mode="json", exclude=_INTERNAL)
    result = record.result
    if record.kind == "predict" and result is not None:
        job["result"] = {**result, "predictions": f"/v1/jobs/{record.id}/predictions"}
    if record.kind == "calibrate" and result is not None:
        job["result"] = {**result, "calibration": sibling(record.id, "cal")}
    if record.kind == "drift" and result is not None:
        n_moves = result["drift"]["n_moves"]
        job["result"] = {**result, "drift": sibling(record.id, "dr"), "n_moves": n_moves}
    if record.kind == "map" and result is not None:
        job["result"] = {**result, "map": sibling(record.id, "map")}
    if record.kind == "heatmap" and result is not None:
        job["result"] = {**result, "heatmap": sibling(record.id, "hm")}
    if record.kind == "name" and result is not None:
        job["result"] = {**result, "naming": sibling(record.id, "nm")}
    if record.kind == "attach" and result is not None:
        job["result"] = {**result, "attachment": sibling(record.id, "at")}
    if record.kind == "evaluate" and "nodes" in (result or {}):
        job["result"] = {**(result or {}), "nodes": f"/v1/jobs/{record.id}/nodes"}
    if record.kind == "evaluate" and "tables" in (result or {}):
        job["result"] = {**(result or {}), "tables": f"/v1/jobs/{record.id}/tables"}
    return job

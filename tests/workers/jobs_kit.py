"""Requests and results for tests of the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workers.assembly import Assembly
from workers.model import Claim, End, Request, new_id, now, sibling
from workers.settings import WorkerSettings

Sent = list[tuple[str, str]]
"""Hints that were sent: (queue, job id)."""

TREE_FACTS = {
    "method": "hac",
    "kind": "hierarchy",
    "n_points": 2,
    "n_nodes": 3,
    "n_leaves": 2,
    "max_depth": 1,
    "monotone": True,
    "name": "a tree",
}


def request(tenant: str = "ada", **changed: Any) -> Request:
    fields: dict[str, Any] = {
        "id": new_id("job"),
        "tenant": tenant,
        "kind": "fit",
        "method": "hac",
        "inputs": {"features": "inline"},
        "params": {"linkage": "average"},
        "created_at": now(),
    }
    return Request(**fields | changed)


def end(claim: Claim, status: str = "succeeded", **changed: Any) -> End:
    job_id = claim.request.id
    fields: dict[str, Any] = {
        "job": job_id,
        "status": status,
        "attempt": claim.attempt,
        "fence": claim.fence,
        "started_at": claim.started_at,
        "finished_at": now(),
    }
    if status == "succeeded":
        result = {"tree": sibling(job_id, "tr"), "model": None, "metrics": {"height": 1.5}}
        fields |= {"result": result, "tree": TREE_FACTS, "warnings": ("odd",)}
    return End(**fields | changed)


def result_folder(folder: Path, text: str = "columns") -> Path:
    """A folder with result files."""
    folder.mkdir(parents=True)
    (folder / "tree.arrow").write_text(text)
    (folder / "leaf_of_point.npy").write_text(text)
    return folder


def due_now(assembly: Assembly, settings: WorkerSettings, job_id: str) -> None:
    """Make a job due for the next sweep."""
    assembly.redis.zadd(f"{settings.key_prefix}due", {job_id: 1})


def everything(assembly: Assembly) -> set[str]:
    """All keys of the object store."""
    return set(assembly.blobs.keys(""))

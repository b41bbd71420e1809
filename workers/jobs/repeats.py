"""A failed job again, under its old inputs: a new job, since an end is final."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workers.artifacts.datasets import Datasets
from workers.model import Request, new_id, now
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.job_files import read_request

_INLINE = "input."


def repeat_of(
    blobs: Blobs, tenant: str, job_id: str, **changed: Any
) -> tuple[Request, dict[str, bytes]]:
    """The request of a job once more, under a new id and one idempotency key for all repeats, so
    that a failed job is repeated once; and its inline inputs by role.

    changed : fields of who requests it. Missing where the job was deleted.
    """
    request = read_request(blobs, tenant, job_id)
    created_at = now()
    expires = request.expires_at if (request.expires_at or "") > created_at else None
    repeat = request.model_copy(
        update={
            "id": new_id("job"),
            "created_at": created_at,
            "expires_at": expires,
            "idempotency_key": f"retry\n{job_id}",
            "body_sha256": None,
            "retry_of": job_id,
            **changed,
        }
    )
    start = layout.job(tenant, job_id, _INLINE)
    folder = layout.job(tenant, job_id)
    keys = [key for key in blobs.keys(folder) if key.startswith(start)]
    return repeat, {key.removeprefix(start): blobs.get(key) for key in keys}


def lacking(request: Request, datasets: Datasets, has_job: Callable[[str], bool]) -> str | None:
    """The id of a dataset or job that it needs and that is gone; None: all are there."""
    for needed in request.needs:
        if needed.startswith("ds_"):
            there = datasets.get(request.tenant, needed) is not None
        else:
            there = has_job(needed)
        if not there:
            return needed
    return None

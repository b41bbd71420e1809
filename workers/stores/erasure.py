"""Removes a job from the store and from Redis, in an order that is safe to interrupt anywhere."""

from __future__ import annotations

from workers.model import sibling
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.job_files import REQUEST
from workers.stores.redis.records import Records


def erase_job(blobs: Blobs, records: Records, tenant: str, job_id: str) -> None:
    """Remove an ended job with its tree, model and files.

    The request is removed first: from then on a rebuild removes the rest instead of restoring the
    job. While the record exists the removal can be repeated.
    """
    blobs.delete(layout.job(tenant, job_id, REQUEST))
    records.drop(job_id)
    erase_files(blobs, tenant, job_id)


def erase_files(blobs: Blobs, tenant: str, job_id: str) -> None:
    """Remove everything of a job from the store."""
    blobs.delete_under(layout.shares_of(sibling(job_id, "tr")))
    blobs.delete_under(layout.attempts(tenant, job_id))
    blobs.delete_under(layout.checkpoints(tenant, job_id))
    blobs.delete(layout.open_marker(tenant, job_id))
    blobs.delete_under(layout.job(tenant, job_id))

"""Submissions that a process began and did not finish: the request is stored, the record missing;
those that were refused while the store refused to remove their objects; and what a late attempt
stored of a job that had ended.

Their clients got no response. A repeat with the same idempotency key, or else a sweep, finishes
such a submission: its job runs within a minute or never. It must not come to life when Redis is
rebuilt, perhaps much later, when its client has long submitted another one.
"""

from __future__ import annotations

from collections.abc import Callable

from workers.jobs.finish import remove_other_attempts
from workers.jobs.rebuild import Rebuild, age_s, batches
from workers.model import ENDED, Record, made_at
from workers.stores.erasure import erase_files
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.job_files import read_end
from workers.stores.redis.records import Records
from workers.stores.redis.seen import seen_for

SUBMISSION_S = 30.0
"""A submission takes less, or is refused: an older one without a record was refused, or belongs to
a process that died."""

EVERY_S = 10.0
"""How often one of all processes looks at the open markers."""


class Interrupted:
    """Finishes interrupted submissions. Threads may share it. hint : as for `Intake`."""

    def __init__(
        self, blobs: Blobs, records: Records, rebuild: Rebuild, hint: Callable[[str, str], None]
    ) -> None:
        self._blobs = blobs
        self._records = records
        self._rebuild = rebuild
        self._hint = hint

    def finish(self, tenant: str, job_id: str) -> Record | None:
        """The record of a job whose submission is finished now, or was before.

        None if the store does not have the whole request, or the submission was refused: then the
        job never runs. Call this only if the process that began it is known to be dead.
        """
        if self._rebuild.restore_job(tenant, job_id, answered=False):
            record = self._records.get(job_id)
            if record is not None:
                self._hint(record.queue, job_id)
        return self._records.get(job_id)

    def sweep(self) -> int:
        """Finish what has had no record for `SUBMISSION_S`; returns the number of jobs.

        One of all processes does this every `EVERY_S`. It lists the open markers: one for each job
        that has not ended. The time is that since a sweep saw it first: by its id, which has the
        clock of the process that made it, one that goes on could seem interrupted.
        """
        if not self._records.only_one("interrupted", EVERY_S):
            return 0
        without: list[str] = []
        for jobs in batches(layout.parts(self._blobs.keys("open/"), 2)):
            statuses = self._records.statuses(job_id for _, job_id in jobs)
            for (tenant, job_id), status in zip(jobs, statuses, strict=True):
                if status is None:
                    without.append(f"{tenant}/{job_id}")
                elif status in ENDED and age_s(made_at(job_id)) > SUBMISSION_S:
                    # The process that ended it died before it removed the marker.
                    self._rebuild.close(tenant, job_id)
        n_finished = 0
        records = self._records
        for own, age in seen_for(records.client, records.prefix, "open", without).items():
            tenant, _, job_id = own.partition("/")
            if age <= SUBMISSION_S:
                continue
            if self.finish(tenant, job_id) is not None:
                n_finished += 1
            else:
                # What is left where a process died, or a write was late, as the submission
                # was taken back or the job deleted.
                self._rebuild.close(tenant, job_id)
        self.clear()
        return n_finished

    def clear(self) -> None:
        """Remove the objects of refused submissions, as far as the store allows it by now, and what
        attempts stored after the end of their job."""
        left = self._records.left(SUBMISSION_S)
        statuses = self._records.statuses(job_id for _, job_id in left)
        for (tenant, job_id), status in zip(left, statuses, strict=True):
            end = read_end(self._blobs, tenant, job_id)
            if end is not None and end.status != "rejected":
                remove_other_attempts(self._blobs, tenant, job_id, end.fence)
            # One that has a record runs after all: its open marker was stored, and found.
            elif status is None:
                self._blobs.delete(layout.open_marker(tenant, job_id))
                erase_files(self._blobs, tenant, job_id)
            self._records.forget_left(tenant, job_id)

"""Jobs that nobody works on: lost leases, lost hints, cancels that had no effect."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from workers.errors import Damaged, TransientError
from workers.jobs.finish import Endings
from workers.settings import WorkerSettings
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.job_files import read_end
from workers.stores.redis.records import Due, Records

Waiting = Callable[[str], int]
"""waiting(queue): number of hints on the queue."""

AT_ONCE = 100

BACK_S = 5.0
"""How long after this process has found Redis away no lease counts as lost: the heartbeats of
workers that live arrive first."""
_log = logging.getLogger(__name__)


class Sweeper:
    """Handles due jobs.

    Any number of sweepers may run at once: one script hands out a job and sets when it is due
    again. The hint of a queued job is sent again only while its queue has fewer hints than queued
    jobs, so that a long queue does not fill up with duplicates.
    """

    def __init__(
        self,
        blobs: Blobs,
        records: Records,
        endings: Endings,
        settings: WorkerSettings,
        hint: Callable[[str, str], None],
        waiting: Waiting,
    ) -> None:
        self._blobs = blobs
        self._records = records
        self._endings = endings
        self._settings = settings
        self._hint = hint
        self._waiting = waiting
        self._away_at = -BACK_S

    def sweep(self) -> int:
        """See `Ledger.sweep`."""
        n_taken = 0
        missing: dict[str, int] = {}
        while True:
            try:
                due = self._records.due(AT_ONCE)
            except TransientError:
                self._away_at = time.monotonic()
                raise
            for job in due:
                try:
                    self._attend(job, missing)
                except TransientError as error:
                    _log.warning("job %s is handled later: %s", job.job, error)
                except Damaged as error:
                    _log.error("job %s cannot go on: %s", job.job, error)
            n_taken += len(due)
            if len(due) < AT_ONCE:
                return n_taken

    def _attend(self, due: Due, missing: dict[str, int]) -> None:
        """missing : for each queue the number of missing hints; filled in here."""
        if due.action == "send":
            # If the job has ended, the claim will find out.
            if self._lacks_hint(due.queue, missing):
                self._hint(due.queue, due.job)
            return
        if due.action == "lapsed" and time.monotonic() < self._away_at + BACK_S:
            # While Redis was away no worker could renew its lease. It is due again soon.
            return
        end = read_end(self._blobs, due.tenant, due.job)
        if end is not None:
            self._endings.settle(due.tenant, due.job, end)
        elif due.action == "cancel":
            self._endings.conclude(due.tenant, due.job, "cancelled")
        else:
            self._requeue(due.tenant, due.job, due.queue, due.fence, lapsed=True)

    def process_died(self, job_id: str, fence: str) -> None:
        """Requeue a job, before its lease ends, whose worker is known to be dead."""
        record = self._records.get(job_id)
        if record is None or record.status != "running":
            return
        end = read_end(self._blobs, record.tenant, job_id)
        if end is not None:
            self._endings.settle(record.tenant, job_id, end)
        else:
            self._requeue(record.tenant, job_id, record.queue, fence, lapsed=False)

    def _requeue(self, tenant: str, job_id: str, queue: str, fence: str, *, lapsed: bool) -> None:
        """End the attempt of a lost worker; nothing happens where the fence is of another one."""
        outcome = self._records.release(
            job_id,
            fence,
            spend=True,
            due_s=self._settings.resend_s,
            lapsed=lapsed,
            dead=not lapsed,
        )
        if outcome == "queued":
            self._hint(queue, job_id)
        self._endings.after_release(tenant, job_id, outcome)

    def _lacks_hint(self, queue: str, missing: dict[str, int]) -> bool:
        if queue not in missing:
            missing[queue] = self._records.queued().get(queue, 0) - self._waiting(queue)
        missing[queue] -= 1
        return missing[queue] >= 0

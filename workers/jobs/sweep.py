"""Jobs that nobody works on: lost leases, lost hints, cancels that had no effect."""

from __future__ import annotations

import logging
from collections.abc import Callable

from workers.errors import TransientError
from workers.jobs.finish import Endings
from workers.settings import WorkerSettings
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.job_files import read_end
from workers.stores.redis.records import Due, Records

Waiting = Callable[[str], int]
"""waiting(queue): number of hints on the queue."""

AT_ONCE = 100
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

    def sweep(self) -> int:
        """See `Ledger.sweep`."""
        n_taken = 0
        missing: dict[str, int] = {}
        while True:
            due = self._records.due(AT_ONCE)
            for job in due:
                try:
                    self._attend(job, missing)
                except TransientError as error:
                    _log.warning("job %s is handled later: %s", job.job, error)
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
        end = read_end(self._blobs, due.tenant, due.job)
        if end is not None:
            self._endings.settle(due.tenant, due.job, end)
        elif due.action == "cancel":
            self._endings.conclude(due.tenant, due.job, "cancelled")
        else:
            outcome = self._records.release(
                due.job,
                due.fence,
                spend=True,
                due_s=self._settings.resend_s,
                lapsed=True,
            )
            if outcome == "queued":
                self._hint(due.queue, due.job)
            self._endings.after_release(due.tenant, due.job, outcome)

    def _lacks_hint(self, queue: str, missing: dict[str, int]) -> bool:
        if queue not in missing:
            missing[queue] = self._records.queued().get(queue, 0) - self._waiting(queue)
        missing[queue] -= 1
        return missing[queue] >= 0

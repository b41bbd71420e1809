"""Looking after jobs that nobody looks after: lost leases, lost hints, cancels not obeyed."""

from __future__ import annotations

import logging
from collections.abc import Callable

from workers.errors import TransientError
from workers.jobs.finish import Endings
from workers.settings import WorkerSettings
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.jobs import read_end
from workers.stores.redis.records import Due, Records

Waiting = Callable[[str], int]
"""waiting(queue): number of hints that lie on the queue."""

AT_ONCE = 100
_log = logging.getLogger(__name__)


class Sweeper:
    """Takes what is due. Any number may run: a script hands out and re-scores in one step.

    A queued job is sent again only while fewer hints lie on its queue than jobs are queued for it,
    so that a long queue does not fill up with doubles.
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
        taken = 0
        lacking: dict[str, int] = {}
        while True:
            due = self._records.due(AT_ONCE)
            for job in due:
                try:
                    self._attend(job, lacking)
                except TransientError as error:
                    _log.warning("job %s is looked at again later: %s", job.job, error)
            taken += len(due)
            if len(due) < AT_ONCE:
                return taken

    def _attend(self, due: Due, lacking: dict[str, int]) -> None:
        if due.action == "send":
            # An end that is there already is found by the claim.
            if self._lacks(due.queue, lacking):
                self._hint(due.queue, due.job)
            return
        end = read_end(self._blobs, due.tenant, due.job)
        if end is not None:
            self._endings.settle(due.tenant, due.job, end)
        elif due.action == "cancel":
            self._endings.conclude(due.tenant, due.job, "cancelled")
        else:
            outcome = self._records.release(
                due.job, due.fence, spend=True, due_s=self._settings.resend_s, lapsed=True
            )
            if outcome == "queued":
                self._hint(due.queue, due.job)
            self._endings.after_release(due.tenant, due.job, outcome)

    def _lacks(self, queue: str, lacking: dict[str, int]) -> bool:
        if queue not in lacking:
            lacking[queue] = self._records.queued().get(queue, 0) - self._waiting(queue)
        lacking[queue] -= 1
        return lacking[queue] >= 0

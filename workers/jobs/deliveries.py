"""Which webhooks are to be sent, and what came of each: over Redis and the store.

A job whose request names a webhook owes it from its end until `webhook.json` lies in the store.
Nothing else is written for it: the end itself, by whatever road, makes it due in Redis, in the same
step that writes the end into the record, and a rebuild makes it due again unless `webhook.json` is
there. So it is sent at least once, whatever process dies, and once where none does.
"""

from __future__ import annotations

from collections.abc import Callable

from workers.errors import AlreadyThere, Missing
from workers.jobs.webhook_keys import Keys
from workers.model import Record, Sent
from workers.settings import WorkerSettings
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.jobs import REQUEST
from workers.stores.redis.hooks import Hooks, Taken
from workers.stores.redis.records import Records

WEBHOOK = "webhook.json"


def read_sent(blobs: Blobs, tenant: str, job_id: str) -> Sent | None:
    """What came of a job's webhook; None where it is still to be sent."""
    try:
        return Sent.model_validate_json(blobs.get(layout.job(tenant, job_id, WEBHOOK)))
    except Missing:
        return None


class Deliveries:
    """Threads may share it. on_due : called when a webhook becomes due by way of this process."""

    def __init__(self, blobs: Blobs, records: Records, settings: WorkerSettings) -> None:
        self._blobs = blobs
        self._records = records
        self._hooks = Hooks(records.client, settings)
        self.keys = Keys(blobs, settings)
        self.on_due: Callable[[], None] = lambda: None

    def take(self, token: str, limit: int, lease_s: float) -> list[Taken]:
        """Take what is due. See `Hooks.take`."""
        return self._hooks.take(token, limit, lease_s)

    def job_of(self, taken: Taken) -> Record | None:
        """The job whose webhook is to be sent; None where it was sent before or is gone."""
        sent = read_sent(self._blobs, taken.tenant, taken.job)
        if sent is not None:
            # By one whose word did not reach Redis, or before Redis lost it.
            self._write(taken, sent)
            return None
        record = self._records.get(taken.job)
        return record if record is not None and record.ended else None

    def end(self, taken: Taken, sent: Sent) -> None:
        """It was delivered, or is given up: into the store first, then into Redis."""
        key = layout.job(taken.tenant, taken.job, WEBHOOK)
        try:
            self._blobs.put(key, sent.model_dump_json().encode(), create=True)
        except AlreadyThere:
            sent = read_sent(self._blobs, taken.tenant, taken.job) or sent
        if self._write(taken, sent) == "gone" and self._deleted(taken):
            self._blobs.delete(key)

    def again(self, taken: Taken, after_s: float, reason: str) -> None:
        """It failed and is sent again after so long."""
        self._hooks.tell(
            taken, "pending", attempts=taken.attempts + 1, after_s=after_s, reason=reason
        )

    def give_back(self, taken: Taken, after_s: float = 0.0) -> None:
        """It was not sent, or nobody knows: due after so long, and the try does not count."""
        self._hooks.tell(taken, "pending", attempts=taken.attempts, after_s=after_s)

    def counts(self) -> dict[str, int]:
        """Number of jobs with a webhook by where that stands."""
        return self._hooks.counts()

    def _write(self, taken: Taken, sent: Sent) -> str:
        return self._hooks.tell(taken, sent.status, attempts=sent.attempts, reason=sent.reason)

    def _deleted(self, taken: Taken) -> bool:
        return self._blobs.size(layout.job(taken.tenant, taken.job, REQUEST)) is None

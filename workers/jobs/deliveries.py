"""Which webhooks are to be sent, and the result of each: over Redis and the store.

A job whose request names a webhook owes it from its end until `webhook.json` exists in the store.
Nothing else is written for it: the step that writes the end into the record also makes the webhook
due in Redis, and a rebuild makes it due again unless `webhook.json` exists. So it is sent at least
once, whichever process dies, and exactly once if none does.
"""

from __future__ import annotations

from collections.abc import Callable

from workers.errors import AlreadyThere, Missing
from workers.jobs.webhook_keys import WebhookKeys
from workers.model import Delivery, Record
from workers.settings import WorkerSettings
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.job_files import REQUEST
from workers.stores.objects.seals import read_model, sealed
from workers.stores.redis.records import Records
from workers.stores.redis.webhooks import WebhookLease, WebhookQueue

WEBHOOK = "webhook.json"


def read_delivery(blobs: Blobs, tenant: str, job_id: str) -> Delivery | None:
    """The result of a job's webhook; None while it is still to be sent."""
    try:
        return read_model(blobs, layout.job(tenant, job_id, WEBHOOK), Delivery)
    except Missing:
        return None


class Deliveries:
    """Webhooks to be sent, and their results. Threads may share it.

    on_due : called when this process has made a webhook due.
    """

    def __init__(self, blobs: Blobs, records: Records, settings: WorkerSettings) -> None:
        self._blobs = blobs
        self._records = records
        self._queue = WebhookQueue(records.client, settings)
        self.keys = WebhookKeys(blobs, settings)
        self.on_due: Callable[[], None] = lambda: None

    def take(self, token: str, limit: int, lease_s: float) -> list[WebhookLease]:
        """Take what is due, as `WebhookQueue.take`."""
        return self._queue.take(token, limit, lease_s)

    def job_of(self, lease: WebhookLease) -> Record | None:
        """The job whose webhook is to be sent; None if that was sent before or the job is gone."""
        delivery = read_delivery(self._blobs, lease.tenant, lease.job)
        if delivery is not None:
            # The sender could not report it to Redis, or Redis lost the report.
            self._report(lease, delivery)
            return None
        record = self._records.get(lease.job)
        return record if record is not None and record.ended else None

    def end(self, lease: WebhookLease, delivery: Delivery) -> None:
        """Record that it was delivered or given up: first in the store, then in Redis."""
        key = layout.job(lease.tenant, lease.job, WEBHOOK)
        try:
            content = sealed(key, delivery.model_dump_json().encode())
            self._blobs.put(key, content, create=True)
        except AlreadyThere:
            delivery = read_delivery(self._blobs, lease.tenant, lease.job) or delivery
        if self._report(lease, delivery) == "gone" and self._deleted(lease):
            self._blobs.delete(key)

    def again(self, lease: WebhookLease, after_s: float, reason: str) -> None:
        """Record that it failed and is to be sent again after `after_s`."""
        self._queue.report(
            lease, "pending", attempts=lease.attempts + 1, after_s=after_s, reason=reason
        )

    def give_back(self, lease: WebhookLease, after_s: float = 0.0) -> None:
        """Record that it was not sent, or that this is unknown: due after `after_s`, and no attempt
        counts."""
        self._queue.report(lease, "pending", attempts=lease.attempts, after_s=after_s)

    def counts(self) -> dict[str, int]:
        """Number of jobs with a webhook, by its status."""
        return self._queue.counts()

    def _report(self, lease: WebhookLease, delivery: Delivery) -> str:
        return self._queue.report(
            lease, delivery.status, attempts=delivery.attempts, reason=delivery.reason
        )

    def _deleted(self, lease: WebhookLease) -> bool:
        return self._blobs.size(layout.job(lease.tenant, lease.job, REQUEST)) is None

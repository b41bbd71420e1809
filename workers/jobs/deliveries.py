"""Which webhooks are to be sent, and the result of each: over Redis and the store.

A job whose request names a webhook owes it from its end until `webhook.json` exists in the store.
Nothing else is written for it: the step that writes the end into the record also makes the webhook
due in Redis, and a rebuild makes it due again unless `webhook.json` exists. So it is sent at least
once, whichever process dies, and exactly once if none does.

So with a move of an alias that has a webhook: its marker is in the store from before the move until
the result is stored, and a sweep makes due what has a marker and is not in Redis. It goes to the
address that the alias has by then, and nowhere once that was taken away.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import cast

from workers.artifacts.aliases import Aliases, Move
from workers.errors import AlreadyThere, Missing, TransientError
from workers.jobs.webhook_keys import WebhookKeys
from workers.model import Delivery, Record, Webhook, now
from workers.settings import WorkerSettings
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.job_files import REQUEST
from workers.stores.objects.seals import read_model, sealed
from workers.stores.redis.client import translated
from workers.stores.redis.record_fields import webhook_of
from workers.stores.redis.records import Records
from workers.stores.redis.webhooks import WebhookLease, WebhookQueue, move_entry

WEBHOOK = "webhook.json"
EVERY_S = 10.0
"""How often one of all processes looks at the markers of moves."""

_AT_ONCE = 500
_log = logging.getLogger(__name__)


def read_delivery(blobs: Blobs, tenant: str, job_id: str) -> Delivery | None:
    """The result of a job's webhook; None while it is still to be sent."""
    try:
        return read_model(blobs, layout.job(tenant, job_id, WEBHOOK), Delivery)
    except Missing:
        return None


@dataclass(frozen=True, slots=True)
class Moved:
    """A move of a tenant's alias that owes a webhook. address : where it goes."""

    tenant: str
    alias: str
    move: Move
    address: str

    @property
    def id(self) -> str:
        """The end of the `webhook-id`: the same for every attempt, and another for each move of
        every tenant."""
        own = f"{self.tenant}/{self.alias}/{self.move.number}/{self.move.at}"
        return hashlib.sha256(own.encode()).hexdigest()[:26]


class Deliveries:
    """Webhooks to be sent, and their results. Threads may share it.

    on_due : called when this process has made a webhook due. place_of : as for `Ledger`.
    """

    def __init__(
        self,
        blobs: Blobs,
        records: Records,
        settings: WorkerSettings,
        place_of: Callable[[str], str],
    ) -> None:
        self._blobs = blobs
        self._records = records
        self._place_of = place_of
        self._queue = WebhookQueue(records.client, settings)
        self._aliases = Aliases(blobs)
        self.keys = WebhookKeys(blobs, settings)
        self._compared = False
        self.on_due: Callable[[], None] = lambda: None

    def take(
        self,
        token: str,
        limit: int,
        lease_s: float,
        *,
        slow: int | None = None,
        sent_here: Mapping[str, int] = MappingProxyType({}),
    ) -> list[WebhookLease]:
        """Take what is due, as `WebhookQueue.take`."""
        return self._queue.take(token, limit, lease_s, slow=slow, sent_here=sent_here)

    def owed(self, lease: WebhookLease) -> Record | Moved | None:
        """The job or move whose webhook is to be sent; None if that was sent before or it is
        gone."""
        delivery = self._delivery(lease)
        if delivery is not None:
            # The sender could not report it to Redis, or Redis lost the report.
            self._report(lease, delivery)
            self._close(lease)
            return None
        own = _move_of(lease.job)
        if own is not None:
            return self._owed_move(lease, *own)
        record = self._records.get(lease.job)
        return record if record is not None and record.ended else None

    def _owed_move(self, lease: WebhookLease, tenant: str, alias: str, number: int) -> Moved | None:
        move = self._move(tenant, alias, number)
        if move is None:
            return None
        address = self._address(tenant, alias, move)
        if address is None:
            reason = "The alias has no webhook any more."
            self.end(
                lease, Delivery(status="failed", attempts=lease.attempts, reason=reason, at=now())
            )
            return None
        return Moved(tenant, alias, move, address)

    def _address(self, tenant: str, alias: str, move: Move) -> str | None:
        """Where the webhook of a move goes now: to the address that its alias has had since, up to
        its removal; None where that was taken away. One listing, and a read of each move that is
        not in memory."""
        address = move.webhook
        for later in self._aliases.get(tenant, alias).moves:
            if later.number < move.number:
                continue
            address = later.webhook
            if later.tree is None:
                break
        return address

    def end(self, lease: WebhookLease, delivery: Delivery, slow: bool | None = None) -> None:
        """Record that it was delivered or given up: first in the store, then in Redis.

        slow : as for `WebhookQueue.report`.
        """
        key = _result_key(lease)
        try:
            content = sealed(key, delivery.model_dump_json().encode())
            self._blobs.put(key, content, create=True)
        except AlreadyThere:
            delivery = self._delivery(lease) or delivery
        if self._report(lease, delivery, slow) == "gone" and self._deleted(lease):
            self._blobs.delete(key)
        self._close(lease)

    def again(
        self, lease: WebhookLease, after_s: float, reason: str, slow: bool | None = None
    ) -> None:
        """Record that it failed and is to be sent again after `after_s`."""
        self._queue.report(
            lease,
            "pending",
            attempts=lease.attempts + 1,
            after_s=after_s,
            reason=reason,
            slow=slow,
        )

    def give_back(self, lease: WebhookLease, after_s: float = 0.0) -> None:
        """Record that it was not sent, or that this is unknown: due after `after_s`, and no attempt
        counts."""
        self._queue.report(lease, "pending", attempts=lease.attempts, after_s=after_s)

    def move_due(self, tenant: str, alias: str, move: Move) -> None:
        """Make the webhook of a stored move due. Where Redis is away, a sweep does so later."""
        try:
            self._put(tenant, alias, move)
        except TransientError as error:
            _log.warning("the webhook of a move is due later: %s", error)

    def sweep(self) -> None:
        """Make due what processes that died, or a Redis that lost its data, have left. One of all
        processes does so every `EVERY_S`; one listing of the markers."""
        if not self._records.only_one("moves", EVERY_S):
            return
        keys = iter(self._blobs.keys(layout.OPEN_MOVES))
        while markers := list(islice(keys, _AT_ONCE)):
            entries = [key.removeprefix(layout.OPEN_MOVES) for key in markers]
            for entry, known in zip(entries, self._queue.moves(entries), strict=True):
                own = None if known else _move_of(entry)
                if own is None:
                    continue
                move = self._move(*own)
                sent = self._blobs.size(layout.move_webhook(*own)) is not None
                if sent or (move is not None and not move.owes):
                    # Sent, or somebody else was faster, with a move that owes none.
                    self._blobs.delete(layout.open_move(*own))
                elif move is not None:
                    self._put(own[0], own[1], move)

    def of_move(self, tenant: str, alias: str, move: Move) -> Webhook | None:
        """How the webhook of a move stands; None where it owes none."""
        if move.webhook is None or not move.owes:
            return None
        fields = self._queue.moves([move_entry(tenant, alias, move.number)])[0]
        if fields:
            return webhook_of(self._address(tenant, alias, move) or move.webhook, fields)
        try:
            key = layout.move_webhook(tenant, alias, move.number)
            sent = read_model(self._blobs, key, Delivery)
        except Missing:
            return Webhook(url=move.webhook, status="pending")
        return Webhook(
            url=sent.url or move.webhook,
            status=sent.status,
            attempts=sent.attempts,
            reason=sent.reason,
        )

    def compare_keys(self) -> None:
        """Log where this process signs by no secret that the process before it signed by; once.

        Their settings differ, or the secret was changed without naming the former one, too.
        """
        if self._compared:
            return
        marks = self.keys.marks()
        key = f"{self._records.prefix}signing"
        try:
            with translated(), self._records.client.pipeline() as pipe:
                pipe.smembers(key)
                pipe.delete(key)
                pipe.sadd(key, *marks)
                before = cast("set[str]", pipe.execute()[0])
        except TransientError:
            return
        self._compared = True
        if before and not before & marks:
            _log.warning(
                "webhooks are signed by another secret here than in the process that looked "
                "before: receivers refuse what one of them sends. Give UMBEL_WEBHOOK_SECRET to all "
                "processes alike, and name the new and the former one while it changes"
            )

    def counts(self) -> dict[str, int]:
        """Number of jobs with a webhook, by its status."""
        return self._queue.counts()

    def _report(self, lease: WebhookLease, delivery: Delivery, slow: bool | None = None) -> str:
        return self._queue.report(
            lease,
            delivery.status,
            attempts=delivery.attempts,
            reason=delivery.reason,
            slow=slow,
        )

    def _put(self, tenant: str, alias: str, move: Move) -> None:
        if move.webhook is not None:
            entry = move_entry(tenant, alias, move.number)
            self._queue.put(entry, tenant, self._place_of(move.webhook))
            self.on_due()

    def _move(self, tenant: str, alias: str, number: int) -> Move | None:
        try:
            return read_model(self._blobs, layout.alias_move(tenant, alias, number), Move)
        except Missing:
            return None

    def _delivery(self, lease: WebhookLease) -> Delivery | None:
        try:
            return read_model(self._blobs, _result_key(lease), Delivery)
        except Missing:
            return None

    def _close(self, lease: WebhookLease) -> None:
        own = _move_of(lease.job)
        if own is not None:
            self._blobs.delete(layout.open_move(*own))

    def _deleted(self, lease: WebhookLease) -> bool:
        if _move_of(lease.job) is not None:
            return False
        return self._blobs.size(layout.job(lease.tenant, lease.job, REQUEST)) is None


def _move_of(entry: str) -> tuple[str, str, int] | None:
    """Tenant, alias and number of what `move_entry` gave; None for a job."""
    tenant, _, rest = entry.partition("/")
    alias, _, number = rest.partition("/")
    return (tenant, alias, int(number)) if number.isdecimal() else None


def _result_key(lease: WebhookLease) -> str:
    own = _move_of(lease.job)
    if own is not None:
        return layout.move_webhook(*own)
    return layout.job(lease.tenant, lease.job, WEBHOOK)

"""Sends webhooks alongside the other work of a process; any number of processes may do so."""

from __future__ import annotations

import logging
import random
import secrets
import threading
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal

from pydantic_core import to_json

from workers.errors import TransientError
from workers.jobs.deliveries import Deliveries, Moved
from workers.jobs.public import public
from workers.jobs.webhook_keys import sign
from workers.model import Delivery, Record, Webhook, now
from workers.settings import WorkerSettings
from workers.stores.redis.webhooks import WebhookLease
from workers.telemetry import traces
from workers.webhooks.addresses import Guard, parse
from workers.webhooks.posting import post
from workers.webhooks.replies import NotSent, Reply

_H = 3600.0
SCHEDULE_S = (0.0, 5.0, 300.0, 1800.0, 2 * _H, 5 * _H, 10 * _H, 14 * _H, 20 * _H, 24 * _H)
"""The pause before each attempt, as in Standard Webhooks 1.0.0: 75 hours in all."""

JITTER = 0.1
LONGEST_RETRY_AFTER_S = 24 * _H
TIMEOUT_S = 15.0
SLOW_S = 1.0
"""A receiver that takes longer comes after those that answer sooner, until it does so, too."""
_LEASE_EXTRA_S = 15.0
_PASSING_S = 5.0
"""The pause before the next attempt after a store was unavailable."""
_KEEPING_S = (0.1, 0.5, 2.0)
"""The pauses between attempts to store the result of a webhook."""
_LAST_TAKE_S = 1.0
"""How long a stop waits for Redis, whose reply may still hand out webhooks."""

_GONE = 410
_log = logging.getLogger("umbel.webhooks")


class Sender:
    """Sends due webhooks, each in its own thread, `webhook_senders` at a time: of a tenant no more
    than leave as many free, and to slow receivers no more than half.

    A thread lives for one webhook: a service without webhooks pays one call to Redis in `sweep_s`.
    """

    def __init__(
        self,
        deliveries: Deliveries,
        settings: WorkerSettings,
        *,
        guard: Guard | None = None,
        schedule_s: Sequence[float] = SCHEDULE_S,
        timeout_s: float = TIMEOUT_S,
        slow_s: float = SLOW_S,
        lease_s: float | None = None,
    ) -> None:
        self._deliveries = deliveries
        self._room = settings.webhook_senders
        self._every_s = settings.sweep_s
        self._guard = guard or Guard(settings.webhook_allow)
        self._schedule_s = schedule_s
        self._timeout_s = timeout_s
        self._slow_s = slow_s
        self._lease_s = timeout_s + _LEASE_EXTRA_S if lease_s is None else lease_s
        self._ended = threading.Event()
        self._look = threading.Event()
        self._changed = threading.Condition()
        self._sending: dict[str, WebhookLease] = {}
        self._taking = threading.Thread(target=self._run, name="webhooks", daemon=True)

    def start(self) -> None:
        """Start sending, unless `webhook_senders` is 0."""
        if self._room:
            self._deliveries.on_due = self._look.set
            self._taking.start()

    def close(self) -> None:
        """Take no more."""
        self._ended.set()
        self._look.set()

    def stop(self, grace_s: float) -> None:
        """Take no more webhooks, wait up to `grace_s` for those being sent, give back the rest."""
        self.close()
        if self._taking.is_alive():
            self._taking.join(_LAST_TAKE_S)
        with self._changed:
            self._changed.wait_for(lambda: not self._sending, grace_s)
            left = list(self._sending.values())
        for lease in left:
            try:
                self._deliveries.give_back(lease)
            except TransientError as error:
                _log.warning("webhooks wait for their leases to end: %s", error)
                return

    def _run(self) -> None:
        while True:
            self._look.clear()
            if self._ended.is_set():
                return
            try:
                self._take()
            except TransientError as error:
                _log.warning("no webhooks taken: %s", error)
            except Exception:
                _log.exception("no webhooks taken")
            self._look.wait(self._every_s * random.uniform(0.75, 1.25))

    def _take(self) -> None:
        with self._changed:
            now_sent = list(self._sending.values())
        free = self._room - len(now_sent)
        if free <= 0:
            return
        leases = self._deliveries.take(
            secrets.token_hex(8),
            free,
            self._lease_s,
            slow=max(1, self._room // 2) - sum(lease.slow for lease in now_sent),
            sent_here=Counter(lease.tenant for lease in now_sent),
        )
        for lease in leases:
            with self._changed:
                # By job and token: an earlier attempt, whose lease has ended, may still be under
                # way here.
                self._sending[f"{lease.job} {lease.token}"] = lease
            thread = threading.Thread(target=self._send, args=[lease], daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # no thread: it waits for its lease to end
                _log.warning("webhook of %s is not sent now: %s", lease.job, error)
                self._done(lease)

    def _send(self, lease: WebhookLease) -> None:
        try:
            self._attempt(lease)
        except TransientError as error:
            _log.warning("webhook of %s is tried again later: %s", lease.job, error)
            self._try_to_give_back(lease)
        except Exception:
            _log.exception("webhook of %s", lease.job)
            self._conclude_fault(lease)
        finally:
            self._done(lease)
            self._look.set()

    def _done(self, lease: WebhookLease) -> None:
        with self._changed:
            del self._sending[f"{lease.job} {lease.token}"]
            self._changed.notify_all()

    def _attempt(self, lease: WebhookLease) -> None:
        owed = self._deliveries.owed(lease)
        address = None if owed is None else _address(owed)
        if owed is None or address is None:
            return
        try:
            target = parse(address)
        except ValueError as error:
            self._conclude(lease, str(error), True)
            return
        body = message(owed)
        keys = self._deliveries.keys.of(owed.tenant)
        self._deliveries.compare_keys()
        message_id, timestamp = id_of(owed.id), int(time.time())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "Umbel",
            "webhook-id": message_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": sign(keys, message_id, timestamp, body),
        }
        began = time.monotonic()
        reply, reason, final = None, None, False
        with traces.span(
            "webhook",
            kind="client",
            parent=owed.trace if isinstance(owed, Record) else None,
            job_id=owed.id,
            attempt=lease.attempts + 1,
            n_bytes=len(body),
        ) as step:
            try:
                reply = post(target, headers, body, self._guard, self._timeout_s)
            except NotSent as error:
                reason, final = str(error), error.final
                step.fail(type(error).__name__)
            else:
                final = reply.status == _GONE
                step.note(status=reply.status)
                if not 200 <= reply.status < 300:
                    reason = _refusal(reply.status)
                    step.fail(str(reply.status))
            took_s = time.monotonic() - began
            self._log(lease, target.place, reply, reason, took_s)
        url = address if isinstance(owed, Moved) else None
        self._conclude(lease, reason, final, reply, url, took_s >= self._slow_s)

    def _conclude(
        self,
        lease: WebhookLease,
        reason: str | None,
        final: bool,
        reply: Reply | None = None,
        url: str | None = None,
        slow: bool | None = None,
    ) -> None:
        attempts = lease.attempts + 1
        if reason is None or final or attempts >= len(self._schedule_s):
            status: Literal["delivered", "failed"] = "delivered" if reason is None else "failed"
            self._keep(
                lease,
                Delivery(status=status, attempts=attempts, reason=reason, at=now(), url=url),
                slow,
            )
        else:
            pause_s = self._schedule_s[attempts]
            if reply is not None:
                pause_s = max(pause_s, min(retry_after_s(reply), LONGEST_RETRY_AFTER_S))
            self._deliveries.again(lease, pause_s * random.uniform(1.0, 1.0 + JITTER), reason, slow)

    def _keep(self, lease: WebhookLease, delivery: Delivery, slow: bool | None) -> None:
        """Store the result of a finished webhook.

        Retried if the store is briefly unavailable: otherwise the receiver would get the webhook
        twice.
        """
        for pause_s in _KEEPING_S:
            try:
                self._deliveries.end(lease, delivery, slow)
            except TransientError:
                time.sleep(pause_s)
            else:
                return
        self._deliveries.end(lease, delivery, slow)

    def _conclude_fault(self, lease: WebhookLease) -> None:
        try:
            self._conclude(lease, "Something went wrong on our side.", False)
        except Exception:
            _log.exception("webhook of %s", lease.job)

    def _try_to_give_back(self, lease: WebhookLease) -> None:
        try:
            self._deliveries.give_back(lease, _PASSING_S)
        except TransientError as error:
            _log.warning("webhook of %s waits for its lease to end: %s", lease.job, error)

    def _log(
        self,
        lease: WebhookLease,
        place: str,
        reply: Reply | None,
        reason: str | None,
        seconds: float,
    ) -> None:
        _log.info(
            "webhook",
            extra={
                "job": lease.job,
                "receiver": place,
                "attempt": lease.attempts + 1,
                "status": None if reply is None else reply.status,
                "reason": reason,
                "ms": round(seconds * 1000, 1),
            },
        )


def id_of(own_id: str) -> str:
    """The `webhook-id`: the same for every attempt at the webhook of a job or a move."""
    return f"msg_{own_id.rpartition('_')[2]}"


def message(owed: Record | Moved) -> bytes:
    """The body, the same for every attempt."""
    return _job_message(owed) if isinstance(owed, Record) else _move_message(owed)


def _address(owed: Record | Moved) -> str | None:
    if isinstance(owed, Moved):
        return owed.address
    return None if owed.webhook is None else owed.webhook.url


def _move_message(moved: Moved) -> bytes:
    """The move as the history of its alias shows it."""
    move = moved.move
    what = "removed" if move.tree is None else "rolled_back" if move.restores else "moved"
    data = move.model_dump(exclude={"webhook"})
    return to_json(
        {"type": f"alias.{what}", "timestamp": move.at, "data": {"name": moved.alias, **data}}
    )


def _job_message(record: Record) -> bytes:
    """The job as clients saw it when it ended, with the name, description and tags that it was
    submitted with, since a user may change these in between."""
    assert record.webhook is not None
    ended = record.model_copy(
        update={
            "webhook": Webhook(url=record.webhook.url, status="pending"),
            "name": record.submitted.name,
            "description": record.submitted.description,
            "tags": record.submitted.tags,
        }
    )
    content = {
        "type": f"job.{record.status}",
        "timestamp": record.finished_at,
        "data": public(ended),
    }
    return to_json(content, inf_nan_mode="null")


def retry_after_s(reply: Reply) -> float:
    """Seconds that the response asks the sender to wait; 0 if it does not."""
    text = reply.retry_after
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _refusal(status: int) -> str:
    if 300 <= status < 400:
        return f"The answer was {status}; redirects are not followed."
    return f"The answer was {status}."

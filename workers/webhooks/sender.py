"""The sending of webhooks beside a process's other work: any number of processes may do it."""

from __future__ import annotations

import logging
import random
import secrets
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from pydantic_core import to_json

from workers.errors import TransientError
from workers.jobs.deliveries import Deliveries
from workers.jobs.public import shown
from workers.jobs.webhook_keys import sign
from workers.model import Record, Sent, Webhook, now
from workers.settings import WorkerSettings
from workers.stores.redis.hooks import Taken
from workers.webhooks.addresses import Guard, parse
from workers.webhooks.posting import NotSent, Reply, post

_H = 3600.0
SCHEDULE_S = (0.0, 5.0, 300.0, 1800.0, 2 * _H, 5 * _H, 10 * _H, 14 * _H, 20 * _H, 24 * _H)
"""Pause before each try, as Standard Webhooks 1.0.0 has it: 75 hours in all."""

JITTER = 0.1
LONGEST_RETRY_AFTER_S = 24 * _H
TIMEOUT_S = 15.0
_LEASE_EXTRA_S = 15.0
_PASSING_S = 5.0
"""A store that does not answer is asked again after so long."""
_KEEPING_S = (0.1, 0.5, 2.0)
"""Pauses after which a store is tried again that is to keep what came of a webhook."""
_LAST_TAKE_S = 1.0
"""How long a stop waits for an answer of Redis that may still hand something out."""

_GONE = 410
_log = logging.getLogger("umbel.webhooks")


class Sender:
    """Takes what is due and sends it, each in a thread of its own, `webhook_senders` at a time.

    Threads live for one webhook: a service that has none pays one call to Redis in `sweep_s`.
    """

    def __init__(
        self,
        deliveries: Deliveries,
        settings: WorkerSettings,
        *,
        guard: Guard | None = None,
        schedule_s: Sequence[float] = SCHEDULE_S,
        timeout_s: float = TIMEOUT_S,
        lease_s: float | None = None,
    ) -> None:
        self._deliveries = deliveries
        self._room = settings.webhook_senders
        self._every_s = settings.sweep_s
        self._guard = guard or Guard(settings.webhook_allow)
        self._schedule_s = schedule_s
        self._timeout_s = timeout_s
        self._lease_s = timeout_s + _LEASE_EXTRA_S if lease_s is None else lease_s
        self._ended = threading.Event()
        self._look = threading.Event()
        self._changed = threading.Condition()
        self._sending: dict[str, Taken] = {}
        self._taking = threading.Thread(target=self._run, name="webhooks", daemon=True)

    def start(self) -> None:
        """Begin; nothing where the setting says that this process sends none."""
        if self._room:
            self._deliveries.on_due = self._look.set
            self._taking.start()

    def close(self) -> None:
        """Take no more."""
        self._ended.set()
        self._look.set()

    def stop(self, grace_s: float) -> None:
        """Take no more, wait for what is being sent, give back what is not sent by then."""
        self.close()
        if self._taking.is_alive():
            self._taking.join(_LAST_TAKE_S)
        with self._changed:
            self._changed.wait_for(lambda: not self._sending, grace_s)
            left = list(self._sending.values())
        for taken in left:
            try:
                self._deliveries.give_back(taken)
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
            free = self._room - len(self._sending)
        if free <= 0:
            return
        for taken in self._deliveries.take(secrets.token_hex(8), free, self._lease_s):
            with self._changed:
                # By job and token: a try whose lease has ended may still be under way here.
                self._sending[f"{taken.job} {taken.token}"] = taken
            thread = threading.Thread(target=self._send, args=[taken], daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # No more threads: it waits for its lease to end.
                _log.warning("webhook of job %s is not sent now: %s", taken.job, error)
                self._done(taken)

    def _send(self, taken: Taken) -> None:
        try:
            self._attempt(taken)
        except TransientError as error:
            _log.warning("webhook of job %s is looked at again later: %s", taken.job, error)
            self._try_to_give_back(taken)
        except Exception:
            _log.exception("webhook of job %s", taken.job)
            self._settle_fault(taken)
        finally:
            self._done(taken)
            self._look.set()

    def _done(self, taken: Taken) -> None:
        with self._changed:
            del self._sending[f"{taken.job} {taken.token}"]
            self._changed.notify_all()

    def _attempt(self, taken: Taken) -> None:
        record = self._deliveries.job_of(taken)
        if record is None or record.webhook is None:
            return
        try:
            target = parse(record.webhook.url)
        except ValueError as error:
            self._conclude(taken, str(error), True)
            return
        body = message(record)
        keys = self._deliveries.keys.of(record.tenant)
        message_id, timestamp = id_of(record.id), int(time.time())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "Umbel",
            "webhook-id": message_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": sign(keys, message_id, timestamp, body),
        }
        began = time.monotonic()
        reply, reason, final = None, None, False
        try:
            reply = post(target, headers, body, self._guard, self._timeout_s)
        except NotSent as error:
            reason, final = str(error), error.final
        else:
            final = reply.status == _GONE
            if not 200 <= reply.status < 300:
                reason = _refusal(reply.status)
        self._log(taken, target.place, reply, reason, time.monotonic() - began)
        self._conclude(taken, reason, final, reply)

    def _conclude(
        self, taken: Taken, reason: str | None, final: bool, reply: Reply | None = None
    ) -> None:
        attempts = taken.attempts + 1
        if reason is None:
            sent = Sent(status="delivered", attempts=attempts, at=now())
            self._keep(taken, sent)
        elif final or attempts >= len(self._schedule_s):
            sent = Sent(status="failed", attempts=attempts, reason=reason, at=now())
            self._keep(taken, sent)
        else:
            pause_s = self._schedule_s[attempts]
            if reply is not None:
                pause_s = max(pause_s, min(retry_after_s(reply), LONGEST_RETRY_AFTER_S))
            self._deliveries.again(taken, pause_s * random.uniform(1.0, 1.0 + JITTER), reason)

    def _keep(self, taken: Taken, sent: Sent) -> None:
        """Write down what is over; a store that is away for a moment is tried again, since
        otherwise the receiver gets it twice."""
        for pause_s in _KEEPING_S:
            try:
                self._deliveries.end(taken, sent)
            except TransientError:
                time.sleep(pause_s)
            else:
                return
        self._deliveries.end(taken, sent)

    def _settle_fault(self, taken: Taken) -> None:
        try:
            self._conclude(taken, "Something went wrong on our side.", False)
        except Exception:
            _log.exception("webhook of job %s", taken.job)

    def _try_to_give_back(self, taken: Taken) -> None:
        try:
            self._deliveries.give_back(taken, _PASSING_S)
        except TransientError as error:
            _log.warning("webhook of job %s waits for its lease to end: %s", taken.job, error)

    def _log(
        self, taken: Taken, place: str, reply: Reply | None, reason: str | None, seconds: float
    ) -> None:
        _log.info(
            "webhook",
            extra={
                "job": taken.job,
                "receiver": place,
                "attempt": taken.attempts + 1,
                "status": None if reply is None else reply.status,
                "reason": reason,
                "ms": round(seconds * 1000, 1),
            },
        )


def id_of(job_id: str) -> str:
    """The `webhook-id`: the same for every try of a job's webhook."""
    return f"msg_{job_id.partition('_')[2]}"


def message(record: Record) -> bytes:
    """What is sent, the same for every try: the job as it was shown when it ended."""
    assert record.webhook is not None
    ended = record.model_copy(update={"webhook": Webhook(url=record.webhook.url, status="pending")})
    content = {
        "type": f"job.{record.status}",
        "timestamp": record.finished_at,
        "data": shown(ended),
    }
    return to_json(content, inf_nan_mode="null")


def retry_after_s(reply: Reply) -> float:
    """Seconds that an answer asks to wait; 0 where it does not say."""
    text = reply.retry_after
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _refusal(status: int) -> str:
    if 300 <= status < 400:
        return f"The answer was {status}; redirects are not followed."
    return f"The answer was {status}."

"""Jobs that owe a webhook, and where it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.workers.jobs_kit import end, request
from tests.workers.webhooks.receiver_kit import Receiver, until
from workers.assembly import Assembly
from workers.model import Request, Webhook
from workers.settings import WorkerSettings
from workers.webhooks.sender import Sender

Sending = Callable[..., Sender]


def submitted(assembly: Assembly, receiver: Receiver, **changed: Any) -> Request:
    job = request(**{"webhook": receiver.url, **changed})
    assembly.ledger.submit(job, {"features": b"[[1.0], [2.0]]"})
    return job


def finished(assembly: Assembly, receiver: Receiver, **changed: Any) -> Request:
    job = submitted(assembly, receiver, **changed)
    claim = assembly.ledger.claim(job.id, "w")
    assert claim is not None
    assert assembly.ledger.finish(claim, end(claim))
    return job


def webhook_of(assembly: Assembly, job: Request) -> Webhook:
    record = assembly.ledger.get(job.tenant, job.id)
    assert record is not None
    assert record.webhook is not None
    return record.webhook


def reaches(assembly: Assembly, job: Request, status: str) -> Webhook:
    until(lambda: webhook_of(assembly, job).status == status)
    return webhook_of(assembly, job)


def redis_keys(assembly: Assembly, settings: WorkerSettings) -> set[str]:
    return set(assembly.redis.scan_iter(f"{settings.key_prefix}*hook*"))

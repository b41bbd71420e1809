"""Webhooks are sent, whatever fails: a process, Redis, the store."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from tests.workers.conftest import Server
from tests.workers.jobs_kit import everything
from tests.workers.waiting_kit import PATIENCE_S
from tests.workers.webhooks.receiver_kit import Receiver, until
from tests.workers.webhooks.sender_kit import (
    Sending,
    finished,
    reaches,
    submitted,
    webhook_of,
)
from workers.assembly import Assembly
from workers.errors import StoreUnavailable
from workers.jobs.deliveries import WEBHOOK
from workers.model import Webhook
from workers.settings import WorkerSettings
from workers.stores.objects import layout
from workers.webhooks.sender import id_of


def test_another_process_sends_overdue_webhooks(
    assembly: Assembly, receiver: Receiver, sending: Sending
) -> None:
    job = finished(assembly, receiver)
    sending(apart=True)
    sending(apart=True)
    reaches(assembly, job, "delivered")
    assert len(receiver.requests) == 1


def test_a_webhook_leased_but_not_sent_is_leased_again(
    assembly: Assembly, receiver: Receiver, sending: Sending
) -> None:
    job = finished(assembly, receiver)
    leased = assembly.ledger.webhooks.take("dead", 10, 4.0)
    assert [due.job for due in leased] == [job.id]
    assert assembly.ledger.webhooks.take("other", 10, 4.0) == []
    sending()
    assert reaches(assembly, job, "delivered").attempts == 1
    # The report of the first process comes too late.
    assembly.ledger.webhooks.again(leased[0], 0.0, "too late")
    assert webhook_of(assembly, job).status == "delivered"


KILLED = """
    import ipaddress, sys, time
    from workers.assembly import assemble
    from workers.settings import WorkerSettings
    from workers.webhooks.sender import Sender

    parts = assemble(settings := WorkerSettings(), lambda *_: None)
    Sender(parts.ledger.webhooks, settings, lease_s=4.0).start()
    time.sleep(600)
"""


def test_a_process_killed_while_it_sends(
    assembly: Assembly, settings: WorkerSettings, receiver: Receiver, sending: Sending
) -> None:
    receiver.answers = [receiver.hang]
    job = finished(assembly, receiver)
    env = {
        **os.environ,
        "UMBEL_REDIS_URL": settings.redis_url,
        "UMBEL_STORE_URL": settings.store_url,
        "UMBEL_WEBHOOK_ALLOW": "127.0.0.0/8",
    }
    killed = subprocess.Popen([sys.executable, "-c", textwrap.dedent(KILLED)], env=env)
    try:
        receiver.wait()
    finally:
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
    sending()
    reaches(assembly, job, "delivered")
    first, second = receiver.requests
    assert first.id == second.id
    assert first.body == second.body


def test_unfinished_webhooks_are_given_back_on_stop(
    assembly: Assembly, receiver: Receiver, sending: Sending
) -> None:
    receiver.answers = [receiver.hang]
    stopped = sending(apart=True, timeout_s=10.0)
    job = finished(assembly, receiver)
    receiver.wait()
    stopped.stop(0.05)
    assert webhook_of(assembly, job).attempts == 0
    sending()
    assert reaches(assembly, job, "delivered").attempts == 1


def test_webhooks_finished_within_the_grace_period_are_done_on_stop(
    assembly: Assembly, receiver: Receiver, sending: Sending
) -> None:
    def slow(handler: Any) -> None:
        receiver.over.wait(0.2)
        handler.send_response(204)
        handler.end_headers()

    receiver.answers = [slow]
    sender = sending()
    job = finished(assembly, receiver)
    receiver.wait()
    sender.stop(PATIENCE_S)
    assert webhook_of(assembly, job).status == "delivered"


def test_redis_emptied_before_the_end_and_before_the_sending(
    assembly: Assembly, valkey: Server, receiver: Receiver, sending: Sending
) -> None:
    ended = finished(assembly, receiver)
    running = submitted(assembly, receiver)
    valkey.client().flushall()
    assembly.ledger.sweep()
    assert webhook_of(assembly, ended).status == "pending"
    assert webhook_of(assembly, running).status == "waiting"
    sending()
    reaches(assembly, ended, "delivered")
    assembly.ledger.cancel("ada", running.id)
    reaches(assembly, running, "delivered")
    assert [webhook.id for webhook in receiver.requests] == [id_of(ended.id), id_of(running.id)]


def test_redis_emptied_after_the_sending(
    assembly: Assembly, valkey: Server, receiver: Receiver, sending: Sending
) -> None:
    receiver.answers = [204, 500, 410]
    sender = sending()
    delivered = finished(assembly, receiver)
    reaches(assembly, delivered, "delivered")
    given_up = finished(assembly, receiver)
    stood = reaches(assembly, given_up, "failed")
    sender.stop(PATIENCE_S)
    valkey.client().flushall()
    assembly.ledger.sweep()
    assert webhook_of(assembly, delivered) == Webhook(
        url=receiver.url, status="delivered", attempts=1
    )
    assert webhook_of(assembly, given_up) == stood
    assert stood.attempts == 2
    sending(apart=True)
    late = finished(assembly, receiver)
    reaches(assembly, late, "delivered")
    assert len(receiver.requests) == 4


def test_redis_emptied_during_the_sending(
    assembly: Assembly, valkey: Server, receiver: Receiver, sending: Sending
) -> None:
    def empty(handler: Any) -> None:
        valkey.client().flushall()
        handler.send_response(204)
        handler.end_headers()

    receiver.answers = [empty]
    sending()
    job = finished(assembly, receiver)
    until(lambda: layout.job("ada", job.id, WEBHOOK) in everything(assembly))
    assembly.ledger.sweep()
    assert webhook_of(assembly, job).status == "delivered"
    assert len(receiver.requests) == 1


def test_a_result_missing_in_redis_is_read_from_the_store(
    assembly: Assembly, receiver: Receiver, sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhooks = assembly.ledger.webhooks
    report = webhooks._report
    failed: list[object] = []

    def away(*arguments: Any) -> str:
        if len(failed) < 9:
            failed.append(arguments)
            raise StoreUnavailable("Redis is away")
        return report(*arguments)

    monkeypatch.setattr(webhooks, "_report", away)
    monkeypatch.setattr("workers.webhooks.sender._PASSING_S", 0.02)
    monkeypatch.setattr("workers.webhooks.sender._KEEPING_S", (0.01, 0.01, 0.01))
    sending()
    job = finished(assembly, receiver)
    reaches(assembly, job, "delivered")
    assert len(failed) == 9
    assert len(receiver.requests) == 1


def test_an_unreachable_store_costs_no_attempt(
    assembly: Assembly, receiver: Receiver, sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = finished(assembly, receiver)
    real = assembly.blobs.get
    failed: list[str] = []

    def get(key: str) -> bytes:
        if key.endswith(WEBHOOK) and len(failed) < 2:
            failed.append(key)
            raise StoreUnavailable("away")
        return real(key)

    monkeypatch.setattr(assembly.blobs, "get", get)
    monkeypatch.setattr("workers.webhooks.sender._PASSING_S", 0.02)
    sending()
    assert reaches(assembly, job, "delivered").attempts == 1
    assert len(failed) == 2

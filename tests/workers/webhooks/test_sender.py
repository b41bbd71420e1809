"""Webhooks of jobs: due at every kind of end, sent once, retried on the schedule."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from pydantic import SecretStr

from tests.workers.jobs_kit import end, everything
from tests.workers.webhooks.receiver_kit import Receiver, receiving, secret_of, until, verify
from tests.workers.webhooks.sender_kit import (
    Sending,
    finished,
    reaches,
    redis_keys,
    submitted,
    webhook_of,
)
from workers.assembly import Assembly, assemble
from workers.errors import problem
from workers.model import Annotation, Request, Webhook
from workers.settings import WorkerSettings
from workers.stores.objects import layout
from workers.stores.objects.job_files import bare_end, write_end
from workers.stores.objects.witnesses import witness_of
from workers.stores.redis.webhooks import PER_RECEIVER
from workers.webhooks.replies import Reply
from workers.webhooks.sender import SCHEDULE_S, id_of, retry_after_s


def test_a_success_is_sent_and_signed(
    assembly: Assembly, settings: WorkerSettings, receiver: Receiver, sending: Sending
) -> None:
    sending()
    job = submitted(assembly, receiver)
    assert webhook_of(assembly, job) == Webhook(url=receiver.url, status="waiting")
    claim = assembly.ledger.claim(job.id, "w")
    assert claim is not None
    assert assembly.ledger.finish(claim, end(claim))
    webhook = receiver.wait()[0]
    verify(secret_of(assembly), webhook)
    assert webhook.id == f"msg_{job.id[4:]}"
    assert webhook.path == "/hook?token=s3cret"
    assert webhook.headers["content-type"] == "application/json"
    assert set(webhook.content) == {"type", "timestamp", "data"}
    assert webhook.content["type"] == "job.succeeded"
    job_data = webhook.content["data"]
    assert webhook.content["timestamp"] == job_data["finished_at"]
    assert (job_data["id"], job_data["status"]) == (job.id, "succeeded")
    assert job_data["result"]["metrics"] == {"height": 1.5}
    assert not {"tenant", "queue", "version"} & set(job_data)
    stands = reaches(assembly, job, "delivered")
    assert stands == Webhook(url=receiver.url, status="delivered", attempts=1)
    assert len(receiver.requests) == 1
    counts = {name: n for name, n in assembly.ledger.webhooks.counts().items() if n}
    assert counts == {"delivered": 1}
    assert redis_keys(assembly, settings) == {f"{settings.key_prefix}hook_counts"}


def by_failure(assembly: Assembly, job: Request, _: Callable[[str], None]) -> None:
    claim = assembly.ledger.claim(job.id, "w")
    assert claim is not None
    error = problem("timed-out", "Too long", 422, "The job took too long.")
    assert assembly.ledger.finish(claim, end(claim, "failed", error=error))


def by_cancel(assembly: Assembly, job: Request, _: Callable[[str], None]) -> None:
    assembly.ledger.cancel(job.tenant, job.id)


def by_lost_workers(assembly: Assembly, job: Request, lapse: Callable[[str], None]) -> None:
    for _ in range(3):
        assert assembly.ledger.claim(job.id, "w") is not None
        lapse(job.id)
        assembly.ledger.sweep()


def by_last_attempt(assembly: Assembly, job: Request, _: Callable[[str], None]) -> None:
    for _ in range(3):
        claim = assembly.ledger.claim(job.id, "w")
        assert claim is not None
        assembly.ledger.give_back(claim, spend=True, why=problem("full", "Full", 507, "Full."))


def by_cancel_not_obeyed(assembly: Assembly, job: Request, lapse: Callable[[str], None]) -> None:
    assert assembly.ledger.claim(job.id, "w") is not None
    assembly.ledger.cancel(job.tenant, job.id)
    lapse(job.id)
    assembly.redis.hset(f"umbel:job:{job.id}", "cancel_by", 1)
    assembly.ledger.sweep()


def by_an_end_found_at_a_claim(assembly: Assembly, job: Request, _: Callable[[str], None]) -> None:
    write_end(assembly.blobs, job.tenant, bare_end(job.id, "failed", attempt=1))
    assert assembly.ledger.claim(job.id, "w") is None


def by_an_end_found_at_a_sweep(
    assembly: Assembly, job: Request, lapse: Callable[[str], None]
) -> None:
    assert assembly.ledger.claim(job.id, "w") is not None
    write_end(assembly.blobs, job.tenant, bare_end(job.id, "failed", attempt=1))
    lapse(job.id)
    assembly.ledger.sweep()


@pytest.mark.parametrize(
    ("end_it", "status"),
    [
        (by_failure, "failed"),
        (by_cancel, "cancelled"),
        (by_lost_workers, "failed"),
        (by_last_attempt, "failed"),
        (by_cancel_not_obeyed, "cancelled"),
        (by_an_end_found_at_a_claim, "failed"),
        (by_an_end_found_at_a_sweep, "failed"),
    ],
)
def test_every_end_is_sent_once(
    assembly: Assembly,
    receiver: Receiver,
    sending: Sending,
    lapse: Callable[[str], None],
    end_it: Callable[[Assembly, Request, Callable[[str], None]], None],
    status: str,
) -> None:
    job = submitted(assembly, receiver)
    sending()
    end_it(assembly, job, lapse)
    webhook = receiver.wait()[0]
    verify(secret_of(assembly), webhook)
    assert webhook.content["type"] == f"job.{status}"
    assert webhook.content["data"]["status"] == status
    reaches(assembly, job, "delivered")
    assembly.ledger.sweep()
    assembly.ledger.rebuild()
    assert len(receiver.requests) == 1


def test_a_retry_has_the_same_id_and_body(
    assembly: Assembly, receiver: Receiver, sending: Sending
) -> None:
    receiver.answers = [500, (302, {"Location": receiver.url})]
    sending()
    job = finished(assembly, receiver)
    assert reaches(assembly, job, "delivered").attempts == 3
    first, second, third = receiver.requests
    assert first.id == second.id == third.id
    assert first.body == second.body == third.body
    for webhook in receiver.requests:
        verify(secret_of(assembly), webhook)
    assert {webhook.path for webhook in receiver.requests} == {"/hook?token=s3cret"}


def test_a_job_renamed_between_two_attempts_has_the_same_body(
    assembly: Assembly, receiver: Receiver, sending: Sending
) -> None:
    job = finished(assembly, receiver)

    def refusing(request: BaseHTTPRequestHandler) -> None:
        renamed = Annotation(name="renamed", tags=("t",))
        assert assembly.annotations.change("ada", job.id, Annotation, lambda _: renamed)
        request.send_error(500)

    receiver.answers = [refusing]
    sending()
    reaches(assembly, job, "delivered")
    record = assembly.ledger.get("ada", job.id)
    assert record is not None
    assert record.name == "renamed"
    first, second = receiver.requests
    assert first.body == second.body
    assert b"renamed" not in second.body


def test_the_reason_for_a_retry_is_shown(
    assembly: Assembly, receiver: Receiver, sending: Sending
) -> None:
    receiver.answers = [(503, {"Retry-After": "300"}), 503]
    sending(schedule_s=(0.0, 60.0))
    job = finished(assembly, receiver)
    until(lambda: webhook_of(assembly, job).attempts == 1)
    stands = webhook_of(assembly, job)
    assert (stands.status, stands.reason) == ("pending", "The answer was 503.")
    assert stands.next_at is not None
    wait = (datetime.fromisoformat(stands.next_at) - datetime.now(UTC)).total_seconds()
    assert 295 < wait < 335


def test_sending_stops_after_the_last_retry(
    assembly: Assembly, receiver: Receiver, sending: Sending
) -> None:
    receiver.answers = [500, 301, 404, 204]
    sending()
    job = finished(assembly, receiver)
    stands = reaches(assembly, job, "failed")
    assert stands.reason == "The answer was 404."
    assert (stands.attempts, stands.next_at) == (3, None)
    assert len(receiver.requests) == 3


def test_status_410_ends_the_sending(
    assembly: Assembly, receiver: Receiver, sending: Sending
) -> None:
    receiver.answers = [410]
    sending()
    job = finished(assembly, receiver)
    assert reaches(assembly, job, "failed").attempts == 1
    assert len(receiver.requests) == 1


def test_a_private_address_ends_the_sending(
    assembly: Assembly, settings: WorkerSettings, receiver: Receiver, sending: Sending
) -> None:
    sending(settings=settings.model_copy(update={"webhook_allow": ()}), apart=True)
    for url in (receiver.url, receiver.url.replace("127.0.0.1", "localhost")):
        stands = reaches(assembly, finished(assembly, receiver, webhook=url), "failed")
        assert stands.attempts == 1
        assert stands.reason == "The host has an address that webhooks may not be sent to."
    assert receiver.requests == []


def test_a_job_without_a_webhook_costs_nothing(
    assembly: Assembly, settings: WorkerSettings, receiver: Receiver, sending: Sending
) -> None:
    sending()
    job = finished(assembly, receiver, webhook=None)
    record = assembly.ledger.get("ada", job.id)
    assert record is not None
    assert record.webhook is None
    assert redis_keys(assembly, settings) == set()
    fields = assembly.redis.hkeys(f"{settings.key_prefix}job:{job.id}")
    assert not [name for name in fields if "hook" in name]
    assert not [key for key in everything(assembly) if "webhook" in key]


def test_an_internal_error_is_a_failed_attempt(
    assembly: Assembly, receiver: Receiver, sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("inner detail")

    monkeypatch.setattr("workers.webhooks.sender.message", broken)
    sending()
    stands = reaches(assembly, finished(assembly, receiver), "failed")
    assert (stands.attempts, stands.reason) == (3, "Something went wrong on our side.")


def test_a_deleted_job_sends_nothing_and_leaves_nothing(
    assembly: Assembly, settings: WorkerSettings, receiver: Receiver, sending: Sending
) -> None:
    before = everything(assembly)
    deleted = [finished(assembly, receiver), submitted(assembly, receiver)]
    for job in deleted:
        assert assembly.ledger.delete("ada", job.id)
    sending()
    surviving = finished(assembly, receiver)
    reaches(assembly, surviving, "delivered")
    assert [webhook.id for webhook in receiver.requests] == [id_of(surviving.id)]
    assert assembly.ledger.delete("ada", surviving.id)
    of_service = {layout.WEBHOOK_ROOT, witness_of(layout.WEBHOOK_ROOT)}
    assert everything(assembly) - before == of_service
    assert set(assembly.ledger.webhooks.counts().values()) == {0}
    assert redis_keys(assembly, settings) == {f"{settings.key_prefix}hook_counts"}


def test_a_job_deleted_while_its_webhook_is_sent_leaves_nothing(
    assembly: Assembly, settings: WorkerSettings, receiver: Receiver, sending: Sending
) -> None:
    def delete(handler: Any) -> None:
        assembly.ledger.delete("ada", job.id)
        handler.send_response(204)
        handler.end_headers()

    receiver.answers = [delete]
    job = finished(assembly, receiver)
    before = {key for key in everything(assembly) if job.id in key}
    assert before
    sender = sending()
    receiver.wait()
    sender.stop(60.0)
    assert not [key for key in everything(assembly) if job.id in key]
    assert redis_keys(assembly, settings) == {f"{settings.key_prefix}hook_counts"}


def test_a_hanging_receiver_delays_no_other(
    assembly: Assembly, receiver: Receiver, sending: Sending
) -> None:
    with receiving() as dead, receiving() as dead_too:
        dead.answers = [dead.hang] * 20
        dead_too.answers = [dead_too.hang] * 20
        for _ in range(10):
            finished(assembly, dead)
            finished(assembly, dead_too)
        waiting = finished(assembly, receiver, tenant="bob")
        sending(timeout_s=20.0)
        sending(timeout_s=20.0, apart=True)
        reaches(assembly, waiting, "delivered")
        until(lambda: len(dead.requests) + len(dead_too.requests) == 8)
        # All processes together send at most four to a receiver and eight for a tenant.
        assert (len(dead.requests), len(dead_too.requests)) == (4, 4)
        assert finished(assembly, receiver)
        assert reaches(assembly, finished(assembly, receiver, tenant="eve"), "delivered")
        assert len(receiver.requests) == 2


def test_each_of_many_webhooks_is_sent_once(
    assembly: Assembly, receiver: Receiver, sending: Sending
) -> None:
    jobs = [finished(assembly, receiver, tenant=f"t{n % 3}") for n in range(30)]
    for _ in range(3):
        sending(apart=True)
    for job in jobs:
        reaches(assembly, job, "delivered")
    assert sorted(webhook.id for webhook in receiver.requests) == sorted(
        id_of(job.id) for job in jobs
    )


def test_a_process_without_a_sender(
    assembly: Assembly, settings: WorkerSettings, receiver: Receiver, sending: Sending
) -> None:
    sending(settings=settings.model_copy(update={"webhook_senders": 0}), apart=True)
    job = finished(assembly, receiver)
    assembly.ledger.sweep()
    sending()
    reaches(assembly, job, "delivered")


def test_a_process_that_signs_by_another_secret_says_so(
    assembly: Assembly, settings: WorkerSettings, caplog: pytest.LogCaptureFixture
) -> None:
    """As one whose settings lack the secret, or name the new one without the former."""
    old, new = "o" * 32, "n" * 32

    def differs(secret: str) -> bool:
        changed = settings.model_copy(update={"webhook_secret": SecretStr(secret)})
        caplog.clear()
        webhooks = assemble(changed, lambda *_: None).ledger.webhooks
        for _ in range(2):
            webhooks.compare_keys()
        n_lines = sum("another secret" in line for line in caplog.messages)
        assert not any(each in caplog.text for each in (old, new))
        return n_lines == 1

    given = [old, old, f"{new} {old}", new, old, "", ""]
    assert [differs(each) for each in given] == [False, False, False, False, True, True, False]


def test_both_secrets_sign_during_a_rotation(
    assembly: Assembly, settings: WorkerSettings, receiver: Receiver, sending: Sending
) -> None:
    def with_secret(text: str) -> WorkerSettings:
        return WorkerSettings(**{**settings.model_dump(), "webhook_secret": text})

    old, new = "o" * 24, "n" * 24
    rotating = with_secret(f" {new}, {old}")
    assert rotating.webhook_secrets == (new.encode(), old.encode())
    before = secret_of(assemble(with_secret(old), lambda *_: None))
    after = secret_of(assemble(with_secret(new), lambda *_: None))
    assert before != after
    sending(settings=rotating, apart=True)
    finished(assembly, receiver)
    webhook = receiver.wait()[0]
    verify(before, webhook)
    verify(after, webhook)
    assert layout.WEBHOOK_ROOT not in everything(assembly)
    for wrong in ("short", f"{new} short", f"{new},{old},{'x' * 24}"):
        with pytest.raises(ValueError, match="UMBEL_WEBHOOK_SECRET") as refused:
            _ = with_secret(wrong).webhook_secrets
        assert wrong not in str(refused.value)
    assert new not in repr(rotating)
    assert new not in rotating.model_dump_json()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", 0),
        ("7", 7),
        ("-7", 0),
        ("soon", 0),
        ("1e9", 0),
        ("9" * 40, 999999999),
        ("٣", 0),
        (f"21 Oct {'9' * 20} 07:28:00 GMT", 0),
    ],
)
def test_retry_after(text: str, seconds: float) -> None:
    assert retry_after_s(Reply(503, text)) == seconds


def test_retry_after_a_date() -> None:
    assert retry_after_s(Reply(503, "Wed, 21 Oct 2015 07:28:00 GMT")) == 0
    assert retry_after_s(Reply(503, "Wed, 21 Oct 2099 07:28:00 GMT")) > 1e9
    assert retry_after_s(Reply(503, "Wed, 21 Oct 2099 07:28:00")) > 1e9


def test_the_schedule_is_the_standards() -> None:
    assert len(SCHEDULE_S) == 10
    assert sum(SCHEDULE_S) == 75 * 3600 + 35 * 60 + 5


def test_the_log_has_no_secrets(
    assembly: Assembly,
    receiver: Receiver,
    sending: Sending,
    caplog: pytest.LogCaptureFixture,
) -> None:
    receiver.answers = [500]
    sending()
    with caplog.at_level("DEBUG"):
        job = finished(assembly, receiver)
        reaches(assembly, job, "delivered")
    log = " ".join(json.dumps(vars(record), default=repr) for record in caplog.records)
    lines = [vars(record) for record in caplog.records if record.getMessage() == "webhook"]
    assert [(line["job"], line["attempt"], line["status"]) for line in lines] == [
        (job.id, 1, 500),
        (job.id, 2, 204),
    ]
    assert lines[0]["receiver"] == f"127.0.0.1:{receiver.port}"
    assert "s3cret" not in log
    assert secret_of(assembly)[6:30] not in log
    assert "v1," not in log


def test_tenants_whose_receivers_hang_do_not_hold_up_another_one(
    assembly: Assembly, receiver: Receiver, sending: Sending
) -> None:
    """Two of them owe as many as a process sends at a time."""
    with contextlib.ExitStack() as stack:
        hanging = [(each, stack.enter_context(receiving())) for each in ("ada", "bob") * 2]
        jobs: list[Request] = []
        for tenant, each in hanging:
            each.answers = [each.hang] * PER_RECEIVER
            jobs += [finished(assembly, each, tenant=tenant) for _ in range(PER_RECEIVER)]
        assert len(jobs) == WorkerSettings().webhook_senders
        sending()
        until(lambda: sum(len(each.requests) for _, each in hanging) >= 10)
        other = finished(assembly, receiver, tenant="eve")
        reaches(assembly, other, "delivered")
        assert {webhook_of(assembly, job).attempts for job in jobs} == {0}


@pytest.mark.parametrize("slow_s", [0.0, 60.0])
def test_a_receiver_that_takes_long_counts_as_slow(
    assembly: Assembly,
    settings: WorkerSettings,
    receiver: Receiver,
    sending: Sending,
    slow_s: float,
) -> None:
    receiver.answers = [500]
    sending(slow_s=slow_s)
    job = finished(assembly, receiver)
    reaches(assembly, job, "delivered")
    slow = assembly.redis.zrange(f"{settings.key_prefix}hooks_slow", 0, -1)
    assert slow == ([] if slow_s else [f"ada 127.0.0.1:{receiver.port}"])

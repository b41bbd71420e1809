"""Webhooks from the point of view of an API client."""

from __future__ import annotations

import hashlib
import ipaddress
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.app.conftest import Api, Start, new_job, problem_of
from tests.workers.webhooks.receiver_kit import Receiver, receiving, until, verify
from workers.jobs.public import public
from workers.model import Record

PUBLIC = "https://example.org/hooks/1?token=s3cret"
LOCAL = (ipaddress.ip_network("127.0.0.0/8"),)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def allowing(start: Start) -> Api:
    return start(webhook_allow=LOCAL, sweep_s=0.05)


def submit(api: Api, url: str | None, **headers: str) -> dict[str, Any]:
    answer = api.client.post("/v1/jobs", json=new_job(webhook=url), headers=headers)
    assert answer.status_code == 202, answer.text
    job: dict[str, Any] = answer.json()
    return job


def get(api: Api, job_id: str) -> dict[str, Any]:
    job: dict[str, Any] = api.client.get(f"/v1/jobs/{job_id}").json()
    return job


def delivered(api: Api, job_id: str) -> dict[str, Any]:
    until(lambda: get(api, job_id)["webhook"]["status"] == "delivered")
    return get(api, job_id)


def test_a_job_shows_the_status_of_its_webhook(api: Api) -> None:
    job = submit(api, PUBLIC)
    waiting = {
        "url": PUBLIC,
        "status": "waiting",
        "attempts": 0,
        "next_at": None,
        "reason": None,
    }
    assert job["webhook"] == waiting
    assert get(api, job["id"])["webhook"] == waiting
    assert api.client.get("/v1/jobs").json()["items"][0]["webhook"] == waiting
    assert api.claim(job["id"]).request.webhook == PUBLIC
    for none in (new_job(), new_job(webhook=None)):
        assert api.client.post("/v1/jobs", json=none).json()["webhook"] is None


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "begins with https"),
        ("example.org", "begins with https"),
        ("ftp://example.org/", "begins with https"),
        ("https://me:pw@example.org/", "no user name"),
        ("https://example.org/#x", "no fragment"),
        ("https://example.org:0/", "between 1 and 65535"),
        ("https://example.org:99999/", "cannot be read"),
        ("https://example.org/" + "a" * 2048, "2048 characters"),
        (7, "string"),
        ([PUBLIC], "string"),
        ({"url": PUBLIC}, "string"),
        ("http://127.0.0.1/", "public addresses only"),
        ("http://127.1:9000/", "public addresses only"),
        ("http://2130706433/", "public addresses only"),
        ("http://[::1]/", "public addresses only"),
        ("http://[::ffff:127.0.0.1]/", "public addresses only"),
        ("http://169.254.169.254/latest/meta-data", "public addresses only"),
        ("http://0.0.0.0/", "public addresses only"),
        ("https://localhost:8443/", "public addresses only"),
    ],
)
def test_refused_addresses(api: Api, url: object, message: str) -> None:
    answer = api.client.post("/v1/jobs", json=new_job(webhook=url))
    problem = problem_of(answer, 422, "invalid-request")
    assert problem["errors"][0]["pointer"] == "/webhook"
    assert message in problem["errors"][0]["detail"]
    assert message in problem["detail"]
    assert api.sent == []


def test_the_content_is_the_job_as_the_api_shows_it(allowing: Api, receiver: Receiver) -> None:
    secret = allowing.client.get("/v1/webhook-secret").json()["secret"]
    job = submit(allowing, receiver.url)
    allowing.finish(job["id"], warnings=("odd",))
    webhook = receiver.wait()[0]
    verify(secret, webhook)
    after = delivered(allowing, job["id"])
    assert after["webhook"] == {
        "url": receiver.url,
        "status": "delivered",
        "attempts": 1,
        "next_at": None,
        "reason": None,
    }
    assert webhook.content == {
        "type": "job.succeeded",
        "timestamp": after["finished_at"],
        "data": {**after, "webhook": {**after["webhook"], "status": "pending", "attempts": 0}},
    }


def test_a_cancelled_job_sends_a_webhook(allowing: Api, receiver: Receiver) -> None:
    job = submit(allowing, receiver.url)
    assert allowing.client.post(f"/v1/jobs/{job['id']}/cancel").json()["status"] == "cancelled"
    assert receiver.wait()[0].content["type"] == "job.cancelled"
    delivered(allowing, job["id"])
    assert 'umbel_webhooks{status="delivered"} 1.0' in allowing.client.get("/metrics").text


def test_a_repeated_request_sends_one_webhook(allowing: Api, receiver: Receiver) -> None:
    key = {"Idempotency-Key": "a1"}
    job = submit(allowing, receiver.url, **key)
    assert submit(allowing, receiver.url, **key)["id"] == job["id"]
    repeated = allowing.client.post("/v1/jobs", json=new_job(webhook=PUBLIC), headers=key)
    problem_of(repeated, 422, "idempotency-mismatch")
    allowing.finish(job["id"])
    delivered(allowing, job["id"])
    assert submit(allowing, receiver.url, **key)["id"] == job["id"]
    assert len(receiver.requests) == 1


def test_a_deleted_job_sends_no_webhook(start: Start, receiver: Receiver) -> None:
    quiet = start(webhook_allow=LOCAL, webhook_senders=0)
    job = submit(quiet, receiver.url)
    quiet.finish(job["id"])
    assert quiet.client.delete(f"/v1/jobs/{job['id']}").status_code == 204
    sending = start(webhook_allow=LOCAL, sweep_s=0.05)
    surviving = submit(sending, receiver.url)
    sending.finish(surviving["id"])
    delivered(sending, surviving["id"])
    assert [webhook.content["data"]["id"] for webhook in receiver.requests] == [surviving["id"]]


def test_tenants_have_keys_of_their_own(start: Start, receiver: Receiver) -> None:
    keys = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("ada", "bob")}
    api = start(
        api_keys=tuple(f"{name}:{digest}" for name, digest in keys.items()),
        webhook_allow=LOCAL,
        sweep_s=0.05,
    )
    problem_of(api.client.get("/v1/webhook-secret"), 401, "unauthenticated")
    ada, bob = ({"Authorization": f"Bearer {name}"} for name in ("ada", "bob"))
    secrets = [api.client.get("/v1/webhook-secret", headers=h).json() for h in (ada, bob, ada)]
    assert secrets[0] == secrets[2] != secrets[1]
    assert secrets[0]["former"] is None
    job = submit(api, receiver.url, **ada)
    problem_of(api.client.get(f"/v1/jobs/{job['id']}", headers=bob), 404, "not-found")
    api.finish(job["id"])
    webhook = receiver.wait()[0]
    verify(secrets[0]["secret"], webhook)
    with pytest.raises(AssertionError):
        verify(secrets[1]["secret"], webhook)


def test_only_the_secret_route_shows_the_current_and_previous_secret(start: Start) -> None:
    old, new = "o" * 32, "n" * 32
    was = start(webhook_secret=old).client.get("/v1/webhook-secret").json()
    api = start(webhook_secret=f"{new} {old}")
    answer = api.client.get("/v1/webhook-secret")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json()["former"] == was["secret"] != answer.json()["secret"]
    job = submit(api, PUBLIC)
    for text in (json.dumps(get(api, job["id"])), api.client.get("/metrics").text):
        assert "whsec" not in text
        assert answer.json()["secret"][6:] not in text


def test_every_sent_field_of_a_job_is_documented(api: Api) -> None:
    job = submit(api, PUBLIC)
    record = api.service.ledger.get("local", job["id"])
    assert isinstance(record, Record)
    assert public(record) == job

"""Keys of the store in a running service: roles, expiry, revocation, open streams."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from app.http import keyring
from app.http.environment_keys import new_key
from tests.app.conftest import Api, Live, Start, new_job, problem_of
from workers.artifacts.keys import Keys, Role

WITHIN_S = 60.0
"""Generous: a busy machine is slow."""


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring, "EVERY_S", 0.05)


def get(api: Api, secret: str | None, path: str = "/v1/jobs", method: str = "GET") -> Any:
    headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
    return api.client.request(method, path, headers=headers)


def eventually(api: Api, secret: str | None, status: int, **request: Any) -> Any:
    until = time.monotonic() + WITHIN_S
    while (answer := get(api, secret, **request)).status_code != status:
        assert time.monotonic() < until, answer.text
        time.sleep(0.02)
    return answer


def known(api: Api, secret: str) -> None:
    """Wait until the service has keys, this one among them."""
    eventually(api, None, 401)
    eventually(api, secret, 200)


def test_the_first_key_ends_the_keyless_service(start: Start) -> None:
    api = start()
    assert get(api, None).status_code == 200
    keys = Keys(api.service.blobs)
    key, secret = keys.add("acme", "write")
    problem_of(eventually(api, None, 401), 401, "unauthenticated")
    assert get(api, secret).status_code == 200
    keys.revoke(key.id, datetime.now(UTC))
    problem = problem_of(eventually(api, secret, 401), 401, "unauthenticated")
    assert "was revoked" in problem["detail"]
    assert get(api, None).status_code == 401, "a revoked key opens nothing"
    again = start()
    assert get(again, None).status_code == 401


def test_keys_of_the_environment_and_of_the_store_together(start: Start) -> None:
    env, line = new_key("acme")
    api = start(client=("10.0.0.1", 1), api_keys=line)
    _, stored = Keys(api.service.blobs).add("acme", "write")
    known(api, stored)
    job = api.client.post("/v1/jobs", json=new_job(), headers={"Authorization": f"Bearer {env}"})
    path = f"/v1/jobs/{job.json()['id']}"
    assert get(api, stored, path).status_code == 200, "one tenant"
    assert get(api, env, path).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "LOCK"])
def test_a_key_that_reads_changes_nothing(start: Start, method: str) -> None:
    api = start()
    _, secret = Keys(api.service.blobs).add("acme", "read")
    known(api, secret)
    assert get(api, secret, method="HEAD").status_code == 200
    problem = problem_of(get(api, secret, method=method), 403, "forbidden")
    assert "only read" in problem["detail"]
    # Nothing is kept of a figure, so any method may ask for one.
    assert get(api, secret, "/v1/figures", method=method).status_code in (405, 415, 422)


@pytest.mark.parametrize(("role", "status"), [("read", 403), ("write", 403), ("admin", 200)])
def test_the_key_of_an_administrator_opens_the_metrics(
    start: Start, role: Role, status: int
) -> None:
    api = start(api_keys=new_key("a")[1])
    _, secret = Keys(api.service.blobs).add("acme", role)
    known(api, secret)
    assert get(api, secret, "/metrics").status_code == status


def test_a_key_that_reads_does_not_get_the_secret_that_signs(start: Start) -> None:
    api = start()
    keys = Keys(api.service.blobs)
    (_, reads), (_, writes) = keys.add("acme", "read"), keys.add("acme", "write")
    known(api, writes)
    assert get(api, writes, "/v1/webhook-secret").status_code == 200
    problem_of(get(api, reads, "/v1/webhook-secret"), 403, "forbidden")


def test_an_expired_key_is_refused_with_its_time(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = start()
    keys = Keys(api.service.blobs)
    at = datetime.now(UTC) + timedelta(hours=1)
    _, secret = keys.add("acme", "write", expires_at=at)
    known(api, secret)

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return at

    monkeypatch.setattr(keyring, "datetime", Later)
    problem = problem_of(get(api, secret), 401, "unauthenticated")
    assert f"expired at {at:%Y-%m-%dT%H:%M:%SZ}" in problem["detail"]


def test_a_wrong_secret_of_a_known_id_tells_nothing(start: Start) -> None:
    api = start()
    keys = Keys(api.service.blobs)
    key, secret = keys.add("acme", "write")
    keys.revoke(key.id, datetime.now(UTC))
    eventually(api, secret, 401)
    wrong = f"{secret[:-1]}{'a' if secret[-1] != 'a' else 'b'}"
    problem = problem_of(get(api, wrong), 401, "unauthenticated")
    assert "not known" in problem["detail"]


def test_foreign_ids_do_not_exist(start: Start) -> None:
    api = start()
    keys = Keys(api.service.blobs)
    (_, ours), (_, theirs) = keys.add("acme", "write"), keys.add("other", "admin")
    known(api, theirs)
    job = api.client.post("/v1/jobs", json=new_job(), headers={"Authorization": f"Bearer {ours}"})
    path = f"/v1/jobs/{job.json()['id']}"
    assert get(api, ours, path).status_code == 200
    for method, below in (("GET", ""), ("GET", "/events"), ("DELETE", ""), ("POST", "/cancel")):
        problem_of(get(api, theirs, path + below, method), 404, "not-found")


def test_uses_are_written_when_the_process_ends_at_the_latest(start: Start) -> None:
    role: Role = "read"
    api = start()
    keys = Keys(api.service.blobs)
    key, secret = keys.add("acme", role)
    known(api, secret)
    assert keys.last_use(key.id) is None, "no write for each request"
    api.client.__exit__(None, None, None)
    used = keys.last_use(key.id)
    api.client.__enter__()
    assert used is not None
    assert abs(used - datetime.now(UTC)) < timedelta(minutes=2)


def test_the_streams_of_a_revoked_key_end(live: Live) -> None:
    keys = Keys(live.service.blobs)
    (gone, secret), (_, other) = keys.add("acme", "read"), keys.add("acme", "write")
    with httpx.Client(base_url=live.url, timeout=WITHIN_S) as client:
        headers = {"Authorization": f"Bearer {other}"}
        until = time.monotonic() + WITHIN_S
        while client.get("/v1/jobs").status_code != 401:
            assert time.monotonic() < until
        job = client.post("/v1/jobs", json=new_job(), headers=headers).json()["id"]
        ended: dict[str, float] = {}
        begun = [threading.Event(), threading.Event()]

        def follow(name: str, key: str, first: threading.Event) -> None:
            with client.stream(
                "GET", f"/v1/jobs/{job}/events", headers={"Authorization": f"Bearer {key}"}
            ) as stream:
                assert stream.status_code == 200
                for _ in stream.iter_lines():
                    first.set()
            ended[name] = time.monotonic()

        streams = [
            threading.Thread(target=follow, args=("revoked", secret, begun[0])),
            threading.Thread(target=follow, args=("other", other, begun[1])),
        ]
        for stream in streams:
            stream.start()
        assert all(first.wait(WITHIN_S) for first in begun)
        keys.revoke(gone.id, datetime.now(UTC))
        streams[0].join(WITHIN_S)
        assert "revoked" in ended
        assert "other" not in ended, "the other key's stream goes on"
        client.post(f"/v1/jobs/{job}/cancel", headers=headers)
        streams[1].join(WITHIN_S)
        assert "other" in ended

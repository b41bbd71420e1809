"""Quotas over HTTP: 429 with what is used, what GET /v1/usage shows, requests a second."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from app.http import rates
from app.http.environment_keys import new_key
from tests.app.conftest import Api, Live, Start, make_settings, new_job, problem_of
from workers.artifacts.keys import Keys
from workers.embedded import EmbeddedServer
from workers.settings import Limits

CSV = {"Content-Type": "text/csv"}
NO_AMOUNTS = {what: {"used": 0, "limit": None} for what in ("datasets", "trees", "jobs", "queued")}


def upload(api: Api, content: Any = b"1,2\n", **headers: str) -> Any:
    return api.client.post("/v1/datasets", content=content, headers={**CSV, **headers})


def usage(api: Api, **headers: str) -> dict[str, Any]:
    answer = api.client.get("/v1/usage", headers=headers)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def of_quota(answer: Any, whose: str, what: str) -> dict[str, Any]:
    """The facts of a quota that is used up, after checking the response."""
    problem = problem_of(answer, 429, "quota-exceeded")
    quota: dict[str, Any] = problem["quota"]
    assert (quota["whose"], quota["what"]) == (whose, what)
    assert int(answer.headers["retry-after"]) > 0
    assert answer.headers["ratelimit-policy"].startswith(f'"{whose}-{what}";q={quota["limit"]};qu=')
    assert answer.headers["ratelimit"].startswith(f'"{whose}-{what}";r=')
    return quota


def test_nothing_is_limited_unless_it_is_set(api: Api) -> None:
    assert upload(api).status_code == 201
    body = usage(api)
    assert body["role"] == "admin"
    assert body["key"] is None
    assert body["tenant"] == {
        **NO_AMOUNTS,
        "id": "local",
        "bytes": {"used": 4, "limit": None},
        "datasets": {"used": 1, "limit": None},
        "running": {"used": 0, "limit": None},
        "requests": {"used": None, "limit": None, "window_s": None},
    }
    assert "ratelimit" not in upload(api).headers


def test_datasets_beyond_the_quota_are_refused_before_they_are_stored(start: Start) -> None:
    api = start(quota_datasets="2", quota_bytes="100,local:20")
    first = upload(api).json()["id"]
    assert upload(api).status_code == 201
    held = set(api.service.blobs.keys("datasets/"))
    quota = of_quota(upload(api), "tenant", "datasets")
    assert (quota["used"], quota["limit"]) == (2, 2)
    assert set(api.service.blobs.keys("datasets/")) == held
    assert api.client.delete(f"/v1/datasets/{first}").status_code == 204
    of_quota(upload(api, b"1,2\n" * 5), "tenant", "bytes")

    def chunks() -> Iterator[bytes]:
        yield from [b"1,2\n"] * 5

    of_quota(upload(api, chunks()), "tenant", "bytes")
    assert upload(api, b"1,2\n" * 4).status_code == 201
    assert usage(api)["tenant"]["bytes"] == {"used": 20, "limit": 20}
    held = set(api.service.blobs.keys("jobs/"))
    of_quota(api.client.post("/v1/jobs", json=new_job()), "tenant", "bytes")
    assert set(api.service.blobs.keys("jobs/")) == held


def test_a_repeat_is_answered_though_the_quota_is_used_up(start: Start) -> None:
    api = start(quota_datasets="1", quota_queued="1")
    first = upload(api, **{"Idempotency-Key": "a"})
    assert first.status_code == 201
    again = upload(api, **{"Idempotency-Key": "a"})
    assert (again.status_code, again.json()["id"]) == (201, first.json()["id"])
    other = upload(api, b"3,4\n", **{"Idempotency-Key": "a"})
    problem_of(other, 422, "idempotency-mismatch")
    assert usage(api)["tenant"]["datasets"]["used"] == 1
    job = {"json": new_job(), "headers": {"Idempotency-Key": "b"}}
    assert api.client.post("/v1/jobs", **job).status_code == 202
    of_quota(api.client.post("/v1/jobs", json=new_job()), "tenant", "queued")
    assert api.client.post("/v1/jobs", **job).headers["idempotent-replayed"] == "true"


def test_parts_count_while_they_are_kept_and_their_dataset_after(start: Start) -> None:
    api = start(quota_bytes="10", quota_datasets="1")
    begun = api.client.post("/v1/uploads").json()["id"]

    def part(number: int, content: bytes) -> Any:
        return api.client.put(f"/v1/uploads/{begun}/parts/{number}", content=content)

    assert part(1, b"1,2\n").status_code == 204
    assert part(2, b"3,4\n").status_code == 204
    of_quota(part(3, b"5,6\n"), "tenant", "bytes")
    assert usage(api)["tenant"]["bytes"]["used"] == 8
    assert api.client.post(f"/v1/uploads/{begun}/complete").status_code == 201
    assert api.client.post(f"/v1/uploads/{begun}/complete").status_code == 201
    assert usage(api)["tenant"]["bytes"]["used"] == 8
    other = api.client.post("/v1/uploads").json()["id"]
    assert api.client.put(f"/v1/uploads/{other}/parts/1", content=b"7").status_code == 204
    of_quota(api.client.post(f"/v1/uploads/{other}/complete"), "tenant", "datasets")
    assert api.client.delete(f"/v1/uploads/{other}").status_code == 204
    assert usage(api)["tenant"]["bytes"]["used"] == 8


@pytest.mark.parametrize("stated", [True, False])
def test_uploads_at_once_keep_the_quota(
    valkey: EmbeddedServer, live: Live, stated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live.service.settings, "quota_bytes", {"": 100_000})
    size, codes = 30_000, []

    def chunks() -> Iterator[bytes]:
        for _ in range(10):
            yield b"x" * (size // 10)

    def send() -> None:
        content: Any = b"x" * size if stated else chunks()
        answer = httpx.post(f"{live.url}/v1/datasets", content=content, headers=CSV, timeout=30.0)
        codes.append(answer.status_code)

    senders = [threading.Thread(target=send) for _ in range(8)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    kept = sum(
        live.service.blobs.size(path) or 0
        for path in live.service.blobs.keys("datasets/")
        if path.endswith("/content")
    )
    assert live.service.usage.of("local")["bytes"] == kept
    assert kept == codes.count(201) * size
    # Chunks that arrive together may refuse each other, since each reserves what it needs.
    assert kept <= 100_000
    assert set(codes) <= {201, 429}
    assert not stated or codes.count(201) == 3


def test_room_is_given_back_in_the_moment_in_which_a_dataset_counts(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted and reserved at once, it would keep another upload out that has room."""
    api = start(quota_bytes="100")
    monkeypatch.setattr(api.service.usage, "release", lambda *_: None)
    sent = api.client.post(
        "/v1/datasets", content=b"[[1,2],[3,4]]", headers={"Content-Type": "application/json"}
    )
    assert sent.status_code == 201
    assert api.service.redis.hgetall(f"{api.settings.key_prefix}reserved:local") == {}
    assert usage(api)["tenant"]["bytes"]["used"] == 13


def test_a_key_has_limits_and_a_use_of_its_own(start: Start) -> None:
    env, line = new_key("acme")
    first = start(api_keys=line)
    keys = Keys(first.service.blobs)
    key, secret = keys.add("acme", "write", limits=Limits(datasets=1, bytes=7))
    _, foreign = keys.add("other", "write")
    api = start(api_keys=line, quota_datasets="2,other:5")
    own, plain = {"Authorization": f"Bearer {secret}"}, {"Authorization": f"Bearer {env}"}
    of_quota(upload(api, b"1,2\n3,4\n", **own), "key", "bytes")
    assert upload(api, **own).status_code == 201
    of_quota(upload(api, **own), "key", "datasets")
    assert upload(api, **plain).status_code == 201
    of_quota(upload(api, **plain), "tenant", "datasets")
    body = usage(api, **own)
    assert body["role"] == "write"
    assert body["key"]["id"] == key.id
    assert body["key"]["datasets"] == {"used": 1, "limit": 1}
    assert body["tenant"]["datasets"] == {"used": 2, "limit": 2}
    theirs = usage(api, Authorization=f"Bearer {foreign}")
    assert theirs["tenant"]["id"] == "other"
    assert theirs["tenant"]["datasets"] == {"used": 0, "limit": 5}
    assert usage(api, **plain)["key"] is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("quota_bytes", "-1"),
        ("quota_bytes", "1,2"),
        ("quota_datasets", "acme:x"),
        ("quota_running", "A:1"),
        ("quota_queued", str(2**60)),
        ("quota_requests_per_s", "0"),
        ("quota_requests_per_s", "nan"),
    ],
)
def test_wrong_quotas_prevent_the_start(
    valkey: EmbeddedServer, tmp_path: Any, name: str, value: str
) -> None:
    with pytest.raises(ValueError, match=name):
        make_settings(valkey, tmp_path, **{name: value})


FIELD = re.compile(r'"(tenant|key)";r=(\d+);t=(\d+)')


def test_requests_are_counted_for_all_processes_together(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.http.rates.WINDOW_S", 1000)  # None comes back during the test.
    apis = [start(quota_requests_per_s="local:0.005") for _ in range(2)]
    left = []
    for number in range(5):
        answer = apis[number % 2].client.get("/v1/methods")
        assert answer.status_code == 200
        assert answer.headers["ratelimit-policy"] == '"tenant";q=5;w=1000'
        match = FIELD.fullmatch(answer.headers["ratelimit"])
        assert match is not None
        left.append(int(match[2]))
    assert left == [4, 3, 2, 1, 0]
    refused = apis[0].client.post("/v1/jobs", json=new_job())
    problem = problem_of(refused, 429, "too-many-requests")
    assert problem["violated-policies"] == ["tenant"]
    assert refused.headers["ratelimit"].startswith('"tenant";r=0;t=')
    assert 100 < int(refused.headers["retry-after"]) <= 200
    assert apis[1].client.get("/livez").status_code == 200, "what needs no key is not counted"


def test_a_key_may_be_slower_than_its_tenant(start: Start) -> None:
    first = start()
    keys = Keys(first.service.blobs)
    _, slow = keys.add("acme", "read", limits=Limits(requests_per_s=0.01))
    _, other = keys.add("acme", "read")
    api = start(quota_requests_per_s="1")

    def get(secret: str) -> Any:
        return api.client.get("/v1/usage", headers={"Authorization": f"Bearer {secret}"})

    answer = get(slow)
    assert answer.headers["ratelimit-policy"] == '"tenant";q=10;w=10, "key";q=1;w=100'
    assert answer.json()["key"]["requests"] == {"used": 1, "limit": 1, "window_s": 100}
    problem = problem_of(get(slow), 429, "too-many-requests")
    assert problem["violated-policies"] == ["key"]
    used = get(other).json()["tenant"]["requests"]
    assert used == {"used": 2, "limit": 10, "window_s": 10}, "a refused request takes nothing"


def test_a_bucket_fills_again(start: Start) -> None:
    api = start(quota_requests_per_s="20")
    name = f"{api.settings.key_prefix}rate:local"
    for _ in range(3):
        assert api.client.get("/v1/methods").status_code == 200
    full_at = float(api.service.redis.get(name) or 0)  # type: ignore[arg-type]
    api.service.redis.set(name, full_at + 10_000_000)
    problem_of(api.client.get("/v1/methods"), 429, "too-many-requests")
    api.service.redis.set(name, full_at - 10_000_000)
    answer = api.client.get("/v1/methods")
    assert answer.headers["ratelimit"].startswith('"tenant";r=199;t=1')


def test_requests_pass_uncounted_while_redis_is_away(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rates, "AWAY_S", 60.0)
    api = start(quota_requests_per_s="0.1")
    assert api.client.get("/v1/methods").status_code == 200
    problem_of(api.client.get("/v1/methods"), 429, "too-many-requests")
    settings = api.service.rates._settings
    monkeypatch.setattr(settings, "redis_url", "redis://127.0.0.1:1/0")
    monkeypatch.setattr(api.service.rates, "_client", None)
    for _ in range(3):
        answer = api.client.get("/v1/methods")
        assert answer.status_code == 200
        assert "ratelimit" not in answer.headers

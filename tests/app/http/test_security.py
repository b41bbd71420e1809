"""Keys, tenants, Host and Origin, request ids, safe headers."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from app.http.environment_keys import new_key
from app.settings import Settings
from tests.app.conftest import Api, Start, new_job, problem_of

HOSTS = ["127.0.0.1", "127.0.0.1:9", "localhost:8000", "LOCALHOST", "[::1]:8000", "[::1]"]
FOREIGN = [
    *("evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "[::2]", "[", "a@b"),
    *("evil.example@127.0.0.1", "evil.example:1@localhost:8000", "127.0.0.1/x", "localhost#"),
]


@pytest.mark.parametrize("host", HOSTS)
def test_loopback_names_are_allowed(api: Api, host: str) -> None:
    response = api.client.get("/v1/methods", headers={"Host": host})
    assert response.status_code == 200
    assert response.headers["Cross-Origin-Resource-Policy"] == "same-origin"


@pytest.mark.parametrize("host", FOREIGN)
def test_other_names_are_refused(api: Api, host: str) -> None:
    for path in ("/", "/v1/methods", "/metrics", "/docs", "/nothing"):
        problem_of(api.client.get(path, headers={"Host": host}), 403, "forbidden")


def test_without_keys_only_this_machine_sees_the_page(start: Start) -> None:
    assert start().client.get("/").status_code == 200
    problem_of(start(client=("10.0.0.1", 1)).client.get("/"), 403, "forbidden")


def test_pages_of_other_origins_are_refused(start: Start) -> None:
    api = start(cors_origins="https://good.example, https://fine.example")

    def get(origin: str) -> int:
        return api.client.get(
            "/v1/methods", headers={"Origin": origin, "Host": "localhost:8000"}
        ).status_code

    assert get("http://localhost:8000") == 200
    assert get("https://good.example") == 200
    assert get("https://fine.example") == 200
    for origin in ("https://evil.example", "http://localhost:9", "https://localhost:8000", "null"):
        assert get(origin) == 403


def test_cors(start: Start) -> None:
    api = start(cors_origins="https://good.example")
    request_headers = {"Origin": "https://good.example", "Access-Control-Request-Method": "POST"}
    preflight = api.client.options("/v1/jobs", headers=request_headers)
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == "https://good.example"
    answer = api.client.get("/v1/methods", headers={"Origin": "https://good.example"})
    assert answer.headers["access-control-allow-origin"] == "https://good.example"
    assert "ETag" in answer.headers["access-control-expose-headers"]
    evil = api.client.options(
        "/v1/jobs", headers={**request_headers, "Origin": "https://evil.example"}
    )
    assert "access-control-allow-origin" not in evil.headers


@pytest.mark.parametrize(
    ("peer", "status"),
    [("127.0.0.1", 200), ("::1", 200), ("::ffff:127.0.0.1", 200), ("10.0.0.1", 403),
     ("::ffff:10.0.0.1", 403), ("testclient", 403)],
)  # fmt: skip
def test_without_keys_only_this_machine_is_served(start: Start, peer: str, status: int) -> None:
    api = start(client=(peer, 1))
    assert api.client.get("/v1/methods").status_code == status
    assert api.client.get("/livez").status_code == 200


def test_with_keys_each_tenant_sees_its_own_jobs(start: Start, tmp_path: Path) -> None:
    (key_a, line_a), (key_b, line_b) = new_key("a"), new_key("b")
    (tmp_path / "keys").write_text(f"# keys\n\n{line_b} # b's\n")
    api = start(client=("10.0.0.1", 1), api_keys=line_a, api_keys_file=tmp_path / "keys")

    def get(path: str, key: str | None, scheme: str = "Bearer") -> object:
        headers: dict[str, str | bytes] = {"Host": "umbel.example"}
        if key is not None:
            headers["Authorization"] = f"{scheme} {key}".encode("latin-1")
        return api.client.get(path, headers=headers)

    for answer in (
        get("/v1/methods", None),
        get("/v1/methods", "wrong"),
        get("/v1/methods", key_a, "Basic"),
        get("/v1/methods", hashlib.sha256(key_a.encode()).hexdigest()),
        get("/v1/methods", ""),
        get("/v1/methods", "\u00e9".encode().decode("latin-1")),
        get("/v1/nothing", None),
    ):
        problem_of(answer, 401, "unauthenticated")
        assert answer.headers["www-authenticate"].startswith("Bearer")  # type: ignore[attr-defined]
    for path in ("/livez", "/docs", "/openapi.json"):
        assert get(path, None).status_code == 200  # type: ignore[attr-defined]
    job = api.client.post("/v1/jobs", json=new_job(), headers={"Authorization": f"bearer {key_a}"})
    address = job.headers["location"]
    assert get(address, key_a).status_code == 200  # type: ignore[attr-defined]
    problem_of(get(address, key_b), 404, "not-found")
    assert get("/v1/jobs", key_b).json()["items"] == []  # type: ignore[attr-defined]


def test_metrics_need_the_token_of_the_operator(start: Start) -> None:
    key, line = new_key("a")
    token = "0123456789abcdef0123456789abcdef"

    def refused(api: Api, headers: dict[str, str], status: int) -> None:
        code = "unauthenticated" if status == 401 else "forbidden"
        problem_of(api.client.get("/metrics", headers=headers), status, code)

    closed = start(api_keys=line)
    refused(closed, {}, 401)
    refused(closed, {"Authorization": f"Bearer {token}"}, 401)
    # A key of the environment may do everything that is its tenant's.
    refused(closed, {"Authorization": f"Bearer {key}"}, 403)
    for keys in ("", line):
        for client in (("127.0.0.1", 1), ("10.0.0.5", 1)):
            api = start(client=client, api_keys=keys, metrics_token=token)
            for wrong in (None, "Bearer", f"Bearer {token}x", f"Basic {token}"):
                refused(api, {} if wrong is None else {"Authorization": wrong}, 401)
            refused(api, {"Authorization": f"Bearer {key}"}, 403 if keys else 401)
            right = {"Authorization": f"Bearer {token}"}
            assert "umbel_workers" in api.client.get("/metrics", headers=right).text
            # It opens nothing else.
            if keys:
                problem_of(api.client.get("/v1/jobs", headers=right), 401, "unauthenticated")


def test_a_short_token_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 24 characters"):
        Settings(metrics_token="short")


def test_keys_are_never_logged_or_shown(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    key, line = new_key("a")
    api = start(api_keys=line)
    with caplog.at_level("DEBUG"):
        api.client.get("/v1/methods", headers={"Authorization": f"Bearer {key}"})
        api.client.get("/v1/methods", headers={"Authorization": f"Bearer {key}x"})
    assert key not in caplog.text


@pytest.mark.parametrize("tenant", ["", "A", "a b", "a:b", "-a", "a" * 64, "../a"])
def test_a_tenant_is_a_plain_name(tenant: str) -> None:
    with pytest.raises(ValueError, match="tenant"):
        new_key(tenant)


def test_a_malformed_key_prevents_the_start(start: Start) -> None:
    with pytest.raises(ValueError, match="umbel keys new"):
        start(api_keys="a:nothex")


def test_request_ids_are_returned_or_generated(api: Api) -> None:
    answer = api.client.get("/v1/nothing", headers={"X-Request-ID": "abc-1"})
    assert answer.headers["x-request-id"] == "abc-1"
    assert answer.json()["request_id"] == "abc-1"
    for odd in ("a b", "a" * 129, "<script>", "a;b"):
        replaced = api.client.get("/v1/nothing", headers={"X-Request-ID": odd})
        assert replaced.headers["x-request-id"].startswith("req_")


def test_answers_have_safe_headers(api: Api) -> None:
    for path in ("/v1/methods", "/v1/nothing", "/livez"):
        headers = api.client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]


def test_behind_a_prefix(start: Start) -> None:
    api = start(root_path="/umbel")
    job = api.client.post("/umbel/v1/jobs", json=new_job())
    assert job.status_code == 202
    assert job.headers["location"].startswith("/umbel/v1/jobs/")
    assert api.client.get(job.headers["location"]).status_code == 200

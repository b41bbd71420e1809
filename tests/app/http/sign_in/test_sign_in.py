"""People sign in by an issuer; what is not good is refused with words, and keys go on to work."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from app.http.environment_keys import new_key
from app.http.sign_in import issuer as issuer_module
from app.http.sign_in import sessions
from app.http.sign_in.people import people
from app.settings import Settings
from tests.app.conftest import Api, Start, new_job, problem_of
from tests.app.http.sign_in.issuer_kit import CLIENT, SECRET, Issuer, serving

URL = "http://127.0.0.1:8000"
OURS = {"Origin": URL}
GROUPS = (
    "admins=acme:admin, lab=acme:write, guests=acme:read, demo=acme:write:demo, other=beta:write"
)


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with serving() as issuer:
        yield issuer


def settings_of(issuer: Issuer, **changes: Any) -> dict[str, Any]:
    return {
        "oidc_issuer": issuer.url,
        "oidc_client_id": CLIENT,
        "oidc_client_secret": SECRET,
        "oidc_url": URL,
        "oidc_groups": GROUPS,
        **changes,
    }


@pytest.fixture
def signing(start: Start, issuer: Issuer) -> Api:
    return start(client=("10.0.0.1", 1), **settings_of(issuer))


def begin(api: Api, issuer: Issuer) -> dict[str, str]:
    """What the browser brings back from the issuer."""
    answer = api.client.get("/sign-in", follow_redirects=False)
    assert answer.status_code == 303, answer.text
    return issuer.signed_in(answer.headers["Location"])


def finish(api: Api, query: dict[str, str], **headers: str) -> httpx.Response:
    return api.client.get(
        "/sign-in/callback", params=query, follow_redirects=False, headers=headers
    )


def sign_in(api: Api, issuer: Issuer) -> httpx.Response:
    return finish(api, begin(api, issuer))


def refused(api: Api, issuer: Issuer, *words: str) -> None:
    problem = problem_of(sign_in(api, issuer), 403, "forbidden")
    for word in words:
        assert word in problem["detail"]
    assert api.client.get("/v1/jobs").status_code == 401


def test_a_person_signs_in_works_and_signs_out(signing: Api, issuer: Issuer) -> None:
    assert signing.client.get("/v1/jobs").status_code == 401, "not keyless, though without keys"
    answer = sign_in(signing, issuer)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    cookies = answer.headers.get_list("set-cookie")
    session = next(text for text in cookies if text.startswith("umbel="))
    assert "HttpOnly" in session
    assert "SameSite=lax" in session
    assert "Secure" not in session
    assert signing.client.get("/v1/jobs").status_code == 200
    shown = signing.client.get("/sign-in/session").json()
    assert shown == {"available": True, "name": "ada", "tenant": "acme", "role": "write"}
    made = signing.client.post("/v1/jobs", json=new_job(), headers=OURS)
    assert made.status_code == 202
    kept = dict(signing.client.cookies)
    assert signing.client.post("/sign-out", headers=OURS).status_code == 204
    assert signing.client.get("/v1/jobs").status_code == 401
    again = signing.client.get("/v1/jobs", headers={"Cookie": f"umbel={kept['umbel']}"})
    assert again.status_code == 401, "the session itself has ended, not only the cookie"


def test_a_sign_out_ends_the_session_of_the_issuer_too(start: Start, issuer: Issuer) -> None:
    issuer.ends = f"{issuer.url}/end?realm=lab"
    api = start(client=("10.0.0.1", 1), **settings_of(issuer))
    sign_in(api, issuer)
    answer = api.client.post("/sign-out", headers=OURS)
    assert answer.status_code == 200
    place, _, query = answer.json()["address"].partition("?")
    assert place == f"{issuer.url}/end"
    sent = dict(parse_qsl(query))
    assert sent["realm"] == "lab"
    assert sent["client_id"] == CLIENT
    assert sent["post_logout_redirect_uri"] == f"{URL}/"
    claims = jwt.decode(sent["id_token_hint"], options={"verify_signature": False})
    assert claims["sub"] == "u-1"
    assert api.client.get("/v1/jobs").status_code == 401
    # Nobody is signed in any more: there is nothing to end.
    assert api.client.post("/sign-out", headers=OURS).status_code == 204


@pytest.fixture
def checked(start: Start, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> Api:
    """Somebody has signed in, and each request has the issuer checked: what Redis says of a session
    is not kept, nor who checks."""
    issuer.refresh = "refresh-0"
    api = start(client=("10.0.0.1", 1), **settings_of(issuer, oidc_check_s=900))
    monkeypatch.setattr(sessions, "KNOWN_S", 0.0)
    assert sign_in(api, issuer).status_code == 303
    return api


def later(api: Api, by_s: float) -> None:
    """As if the last check were `by_s` seconds older."""
    redis, prefix = api.service.redis, api.settings.key_prefix
    for name in redis.scan_iter(f"{prefix}session:*:check"):
        redis.delete(name)
    for name in redis.scan_iter(f"{prefix}session:*"):
        content = json.loads(str(redis.get(name)))
        content["checked"] -= by_s
        redis.set(name, json.dumps(content), keepttl=True)


def test_a_change_of_groups_holds_before_the_session_ends(checked: Api, issuer: Issuer) -> None:
    def session() -> Any:
        return checked.client.get("/sign-in/session").json()

    issuer.claims = {"groups": ["guests"]}
    assert checked.client.get("/v1/jobs").status_code == 200
    assert (session()["role"], issuer.n_refreshed) == ("write", 0), "not checked yet"
    for number, (group, role) in enumerate((("guests", "read"), ("admins", "admin")), 1):
        issuer.claims = {"groups": [group]}
        later(checked, 901)
        assert checked.client.get("/v1/jobs").status_code == 200
        assert (session()["role"], issuer.n_refreshed) == (role, number)
    issuer.claims = {"groups": ["staff"]}
    later(checked, 901)
    body = problem_of(checked.client.get("/v1/jobs"), 401, "unauthenticated")
    assert "none of your groups" in body["detail"]
    issuer.claims = {}
    body = problem_of(checked.client.get("/v1/jobs"), 401, "unauthenticated")
    assert "not signed in any more" in body["detail"], "the session has ended"


@pytest.mark.parametrize("claims", [None, {"sub": "u-2"}, {"aud": "another"}])
def test_a_sign_in_that_the_issuer_has_ended_ends_here(
    checked: Api, issuer: Issuer, claims: dict[str, str] | None
) -> None:
    if claims is None:
        issuer.refresh = "another"
    else:
        issuer.claims = claims
    later(checked, 901)
    problem_of(checked.client.get("/v1/jobs"), 401, "unauthenticated")
    issuer.refresh, issuer.claims = "refresh-0", {}
    problem_of(checked.client.get("/v1/jobs"), 401, "unauthenticated")


def test_an_issuer_that_is_away_is_waited_for_once_more(checked: Api, issuer: Issuer) -> None:
    issuer.down = True
    later(checked, 901)
    assert checked.client.get("/v1/jobs").status_code == 200
    later(checked, 901)
    for _ in range(3):
        problem_of(checked.client.get("/v1/jobs"), 503, "unavailable")
    issuer.down = False
    later(checked, 0)
    assert checked.client.get("/v1/jobs").status_code == 200
    assert issuer.n_refreshed == 1


def test_one_request_at_a_time_has_a_session_checked(checked: Api, issuer: Issuer) -> None:
    """A second one would show the issuer a refresh token that was used, which ends them all."""
    later(checked, 901)
    redis, prefix = checked.service.redis, checked.settings.key_prefix
    [name] = redis.scan_iter(f"{prefix}session:*")
    redis.set(f"{name}:check", 1)
    assert checked.client.get("/v1/jobs").status_code == 200
    assert issuer.n_refreshed == 0


@pytest.mark.parametrize("ends", ["javascript:alert(1)", "ftp://issuer.example/end", "/end"])
def test_a_place_that_is_no_web_address_is_not_followed(
    start: Start, issuer: Issuer, ends: str
) -> None:
    issuer.ends = ends
    api = start(client=("10.0.0.1", 1), **settings_of(issuer))
    sign_in(api, issuer)
    assert api.client.post("/sign-out", headers=OURS).status_code == 204


def test_sign_ins_are_in_the_audit_log(signing: Api, issuer: Issuer) -> None:
    issuer.claims = {"groups": ["admins"]}
    sign_in(signing, issuer)
    issuer.claims = {"groups": ["nobody"]}
    sign_in(signing, issuer)
    lines = signing.client.get("/v1/audit", params={"action": "sign-in"}).json()["items"]
    assert [(line["status"], line["name"], line["tenant"]) for line in lines] == [
        (403, None, None),
        (303, "ada", "acme"),
    ]
    assert lines[1]["actor"].startswith("usr_")
    assert "code" not in lines[1]["path"]


def test_over_https_the_cookie_is_for_this_host_alone(start: Start, issuer: Issuer) -> None:
    api = start(**settings_of(issuer, oidc_url="https://umbel.example/trees"))
    answer = api.client.get("/sign-in", follow_redirects=False)
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-umbel_sign_in=")
    assert "Secure" in cookie
    assert (
        "redirect_uri=https%3A%2F%2Fumbel.example%2Ftrees%2Fsign-in%2Fcallback"
        in (answer.headers["Location"])
    )


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "http://127.0.0.1:9"])
def test_another_page_changes_nothing_by_a_session(
    signing: Api, issuer: Issuer, origin: str | None
) -> None:
    sign_in(signing, issuer)
    headers = {} if origin is None else {"Origin": origin}
    for path in ("/v1/jobs", "/sign-out", "/v1/figures"):
        answer = signing.client.post(path, json=new_job(), headers=headers)
        assert "page only" in problem_of(answer, 403, "forbidden")["detail"]
    assert signing.client.get("/v1/jobs").status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_page_reads_nothing_by_a_session(signing: Api, issuer: Issuer, site: str) -> None:
    sign_in(signing, issuer)
    answer = signing.client.get("/v1/jobs", headers={"Sec-Fetch-Site": site})
    assert answer.status_code == 401


def test_roles_limits_and_tenants_are_those_of_the_group(signing: Api, issuer: Issuer) -> None:
    issuer.claims = {"groups": ["guests"]}
    sign_in(signing, issuer)
    answer = signing.client.post("/v1/jobs", json=new_job(), headers=OURS)
    assert "may only read" in problem_of(answer, 403, "forbidden")["detail"]
    issuer.claims = {"groups": ["lab"]}
    sign_in(signing, issuer)
    job = signing.client.post("/v1/jobs", json=new_job(), headers=OURS).json()["id"]
    for groups, status in ((["demo"], 404), (["other"], 404), ("lab", 200), (["x", "lab"], 200)):
        issuer.claims = {"groups": groups}
        sign_in(signing, issuer)
        assert signing.client.get(f"/v1/jobs/{job}").status_code == status, groups
    assert signing.client.get("/v1/audit").status_code == 403
    issuer.claims = {"groups": ["lab", "admins"]}
    sign_in(signing, issuer)
    assert signing.client.get("/v1/audit").status_code == 200, "the first of the settings counts"


@pytest.mark.parametrize("groups", [None, [], ["Lab"], ["lab "], [1, {}], {"lab": 1}, "la"])
def test_who_is_in_no_group_is_refused_with_words(
    signing: Api, issuer: Issuer, groups: Any
) -> None:
    issuer.claims = {"groups": groups}
    refused(signing, issuer, "none of your groups", "UMBEL_OIDC_GROUPS")


def test_a_refusal_is_a_page_for_a_browser(signing: Api, issuer: Issuer) -> None:
    issuer.claims = {"groups": ["<script>alert(1)</script>"]}
    answer = finish(signing, begin(signing, issuer), Accept="text/html")
    assert answer.status_code == 403
    assert "none of your groups" in answer.text
    assert "<script>" not in answer.text


PAST = int(time.time()) - 3600


@pytest.mark.parametrize(
    ("claims", "word"),
    [
        ({"aud": "another"}, "another audience"),
        ({"aud": ["umbel", "x"], "azp": "x"}, "another client"),
        ({"exp": PAST}, "expired"),
        ({"exp": None}, "wrong"),
        ({"iss": "https://evil.example"}, "another issuer"),
        ({"nonce": "another"}, "nonce"),
        ({"nonce": None}, "nonce"),
        ({"nbf": int(time.time()) + 3600}, "wrong"),
        ({"sub": None}, "wrong"),
    ],
)
def test_tokens_that_are_not_good_are_refused(
    signing: Api, issuer: Issuer, claims: dict[str, Any], word: str
) -> None:
    issuer.claims = claims
    refused(signing, issuer, word)


def _part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def test_forged_signatures_are_refused(signing: Api, issuer: Issuer) -> None:
    public = issuer.keys["first"].public_key()
    pem = public.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    stranger = rsa.generate_private_key(65537, 2048)

    def by_hmac(claims: Any, kid: str, secret: bytes) -> str:
        signed = f"{_part({'alg': 'HS256', 'typ': 'JWT', 'kid': kid})}.{_part(claims)}"
        mac = hmac.digest(secret, signed.encode(), "sha256")
        return f"{signed}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"

    forgeries = [
        (lambda claims: f"{_part({'alg': 'none', 'kid': 'first'})}.{_part(claims)}.", "public key"),
        (lambda claims: by_hmac(claims, "first", pem), "public key"),
        (lambda claims: by_hmac(claims, "oct", b"secret" * 5), "public key"),
        (lambda claims: jwt.encode(claims, stranger, "RS256", {"kid": "first"}), "signature"),
        (lambda claims: jwt.encode(claims, stranger, "RS256", {"kid": "mine"}), "does not have"),
        (lambda claims: jwt.encode(claims, stranger, "RS256", {"kid": "oct"}), "does not have"),
        (lambda claims: "not a token", "not a token"),
        (lambda claims: "e." * 40_000, "at most"),
    ]
    for issuer.sign, word in forgeries:
        refused(signing, issuer, word)


def test_a_sign_in_belongs_to_the_browser_that_began_it_and_is_used_once(
    signing: Api, issuer: Issuer
) -> None:
    query = begin(signing, issuer)
    problem_of(finish(signing, {**query, "state": "other"}), 403, "forbidden")
    problem = problem_of(finish(signing, query), 403, "forbidden")
    assert "not begun in this browser" in problem["detail"], "the cookie went with the first try"
    query = begin(signing, issuer)
    cookies = dict(signing.client.cookies)
    assert finish(signing, query).status_code == 303
    signing.client.cookies.update(cookies)
    assert "did not accept" in problem_of(finish(signing, query), 403, "forbidden")["detail"]
    begun = {**begin(signing, issuer), "error": "access_denied"}
    del begun["code"]
    assert "did not let" in problem_of(finish(signing, begun), 403, "forbidden")["detail"]
    signing.client.cookies.clear()
    problem_of(finish(signing, {}), 403, "forbidden")


def test_keys_of_the_issuer_may_change(
    signing: Api, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sign_in(signing, issuer).status_code == 303
    issuer.rotate("second")
    answer = problem_of(sign_in(signing, issuer), 403, "forbidden")
    assert "does not have" in answer["detail"], "read again at most once in ten seconds"
    monkeypatch.setattr(issuer_module, "AGAIN_S", 0.0)
    assert sign_in(signing, issuer).status_code == 303
    n_read = issuer.requested.count("/keys")
    assert sign_in(signing, issuer).status_code == 303
    assert issuer.requested.count("/keys") == n_read


def test_while_the_issuer_is_away_keys_and_sessions_work(start: Start, issuer: Issuer) -> None:
    key, line = new_key("acme")
    api = start(client=("10.0.0.1", 1), api_keys=line, **settings_of(issuer))
    issuer.down = True
    answer = api.client.get("/sign-in", follow_redirects=False)
    problem = problem_of(answer, 503, "unavailable")
    assert "issuer of sign-ins" in problem["detail"]
    assert answer.headers["Retry-After"]
    bearer = {"Authorization": f"Bearer {key}"}
    assert api.client.get("/v1/jobs", headers=bearer).status_code == 200
    issuer.down = False
    sign_in(api, issuer)
    query = begin(api, issuer)
    issuer.down = True
    problem_of(finish(api, query), 503, "unavailable")
    assert api.client.get("/v1/jobs").status_code == 200, "the session goes on"


def test_programs_send_tokens_of_the_issuer_where_an_audience_is_set(
    start: Start, issuer: Issuer, signing: Api
) -> None:
    def status(api: Api, token: str) -> int:
        bearer = {"Authorization": f"Bearer {token}"}
        return api.client.get("/v1/jobs", headers=bearer).status_code

    assert status(signing, issuer.token()) == 401, "not without an audience"
    api = start(client=("10.0.0.1", 1), **settings_of(issuer, oidc_audience="api"))
    assert status(api, issuer.token(aud="api")) == 200
    for token in (issuer.token(), issuer.token(aud="api", exp=PAST), "eyJ.x.y"):
        assert status(api, token) == 401
    assert status(api, issuer.token(aud="api", groups=[])) == 403
    bearer = {"Authorization": f"Bearer {issuer.token(aud='api')}"}
    assert api.client.post("/v1/jobs", json=new_job(), headers=bearer).status_code == 202
    issuer.down = True
    assert status(api, issuer.token(aud="api")) == 200, "its keys are known"


def test_without_an_issuer_nobody_signs_in(api: Api) -> None:
    problem_of(api.client.get("/sign-in"), 404, "not-found")
    assert api.client.get("/sign-in/session").json()["available"] is False


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"oidc_issuer": "http://idp.example"}, "UMBEL_OIDC_ISSUER"),
        ({"oidc_issuer": ""}, "UMBEL_OIDC_ISSUER is not set"),
        ({"oidc_url": "umbel.example"}, "UMBEL_OIDC_URL"),
        ({"oidc_client_id": ""}, "UMBEL_OIDC_CLIENT_ID"),
        ({"oidc_groups": ""}, "UMBEL_OIDC_GROUPS"),
        ({"oidc_groups": "lab=acme:owner"}, "read, write, admin"),
        ({"oidc_groups": "lab=A B:read"}, "tenant"),
        ({"oidc_groups": "lab=acme:admin:tag"}, "admin"),
        ({"oidc_groups_file": Path("/nowhere/groups")}, "UMBEL_OIDC_GROUPS_FILE"),
        ({"oidc_client_secret_file": Path("/nowhere/x"), "oidc_client_secret": ""}, "SECRET_FILE"),
        ({"oidc_scopes": "email"}, "openid"),
    ],
)
def test_settings_that_do_not_go_together_are_refused_at_the_start(
    changes: dict[str, Any], word: str
) -> None:
    good = settings_of(Issuer(url="https://idp.example"))
    assert people(Settings(**good)) is not None
    with pytest.raises(ValueError, match=word):
        people(Settings(**{**good, **changes}))


def test_groups_may_stand_in_a_file_with_any_name(tmp_path: Path) -> None:
    (tmp_path / "groups").write_text("# people\nCN=Lab, OU=x:y=acme:read:a|b\n\n")
    known = people(
        Settings(
            **settings_of(
                Issuer(url="https://idp.example"),
                oidc_groups="",
                oidc_groups_file=tmp_path / "groups",
            )
        )
    )
    assert known is not None
    (group,) = known.groups
    assert (group.name, group.tenant, group.role) == ("CN=Lab, OU=x:y", "acme", "read")
    assert group.tags == ("a", "b")

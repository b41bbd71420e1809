"""Links to a tree: what they open, and that they open nothing else."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from app.http.environment_keys import new_key
from tests.app.conftest import Start, Working, problem_of
from tests.app.tree_kit import post
from workers.artifacts.shares import REMEMBERED, Shares, share_id_in

NEWICK = "((rose:1,tulip:2)flower:1,oak:3)plant;"


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return post(working, NEWICK)


def share(client: httpx.Client, tree_id: str, **body: Any) -> dict[str, Any]:
    answer = client.post(f"/v1/trees/{tree_id}/shares", json=body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def with_token(token: str) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {token}"}}


def test_a_link_opens_no_more_than_it_says(working: Working, tree: dict[str, Any]) -> None:
    place = f"/v1/trees/{tree['id']}"
    plain = share(working.client, tree["id"])
    edition = working.client.post(f"{place}/editions", json={})
    edition_id = edition.json()["id"]
    working.client.post(
        f"/v1/editions/{edition_id}/changes",
        json={"operations": [{"op": "rename", "node": 2, "name": "secret"}]},
        headers={"If-Match": edition.headers["etag"]},
    )
    edited = share(working.client, tree["id"], edition=edition_id)

    def status(link: dict[str, Any], path: str, method: str = "GET", **query: Any) -> int:
        headers = with_token(link["token"])
        return working.client.request(method, place + path, params=query, **headers).status_code

    assert status(plain, "/view") == 200
    assert status(plain, "/view", method="HEAD") == 200
    assert status(plain, "/view", edition=edition_id) == 403
    assert status(edited, "/view", edition=edition_id) == 200
    assert (
        "secret"
        in working.client.get(
            f"{place}.nwk", params={"edition": edition_id}, **with_token(edited["token"])
        ).text
    )
    # Not the tree as it was before, in any form.
    for path in ("", ".nwk", "/view", "/nodes/1", "/levels", "/cut"):
        assert status(edited, path) == 403, path
    assert status(edited, "/levels", edition=edition_id) == 200
    # No rows, no labels, no names, no parameter twice.
    assert status(plain, "/nodes/1/members") == 403
    assert status(plain, "/nodes/1", labels="ds_" + "0" * 26) == 403
    assert status(plain, "/view", color_by="ds_" + "0" * 26) == 403
    assert status(plain, "/view", color_by="cluster:2") == 200
    assert status(plain, "/view", names="nm_" + "0" * 26) == 403
    assert status(edited, f"/view?edition={edition_id}&edition={edition_id}") == 403
    assert status(plain, "", method="DELETE") == 403
    assert status(plain, "/editions") == 403
    assert status(plain, "/shares") == 403
    shown = working.client.get("/v1/shared", **with_token(edited["token"])).json()
    assert (shown["tree"], shown["edition"]) == (tree["id"], edition_id)
    assert not {"name", "by", "id"} & shown.keys()


def test_a_link_knows_where_its_page_opens(working: Working, tree: dict[str, Any]) -> None:
    given = {"title": "Plants <b>", "note": "See oak.\n\u202eRight", "view": "cut=k:2&node=3"}
    link = share(working.client, tree["id"], name="for Ada", **given)
    shown = working.client.get("/v1/shared", **with_token(link["token"])).json()
    assert given.items() <= shown.items()
    plain = share(working.client, tree["id"])
    assert [plain[name] for name in given] == [None] * 3
    for view in ("a=<script>", "a=b#c", "a b", "x" * 4001):
        body = {"view": view}
        problem_of(
            working.client.post(f"/v1/trees/{tree['id']}/shares", json=body), 422, "invalid-request"
        )


def test_a_link_ends(working: Working, tree: dict[str, Any], monkeypatch: Any) -> None:
    client, shares = working.client, working.service.shares
    soon = (datetime.now(UTC) + timedelta(seconds=60)).isoformat()
    first = share(client, tree["id"], expires_at=soon)
    second = share(client, tree["id"])
    assert client.get("/v1/shared", **with_token(first["token"])).status_code == 200
    assert client.delete(f"/v1/shares/{second['id']}").status_code == 204
    problem_of(client.get("/v1/shared", **with_token(second["token"])), 401, "unauthenticated")
    problem_of(client.get(f"/v1/shares/{second['id']}"), 404, "not-found")
    later = datetime.now(UTC) + timedelta(minutes=2)

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return later

    monkeypatch.setattr("app.http.sharing.datetime", Later)
    problem_of(client.get("/v1/shared", **with_token(first["token"])), 410, "gone")
    assert shares.sweep(later) == 0
    assert shares.sweep(later + REMEMBERED) == 1
    working.service.links.forget(first["id"])
    problem_of(client.get("/v1/shared", **with_token(first["token"])), 401, "unauthenticated")


def test_links_go_with_their_tree(working: Working, tree: dict[str, Any]) -> None:
    link = share(working.client, tree["id"])
    working.client.delete(f"/v1/trees/{tree['id']}")
    assert not list(working.service.blobs.keys("service/shares/"))
    working.service.links.forget(link["id"])
    problem_of(
        working.client.get("/v1/shared", **with_token(link["token"])), 401, "unauthenticated"
    )


def test_the_token_is_a_secret(
    working: Working, tree: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        link = share(working.client, tree["id"], name="for ada")
        token = link["token"]
        assert share_id_in(token) == link["id"]
        assert len(token.rpartition("_")[2]) >= 43 or len(token) > 100
        working.client.get(f"/v1/trees/{tree['id']}/view", **with_token(token))
        working.client.get(f"/v1/trees/{tree['id']}/editions", **with_token(token))
    secret = token[-43:]
    assert any("view" in str(vars(record)) for record in caplog.records)
    assert not any(secret in str(vars(record)) for record in caplog.records)
    blobs = working.service.blobs
    assert not [key for key in blobs.keys("") if secret.encode() in key.encode() + blobs.get(key)]
    redis = working.service.redis
    assert not [key for key in redis.scan_iter() if secret in str(redis.dump(key))]
    listed = working.client.get(f"/v1/trees/{tree['id']}/shares").json()["items"]
    assert [(each["id"], each["name"]) for each in listed] == [(link["id"], "for ada")]
    assert "token" not in listed[0]
    assert "token" not in working.client.get(f"/v1/shares/{link['id']}").json()
    # Another secret of the same link, and another link of the same form.
    wrong = token[:-1] + ("a" if token[-1] != "a" else "b")
    unknown = f"umbel_share_{'0' * 52}_{secret}"
    for other in (wrong, unknown):
        problem_of(working.client.get("/v1/shared", **with_token(other)), 401, "unauthenticated")
    assert link["page"] == f"/shared#{token}"


def test_links_with_keys_and_tenants(working: Working, tree: dict[str, Any], start: Start) -> None:
    link = share(working.client, tree["id"])
    key, line = new_key("other")
    keyed = start(api_keys=(line,), share_requests_per_s=0.3)
    stranger = with_token(key)
    assert keyed.client.get(f"/v1/shares/{link['id']}", **stranger).status_code == 404
    assert keyed.client.delete(f"/v1/shares/{link['id']}", **stranger).status_code == 404
    problem_of(keyed.client.get("/v1/shared", **stranger), 404, "not-found")
    # The link needs no key, and is of the tenant that made it.
    place = f"/v1/trees/{tree['id']}/view"
    answer = keyed.client.get(place, **with_token(link["token"]))
    assert answer.status_code == 200
    assert answer.headers["ratelimit-policy"].startswith('"link";q=3')
    for _ in range(2):
        assert keyed.client.get(place, **with_token(link["token"])).status_code == 200
    problem_of(keyed.client.get(place, **with_token(link["token"])), 429, "too-many-requests")
    assert keyed.client.get("/metrics", **with_token(link["token"])).status_code == 401


def test_keyless_services_open_no_link_to_others(
    working: Working, tree: dict[str, Any], start: Start
) -> None:
    link = share(working.client, tree["id"])
    away = start(client=("192.0.2.1", 50000))
    problem_of(away.client.get("/v1/shared", **with_token(link["token"])), 403, "forbidden")


def test_links_of_other_things_are_not_made(working: Working, tree: dict[str, Any]) -> None:
    place = f"/v1/trees/{tree['id']}/shares"

    def refused(code: str, **body: Any) -> None:
        problem_of(working.client.post(place, json=body), 422, code)

    refused("unknown-input", edition=f"ed_{'0' * 52}")
    refused("unknown-input", names=f"nm_{'0' * 26}")
    refused("unknown-input", map=f"map_{'0' * 26}")
    refused("invalid-request", expires_at="2020-01-01T00:00:00Z")
    refused("invalid-request", expires_at="2999-01-01T00:00:00Z")
    refused("invalid-request", rows="yes")
    refused("invalid-request", datasets=True)
    other = post(working, "(a:1,b:1);")
    edition = working.client.post(f"/v1/trees/{other['id']}/editions", json={}).json()
    refused("wrong-input", edition=edition["id"])


def test_pages_that_may_frame(working: Working, start: Start) -> None:
    def policy(client: httpx.Client, path: str) -> str:
        answer = client.get(path)
        assert answer.status_code == 200
        assert answer.headers["referrer-policy"] == "no-referrer"
        return str(answer.headers["content-security-policy"])

    for path in ("/", "/shared", "/embed"):
        assert "frame-ancestors 'none'" in policy(working.client, path)
    framed = start(frame_ancestors=("https://wiki.example.org", "https://*.example.com")).client
    for path in ("/", "/shared", "/docs"):
        assert "frame-ancestors 'none'" in policy(framed, path)
    assert "frame-ancestors https://wiki.example.org https://*.example.com;" in policy(
        framed, "/embed"
    )
    with pytest.raises(ValueError, match="is no origin"):
        start(frame_ancestors=("*; script-src *",))


def test_shares_of_the_store_alone(working: Working) -> None:
    shares = Shares(working.service.blobs, lambda folder: None)
    tree_id = "tr_" + "0" * 26
    end = datetime.now(UTC) + timedelta(days=1)
    kept, _ = shares.add("acme", tree_id, expires_at=end)
    shares.add("other", tree_id, expires_at=end)
    assert [each.id for each in shares.of_tree("acme", tree_id)] == [kept.id]
    assert shares.get(kept.id) == kept
    assert shares.get(f"sh_{'0' * 52}") is None

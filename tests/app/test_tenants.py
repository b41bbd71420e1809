"""Another tenant's key, a key that is limited to other things, and a link to one tree, find nothing
of what there is, by any operation."""

from __future__ import annotations

import json

import httpx

from app.http.environment_keys import new_key
from tests.app.bodies_kit import check_fields, fields_of
from tests.app.callers_kit import as_caller
from tests.app.conftest import Start, Working
from tests.app.tenants_kit import LISTED, ROWS, check_apart, check_link, made, pages, paths_of
from workers.artifacts.keys import Keys


def test_things_of_another_tenant_are_unknown(working: Working, start: Start) -> None:
    key, line = new_key("other")
    # The same Redis and store, now with keys; what there is belongs to the tenant without a key.
    stranger = start(api_keys=(line,)).client
    stranger.headers["Authorization"] = f"Bearer {key}"
    things = made(working.client)
    check_apart(working.client, stranger, things)
    check_link(working.client, things)


def test_what_a_field_names_of_another_tenant_is_unknown(working: Working, start: Start) -> None:
    keys = Keys(working.service.blobs)
    secrets = [keys.add(tenant, "write")[1] for tenant in ("acme", "other")]
    portal = working.client.portal
    assert portal is not None
    portal.call(working.service.keyring.load, keys)
    others, own = (fields_of(as_caller(working.client, secret)) for secret in secrets)
    # Where nobody works, so that what is accepted here costs nothing.
    key, line = new_key("other")
    stranger = start(api_keys=(line,)).client
    stranger.headers["Authorization"] = f"Bearer {key}"
    check_fields(stranger, own, others)


def test_a_limited_key_reaches_what_has_its_tag_and_what_it_names(
    working: Working,
) -> None:
    keys = Keys(working.service.blobs)
    text = {"Content-Type": "text/x-nh"}
    # The walk goes over the newest trees.
    tree, *_ = (
        working.client.post("/v1/trees", content=f"(a:{n},b:1);", headers=text).json()["id"]
        for n in range(3)
    )
    secrets = [
        keys.add("local", "admin")[1],
        keys.add("local", "write", tags=["mine", "ours"])[1],
        keys.add("local", "write", objects=[tree])[1],
    ]
    portal = working.client.portal
    assert portal is not None
    portal.call(working.service.keyring.load, keys)
    owner, tagged, named = (as_caller(working.client, secret) for secret in secrets)
    things = made(owner)
    check_apart(owner, tagged, things)
    check_apart(owner, named, things)

    own = made(tagged)
    for path in paths_of(own):
        body = tagged.get(path)
        assert body.status_code == 200, path
        assert body.json().get("tags", ["mine"]) == ["mine"], path
    for path in ("jobs", *(f"{kind}s" for kind in LISTED)):
        seen = {item["id"] for item in pages(tagged, path)}
        tags = {item["id"]: item["tags"] for item in pages(owner, path)}
        assert seen == {own_id for own_id, each in tags.items() if "mine" in each}, path
        assert seen < tags.keys(), path
        assert seen, path
        assert pages(named, path) == [] or path in ("trees", "jobs"), path
    assert [item["id"] for item in pages(named, "trees")] == [tree]
    check_bodies(tagged, things, own)
    check_changes(tagged, own)

    assert named.get(f"/v1/trees/{tree}").status_code == 200
    assert named.post(f"/v1/trees/{tree}/editions", json={}).status_code == 201
    refused = named.post("/v1/jobs", json={"method": "hac", "inputs": {"features": ROWS}})
    assert refused.status_code == 403
    assert "no tag" in refused.text
    for client in (tagged, named):
        assert client.get("/v1/webhook-secret").status_code == 403
        assert client.get("/v1/audit").status_code == 403
    assert owner.get("/v1/webhook-secret").status_code == 200


def check_bodies(
    limited: httpx.Client, things: dict[str, list[str]], own: dict[str, list[str]]
) -> None:
    """What a body or a query names is reached too, however it is written."""
    [dataset], [tree], [attachment] = (things[kind] for kind in ("dataset", "tree", "attachment"))
    [own_tree] = own["tree"]
    escaped = json.dumps({"method": "hac", "inputs": {"features": dataset}}).replace(
        "ds_", "d\\u0073_"
    )
    bodies = {
        "/v1/jobs": [{"method": "hac", "inputs": {"features": dataset}}, escaped],
        f"/v1/trees/{own_tree}/evaluations": [{"inputs": {"hierarchy": tree}}],
        f"/v1/trees/{own_tree}/shares": [{"map": things["map"][0]}],
        "/v1/consensus": [{"trees": [own_tree, tree]}],
    }
    for path, each in bodies.items():
        for body in each:
            content = body if isinstance(body, str) else json.dumps(body)
            answer = limited.post(
                path, content=content, headers={"Content-Type": "application/json"}
            )
            assert answer.status_code == 404, f"{path} {content}: {answer.text[:300]}"
    for query in (
        {"color_by": f"{attachment}:n"},
        {"names": things["naming"][0]},
        {"edition": things["edition"][0]},
    ):
        assert limited.get(f"/v1/trees/{own_tree}/view", params=query).status_code == 404, query
    assert limited.post(f"/v1/datasets?from={dataset}&role=features").status_code == 404
    many = {"trees": [f"tr_{number:026d}" for number in range(3)] + [own_tree]}
    assert limited.post("/v1/consensus", json=many).status_code == 404


def check_changes(limited: httpx.Client, own: dict[str, list[str]]) -> None:
    """What it makes has one of its tags, and keeps one; a repeat is its own."""
    merge = {"Content-Type": "application/merge-patch+json"}
    [dataset] = own["dataset"]
    path = f"/v1/datasets/{dataset}"
    assert limited.patch(path, content='{"tags": ["x"]}', headers=merge).status_code == 403
    kept = limited.patch(path, content='{"tags": ["x", "ours"]}', headers=merge)
    assert kept.json()["tags"] == ["x", "ours"]
    job = limited.post(
        "/v1/jobs",
        json={"method": "hac", "inputs": {"features": ROWS}, "tags": ["ours"]},
        headers={"Prefer": "wait=60"},
    ).json()
    assert job["tags"] == ["ours"]
    # The same bytes are there twice: of somebody else, who was first, and its own.
    csv = {"Content-Type": "text/csv", "Prefer": "dedupe"}
    again = limited.post("/v1/datasets", content="1,2\n", headers=csv)
    assert (again.status_code, again.json()["id"]) == (200, dataset)

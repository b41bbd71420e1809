"""Every list of the API keeps to one pattern, by the document and over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.http.security import LOCAL
from app.openapi import document as openapi
from tests.app.callers_kit import as_caller
from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import NEWICK, rows_tree
from tests.document_kit import joined, spelled_out
from workers.artifacts.keys import Keys

WAIT = {"Prefer": "wait=60"}

WALKS = {"search_tree", "get_members", "get_paths"}
"""Walks through what one thing has, in its order: they begin anywhere by number."""
UNCOUNTED = {"list_audit"}
"""A log that is too long to count or to read from its far end."""


def lists() -> dict[str, dict[str, Any]]:
    """The operations of the document that give lists, by path."""
    document = spelled_out(json.loads(openapi.PATH.read_text("utf-8")))
    found: dict[str, dict[str, Any]] = {}
    for path, methods in document["paths"].items():
        if "get" not in methods:
            continue
        answer = methods["get"]["responses"]["200"].get("content", {}).get("application/json")
        schema = answer["schema"] if answer else {}
        if "$ref" in schema:
            schema = joined(document, schema)
        if "next_cursor" in schema.get("properties", {}):
            found[path] = {**methods["get"], "body": schema}
    return found


def things(client: TestClient, tree: str) -> dict[str, str]:
    """What the paths of lists name."""
    content = [{"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}, {"n": 5}]
    items = client.post("/v1/datasets?role=items", json=content).json()["id"]
    place = f"/v1/trees/{tree}"
    attached = client.post(f"{place}/attachments", json={"items": items}, headers=WAIT).json()
    known = {"statements": [{"known": 0, "name": "all"}]}
    labels = client.post(f"{place}/labels", json=known).json()
    assert client.put("/v1/aliases/champion", json={"tree": tree}).status_code == 201
    return {
        "tree_id": tree,
        "attachment_id": attached["id"],
        "dataset_id": labels["id"],
        "edition_id": client.post(f"{place}/editions", json={"name": "b"}).json()["id"],
        "alias": "champion",
    }


def address(path: str, named: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: named[match[1]], path)


def test_the_document_has_one_pattern_of_lists() -> None:
    found = lists()
    assert len(found) >= 25
    for path, operation in found.items():
        taken = {each["name"]: each for each in operation["parameters"] if each["in"] == "query"}
        assert {"limit", "cursor"} <= taken.keys(), path
        assert "Link" in operation["responses"]["200"]["headers"], path
        if operation["operationId"] in WALKS:
            continue
        assert {"items", "next_cursor", "count"} <= operation["body"]["properties"].keys(), path
        assert ("count" in taken) == (operation["operationId"] not in UNCOUNTED), path
        assert taken["limit"]["schema"]["maximum"] == 200, path
        if "sort" in taken:
            order = taken["sort"]["schema"]
            assert set(order.get("enum", [order.get("const")])) <= {"newest", "oldest", "name"}
        for name in taken:
            assert re.fullmatch("[a-z_]+", name), path


def test_every_list_refuses_in_the_same_words(working: Working) -> None:
    client = working.client
    named = things(client, rows_tree(working)["id"])
    cursors: dict[str, str] = {}
    for path, operation in lists().items():
        if operation["operationId"] in WALKS | UNCOUNTED:
            continue
        place = address(path, named)
        page = client.get(place, params={"count": True, "limit": 1})
        assert page.status_code == 200, page.text
        body = page.json()
        assert body["count"] >= len(body["items"]), path
        assert client.get(place).json()["count"] is None, path
        unknown = problem_of(client.get(place, params={"limits": 1}), 422, "invalid-request")
        assert unknown["errors"][0]["parameter"] == "limits", path
        assert "Did you mean 'limit'?" in unknown["detail"], path
        for rotten in ("x", "AAAAAAAA", "%00", "12345678" + "e30", "a" * 400):
            refused = problem_of(client.get(place, params={"cursor": rotten}), 422, "bad-cursor")
            assert refused["errors"][0]["parameter"] == "cursor", path
        for other, cursor in cursors.items():
            refused = problem_of(client.get(place, params={"cursor": cursor}), 422, "bad-cursor")
            assert "not of this list" in refused["detail"], (path, other)
        if body["next_cursor"] is not None:
            cursors[path] = body["next_cursor"]
            assert f"cursor={body['next_cursor']}" in page.headers["link"], path
            again = client.get(place, params={"cursor": body["next_cursor"], "limit": 1})
            assert again.json()["items"] != body["items"], path
            filtered = {"cursor": body["next_cursor"], "q": "a"}
            if any(each["name"] == "q" for each in operation["parameters"]):
                problem_of(client.get(place, params=filtered), 422, "bad-cursor")
            # What begins right and ends otherwise.
            spoilt = {"cursor": body["next_cursor"][:8] + "*"}
            problem_of(client.get(place, params=spoilt), 422, "bad-cursor")
    assert len(cursors) >= 2


Make = Callable[[int], str]


@pytest.mark.parametrize("sort", ["newest", "oldest", "name"])
@pytest.mark.parametrize("what", ["trees", "datasets", "shares", "editions", "aliases", "history"])
def test_pages_have_each_thing_once_while_things_are_added(
    working: Working, what: str, sort: str
) -> None:
    client = working.client

    def tree(number: int) -> str:
        headers = {"Content-Type": "text/x-nh"}
        made = client.post(
            "/v1/trees", params={"name": f"t{number}"}, content=NEWICK, headers=headers
        )
        return str(made.json()["id"])

    def dataset(number: int) -> str:
        return str(client.post("/v1/datasets", json=[[number, 1.0]]).json()["id"])

    if what in ("trees", "datasets", "history") and sort == "name":
        place = f"/v1/{what if what != 'history' else 'jobs'}"
        problem_of(client.get(place, params={"sort": "name"}), 422, "invalid-request")
        return
    own = tree(0) if what not in ("trees", "datasets") else ""
    others = [own, tree(1)] if what == "history" else []

    def move(number: int) -> str:
        moved = client.put("/v1/aliases/champion", json={"tree": others[number % 2]})
        return str(moved.json()["revision"])

    def alias(number: int) -> str:
        return str(client.put(f"/v1/aliases/a{number}", json={"tree": own}).json()["name"])

    def beside(number: int) -> str:
        body = {"name": f"Ä{number}"}
        return str(client.post(f"/v1/trees/{own}/{what}", json=body).json()["id"])

    places: dict[str, tuple[str, Make]] = {
        "trees": ("/v1/trees", tree),
        "datasets": ("/v1/datasets", dataset),
        "aliases": ("/v1/aliases", alias),
        "history": ("/v1/aliases/champion/history", move),
    }
    place, make = places.get(what, (f"/v1/trees/{own}/{what}", beside))
    member = {"aliases": "name", "history": "number"}.get(what, "id")
    before = [make(number) for number in range(5)]
    added, seen = 5, []
    query: dict[str, Any] = {"limit": 2, "sort": sort}
    while True:
        page = client.get(place, params={**query, "count": True}).json()
        seen += [str(item[member]) for item in page["items"]]
        assert page["count"] == added
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
        if added < 8:
            make(added)
            added += 1
    assert len(seen) == len(set(seen))
    assert set(before) <= set(seen)
    kept = [own_id for own_id in seen if own_id in before]
    assert kept == (before[::-1] if sort == "newest" else before)


def test_another_tenants_cursor_opens_nothing(working: Working) -> None:
    client = working.client
    place = rows_tree(working)["id"]
    for _ in range(2):
        client.post("/v1/datasets", json=[[1.0, 2.0]], headers={"Idempotency-Key": "a"})
        client.post("/v1/datasets", json=[[3.0, 2.0]])
        client.post(f"/v1/trees/{place}/shares", json={})
    keys = Keys(working.service.blobs)
    secrets = [keys.add(tenant, "write")[1] for tenant in (LOCAL, "eve")]
    assert client.portal is not None
    client.portal.call(working.service.keyring.load, keys)
    owner, stranger = (as_caller(client, secret) for secret in secrets)
    for path in ("/v1/datasets", f"/v1/trees/{place}/shares"):
        cursor = owner.get(path, params={"limit": 1}).json()["next_cursor"]
        answer = stranger.get(path, params={"limit": 1, "cursor": cursor})
        assert answer.status_code in (404, 422)
        assert "items" not in answer.json()
    assert stranger.get("/v1/datasets?count=true").json() == {
        "items": [],
        "next_cursor": None,
        "count": 0,
    }


def test_lists_filter_by_what_their_things_have(working: Working) -> None:
    client = working.client
    own = rows_tree(working)["id"]
    imported = client.post("/v1/trees", content=NEWICK, headers={"Content-Type": "text/x-nh"})
    made = client.post("/v1/consensus", json={"trees": [own, own]}, headers=WAIT).json()
    map_ = client.post(f"/v1/trees/{own}/maps", json={"by": "pca"}, headers=WAIT)

    def ids(path: str, **query: Any) -> set[str]:
        answer = client.get(path, params={**query, "count": True}).json()
        assert answer["count"] == len(answer["items"]), answer
        return {item["id"] for item in answer["items"]}

    assert ids("/v1/trees", method="import") == {imported.json()["id"]}
    assert ids("/v1/trees", method="consensus") == {made["tree"]}
    assert ids("/v1/jobs", kind="consensus") == {made["job"]}
    assert map_.json()["job"] in ids("/v1/jobs", tree=own)
    assert ids("/v1/jobs", tree=own, kind="fit") == set()
    assert ids(f"/v1/trees/{own}/maps", status="succeeded") == ids("/v1/maps", tree=own)
    problem_of(client.get("/v1/jobs?tree=x"), 422, "invalid-request")
    for alias, tree in (("one", own), ("two", made["tree"])):
        client.put(f"/v1/aliases/{alias}", json={"tree": tree, "note": f"note of {alias}"})
    for query in ({"tree": own}, {"q": "OF ONE"}):
        page = client.get("/v1/aliases", params=query).json()
        assert [each["name"] for each in page["items"]] == ["one"]
    logits = client.get("/v1/methods?family=logits&q=HIERARCHY").json()["items"]
    assert logits
    assert {method["family"] for method in logits} == {"logits"}

"""All that a tenant can make the store keep is counted, refused beyond its quota, and freed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from app.resources.editions import routes as editions
from tests.app.conftest import Working, kept_keys, problem_of
from tests.app.tree_kit import NEWICK, fit, post, predict

UNCOUNTED = re.compile(
    r"datasets/[^/]+/[^/]+/(meta|inspected)\.json"
    r"|uploads/[^/]+/[^/]+/((upload|dataset)\.json|parts/.*)"
    r"|jobs/[^/]+/[^/]+/((request|end|webhook)\.json|removed/.*)"
    r"|(open|uninspected|pieces|checkpoints|audit|quarantine)/.*"
    r"|service/(format|webhook-secret|keys/.*|key-uses/.*)"
)
"""What the service notes for itself, as docs/decisions/quotas.md lists it."""


def kept(working: Working) -> int:
    """The bytes of all objects of the store but those."""
    sizes = working.service.blobs.sizes("")
    return sum(size for key, size in sizes if not UNCOUNTED.fullmatch(key))


def used(working: Working) -> int:
    return int(working.client.get("/v1/usage").json()["tenant"]["bytes"]["used"])


def change(working: Working, edition: Any, name: str) -> Any:
    return working.client.post(
        f"/v1/editions/{edition.json()['id']}/changes",
        json={"operations": [{"op": "rename", "node": 2, "name": name}]},
        headers={"If-Match": edition.headers["etag"]},
    )


def test_one_of_every_kind_counts_until_it_is_removed(
    working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, service = working.client, working.service
    rows = [[0.0, 0.1], [0.2, 0.0], [5.0, 5.1], [5.2, 5.0]]
    dataset = client.post("/v1/datasets", json=rows).json()["id"]
    upload = client.post("/v1/uploads").json()["id"]
    assert client.put(f"/v1/uploads/{upload}/parts/1", content=b"1,2\n").status_code == 204
    imported = post(working, NEWICK)["id"]
    tree = fit(working, "kmeans", {"features": rows}, params={"n_clusters": 2})
    own = tree["id"].partition("_")[2]
    predicted = predict(working, tree, {"features": rows})
    assert predicted.status_code < 300, predicted.text
    things = [f"datasets/{dataset}", f"jobs/job_{own}", f"trees/tr_{own}", f"models/md_{own}"]
    for place in (*things, f"trees/{imported}"):
        for text in ("one", "two", "three"):
            answer = client.patch(f"/v1/{place}", json={"description": text, "tags": ["t"]})
            assert answer.status_code == 200, answer.text
    edited = [client.post(f"/v1/trees/{each}/editions", json={}) for each in (imported, tree["id"])]
    assert change(working, edited[0], "a").status_code == 200
    shares = [client.post(f"/v1/trees/{each}/shares", json={}) for each in (imported, tree["id"])]
    assert [each.status_code for each in (*edited, *shares)] == [201] * 4
    for each in (imported, tree["id"], imported):
        assert client.put("/v1/aliases/best", json={"tree": each}).status_code < 300
    assert client.post("/v1/aliases/best/rollback", json={}).status_code == 200
    working.work.join()
    assert used(working) == kept(working)

    service.redis.flushall()
    service.ledger.rebuild()
    assert used(working) == kept(working)

    # Full: nothing more is written, and what is removed makes room.
    held = kept_keys(service.blobs)
    monkeypatch.setattr(service.settings, "quota_bytes", {"": used(working)})
    for refused in (
        client.patch(f"/v1/datasets/{dataset}", json={"name": "more"}),
        client.patch(f"/v1/jobs/job_{own}", json={"name": "more"}),
        client.patch(f"/v1/trees/{imported}", json={"name": "more"}),
        client.patch(f"/v1/models/md_{own}", json={"name": "more"}),
        client.post(f"/v1/trees/{imported}/editions", json={}),
        client.patch(f"/v1/editions/{edited[1].json()['id']}", json={"name": "more"}),
        change(working, edited[1], "more"),
        client.post(f"/v1/trees/{imported}/shares", json={}),
        client.put("/v1/aliases/other", json={"tree": imported}),
        client.post("/v1/aliases/best/rollback", json={}),
    ):
        quota = problem_of(refused, 429, "quota-exceeded")["quota"]
        assert (quota["whose"], quota["what"]) == ("tenant", "bytes")
    assert kept_keys(service.blobs) == held
    assert client.delete(f"/v1/shares/{shares[0].json()['id']}").status_code == 204
    assert client.delete(f"/v1/editions/{edited[0].json()['id']}").status_code == 204
    assert client.post(f"/v1/trees/{imported}/editions", json={}).status_code == 201
    assert used(working) == kept(working)

    # Removing an alias needs no room; its history is kept, and counts.
    assert client.delete("/v1/aliases/best").status_code == 204
    history = service.blobs.sizes("service/aliases/")
    of_aliases = sum(size for _, size in history)
    for place in (f"models/md_{own}", f"trees/tr_{own}", f"trees/{imported}", f"uploads/{upload}"):
        assert client.delete(f"/v1/{place}").status_code == 204, place
        assert used(working) == kept(working), place
    for job in client.get("/v1/jobs").json()["items"]:
        assert client.delete(f"/v1/jobs/{job['id']}").status_code == 204
    assert client.delete(f"/v1/datasets/{dataset}").status_code == 204
    assert (used(working), kept(working)) == (of_aliases, of_aliases)


def test_an_edition_takes_no_more_names_than_changes(
    working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(editions, "MOST_CHANGES", 2)
    tree = post(working, NEWICK)["id"]
    place = (
        f"/v1/editions/{working.client.post(f'/v1/trees/{tree}/editions', json={}).json()['id']}"
    )
    assert working.client.patch(place, json={"name": "one"}).status_code == 200
    problem_of(working.client.patch(place, json={"name": "two"}), 409, "conflict")

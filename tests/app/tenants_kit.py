"""What one tenant has, requested by another, and by whoever has a link to one of its trees: by
every operation of the document."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx

from tests.document_kit import spelled_out
from tests.needs_kit import lacking

LOGITS = [[4.0, 1.0, 0.0], [0.5, 3.0, 2.0], [0.0, 2.0, 3.5]]
ROWS = [[0.0, 0.1], [0.2, 0.0], [4.0, 4.1], [4.2, 4.0]]
JOB = {"method": "l2h", "inputs": {"logits": LOGITS}}


LISTED = (
    "dataset",
    "tree",
    "comparison",
    "calibration",
    "drift",
    "naming",
    "attachment",
    "placement",
)
"""Kinds of things of which a tenant has a list."""


def check_apart(
    owner: httpx.Client, stranger: httpx.Client, things: dict[str, list[str]] | None = None
) -> None:
    """No operation gives one tenant anything of what another has, or changes it.

    things : from `made`; None: they are made.
    """
    things = {**(things or made(owner)), **listed(owner)}
    assert {"dataset", "upload", "job", "tree", "model", "comparison"} <= things.keys()
    before = {path: owner.get(path).status_code for path in paths_of(things)}
    assert set(before.values()) == {200}
    document = spelled_out(owner.get("/openapi.json").json())
    n_requests = 0
    for path, operations in document["paths"].items():
        kind = re.match(r"/v1/\w+/\{(\w+)_id\}", path)
        for method in operations if kind and kind[1] != "method" else ():
            for own_id in things[kind[1]]:
                address = re.sub(r"\{\w+_id\}", own_id, path)
                address = re.sub(r"\{\w+\}", "0", address)
                query = needed_query(operations[method])
                body = body_for(method, path)
                answer = stranger.request(method, address, params=query, **body)
                assert answer.status_code == 404, f"{method} {address}: {answer.text[:500]}"
                n_requests += 1
    own_ids = {own_id for ids in things.values() for own_id in ids}
    for path in ("jobs", *(f"{kind}s" for kind in LISTED)):
        seen = {item["id"] for item in pages(stranger, path)}
        assert not seen & own_ids, path
    assert {path: owner.get(path).status_code for path in before} == before
    print(f"{n_requests} requests for {len(own_ids)} things of another tenant: each is unknown")


OPEN = re.compile(
    r"/v1/shared|/v1/trees/TREE(\.[a-z.]+|/view|/search|/cut|/levels|/layers|/nodes/0"
    r"|/nodes/0/members(\.\w+)?|/nodes/0/picture)?|/v1/maps/MAP(/positions(\.\w+)?)?"
)
"""All that a link opens."""


def check_link(owner: httpx.Client, things: dict[str, list[str]]) -> None:
    """A link that shows all of one tree opens this tree and nothing else: no other tree of its
    tenant, nor anything that was made with it."""
    own = {f"{kind}_id": ids[0] for kind, ids in things.items()}
    tree, map_ = own["tree_id"], own["map_id"]
    text = {"Content-Type": "text/x-nh"}
    other = owner.post("/v1/trees", content="(a:1,b:1);", headers=text).json()["id"]
    link = owner.post(f"/v1/trees/{tree}/shares", json={"rows": True, "map": map_}).json()
    token = {"Authorization": f"Bearer {link['token']}"}
    document = spelled_out(owner.get("/openapi.json").json())
    opened, n_closed = set[str](), 0
    for ids in (own, {**own, "tree_id": other}):
        for path, operations in document["paths"].items():
            address = path
            for name, own_id in {**ids, "method_id": "l2h"}.items():
                address = address.replace(f"{{{name}}}", own_id)
            address = re.sub(r"\{\w+\}", "0", address)
            plain = address.replace(tree, "TREE").replace(map_, "MAP")
            for method in operations if path.startswith("/v1/") else ():
                body = body_for(method, path)
                headers = {**body.pop("headers", {}), **token}
                query = needed_query(operations[method])
                answer = owner.request(method, address, params=query, headers=headers, **body)
                if method == "get" and OPEN.fullmatch(plain):
                    # No method here draws nodes.
                    expected = 404 if plain.endswith("/picture") else 200
                    if plain.endswith(".pdf") and lacking(["typst"]):
                        expected = 406
                    assert answer.status_code == expected, f"{plain}: {answer.text[:300]}"
                    assert "private" in answer.headers["cache-control"]
                    opened.add(plain)
                else:
                    assert answer.status_code == 403, f"{method} {plain}: {answer.text[:300]}"
                    n_closed += 1
    assert {"/v1/shared", "/v1/trees/TREE.svg", "/v1/maps/MAP/positions.npy"} <= opened
    print(f"a link opens {len(opened)} addresses; {n_closed} requests are refused")
    owner.delete(f"/v1/trees/{other}")


def made(owner: httpx.Client) -> dict[str, list[str]]:
    """One thing of each kind."""
    wait = {"Prefer": "wait=60"}
    job = owner.post("/v1/jobs", json=JOB, headers=wait).json()
    runs = {"inputs": {"features": ROWS}, "runs": [{"method": "hac"}]}
    dataset = owner.post("/v1/datasets", content="1,2\n", headers={"Content-Type": "text/csv"})
    rows = {"inputs": {"logits": 20 * LOGITS}, "labels": 20 * [0, 1, 2], "alpha": 0.2}
    tree = job["result"]["tree"]
    calibration = owner.post(f"/v1/trees/{tree}/calibrations", json=rows, headers=wait)
    sample = {"inputs": {"logits": LOGITS}}
    drift = owner.post(
        f"/v1/trees/{tree}/drifts", json={"reference": sample, "batch": sample}, headers=wait
    )
    hierarchy = {"hierarchy": ["a/0", "a/1", "b/2"]}
    placement = owner.post(f"/v1/trees/{tree}/placements", json=hierarchy, headers=wait)
    labels = {"by": "labels", "inputs": {"labels": [0, 1, 2]}}
    naming = owner.post(f"/v1/trees/{tree}/namings", json=labels, headers=wait)
    content = json.dumps([{"n": row} for row in range(len(LOGITS))])
    headers = {"Content-Type": "application/json"}
    items = owner.post("/v1/datasets?role=items", content=content, headers=headers)
    attachment = owner.post(
        f"/v1/trees/{tree}/attachments", json={"items": items.json()["id"]}, headers=wait
    )
    edition = owner.post(f"/v1/trees/{tree}/editions", json={})
    return {
        "attachment": [attachment.json()["id"]],
        "edition": [edition.json()["id"]],
        "share": [owner.post(f"/v1/trees/{tree}/shares", json={}).json()["id"]],
        "naming": [naming.json()["id"]],
        "calibration": [calibration.json()["id"]],
        "drift": [drift.json()["id"]],
        "placement": [placement.json()["id"]],
        "heatmap": [owner.post(f"/v1/trees/{tree}/heatmaps", json={}, headers=wait).json()["id"]],
        "map": [owner.post(f"/v1/trees/{tree}/maps", json={}, headers=wait).json()["id"]],
        "dataset": [dataset.json()["id"]],
        "upload": [owner.post("/v1/uploads").json()["id"]],
        "job": [job["id"]],
        "tree": [tree],
        "model": [job["result"]["model"]],
        "comparison": [owner.post("/v1/comparisons", json=runs, headers=wait).json()["id"]],
    }


def listed(owner: httpx.Client) -> dict[str, list[str]]:
    """The newest of what there is, for the kinds that have lists."""
    return {kind: [item["id"] for item in pages(owner, f"{kind}s")[:3]] for kind in LISTED}


def paths_of(things: dict[str, list[str]]) -> list[str]:
    return [f"/v1/{kind}s/{own_id}" for kind, ids in things.items() for own_id in ids]


def pages(client: httpx.Client, path: str) -> list[dict[str, Any]]:
    """All that a list has."""
    items: list[dict[str, Any]] = []
    query: dict[str, Any] = {"limit": 100}
    while True:
        page = client.get(f"/v1/{path}", params=query).json()
        items += page["items"]
        if page["next_cursor"] is None:
            return items
        query["cursor"] = page["next_cursor"]


def needed_query(operation: dict[str, Any]) -> dict[str, Any]:
    """The parameters without which the operation does not look for the thing."""
    parameters = operation.get("parameters", [])
    needed = [each for each in parameters if each["in"] == "query" and each.get("required")]
    return {each["name"]: each["schema"]["examples"][0] for each in needed}


def body_for(method: str, path: str) -> dict[str, Any]:
    """A body that the operation takes, so that it looks for the thing."""
    if method == "patch":
        merge = {"Content-Type": "application/merge-patch+json"}
        return {"content": '{"name": "mine"}', "headers": merge}
    if method == "put":
        return {"content": b"1,2\n", "headers": {"Content-Type": "application/octet-stream"}}
    bodies: dict[str, dict[str, Any]] = {
        "evaluations": {"labels": [0, 1, 1]},
        "calibrations": {"inputs": {"logits": LOGITS}, "labels": [0, 1, 2], "alpha": 0.5},
        "namings": {"by": "labels", "inputs": {"labels": [0, 1, 2]}},
        "drifts": {name: {"inputs": {"logits": LOGITS}} for name in ("reference", "batch")},
        "placements": {"hierarchy": ["a/0", "a/1", "b/2"]},
        "maps": {"by": "pca"},
        "attachments": {"items": "ds_" + "0" * 26},
        "heatmaps": {"what": "distances"},
        "predictions": {"inputs": {"logits": LOGITS}},
        "transformations": {"inputs": {"features": ROWS}},
        "labels": {"statements": [{"known": 0, "name": "mine"}]},
        "editions": {},
        "changes": {"operations": [{"op": "undo"}]},
        "shares": {},
    }
    if path.startswith("/v1/models/"):
        bodies["evaluations"]["inputs"] = {"features": ROWS}
    name = path.rpartition("/")[2]
    return {"json": bodies[name]} if method == "post" and name in bodies else {}

"""Aliases: moved, moved back, and in the place of ids wherever one may stand."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import httpx
import pytest

from tests.app.callers_kit import as_caller
from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import post
from workers.artifacts import aliases as stored
from workers.artifacts.keys import Keys

NEWICK = "((rose:1,tulip:2)flower:1,oak:3)plant;"
OTHER = "((rose:1,oak:2)one:1,tulip:3)two;"


@pytest.fixture
def trees(working: Working) -> list[str]:
    return [post(working, text)["id"] for text in (NEWICK, OTHER, NEWICK)]


def put(client: httpx.Client, tree: str, name: str = "champion", **headers: str) -> httpx.Response:
    return client.put(f"/v1/aliases/{name}", json={"tree": tree}, headers=headers)


def test_an_alias_moves_and_its_history_stays(working: Working, trees: list[str]) -> None:
    client = working.client
    made = put(client, trees[0])
    assert made.status_code == 201
    assert made.headers["location"] == "/v1/aliases/champion"
    moved = client.put(
        "/v1/aliases/champion",
        json={"tree": trees[1], "note": "fewer confusions"},
        headers={"If-Match": made.headers["etag"]},
    )
    assert moved.status_code == 200
    assert moved.json()["before"] == trees[0]
    assert put(client, trees[1]).json()["revision"] == 2, "the same tree is no move"
    assert put(client, trees[2], **{"If-Match": made.headers["etag"]}).status_code == 412

    history = client.get("/v1/aliases/champion/history").json()["items"]
    assert [(each["number"], each["tree"]) for each in history] == [(2, trees[1]), (1, trees[0])]
    assert [each["note"] for each in history] == ["fewer confusions", None]
    assert [each["name"] for each in client.get("/v1/aliases").json()["items"]] == ["champion"]

    gone = client.delete("/v1/aliases/champion")
    assert gone.status_code == 204
    assert client.get("/v1/aliases/champion").status_code == 404
    assert client.get("/v1/trees/@champion").status_code == 404
    assert client.get("/v1/aliases").json()["items"] == []
    assert len(client.get("/v1/aliases/champion/history").json()["items"]) == 3
    again = put(client, trees[2])
    assert (again.status_code, again.json()["revision"], again.json()["before"]) == (201, 4, None)


def test_one_step_back_after_another(working: Working, trees: list[str]) -> None:
    client = working.client
    for tree in trees:
        put(client, tree)

    def back() -> Any:
        return client.post("/v1/aliases/champion/rollback", json={})

    assert back().json()["tree"] == trees[1]
    assert back().json()["tree"] == trees[0]
    problem_of(back(), 409, "conflict")
    put(client, trees[2])
    assert back().json()["tree"] == trees[0], "as it was before the last move"
    history = client.get("/v1/aliases/champion/history").json()["items"]
    assert [each["restores"] for each in history] == [1, None, 1, 2, None, None, None]
    put(client, trees[1])
    assert client.delete(f"/v1/trees/{trees[0]}").status_code == 204
    assert "was removed" in problem_of(back(), 409, "conflict")["detail"]


def test_it_stands_for_an_id_in_paths_queries_and_bodies(
    working: Working, trees: list[str]
) -> None:
    client = working.client
    put(client, trees[0])
    put(client, trees[1], "challenger-2")
    plain = client.get(f"/v1/trees/{trees[0]}.nwk")
    by_alias = client.get("/v1/trees/@champion.nwk")
    assert by_alias.text == plain.text
    assert by_alias.headers["content-location"] == f"/v1/trees/{trees[0]}.nwk"
    assert by_alias.headers["cache-control"] == "private, no-cache"
    assert "content-location" not in plain.headers
    assert client.get("/v1/trees/%40champion").json()["id"] == trees[0]
    tangle = client.get("/v1/trees/@champion/tangle", params={"other": "@challenger-2"})
    assert tangle.json()["other"] == trees[1]
    assert put(client, "@challenger-2").json()["tree"] == trees[1]
    put(client, trees[0])
    consensus = client.post(
        "/v1/consensus", json={"trees": ["@champion", "@challenger-2", trees[2]]}
    )
    assert consensus.status_code < 300, consensus.text
    edition = client.post("/v1/trees/@champion/editions", json={"name": "@champion"})
    assert edition.status_code == 201
    assert (edition.json()["tree"], edition.json()["name"]) == (trees[0], "@champion")


def test_an_alias_of_a_fit_is_its_job_and_its_model(working: Working) -> None:
    client = working.client
    rows = [[0.0, 0.1], [0.1, 0.0], [5.0, 5.1], [5.1, 5.0]]

    def fit(**inputs: Any) -> dict[str, Any]:
        body = {"method": "kmeans", "params": {"n_clusters": 2}, "inputs": inputs}
        answer = client.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"})
        assert answer.status_code < 300, answer.text
        return dict(answer.json())

    job = fit(features=rows)
    working.work.join()
    tree = client.get(f"/v1/jobs/{job['id']}").json()["result"]["tree"]
    assert put(client, tree).status_code == 201
    assert client.get("/v1/jobs/@champion").json()["id"] == job["id"]
    answer = client.post("/v1/models/@champion/predictions", json={"inputs": {"features": rows}})
    assert answer.status_code == 200, answer.text
    assert len(answer.json()["items"]) == 4
    alias = client.get("/v1/aliases/champion").json()
    assert alias["job"] == job["id"]


def test_of_a_move_and_a_removal_at_once_one_is_refused(working: Working) -> None:
    client = working.client
    for number, path in enumerate(["trees/tr_", "jobs/job_"] * 4):
        tree = post(working, NEWICK)["id"]
        own = tree.removeprefix("tr_")
        both = threading.Barrier(2)

        def at_once(send: Callable[[], httpx.Response], both: Any = both) -> httpx.Response:
            both.wait()
            return send()

        with ThreadPoolExecutor(2) as pool:
            moved, removed = pool.map(
                at_once,
                (
                    partial(put, client, tree, f"alias-{number}"),
                    partial(client.delete, f"/v1/{path}{own}"),
                ),
            )
        answers = moved.status_code, removed.status_code
        assert answers in {(201, 409), (422, 204), (409, 204), (409, 409)}
        if removed.status_code == 204:
            assert client.get(f"/v1/aliases/alias-{number}").status_code == 404


def test_a_tree_that_is_being_removed_takes_no_alias(working: Working, trees: list[str]) -> None:
    aliases, client = working.service.aliases, working.client
    tenant = "local"
    with aliases.naming(tenant, trees[0]), aliases.naming(tenant, trees[0]) as is_free:
        assert is_free, "two moves do not exclude each other"
        for path in (trees[0], trees[0].replace("tr_", "job_")):
            kind = "trees" if path.startswith("tr_") else "jobs"
            refused = problem_of(client.delete(f"/v1/{kind}/{path}"), 409, "conflict")
            assert "being pointed at it" in refused["detail"]
    with aliases.leaving(tenant, trees[0]):
        detail = problem_of(put(client, trees[0]), 409, "conflict")["detail"]
        assert "being removed" in detail
    assert put(client, trees[0]).status_code == 201


def test_what_an_alias_names_is_not_removed_by_mistake(working: Working, trees: list[str]) -> None:
    client = working.client
    put(client, trees[0])
    refused = problem_of(client.delete(f"/v1/trees/{trees[0]}"), 409, "conflict")
    assert "'@champion'" in refused["detail"]
    assert (
        trees[0]
        in problem_of(client.delete("/v1/trees/@champion"), 422, "invalid-request")["detail"]
    )
    assert client.get(f"/v1/trees/{trees[0]}").status_code == 200
    put(client, trees[1])
    assert client.delete(f"/v1/trees/{trees[0]}").status_code == 204


def test_wrong_requests_are_refused_in_words(
    working: Working, trees: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = working.client
    for name in ("Champion", "-a", "a" * 64, "a b", "@a", "tr_1.nwk"):
        assert put(client, trees[0], name).status_code in (404, 422), name
    problem_of(put(client, "tr_" + "0" * 26), 422, "unknown-input")
    problem_of(put(client, "@nobody"), 422, "unknown-input")
    assert problem_of(client.get("/v1/trees/@nobody/levels"), 404, "not-found")["detail"] == (
        "There is no alias '@nobody'."
    )
    put(client, trees[0])
    query = {"other": "@nobody"}
    assert client.get("/v1/trees/@champion/tangle", params=query).status_code == 422
    monkeypatch.setattr("app.resources.aliases.routes.MOST_ALIASES", 1)
    problem_of(put(client, trees[0], "second"), 409, "conflict")


def test_of_two_who_move_it_at_once_one_is_refused(working: Working, trees: list[str]) -> None:
    put(working.client, trees[0])
    aliases = working.service.aliases
    seen = aliases.get("local", "champion")
    assert aliases.move(seen, trees[1]) is not None
    assert aliases.move(seen, trees[2]) is None
    assert aliases.now("local", "champion") == trees[1]


def test_the_oldest_moves_go(
    working: Working, trees: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "MOST_MOVES", 4)
    for number in range(7):
        put(working.client, trees[number % 2])
    history = working.client.get("/v1/aliases/champion/history").json()["items"]
    assert [each["number"] for each in history] == [7, 6, 5, 4]


def test_aliases_are_a_tenants_own(working: Working, trees: list[str]) -> None:
    owner, stranger = callers(working, {"tenant": "local"}, {"tenant": "bob"})
    assert put(owner, trees[0]).status_code == 201
    assert owner.get("/v1/trees/@champion").status_code == 200
    assert owner.get("/v1/aliases/champion").json()["by"] == "by name"
    assert stranger.get("/v1/trees/@champion").status_code == 404
    assert stranger.get("/v1/aliases/champion").status_code == 404
    assert stranger.get("/v1/aliases/champion/history").status_code == 404
    assert put(stranger, trees[0]).status_code == 422
    assert stranger.get("/v1/aliases").json()["items"] == []


def test_limited_and_reading_keys_use_aliases_and_move_none(
    working: Working, trees: list[str]
) -> None:
    owner, limited, reader = callers(
        working,
        {"tenant": "local"},
        {"tenant": "local", "objects": [trees[0]]},
        {"tenant": "local", "role": "read"},
    )
    put(owner, trees[0])
    assert limited.get("/v1/trees/@champion").status_code == 200
    assert reader.get("/v1/trees/@champion").status_code == 200
    assert put(limited, trees[0]).status_code == 403
    assert limited.get("/v1/aliases").status_code == 403
    assert put(reader, trees[1]).status_code == 403
    put(owner, trees[1])
    assert limited.get("/v1/trees/@champion").status_code == 404
    tangle = limited.get(f"/v1/trees/{trees[0]}/tangle", params={"other": "@champion"})
    assert tangle.status_code == 404
    consensus = limited.post("/v1/consensus", json={"trees": [trees[0], "@champion"]})
    assert consensus.status_code == 404


def test_a_link_does_not_open_aliases(working: Working, trees: list[str]) -> None:
    put(working.client, trees[0])
    shared = working.client.post(f"/v1/trees/{trees[0]}/shares", json={})
    link = {"Authorization": f"Bearer {shared.json()['token']}"}
    assert working.client.get(f"/v1/trees/{trees[0]}/view", headers=link).status_code == 200
    assert working.client.get("/v1/trees/@champion/view", headers=link).status_code == 403
    assert working.client.get("/v1/aliases", headers=link).status_code == 403


def callers(working: Working, *made: dict[str, Any]) -> list[httpx.Client]:
    """Clients with new keys."""
    keys = Keys(working.service.blobs)
    secrets = [keys.add(**{"role": "write", "name": "by name", **each})[1] for each in made]
    portal = working.client.portal
    assert portal is not None
    portal.call(working.service.keyring.load, keys)
    return [as_caller(working.client, secret) for secret in secrets]

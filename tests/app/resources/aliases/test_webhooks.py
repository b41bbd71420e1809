"""Webhooks of aliases from the point of view of an API client."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from tests.app.conftest import Work, Working, make_settings, problem_of
from tests.app.tree_kit import NEWICK, post
from tests.workers.webhooks.receiver_kit import Receiver, receiving, until, verify
from workers.embedded import EmbeddedServer

LOCAL = (ipaddress.ip_network("127.0.0.0/8"),)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def allowing(valkey: EmbeddedServer, tmp_path: Path) -> Iterator[Working]:
    work = Work(tmp_path / "attempts")
    app = create_app(make_settings(valkey, tmp_path, webhook_allow=LOCAL, sweep_s=0.05), work)
    with TestClient(app, base_url="http://127.0.0.1:8000", client=("127.0.0.1", 50000)) as client:
        work.service = app.state.service
        yield Working(client, app.state.service, work)
        work.join()


@pytest.fixture
def trees(allowing: Working) -> list[str]:
    return [post(allowing, NEWICK)["id"] for _ in range(2)]


def put(client: httpx.Client, tree: str, **body: Any) -> httpx.Response:
    return client.put("/v1/aliases/champion", json={"tree": tree, **body})


def history(client: httpx.Client) -> list[dict[str, Any]]:
    return list(client.get("/v1/aliases/champion/history").json()["items"])


def test_promotion_roll_back_and_removal_are_heard_of(
    allowing: Working, trees: list[str], receiver: Receiver
) -> None:
    client = allowing.client
    made = put(client, trees[0], webhook=receiver.url)
    assert (made.status_code, made.json()["webhook"]) == (201, receiver.url)
    assert put(client, trees[0]).json()["revision"] == 1, "left out: as before"
    assert put(client, trees[1], note="better").json()["webhook"] == receiver.url
    assert client.post("/v1/aliases/champion/rollback", json={}).status_code == 200
    assert client.delete("/v1/aliases/champion").status_code == 204
    until(lambda: all(move["webhook"]["status"] == "delivered" for move in history(client)))
    secret = client.get("/v1/webhook-secret").json()["secret"]
    for each in receiver.requests:
        verify(secret, each)
    heard = sorted((each.content for each in receiver.requests), key=lambda it: it["timestamp"])
    assert [(each["type"], each["data"]["tree"], each["data"]["previous"]) for each in heard] == [
        ("alias.moved", trees[0], None),
        ("alias.moved", trees[1], trees[0]),
        ("alias.rolled_back", trees[0], trees[1]),
        ("alias.removed", None, trees[0]),
    ]
    for each, move in zip(heard, reversed(history(client)), strict=True):
        shown = {key: value for key, value in move.items() if key != "webhook"}
        assert shown.items() <= each["data"].items()
    assert put(client, trees[1]).json()["webhook"] is None
    assert 'umbel_webhooks{status="delivered"} 4.0' in client.get("/metrics").text


def test_a_webhook_is_set_and_taken_away_without_a_move(
    allowing: Working, trees: list[str], receiver: Receiver
) -> None:
    client = allowing.client
    put(client, trees[0])
    assert put(client, trees[0], webhook=receiver.url).json()["revision"] == 2
    put(client, trees[1])
    until(lambda: history(client)[0]["webhook"]["status"] == "delivered")
    assert put(client, trees[1], webhook=None).json()["webhook"] is None
    put(client, trees[0])
    assert [move["webhook"] is None for move in history(client)] == [True, True, False, True, True]
    assert len(receiver.requests) == 1


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("example.org", "begins with https"),
        ("https://me:pw@example.org/", "no user name"),
        ("http://169.254.169.254/latest/meta-data", "public addresses only"),
        ("http://[::ffff:10.0.0.1]/", "public addresses only"),
        (7, "string"),
    ],
)
def test_refused_addresses(
    allowing: Working, trees: list[str], address: object, message: str
) -> None:
    answer = put(allowing.client, trees[0], webhook=address)
    problem = problem_of(answer, 422, "invalid-request")
    assert problem["errors"][0]["pointer"] == "/webhook"
    assert message in problem["detail"]
    assert allowing.client.get("/v1/aliases/champion").status_code == 404

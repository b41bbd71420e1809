"""Webhooks of moves of aliases: signed and tried again as jobs have them, whatever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from tests.workers.jobs_kit import everything
from tests.workers.waiting_kit import PATIENCE_S
from tests.workers.webhooks.receiver_kit import Receiver, secret_of, until, verify
from tests.workers.webhooks.sender_kit import Sending, redis_keys
from workers.artifacts import aliases as stored
from workers.artifacts.aliases import Alias, Aliases
from workers.assembly import Assembly
from workers.errors import StoreUnavailable
from workers.model import Webhook
from workers.settings import WorkerSettings
from workers.stores.objects import layout

TREE, OTHER = f"tr_{'0' * 26}", f"tr_{'1' * 26}"


@pytest.fixture
def aliases(assembly: Assembly) -> Aliases:
    return Aliases(assembly.blobs, assembly.usage, assembly.ledger.webhooks.move_due)


@pytest.fixture(autouse=True)
def _each_sweep_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.jobs.deliveries.EVERY_S", 0.001)


def moved(
    aliases: Aliases,
    tree: str | None,
    webhook: str | None = None,
    tenant: str = "ada",
    **how: Any,
) -> Alias:
    alias = aliases.move(aliases.get(tenant, "champion"), tree, webhook=webhook, **how)
    assert alias is not None
    return alias


def stands(assembly: Assembly, alias: Alias) -> Webhook:
    webhook = assembly.ledger.webhooks.of_move(alias.tenant, alias.name, alias.moves[-1])
    assert webhook is not None
    return webhook


def reaches(assembly: Assembly, alias: Alias, status: str) -> Webhook:
    until(lambda: stands(assembly, alias).status == status)
    return stands(assembly, alias)


def markers(assembly: Assembly) -> list[str]:
    return [*assembly.blobs.keys(layout.OPEN_MOVES)]


def test_every_move_is_sent_and_signed(
    assembly: Assembly,
    settings: WorkerSettings,
    aliases: Aliases,
    receiver: Receiver,
    sending: Sending,
) -> None:
    sending()
    first = moved(aliases, TREE, receiver.url, by="ada's key", note="best so far")
    assert reaches(assembly, first, "delivered") == Webhook(
        url=receiver.url, status="delivered", attempts=1
    )
    for alias in (
        moved(aliases, OTHER),
        moved(aliases, TREE, restores=1),
        moved(aliases, None),
    ):
        reaches(assembly, alias, "delivered")
    for webhook in receiver.requests:
        verify(secret_of(assembly), webhook)
    ordered = sorted(receiver.requests, key=lambda each: each.content["data"]["number"])
    assert ordered[0].content == {
        "type": "alias.moved",
        "timestamp": first.moves[-1].at,
        "data": {
            "name": "champion",
            "number": 1,
            "at": first.moves[-1].at,
            "tree": TREE,
            "by": "ada's key",
            "note": "best so far",
            "restores": None,
            "previous": None,
        },
    }
    assert [
        (each.content["type"], each.content["data"]["previous"], each.content["data"]["tree"])
        for each in ordered[1:]
    ] == [
        ("alias.moved", TREE, OTHER),
        ("alias.rolled_back", OTHER, TREE),
        ("alias.removed", TREE, None),
    ]
    assert len({each.id for each in ordered}) == 4
    until(lambda: not markers(assembly))
    assert redis_keys(assembly, settings) == {f"{settings.key_prefix}hook_counts"}
    again = moved(aliases, TREE)
    assert again.webhook is None, "a removed alias has no webhook for the next of its name"
    assert assembly.ledger.webhooks.of_move("ada", "champion", again.moves[-1]) is None


def test_another_address_alone_is_no_move(
    assembly: Assembly, aliases: Aliases, receiver: Receiver, sending: Sending
) -> None:
    sending()
    moved(aliases, TREE)
    changed = moved(aliases, TREE, receiver.url)
    assert assembly.ledger.webhooks.of_move("ada", "champion", changed.moves[-1]) is None
    assert changed.earlier is None
    further = moved(aliases, OTHER)
    reaches(assembly, further, "delivered")
    assert further.earlier is not None
    assert (further.earlier.number, further.earlier.tree) == (2, TREE)
    none = moved(aliases, TREE, "")
    assert none.webhook is None
    assert [each.content["data"]["number"] for each in receiver.requests] == [3]
    until(lambda: not markers(assembly))


def test_what_is_still_to_be_sent_goes_where_the_alias_has_its_webhook_by_then(
    assembly: Assembly, aliases: Aliases, receiver: Receiver, sending: Sending
) -> None:
    """Never to an address that was replaced or taken away, however the alias is named after."""
    old, new = f"{receiver.url}&to=old", f"{receiver.url}&to=new"
    first = moved(aliases, TREE, old)
    second = moved(aliases, OTHER)
    moved(aliases, OTHER, new)
    assert stands(assembly, first).url == new
    sending()
    for alias in (first, second):
        assert reaches(assembly, alias, "delivered").url == new
    assert {each.path.rpartition("=")[2] for each in receiver.requests} == {"new"}
    verify(secret_of(assembly), receiver.requests[0])


def test_an_address_that_was_taken_away_hears_nothing_more(
    assembly: Assembly, aliases: Aliases, receiver: Receiver, sending: Sending
) -> None:
    first = moved(aliases, TREE, receiver.url)
    moved(aliases, TREE, "")
    sending()
    webhook = reaches(assembly, first, "failed")
    assert (webhook.attempts, webhook.reason) == (0, "The alias has no webhook any more.")
    assert receiver.requests == []
    until(lambda: not markers(assembly))


def test_what_an_alias_owed_is_sent_though_it_was_removed_and_named_anew(
    assembly: Assembly, aliases: Aliases, receiver: Receiver, sending: Sending
) -> None:
    first = moved(aliases, TREE, receiver.url)
    removed = moved(aliases, None)
    moved(aliases, OTHER)
    sending()
    for alias in (first, removed):
        reaches(assembly, alias, "delivered")
    assert {each.content["type"] for each in receiver.requests} == {"alias.moved", "alias.removed"}


def test_an_address_that_changes_between_two_attempts(
    assembly: Assembly, aliases: Aliases, receiver: Receiver, sending: Sending
) -> None:
    new = f"{receiver.url}&to=new"

    def change(request: BaseHTTPRequestHandler) -> None:
        moved(aliases, TREE, new)
        request.send_response(500)
        request.end_headers()

    receiver.answers = [change, 500, 204]
    sending()
    assert reaches(assembly, moved(aliases, TREE, receiver.url), "delivered").attempts == 3
    assert [each.path.endswith("&to=new") for each in receiver.requests] == [False, True, True]
    assert len({each.id for each in receiver.requests}) == 1


def test_a_retry_has_the_same_id_and_body_and_gives_up_in_the_end(
    assembly: Assembly, aliases: Aliases, receiver: Receiver, sending: Sending
) -> None:
    receiver.answers = [500, 404, 204, 500, 301, 500, 410]
    sending()
    assert reaches(assembly, moved(aliases, TREE, receiver.url), "delivered").attempts == 3
    first, second, third = receiver.requests
    assert (first.id, first.body) == (second.id, second.body) == (third.id, third.body)
    failed = reaches(assembly, moved(aliases, OTHER), "failed")
    assert (failed.attempts, failed.reason) == (3, "The answer was 500.")
    assert reaches(assembly, moved(aliases, TREE), "failed").attempts == 1
    counts = {name: n for name, n in assembly.ledger.webhooks.counts().items() if n}
    assert counts == {"delivered": 1, "failed": 2}
    until(lambda: not markers(assembly))


def test_a_private_address_ends_the_sending(
    assembly: Assembly,
    settings: WorkerSettings,
    aliases: Aliases,
    receiver: Receiver,
    sending: Sending,
) -> None:
    sending(settings=settings.model_copy(update={"webhook_allow": ()}), apart=True)
    failed = reaches(assembly, moved(aliases, TREE, receiver.url), "failed")
    assert failed.reason == "The host has an address that webhooks may not be sent to."
    assert receiver.requests == []


def test_two_tenants_have_their_own_ids_and_keys(
    assembly: Assembly, aliases: Aliases, receiver: Receiver, sending: Sending
) -> None:
    sending()
    for tenant in ("ada", "bob"):
        reaches(assembly, moved(aliases, TREE, receiver.url, tenant=tenant), "delivered")
    first, second = receiver.requests
    assert first.id != second.id
    keys = assembly.ledger.webhooks.keys
    assert keys.of("ada") != keys.of("bob")
    verify(secret_of(assembly), first)
    with pytest.raises(AssertionError):
        verify(secret_of(assembly), second)


KILLED = """
    import os, signal
    from workers.artifacts.aliases import Aliases
    from workers.assembly import assemble
    from workers.settings import WorkerSettings

    parts = assemble(WorkerSettings(), lambda *_: None)

    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    aliases = Aliases(parts.blobs, parts.usage, die)
    aliases.move(aliases.get("ada", "champion"), "tr_" + "0" * 26, webhook=os.environ["RECEIVER"])
"""


def test_a_process_killed_between_a_move_and_its_webhook(
    assembly: Assembly,
    settings: WorkerSettings,
    aliases: Aliases,
    receiver: Receiver,
    sending: Sending,
) -> None:
    env = {
        **os.environ,
        "UMBEL_REDIS_URL": settings.redis_url,
        "UMBEL_STORE_URL": settings.store_url,
        "RECEIVER": receiver.url,
    }
    killed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED)], env=env, timeout=PATIENCE_S, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    alias = aliases.get("ada", "champion")
    assert alias.tree == TREE
    assert stands(assembly, alias).status == "pending"
    sending()
    until(lambda: assembly.ledger.sweep() is not None and bool(receiver.requests))
    reaches(assembly, alias, "delivered")
    until(lambda: not markers(assembly))
    for _ in range(3):
        assembly.ledger.sweep()
    assert len(receiver.requests) == 1


def test_a_redis_that_loses_its_data_loses_no_webhook(
    assembly: Assembly, aliases: Aliases, receiver: Receiver, sending: Sending
) -> None:
    alias = moved(aliases, TREE, receiver.url)
    assembly.redis.flushall()
    assert stands(assembly, alias).status == "pending"
    sending()
    until(lambda: assembly.ledger.sweep() is not None and bool(receiver.requests))
    reaches(assembly, alias, "delivered")
    assert len(receiver.requests) == 1


def test_a_redis_that_is_away_keeps_no_alias_from_moving(
    assembly: Assembly,
    aliases: Aliases,
    receiver: Receiver,
    sending: Sending,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def away(*_: object) -> bool:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr("workers.stores.redis.webhooks.WebhookQueue.put", away)
        alias = moved(aliases, TREE, receiver.url)
    sending()
    until(lambda: assembly.ledger.sweep() is not None and bool(receiver.requests))
    assert reaches(assembly, alias, "delivered").attempts == 1


def test_a_sender_that_could_not_report_sends_nothing_twice(
    assembly: Assembly,
    aliases: Aliases,
    receiver: Receiver,
    sending: Sending,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lost = []

    def unavailable(*_: object) -> str:
        lost.append(1)
        raise StoreUnavailable("away")

    sender = sending(lease_s=0.2)
    with monkeypatch.context() as patch:
        patch.setattr(assembly.ledger.webhooks, "_report", unavailable)
        alias = moved(aliases, TREE, receiver.url)
        until(lambda: bool(lost))
    sender.stop(PATIENCE_S)
    sending()
    reaches(assembly, alias, "delivered")
    until(lambda: not markers(assembly))
    assert len(receiver.requests) == 1


def test_a_marker_whose_move_is_of_somebody_else_goes(
    assembly: Assembly, settings: WorkerSettings, aliases: Aliases, receiver: Receiver
) -> None:
    alias = aliases.get("ada", "champion")
    moved(aliases, TREE)
    assert aliases.move(alias, OTHER, webhook=receiver.url) is None
    assert len(markers(assembly)) == 1
    until(lambda: assembly.ledger.sweep() is not None and not markers(assembly))
    assert redis_keys(assembly, settings) == set()


def test_old_moves_go_once_their_webhook_is_sent(
    assembly: Assembly,
    aliases: Aliases,
    receiver: Receiver,
    sending: Sending,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stored, "MOST_MOVES", 2)
    moved(aliases, TREE, receiver.url)
    for tree in (OTHER, TREE, OTHER):
        moved(aliases, tree)
    assert len(aliases.get("ada", "champion").moves) == 4, "their webhooks are still to be sent"
    sending()
    until(lambda: not markers(assembly))
    assert len(receiver.requests) == 4
    moved(aliases, TREE, "")
    assert [move.number for move in aliases.get("ada", "champion").moves] == [4, 5]
    kept = [key for key in everything(assembly) if key.startswith(layout.MOVE_WEBHOOKS)]
    assert kept == [layout.move_webhook("ada", "champion", 4)]

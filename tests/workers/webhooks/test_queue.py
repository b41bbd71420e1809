"""The queue of webhooks where a tenant has very many receivers."""

from __future__ import annotations

import pytest

from tests.workers.webhooks.receiver_kit import until
from workers.assembly import Assembly
from workers.settings import WorkerSettings
from workers.stores.redis.webhooks import PER_TENANT, WebhookLease, WebhookQueue, move_entry

MANY = 1500
"""More receivers than one take looks at."""

LONG_S = 3600.0


@pytest.fixture
def queue(assembly: Assembly, settings: WorkerSettings) -> WebhookQueue:
    return WebhookQueue(assembly.redis, settings)


def crowd(queue: WebhookQueue, count: int = MANY) -> set[str]:
    """What a tenant owes to as many receivers."""
    entries = [move_entry("ada", "champion", number) for number in range(count)]
    for number, entry in enumerate(entries):
        queue.put(entry, "ada", f"h{number}.example:443")
    return set(entries)


def all_that_are_given(queue: WebhookQueue, lease_s: float = LONG_S) -> list[WebhookLease]:
    """What comes of as many takes as the crowd needs to be looked at."""
    return [lease for _ in range(MANY // 500 + 1) for lease in queue.take("t", 100, lease_s)]


def test_nobody_waits_behind_the_many_receivers_of_a_tenant_at_its_limit(
    queue: WebhookQueue,
) -> None:
    crowd(queue)
    assert len(all_that_are_given(queue)) == PER_TENANT
    for number in range(3):
        other = move_entry("bob", "champion", number)
        queue.put(other, "bob", "receiver.example:443")
        assert [lease.job for lease in queue.take("t", 100, LONG_S)] == [other]


@pytest.mark.parametrize("lapse", [False, True])
def test_all_receivers_of_a_tenant_at_its_limit_get_their_webhook(
    queue: WebhookQueue, lapse: bool
) -> None:
    """lapse : whether the process that sent the first ones died."""
    owed = crowd(queue)
    first = all_that_are_given(queue, 0.2 if lapse else LONG_S)
    assert len(first) == PER_TENANT
    sent: list[str] = []

    def send(leases: list[WebhookLease]) -> bool:
        for lease in leases:
            assert queue.report(lease, "delivered", attempts=1) == "ok"
            sent.append(lease.job)
        return bool(leases)

    if lapse:
        until(lambda: send(queue.take("u", 100, LONG_S)))
    else:
        send(first)
    while send(queue.take("u", 100, LONG_S)):
        pass
    if lapse:
        # The others of the first lapse in the same moment, or in the next.
        until(lambda: not send(queue.take("u", 100, LONG_S)) and len(sent) >= len(owed))
    assert sorted(sent) == sorted(owed)


def test_a_webhook_that_is_taken_back_lets_another_one_go(queue: WebhookQueue) -> None:
    owed = crowd(queue, 40)
    first = all_that_are_given(queue)
    given = {lease.job for lease in first}
    for lease in first:
        queue.report(lease, "pending", attempts=1, after_s=LONG_S)
        given |= {other.job for other in queue.take("t", 100, LONG_S)}
    assert len(given) == 2 * PER_TENANT
    assert given < owed

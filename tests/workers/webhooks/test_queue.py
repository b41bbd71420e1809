"""The queue of webhooks where a tenant has very many receivers."""

from __future__ import annotations

from collections import Counter

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


def owed(queue: WebhookQueue, tenant: str, count: int, first: int = 0) -> list[str]:
    """What a tenant owes to as many receivers."""
    entries = [move_entry(tenant, "champion", number) for number in range(first, first + count)]
    for entry in entries:
        queue.put(entry, tenant, f"h{entry[-4:]}.example:443")
    return entries


class Process:
    """What a process with 16 senders sends."""

    def __init__(self, queue: WebhookQueue, room: int = 16) -> None:
        self.sending: list[WebhookLease] = []
        self._queue = queue
        self.room = room

    def take(self, slow: int | None = None) -> list[WebhookLease]:
        sent_here = Counter(lease.tenant for lease in self.sending)
        free = self.room - len(self.sending)
        new = self._queue.take("t", free, LONG_S, slow=slow, sent_here=sent_here) if free else []
        self.sending += new
        return new

    def end(self, lease: WebhookLease, slow: bool) -> None:
        assert self._queue.report(lease, "delivered", attempts=1, slow=slow) == "ok"
        self.sending.remove(lease)


def test_tenants_whose_receivers_all_hang_leave_a_sender_to_another_one(
    queue: WebhookQueue,
) -> None:
    process = Process(queue)
    for tenant, n_senders in {"ada": 8, "bob": 4, "eve": 2, "joe": 1, "zoe": 1}.items():
        owed(queue, tenant, PER_TENANT)
        assert [lease.tenant for lease in process.take()] == [tenant] * n_senders


def test_what_a_tenant_may_not_send_yet_is_sent_when_more_senders_are_free(
    queue: WebhookQueue,
) -> None:
    process = Process(queue, 2)
    owed(queue, "ada", 6)
    assert len(process.take()) == 1
    assert process.take() == []
    process.room = 9
    assert len(process.take()) == 4, "as many are left for others"
    while process.sending:
        process.end(process.sending[0], False)
        process.take()
    assert queue.counts()["delivered"] == 6


def test_what_waits_for_a_process_that_sends_nothing_any_more_is_taken(
    queue: WebhookQueue,
) -> None:
    """The process counts one whose result it has reported."""
    (own,) = owed(queue, "ada", 1)
    assert queue.take("t", 1, LONG_S, sent_here={"ada": 1}) == []
    assert [lease.job for lease in queue.take("t", 1, LONG_S)] == [own]


def test_slow_receivers_come_after_the_others(queue: WebhookQueue) -> None:
    process = Process(queue)
    first = owed(queue, "ada", 3)
    for lease in process.take():
        process.end(lease, True)
    assert queue.put(first[0], "ada", "h0000.example:443")
    (quick,) = owed(queue, "ada", 1, first=3)
    process.room = 1
    assert [lease.job for lease in process.take()] == [quick]
    process.end(process.sending[0], False)
    (lease,) = process.take()
    assert (lease.job, lease.slow) == (first[0], True)
    process.end(lease, False)
    assert queue.put(first[0], "ada", "h0000.example:443")
    assert not process.take()[0].slow, "it has answered soon"


def test_slow_receivers_have_no_more_senders_than_they_may(queue: WebhookQueue) -> None:
    process = Process(queue, 100)
    for tenant in ("ada", "bob"):
        owed(queue, tenant, 3)
    for lease in process.take():
        process.end(lease, True)
    for tenant in ("ada", "bob"):
        owed(queue, tenant, 3)
    slow = process.take(slow=2)
    assert len(slow) == 2
    assert all(lease.slow for lease in slow)
    (quick,) = owed(queue, "eve", 1)
    assert [lease.job for lease in process.take(slow=0)] == [quick]
    until(lambda: len(process.sending) == 7 or not process.take(slow=4))
    until(lambda: len([*process.take(slow=4), *process.sending]) == 7)

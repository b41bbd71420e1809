"""The door: what needs no key has a share of the loop while tenants are there."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from starlette.requests import ClientDisconnect

from app.http import buckets, security
from app.http.door import BURST_S, LEAST_S, PROBE_S, PROBES, SHARE, Door, site_of
from app.http.presence import NEAR_S, Presence
from app.http.turns import gone
from tests.app.conftest import Start

PEER, OTHER = "192.0.2.1", "192.0.2.2"


class Clock:
    """A time that passes by waiting alone."""

    def __init__(self) -> None:
        self.now = 0.0
        self.presence = Presence(self)
        self.door = Door(self, self.sleep, self.presence)
        self.served = 0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.presence.note("b")
        await asyncio.sleep(0)

    async def answer(self) -> None:
        self.served += 1


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def test_an_address_has_its_share_of_the_loop_while_a_tenant_is_there() -> None:
    """However many connections it has, and however little of its work is seen."""

    async def work() -> None:
        clock = Clock()
        clock.presence.note("b")
        n_served = 2 * int(BURST_S / LEAST_S)
        await asyncio.gather(
            *(clock.door.serve(clock.answer, PEER) for _ in range(n_served)),
        )
        assert clock.served == n_served
        assert clock.now >= (n_served * LEAST_S - BURST_S) / SHARE * 0.99
        # Another address waits for nothing.
        before = clock.now
        await clock.door.serve(clock.answer, OTHER)
        assert clock.now == before

    run(work())


def test_nobody_waits_where_no_tenant_is_there_nor_owes_it_later() -> None:
    async def work() -> None:
        clock = Clock()
        for _ in range(5 * int(BURST_S / LEAST_S)):
            await clock.door.serve(clock.answer, PEER)
        assert clock.now == 0.0
        clock.presence.note("b")
        await clock.door.serve(clock.answer, PEER)
        assert clock.now <= 2 * LEAST_S / SHARE
        clock.now += NEAR_S + 0.01
        before = clock.now
        for _ in range(2 * int(BURST_S / LEAST_S)):
            await clock.door.serve(clock.answer, PEER)
        assert clock.now == before

    run(work())


def test_the_time_of_an_answer_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter(range(100))
    monkeypatch.setattr("app.http.pacing.time.thread_time", lambda: 0.5 * BURST_S * next(readings))

    async def work() -> None:
        clock = Clock()
        clock.presence.note("b")
        for _ in range(2):
            await clock.door.serve(clock.answer, PEER)
        assert clock.now == 0.0
        await clock.door.serve(clock.answer, PEER)
        assert clock.now > 0.0

    run(work())


def test_a_probe_waits_for_a_moment_at_most() -> None:
    async def work() -> None:
        clock = Clock()
        clock.presence.note("b")
        clock.door._lines.of(f"/livez {PEER}").left = -1000.0

        async def blocked(seconds: float) -> None:
            clock.presence.note("b")
            await asyncio.sleep(seconds)

        clock.door._sleep = blocked
        began = asyncio.get_running_loop().time()
        await clock.door.serve(clock.answer, PEER, probe="/livez")
        assert clock.served == 1
        assert asyncio.get_running_loop().time() - began >= 0.9 * PROBE_S

    run(work())


def test_many_probes_of_an_address_do_not_fill_the_loop() -> None:
    async def work() -> None:
        clock = Clock()
        clock.presence.note("b")
        clock.door._lines.of(f"/livez {PEER}").left = -1000.0
        due = asyncio.Event()

        async def blocked(seconds: float) -> None:
            clock.presence.note("b")
            await due.wait()
            clock.now += seconds

        clock.door._sleep = blocked
        probes = [clock.door.serve(clock.answer, PEER, probe="/livez") for _ in range(5 * PROBES)]
        waiting = [asyncio.create_task(probe) for probe in probes]
        await asyncio.wait(waiting, timeout=2 * PROBE_S)
        assert clock.served == PROBES
        due.set()
        await asyncio.gather(*waiting)
        assert clock.served == 5 * PROBES

    run(work())


def test_one_probe_does_not_wait_behind_another_of_its_address() -> None:
    """Beside a flood of `/readyz`, `/livez` took .54 s."""

    async def work() -> None:
        clock = Clock()
        clock.presence.note("b")
        clock.door._lines.of(f"/readyz {PEER}").left = -1000.0
        await clock.door.serve(clock.answer, PEER, probe="/livez")
        assert (clock.now, clock.served) == (0.0, 1)

    run(work())


def test_who_has_left_is_not_served() -> None:
    async def work() -> None:
        clock = Clock()
        clock.presence.note("b")
        clock.door._lines.of(f" {PEER}").left = -1000.0
        left: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        left.set_result(None)
        gone.set(left)
        with pytest.raises(ClientDisconnect):
            await clock.door.serve(clock.answer, PEER)
        assert (clock.now, clock.served) == (0.0, 0)

    run(work())


def test_nothing_is_kept_of_addresses_that_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "KEPT", 10)

    async def work() -> None:
        clock = Clock()
        for number in range(100):
            await clock.door.serve(clock.answer, f"192.0.2.{number}")
            clock.now += 1.0
        assert len(clock.door._lines._buckets) <= 10

    run(work())


@pytest.mark.parametrize(
    ("peer", "site"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("testclient", "testclient"),
    ],
)
def test_one_client_has_many_addresses_of_ipv6(peer: str, site: str) -> None:
    assert site_of(peer) == site


def test_what_needs_no_key_goes_through_the_door(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[tuple[str, str]] = []

    class Watched(Door):
        async def serve(self, answer: Any, peer: str, *, probe: str = "") -> None:
            served.append((peer, probe))
            await answer()

    monkeypatch.setattr(security, "door", Watched)
    api = start(api_keys="acme:" + "0" * 64, client=("10.0.0.1", 1))
    for path in ("/", "/docs", "/openapi.json", "/dashboard/js/main.js"):
        assert api.client.get(path).status_code == 200
    assert api.client.get("/nothing").status_code == 404
    assert api.client.get("/livez").status_code == 200
    assert served == [("10.0.0.1", "")] * 5 + [("10.0.0.1", "/livez")]

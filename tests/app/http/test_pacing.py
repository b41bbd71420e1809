"""Pace: a caller that sends much waits while others are there, and costs them little."""

from __future__ import annotations

import asyncio
import gc
import gzip
import time
import weakref
from collections.abc import Coroutine
from typing import Any

import numpy as np
import pytest
from starlette.types import Message

from app.http import buckets, pacing, security
from app.http.pacing import (
    BURST,
    BYTES,
    FEW,
    GATHERS_S,
    GIVES_WAY_S,
    LONGEST_S,
    MOST_WORK_S,
    PER_S,
    PIECE_GIVES_WAY_S,
    PIECE_S,
    SHORT_PIECE,
    UNPACKED_S,
    WORK_S,
    Pace,
    in_pieces,
    metered,
)
from app.http.presence import NEAR_S, SHORT_S, Presence, presence
from app.http.problems import MOST_ERRORS, Refused
from app.http.streaming import Turn, in_turn
from app.http.turns import Taker, taker
from tests.app.conftest import Api, Start, problem_of

A, A_KEY, B = Taker("a"), Taker("a", "key_1"), Taker("b")
LINK = Taker("a", "sh_1", link=True)


class Clock:
    """A time that passes only where somebody waits, alone."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waited: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)

    def pace(self) -> Pace:
        return Pace(self, self.sleep)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def test_a_tenant_that_is_alone_waits_for_nothing() -> None:
    async def work() -> None:
        clock = Clock()
        pace = clock.pace()
        for _ in range(5 * int(BURST)):
            await pace.admit(A)
            await pace.admit(A_KEY)
        assert clock.waited == []
        # Nor is that a debt, once another one is there.
        await pace.admit(B)
        await pace.admit(A)
        assert sum(clock.waited) <= 2 / PER_S

    run(work())


def test_a_tenant_that_sends_much_waits_while_another_one_is_there() -> None:
    async def work() -> None:
        clock = Clock()
        pace = clock.pace()
        await pace.admit(B)
        for _ in range(int(BURST)):
            await pace.admit(A)
        assert clock.waited == []
        for number in range(1, 11):
            await pace.admit(A_KEY)
            assert clock.waited[-1] == pytest.approx(number / PER_S)
        # The other one does not.
        before = len(clock.waited)
        await pace.admit(B)
        assert len(clock.waited) == before
        # What waits is due after a while, and without others nothing waits.
        clock.now += 10 / PER_S + 1e-6
        await pace.admit(B)
        await pace.admit(A)
        assert clock.waited[-1] <= 1 / PER_S
        before = len(clock.waited)
        clock.now += NEAR_S + 0.01
        for _ in range(3 * int(BURST)):
            await pace.admit(A)
        assert len(clock.waited) == before

    run(work())


@pytest.mark.parametrize("who", [LINK, "192.0.2.1"])
def test_a_link_and_an_address_without_a_key_wait_though_nobody_is_there(who: Taker | str) -> None:
    async def work() -> None:
        clock = Clock()
        pace = clock.pace()
        for _ in range(int(BURST) + 1):
            await pace.admit(who)
        assert clock.waited == [pytest.approx(1 / PER_S)]
        # Its tenant's keys do not wait for that.
        await pace.admit(A)
        assert len(clock.waited) == 1

    run(work())


def test_who_would_wait_for_too_long_is_refused() -> None:
    async def work() -> None:
        clock = Clock()
        pace = clock.pace()
        for _ in range(int(BURST + PER_S * LONGEST_S) + 1):
            await pace.admit(LINK)
        with pytest.raises(Refused) as refused:
            await pace.admit(LINK)
        assert refused.value.status_code == 503
        assert refused.value.headers is not None
        assert "Retry-After" in refused.value.headers
        clock.now += 1.0
        await pace.admit(LINK)

    run(work())


def test_a_long_document_counts_as_several_requests() -> None:
    async def work() -> None:
        clock = Clock()
        pace = clock.pace()
        await pace.admit(B)
        pace.charge(A, int(BURST) * BYTES)
        await pace.admit(A)
        assert clock.waited == [pytest.approx(1 / PER_S)]
        # Never more than a second's, so that nobody waits for long behind one document.
        pace.charge(A, 1 << 40)
        await pace.admit(A)
        assert clock.waited[-1] <= 1 + 1 / PER_S

    run(work())


def test_nothing_is_kept_of_those_who_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "KEPT", 10)

    async def work() -> None:
        clock = Clock()
        pace = clock.pace()
        for number in range(100):
            await pace.admit(f"192.0.2.{number}")
            clock.now += 1.0
        assert len(pace._buckets._buckets) <= 10

    run(work())


def test_refusals_without_a_key_and_with_a_link_are_paced(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    admitted: list[Taker | str] = []

    class Watched(Pace):
        async def admit(self, who: Taker | str) -> None:
            admitted.append(who)

    monkeypatch.setattr(security, "pace", Watched)
    api = start(api_keys="acme:" + "0" * 64, client=("10.0.0.1", 1))
    problem_of(api.client.get("/v1/jobs"), 401, "unauthenticated")
    problem_of(api.client.get("/nothing"), 404, "not-found")
    assert admitted == ["10.0.0.1"] * 2
    assert api.client.get("/livez").status_code == 200
    assert api.client.get("/").status_code == 200
    assert len(admitted) == 2


def test_a_refusal_lists_so_many_errors(api: Api) -> None:
    params = {f"p{number}": number for number in range(4_000)}
    body = {"method": "l2h", "inputs": {"logits": [[1, 2], [2, 1]]}, "params": params}
    problem = problem_of(api.client.post("/v1/jobs", json=body), 422, "invalid-request")
    assert len(problem["errors"]) == MOST_ERRORS
    assert "3999 more, the first in `errors`" in problem["detail"]
    tags = {**body, "params": {}, "tags": ["x" * 200] * 900}
    problem = problem_of(api.client.post("/v1/jobs", json=tags), 422, "invalid-request")
    assert len(problem["errors"]) <= MOST_ERRORS


def test_who_is_there_is_what_the_definition_says() -> None:
    """Another tenant sent a request within `NEAR_S`: of any number of tenants."""
    rng = np.random.default_rng(0)
    now = 0.0
    own, sent = Pace(lambda: now), dict[str, float]()
    for _ in range(500):
        now += float(rng.exponential(NEAR_S / 2))
        tenant = str(rng.choice(["ada", "bea", "cy"], p=[0.8, 0.1, 0.1]))
        asyncio.run(own.admit(Taker(tenant)))
        sent[tenant] = now
        for each in ("ada", "bea", "cy"):
            there = any(now - at < NEAR_S for name, at in sent.items() if name != each)
            assert own._held(Taker(each)) == there


def test_a_tenant_is_there_while_its_work_is_done_however_long() -> None:
    """Else others had no pace once a picture took longer than `NEAR_S`, and made it take longer."""
    seen: list[bool] = []

    async def work() -> None:
        taker.set(B)

        own = presence()
        await in_turn(
            lambda: seen.extend((own.others("a"), own.others("b"))), Turn("draw", waits=True)
        )
        seen.append(own.others("a"))

    run(work())
    assert seen == [True, False, False]


def test_what_a_request_takes_of_the_interpreter_counts_as_several() -> None:
    async def work() -> None:
        clock = Clock()
        pace = clock.pace()
        await pace.admit(B)
        pace.spend(A, BURST * WORK_S)
        await pace.admit(A)
        assert clock.waited == [pytest.approx(1 / PER_S)]
        # Whoever was alone owes nothing for it.
        clock.now += NEAR_S + 0.01
        pace.spend(A, 1000.0)
        await pace.admit(B)
        await pace.admit(A)
        assert clock.waited[-1] <= 2 / PER_S

    run(work())


def test_who_has_had_more_lets_others_go_first() -> None:
    async def work() -> None:
        clock = Clock()
        presence = Presence(clock)
        pace = Pace(clock, clock.sleep, presence)
        await pace.admit(B)
        number = presence.begin("b")
        for _ in range(int(FEW) - 1):
            await pace.admit(A)
        assert clock.waited == []
        # Within the burst it waits for the other tenant's, a while and not for ever.
        await pace.admit(A)
        assert sum(clock.waited) == pytest.approx(GIVES_WAY_S)
        for _ in range(int(BURST - FEW)):
            await pace.admit(A)
        clock.waited.clear()
        # So does one that is due later, ...
        await pace.admit(A)
        assert sum(clock.waited) == pytest.approx(1 / PER_S + GIVES_WAY_S)
        # ... and each piece of work in a thread.
        clock.waited.clear()
        await pace.give_way(A, PIECE_GIVES_WAY_S)
        assert sum(clock.waited) == pytest.approx(PIECE_GIVES_WAY_S)
        # Nor for its own, or for one that has ended, or that takes long.
        clock.waited.clear()
        presence.begin("a")
        assert list(presence.served("a")) == ["b"]
        presence.end(number)
        presence.end(number)
        await pace.admit(A)
        assert clock.waited == [pytest.approx(2 / PER_S)]
        presence.begin("b")
        clock.now += SHORT_S + 0.01
        assert not list(presence.served("a"))
        assert not presence._open
        assert not presence._n_open

    run(work())


def test_of_two_one_gives_way_at_most() -> None:
    """Whoever has had less does not wait for the other, however busy that one is."""

    async def work() -> None:
        clock = Clock()
        presence = Presence(clock)
        pace = Pace(clock, clock.sleep, presence)
        await pace.admit(B)
        for _ in range(100):
            await pace.admit(A)
        for _ in range(50):
            await pace.admit(B)
        assert clock.waited == []
        for tenant in ("a", "b"):
            presence.begin(tenant)
        assert await pace.give_way(B, GIVES_WAY_S) == 0.0
        assert await pace.give_way(A, GIVES_WAY_S) == pytest.approx(GIVES_WAY_S)
        # Nor does it while the other one waits for what it holds.
        assert await pace.give_way(A, GIVES_WAY_S, lambda: True) == 0.0

    run(work())


def test_content_that_grows_by_unpacking_waits_until_it_is_due(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(pace: Pace, clock: Clock) -> float:
        for _ in range(1200):
            await pace.unpack(A, 256 << 10)
        return sum(clock.waited)

    clock = Clock()
    assert asyncio.run(work(clock.pace(), clock)) == 0.0
    presence = Presence(clock)
    presence.note("b")
    took_s = 1200 * (256 << 10) * UNPACKED_S
    waited = asyncio.run(work(Pace(clock, clock.sleep, presence), clock))
    # The time of this clock stands still, so each piece waits for all before it.
    assert waited >= (took_s / WORK_S - BURST) / PER_S

    grown: list[int] = []

    async def unpack(_: Pace, who: Taker, n_bytes: int) -> None:
        grown.append(n_bytes)

    monkeypatch.setattr(Pace, "unpack", unpack)
    content = b"0.5\n" * 100_000
    client = start().client
    for headers in ({"Content-Encoding": "gzip", "Content-Type": "text/csv"},
                    {"Content-Type": "text/csv"}):  # fmt: skip
        grown.clear()
        sent = client.post("/v1/datasets", content=gzip.compress(content), headers=headers)
        assert sent.status_code == 201
        assert sum(grown) == len(content)


def test_many_that_give_way_look_seldom() -> None:
    """Each for as long as one alone; but to look every 10 ms, 200 took a quarter of the loop."""

    async def work() -> None:
        clock = Clock()
        presence = Presence(clock)
        woken = asyncio.Event()

        async def sleep(seconds: float) -> None:
            await clock.sleep(seconds)
            await woken.wait()

        pace = Pace(clock, sleep, presence)
        await pace.admit(B)
        pace.spend(A, MOST_WORK_S)
        presence.begin("b")
        async with asyncio.TaskGroup() as group:
            waits = [group.create_task(pace.give_way(A, GIVES_WAY_S)) for _ in range(200)]
            await asyncio.sleep(0)
            woken.set()
        assert {round(wait.result(), 9) for wait in waits} == {GIVES_WAY_S}
        assert len(clock.waited) < 1600

    run(work())


def test_all_pieces_of_a_request_wait_no_longer_than_one_request() -> None:
    clock = Clock()
    presence = Presence(clock)
    pace = Pace(clock, clock.sleep, presence)

    async def work() -> None:
        pacing._pace.set(pace)
        await pace.admit(B)
        pace.spend(A, MOST_WORK_S)
        presence.begin("b")
        clock.waited.clear()
        for _ in range(1000):
            await in_turn(lambda: None, Turn("export", waits=True), patient=True)

    run(metered(work(), A))
    assert sum(clock.waited) == pytest.approx(GIVES_WAY_S)


def test_each_step_of_a_request_lets_others_go_first() -> None:
    """Also one that began before theirs, but not while others wait for what it holds."""
    clock = Clock()
    presence = Presence(clock)
    pace = Pace(clock, clock.sleep, presence)
    waited: list[float] = []

    async def step() -> None:
        await asyncio.sleep(0)
        waited.append(sum(clock.waited))

    async def work() -> None:
        pacing._pace.set(pace)
        await pace.admit(B)
        pace.spend(A, MOST_WORK_S)
        clock.waited.clear()
        await step()
        number = presence.begin("b")
        await step()
        own = pacing.meter.get()
        assert own is not None
        with own.holds(lambda: True):
            await step()
        presence.end(number)
        await step()

    run(metered(work(), A))
    assert waited == pytest.approx([0.0, *[PIECE_GIVES_WAY_S] * 3])


def test_a_request_that_lets_others_go_first_can_be_cancelled() -> None:
    clock = Clock()
    presence = Presence(clock)
    ended: list[str] = []

    async def forever(_: float) -> None:
        await asyncio.sleep(3600)

    pace = Pace(clock, forever, presence)

    async def answer() -> None:
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def work() -> None:
        pacing._pace.set(pace)
        pace._presence.note("b")
        pace.spend(A, MOST_WORK_S)
        presence.begin("b")
        task = asyncio.create_task(metered(answer(), A))
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(work())
    assert ended == ["cancelled"]


def test_steps_of_a_request_and_its_threads_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work on the loop and in a thread, but not what is waited for; one request counts for no more
    than `MOST_WORK_S`."""
    spent: list[tuple[Taker, float]] = []
    clock = iter(range(1000))
    monkeypatch.setattr(time, "thread_time", lambda: 0.1 * next(clock))
    monkeypatch.setattr(Pace, "spend", lambda _, who, seconds: spent.append((who, seconds)))

    async def answer() -> None:
        await asyncio.sleep(0)
        await in_turn(lambda: None, Turn("small", waits=True))

    async def endless() -> None:
        for _ in range(100):
            await asyncio.sleep(0)

    async def work() -> None:
        await metered(answer(), A)
        assert {who for who, _ in spent} == {A}
        # A step to the first pause, one to the thread, one to the end, and the thread's own time;
        # the clock goes on by its own readings.
        assert sum(seconds for _, seconds in spent) == pytest.approx(0.5, abs=0.21)
        spent.clear()
        await metered(endless(), B)
        assert sum(seconds for _, seconds in spent) == pytest.approx(MOST_WORK_S)

    run(work())


def test_a_counted_request_ends_as_it_would_otherwise() -> None:
    """Results, exceptions and cancellation pass; what it held goes with it."""

    class Held:
        pass

    seen: list[str] = []
    alive: list[weakref.ref[Held]] = []

    async def fails() -> None:
        held = Held()
        alive.append(weakref.ref(held))
        await asyncio.sleep(0)
        raise ValueError("no")

    async def waits() -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def work() -> None:
        with pytest.raises(ValueError, match="no"):
            await metered(fails(), A)
        task = asyncio.create_task(metered(waits(), A))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert seen == ["cancelled"]

    gc.disable()
    try:
        run(work())
        assert [ref() for ref in alive] == [None]
    finally:
        gc.enable()


def test_what_a_route_does_in_a_thread_counts_for_its_pace(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether or not it waits for a turn: the list of an upload's 10,000 parts did not."""
    spent: list[float] = []
    upload = api.client.post("/v1/uploads").json()["id"]
    own = api.service.parts.list

    def slow(*given: Any) -> Any:
        until = time.thread_time() + 0.05
        while time.thread_time() < until:
            pass
        return own(*given)

    monkeypatch.setattr(api.service.parts, "list", slow)
    monkeypatch.setattr(Pace, "spend", lambda self, who, seconds: spent.append(seconds))
    assert api.client.get(f"/v1/uploads/{upload}").status_code == 200
    assert sum(spent) >= 0.05


def test_short_pieces_of_a_body_are_gathered_of_who_has_had_more_than_is_due() -> None:
    clock = Clock()
    pieces = [b"1"] * 2000 + [b"1" * SHORT_PIECE] * 5 + [b""]

    async def receive() -> Message:
        body = pieces.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(pieces)}

    async def read() -> None:
        token = pacing._pace.set(clock.pace())
        paced = in_pieces(receive, A)
        own = pacing.pace()
        for _ in range(500):
            await paced()
        assert clock.waited == [], "nobody else is there"
        await own.admit(B)
        while (await paced())["more_body"]:
            clock.now += GATHERS_S / 10_000
        pacing._pace.reset(token)

    run(read())
    few = FEW * WORK_S / PIECE_S
    assert set(clock.waited) == {GATHERS_S}
    assert 1500 - few - 50 <= len(clock.waited) <= 1500

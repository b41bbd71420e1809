"""Turns: none waits behind another's work, in the order of who had least and waited longest."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from starlette.requests import ClientDisconnect

from app.http import security, turns
from app.http.presence import SHORT_S, presence
from app.http.problems import Refused
from app.http.turns import FairQueue, Place, Room, Taker, give_place_up
from tests.app.conftest import Start, new_job

A, A_LINK, A_OTHER, B = (
    Taker("a"),
    Taker("a", "sh_1", link=True),
    Taker("a", "sh_2", link=True),
    Taker("b"),
)


class Bench:
    """A queue, what has a turn there in the order in which it came, and the end of each."""

    def __init__(self, room: Room) -> None:
        self.queue = FairQueue(room)
        self.begun: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def come(self, who: Taker, *names: str, patient: bool = False) -> None:
        for name in names:
            self.ends[name] = asyncio.Event()
            self.tasks[name] = asyncio.create_task(self._work(who, name, patient))
        await self.settle()

    async def _work(self, who: Taker, name: str, patient: bool) -> None:
        async with self.queue.turn(who, patient=patient):
            self.begun.append(name)
            await self.ends[name].wait()

    async def end(self, *names: str) -> None:
        for name in names:
            self.ends[name].set()
            await self.settle()

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def test_one_tenant_and_one_link_leave_room_for_others() -> None:
    async def work() -> None:
        bench = Bench(Room(3, 2, 1))
        await bench.come(A_LINK, "l1", "l2", "l3")
        assert bench.begun == ["l1"]
        await bench.come(A, "a1", "a2")
        await bench.come(B, "b1")
        assert bench.begun == ["l1", "a1", "b1"]
        assert (bench.queue.n_running, bench.queue.n_waiting) == (3, 3)

    run(work())


def test_tenants_take_turns_and_then_their_keys_and_links() -> None:
    async def work() -> None:
        bench = Bench(Room(1, 1, 1))
        await bench.come(A_LINK, "l1", "l2", "l3")
        await bench.come(A_OTHER, "o1", "o2")
        await bench.come(B, "b1", "b2")
        await bench.end("l1", "b1", "o1", "b2", "l2", "o2", "l3")
        assert bench.begun == ["l1", "b1", "o1", "b2", "l2", "o2", "l3"]
        assert (bench.queue.n_running, bench.queue.n_waiting) == (0, 0)
        # Nothing is kept of those who have left.
        assert not bench.queue._running
        assert not bench.queue._served
        assert not bench.queue._waiting

    run(work())


def test_too_many_that_wait_are_refused() -> None:
    async def work() -> None:
        bench = Bench(Room(1, 1, 1, waiting=3, waiting_link=2))
        await bench.come(A_LINK, "l1", "l2", "l3", "l4")
        await bench.come(A_OTHER, "o1", "o2")
        await bench.come(B, "b1")
        await bench.come(A_LINK, "begun before", patient=True)
        refused = {name for name, task in bench.tasks.items() if task.done()}
        assert refused == {"l4", "o2"}
        for name in refused:
            error = bench.tasks[name].exception()
            assert isinstance(error, Refused)
            assert error.problem["status"] == 503
            assert error.headers == {"Retry-After": "2"}

    run(work())


def test_who_leaves_is_passed_over_and_a_long_wait_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work() -> None:
        bench = Bench(Room(1, 1, 1))
        await bench.come(A, "a1", "a2", "a3")
        bench.tasks["a2"].cancel()
        await bench.end("a1")
        assert bench.begun == ["a1", "a3"]
        # Granted and cancelled at the same moment: the turn goes on.
        await bench.come(B, "b1", "b2")
        bench.ends["a3"].set()
        await asyncio.sleep(0)
        bench.tasks["b1"].cancel()
        await bench.settle()
        assert bench.begun[-1] == "b2"
        monkeypatch.setattr(turns, "LONGEST_WAIT_S", 0.0)
        await bench.come(A, "late")
        with pytest.raises(Refused):
            await bench.tasks["late"]
        await bench.end("b2")
        assert (bench.queue.n_running, bench.queue.n_waiting) == (0, 0)

    run(work())


def test_who_waits_leaves_with_its_connection() -> None:
    async def work() -> None:
        bench = Bench(Room(1, 1, 1, waiting=3))
        await bench.come(A, "a1")
        connection = asyncio.get_running_loop().create_future()
        turns.gone.set(connection)
        await bench.come(A, "a2")
        await bench.come(A, "a3", patient=True)
        turns.gone.set(None)
        await bench.come(A, "a4")
        assert bench.queue.n_waiting == 3
        connection.set_result(None)
        await bench.settle()
        assert bench.queue.n_waiting == 1
        for name in ("a2", "a3"):
            assert isinstance(bench.tasks[name].exception(), ClientDisconnect)
        await bench.end("a1", "a4")
        assert bench.begun == ["a1", "a4"]
        # Granted and left at the same moment: the turn goes on.
        await bench.come(A, "a5")
        connection = asyncio.get_running_loop().create_future()
        turns.gone.set(connection)
        await bench.come(A, "a6")
        turns.gone.set(None)
        await bench.come(B, "b1")
        connection.set_result(None)
        bench.ends["a5"].set()
        await bench.settle()
        assert bench.begun[-1] == "b1"
        # Who has left already begins nothing.
        turns.gone.set(connection)
        await bench.come(A, "late")
        assert isinstance(bench.tasks["late"].exception(), ClientDisconnect)
        await bench.end("b1")
        assert (bench.queue.n_running, bench.queue.n_waiting) == (0, 0)
        assert not bench.queue._running

    run(work())


def test_in_each_queue_a_tenant_and_a_link_leave_a_place() -> None:
    for room in turns.ROOMS.values():
        assert room.link <= room.tenant < room.in_all


def test_a_tenant_has_fewer_turns_at_once_while_another_one_is_there() -> None:
    async def work() -> None:
        presence().note("a")
        bench = Bench(Room(4, 3, 1, beside=1))
        await bench.come(A, "a1", "a2", "a3", "a4")
        assert bench.begun == ["a1", "a2", "a3"]
        presence().note("b")
        await bench.end("a1")
        assert bench.begun == ["a1", "a2", "a3"]
        await bench.come(B, "b1", "b2")
        assert bench.begun[3:] == ["b1"]
        await bench.end("a2", "a3")
        assert bench.begun[4:] == ["a4"]
        await bench.end("a4", "b1", "b2")
        assert (bench.queue.n_running, bench.queue.n_waiting) == (0, 0)

    run(work())


def test_few_requests_of_a_tenant_are_answered_at_a_time_whoever_else_is_there() -> None:
    async def work() -> None:
        most = turns.ROOMS["request"].tenant
        places = [Place() for _ in range(most + 2)]
        taken = [asyncio.create_task(place.take(A)) for place in places]
        await asyncio.sleep(0)
        assert [task.done() for task in taken] == [True] * most + [False] * 2
        # Another tenant waits for none of them, and one that is answered lets the next one in.
        await asyncio.wait_for(Place().take(B), 1.0)
        places[0].leave()
        places[0].leave()
        await asyncio.sleep(0)
        assert [task.done() for task in taken[-2:]] == [True, False]
        # A request that takes long, or only waits, holds up none of its tenant's.
        await asyncio.wait_for(taken[-1], 10 * SHORT_S)
        assert turns.queue("request").n_waiting == 0

    run(work())


def test_who_waits_for_a_job_gives_its_place_up() -> None:
    async def work() -> None:
        async with asyncio.timeout(SHORT_S / 2):
            for _ in range(3 * turns.ROOMS["request"].tenant):
                await Place().take(A)
                give_place_up()

    run(work())


def test_each_request_of_a_tenant_has_a_place_until_it_ends_or_only_waits(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_taken, n_left = 0, 0

    class Watched(Place):
        async def take(self, who: Taker) -> None:
            nonlocal n_taken
            await super().take(who)
            n_taken += 1

        def leave(self) -> None:
            nonlocal n_left
            n_left += self._end is not None
            super().leave()

    monkeypatch.setattr(security, "Place", Watched)
    # No place is given up because its request takes long.
    monkeypatch.setattr(turns, "SHORT_S", 60.0)
    api = start()
    assert api.client.get("/v1/jobs/none").status_code == 404
    assert api.client.get("/livez").status_code == 200
    assert (n_taken, n_left) == (1, 1)
    in_time: list[bool] = []

    def given_up() -> None:
        before = n_left
        give_place_up()
        in_time.append(n_left == before + 1)

    for name in ("waiting", "events"):
        monkeypatch.setattr(f"app.http.{name}.give_place_up", given_up)
    waited = api.client.post("/v1/jobs", json=new_job(), headers={"Prefer": "wait=1"})
    job = waited.json()["id"]
    assert in_time[0]
    in_time.clear()
    api.finish(job)
    api.client.get(f"/v1/jobs/{job}/events")
    assert in_time == [True]
    assert (n_taken, n_left) == (3, 3)

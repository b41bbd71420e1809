"""Pieces of work in threads: their order, their errors, and that cancelling stops them."""

from __future__ import annotations

import threading
import time

import pytest

from models.errors import Cancelled
from models.methods.margins.splitting.tasks import Tick, in_threads


def silent() -> None:
    pass


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_answers_come_in_the_order_of_the_tasks(threads: int) -> None:
    def task(number: int) -> int:
        time.sleep(0.01 * (5 - number))
        return number

    tasks = [lambda tick, number=number: task(number) for number in range(5)]
    assert in_threads(tasks, threads, silent) == [0, 1, 2, 3, 4]
    assert in_threads([], threads, silent) == []


def test_as_many_tasks_run_at_once_as_threads() -> None:
    both = threading.Barrier(2, timeout=250)

    def meet(tick: Tick) -> int:
        return both.wait()

    assert sorted(in_threads([meet, meet], 2, silent)) == [0, 1]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_is_raised_and_stops_the_others(threads: int) -> None:
    stopped = []
    begun = threading.Event()

    def fails(tick: Tick) -> None:
        assert threads == 1 or begun.wait(250)
        raise ValueError("no")

    def goes_on(tick: Tick) -> None:
        begun.set()
        try:
            while True:
                tick()
                time.sleep(0.001)
        except Cancelled:
            stopped.append(True)
            raise

    with pytest.raises(ValueError, match="no"):
        in_threads([fails, goes_on], threads, silent)
    assert stopped == ([True] if threads == 2 else [])


def test_cancelling_reaches_every_thread() -> None:
    def goes_on(tick: Tick) -> None:
        while True:
            tick()
            time.sleep(0.001)

    def cancel() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        in_threads([goes_on, goes_on, goes_on], 2, cancel)

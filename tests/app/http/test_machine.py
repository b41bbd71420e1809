"""How much of the processor the loop gets, and the clock that goes by it."""

from __future__ import annotations

import sys
import time

import pytest

from app.http import machine
from app.http.machine import LEAST, LOOK_S, Machine


class Busy:
    """A machine on which the loop gets a part of what it wants."""

    def __init__(self) -> None:
        self.now = self.ran = self.waited = 0.0

    def pass_by(self, seconds: float, ran: float, waited: float) -> None:
        self.now += seconds
        self.ran += ran
        self.waited += waited

    def seen(self) -> Machine:
        return Machine(lambda: self.now, lambda: (self.ran, self.waited))


def test_the_clock_slows_down_with_the_loop_and_recovers() -> None:
    busy = Busy()
    own = busy.seen()
    busy.pass_by(LOOK_S, LOOK_S / 2, 0)
    assert own.clock() == pytest.approx(LOOK_S)
    for _ in range(20):
        busy.pass_by(LOOK_S, LOOK_S / 2, LOOK_S / 2)
        own.clock()
    assert own.ease == pytest.approx(0.5, abs=1e-3)
    before = own.clock()
    busy.pass_by(0.2, 0.1, 0.1)
    assert own.clock() - before == pytest.approx(0.1, abs=1e-3)
    # A loop that waits for clients alone gets all that it wants.
    for _ in range(20):
        busy.pass_by(LOOK_S, 0.001, 0.001)
        own.clock()
    assert own.ease == pytest.approx(1.0, abs=1e-3)


def test_the_clock_never_stops() -> None:
    busy = Busy()
    own = busy.seen()
    for _ in range(20):
        busy.pass_by(LOOK_S, 0.0, LOOK_S)
        own.clock()
    assert own.ease == LEAST


def test_a_system_that_does_not_say_is_taken_for_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_SCHEDULED", machine.Path("/nowhere"))
    assert machine.scheduled() == (0.0, 0.0)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux says how long a thread has run")
def test_what_this_thread_has_run_is_what_the_clock_of_threads_says() -> None:
    ran, waited = machine.scheduled()
    began = time.thread_time()
    sum(range(2_000_000))
    took = time.thread_time() - began
    again, waited_again = machine.scheduled()
    assert again - ran == pytest.approx(took, rel=0.5, abs=0.01)
    assert waited_again >= waited

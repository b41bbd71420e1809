"""Processes that take turns at each call of Redis or the store, as one list of decisions says."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from greenlet import GreenletExit, getcurrent, greenlet

T = TypeVar("T")

START = datetime(2030, 1, 1, tzinfo=UTC)
MOST_STEPS = 4000


class Broken(AssertionError):
    """A rule that a schedule has broken."""


class Decisions:
    """Whole numbers, drawn by a seed or repeated from a list; 0 is always the plain case."""

    def __init__(self, seed: int = 0, given: Sequence[int] | None = None) -> None:
        self._random = random.Random(seed)
        self._given = given
        self.made: list[int] = []

    def below(self, n: int) -> int:
        """One of n numbers."""
        return self._next(self._random.randrange, n, n)

    def seldom(self, n: int, share: float) -> int:
        """0, or with probability `share` one of 1 to n."""
        return self._next(self._rarely, n + 1, n, share)

    def _rarely(self, n: int, share: float) -> int:
        return self._random.randint(1, n) if self._random.random() < share else 0

    def _next(self, draw: Callable[..., int], n: int, *drawn: Any) -> int:
        place = len(self.made)
        if self._given is None:
            value = draw(*drawn)
        else:
            value = min(self._given[place], n - 1) if place < len(self._given) else 0
        self.made.append(value)
        return value


class Process:
    """Something that a crash ends; `run` is its code."""

    def __init__(self, name: str, run: Callable[[], None]) -> None:
        self.name = name
        self.code = greenlet(run)
        self.crashed = False


REFUSED, LOST, TWICE, LATE, CRASH_BEFORE, CRASH_AFTER = range(1, 7)
"""What may happen to a call: not done, done without an answer, done twice, done some steps later
without an answer; or the process ends before or after it."""

OF_FAULT = ("", "refused", "lost", "twice", "late", "crash before", "crash after")


class World:
    """The clock, the processes, and the calls in flight.

    faults : share of the calls that go wrong. lands : how probable it is that a late call arrives
        at a step. on_crash : called with the process that ended. faulty : the calls that went
        wrong, and how.
    """

    def __init__(self, decisions: Decisions, faults: float, lands: float = 0.1) -> None:
        self.decisions = decisions
        self.faults = faults
        self._lands = lands
        self._since_start = 0
        self._log: list[tuple[int, str, str]] = []
        self.faulty: list[str] = []
        self.on_crash: Callable[[Process], None] = lambda process: None
        self.on_leap: Callable[[float], None] = lambda seconds: None
        self._hub = getcurrent()
        self._processes: dict[greenlet, Process] = {}
        self._late: deque[Callable[[], object]] = deque()
        self._over = False

    def spawn(self, name: str, run: Callable[[], None]) -> None:
        process = Process(name, run)
        process.code.parent = self._hub
        self._processes[process.code] = process

    def now(self) -> datetime:
        return START + timedelta(microseconds=self._since_start)

    def monotonic(self) -> float:
        return self._since_start / 1e6

    @property
    def log(self) -> list[str]:
        """What was done: when, by whom."""
        return [f"{at / 1e6:9.3f} {who:10} {text}" for at, who, text in self._log]

    def leap(self, seconds: float) -> None:
        """Move the clock."""
        self._since_start += round(seconds * 1e6)
        self.on_leap(seconds)

    def run(self) -> None:
        """Run the processes until all have ended."""
        for _ in range(MOST_STEPS):
            running = [each for each in self._processes.values() if not each.code.dead]
            if not running:
                return
            leap = self.decisions.seldom(40, 0.03)
            self.leap(float(leap) if leap else 0.003)
            if self._late and self.decisions.seldom(1, self._lands):
                self._land()
            process = running[self.decisions.below(len(running))]
            process.code.switch()
            if process.crashed:
                del self._processes[process.code]
                self._processes[greenlet()] = process  # Kept, so that nothing unwinds it now.
                process.code = _DEAD
                self.on_crash(process)
        raise Broken(f"no end after {MOST_STEPS} steps")

    def calm(self) -> None:
        """No more faults; calls in flight arrive."""
        self.faults = 0.0
        while self._late:
            self._land()

    def close(self) -> None:
        """Let go of the processes that crashed; what unwinds does nothing."""
        self._over = True

    def pause(self) -> None:
        """Let the others go on."""
        process = self._processes.get(getcurrent())
        if process is not None:
            self._hub.switch()
            self._note(process, "waits")

    def call(self, label: str, do: Callable[[], T], refusal: Callable[[], Exception]) -> T:
        """The result of one call of Redis or the store, if all goes well."""
        if self._over:
            raise GreenletExit
        process = self._processes.get(getcurrent())
        if process is None:
            if getcurrent() is not self._hub:
                raise GreenletExit
            self._note(None, label)
            return do()
        self._hub.switch()
        self._note(process, label)
        fault = self.decisions.seldom(6, self.faults)
        if fault:
            self.faulty.append(f"{label}: {OF_FAULT[fault]}")
            self._note(process, self.faulty[-1])
        if fault == CRASH_BEFORE:
            self._crash(process)
        if fault == REFUSED:
            raise refusal()
        if fault == LATE:
            self._late.append(do)
            raise refusal()
        result = do()
        if fault == TWICE:
            result = do()
        if fault == CRASH_AFTER:
            self._crash(process)
        if fault == LOST:
            raise refusal()
        return result

    def _crash(self, process: Process) -> None:
        process.crashed = True
        self._hub.switch()
        raise GreenletExit

    def _land(self) -> None:
        do = self._late.popleft()
        self._note(None, "a late call arrives")
        try:
            do()
        except Exception as error:  # Whoever made the call does not hear of it.
            self._note(None, f"{type(error).__name__}")

    def _note(self, process: Process | None, text: str) -> None:
        self._log.append((self._since_start, "" if process is None else process.name, text))


_DEAD: Any = greenlet(lambda: None)
_DEAD.switch()

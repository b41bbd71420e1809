"""What the rules of the state machine share: the values that they draw from, and its calls.

Ids, fences and tokens are drawn from few, so that calls meet: an attempt that has lost its lease, a
helper whose piece another has taken, two submissions with one key. All durations are multiples of
one second, so that a deadline is often reached exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
)

from tests.workers.stores.redis.book_kit import Book
from tests.workers.stores.redis.records_kit import Job
from tests.workers.stores.redis.scripts_kit import PREFIX, TimedScripts

S = 1000
KEPT = 3600 * S
"""Keys that expire do so by the server's own clock: none may within a sequence."""
JOBS = [f"job_{number}" for number in range(5)]
TENANTS = ["ada", "bob"]
KINDS = ["fit", "predict", "transform", "evaluate", "compare", "import", "inspect"]
LANES = ["cpu:fit", "cpu:quick", "cpu:short", "gpu:fit", "gpu:quick"]
PLACES = ["h:1", "h:2", "g:1"]
TOKENS = ["u", "v", "w"]
DATASETS = [f"ds_{number}" for number in range(3)]
OWNERS = ["", "k1", "k2"]
"""Keys of tenants."""
PAUSES = [
    ("lane", "cpu:fit"),
    ("lane", "cpu:quick"),
    ("lane", "gpu"),
    ("tenant", "ada"),
    ("tenant", "bob"),
    ("method", "hac"),
    ("method", "l2h"),
    ("worker", "worker"),
]
RUNNING = ["", '{"":1}', '{"ada":1}', '{"ada":2,"":1}', '{"ada":0}']
"""How many jobs of each tenant may run."""
LIMITS = [
    "-",
    "",
    "",
    "{}",
    '{"tenant":{"queued":2}}',
    '{"key":{"queued":1,"bytes":10}}',
    '{"tenant":{"bytes":30,"datasets":1},"key":{"datasets":1}}',
]
POLICIES = [
    "",
    "",
    '{"attempts":2,"backoff":1000}',
    '{"retry_on":["full"]}',
    '{"attempts":5,"backoff":2000000,"retry_on":["worker-lost"]}',
]
MOST = 3
"""Attempts of a job, and times that helpers may take a piece."""

jobs = st.sampled_from(JOBS)
seconds = st.sampled_from([0, S, S, 2 * S, 3 * S])
leases = st.sampled_from([S, 3 * S, 10 * S])
tokens = st.sampled_from(TOKENS)
pieces = st.sampled_from(["1", "2", "3", "4", "5"])
sizes = st.sampled_from([0, 5, 10, 20])
running_limits = st.sampled_from(RUNNING)
annotation_texts = st.sampled_from(["", '{"tags":["a"]}', '{"tags":["b","c"]}'])
expiries = st.sampled_from(["", "", "1700000002000"])
few = st.sampled_from([1, 2, 100])
usual = st.sampled_from([True, True, True, False])
"""Whether a caller says who it is, or what it no longer is."""
seldom = st.sampled_from([False, False, False, False, True])
"""Whether a call comes after the job's end."""


class Calls(RuleBasedStateMachine):
    """Subclasses, made by `machine_kit.machine`, have the scripts."""

    scripts: TimedScripts

    def __init__(self) -> None:
        super().__init__()
        self.scripts.begin()
        self.scripts.command("HSET", f"{PREFIX}pauses", "known", "1")
        self.book = Book()
        self.n_fences = 0

    def call(self, script: str, promised: Any, *arguments: str | int) -> Any:
        reply = self.scripts(script, self.book.now, *arguments)
        assert reply == promised, f"{script}{arguments}: {reply}, not {promised}"
        return reply

    def fence_of(self, id: str, holds: bool) -> str:
        """The fence of the job's attempt; else one that it had, or never."""
        job = self.book.jobs.get(id)
        held = None if job is None else job.fence
        return held if holds and held is not None else f"f{max(self.n_fences - 1, 0)}"

    def some(self, *statuses: str) -> bool:
        """Whether a job has one of these statuses."""
        return any(job.status in statuses for job in self.book.jobs.values())

    def begun(self) -> bool:
        return self.some("running", "cancelling")

    def open(self) -> bool:
        return self.some("queued", "running", "cancelling")

    def queued(self) -> bool:
        return self.some("queued")

    def one_of(self, data: st.DataObject, fits: Callable[[Job], bool]) -> str:
        """A job that fits, mostly; else any id."""
        fitting = [id for id, job in self.book.jobs.items() if fits(job)]
        return str(data.draw(st.sampled_from(fitting * 20 + JOBS)))

    def running(self, data: st.DataObject) -> str:
        return self.one_of(data, lambda job: job.fence is not None)

    def with_board(self, data: st.DataObject) -> str:
        """A job whose attempt has posted pieces, mostly; else any id."""
        posted = [id for (id, fence), board in self.book.board.items()
                  if board.pieces and self.book.goes_on(id, fence)]  # fmt: skip
        return str(data.draw(st.sampled_from(posted * 20 + JOBS)))

    @invariant()
    def redis_holds_what_the_model_says(self) -> None:
        held, promised = self.scripts.dump(), self.book.keys()
        for key in sorted({*held, *promised}):
            assert held.get(key) == promised.get(key), key

    @rule(ms=st.sampled_from([1, S, S, S, 2 * S, 3 * S]))
    def time_passes(self, ms: int) -> None:
        self.book.now += ms

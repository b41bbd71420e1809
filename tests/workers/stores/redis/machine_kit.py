"""The scripts against their model: random calls by a few clients, and all of Redis compared.

Ids, fences and tokens are drawn from few, so that calls meet: an attempt that has lost its lease, a
helper whose piece another has taken, two submissions with one key. All durations are multiples of
one second, so that a deadline is often reached exactly.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture.engine import ConjectureRunner
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
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
LANES = ["cpu:fit", "cpu:quick", "gpu:fit", "gpu:quick"]
PLACES = ["h:1", "h:2", "g:1"]
TOKENS = ["u", "v", "w"]
DATASETS = [f"ds_{number}" for number in range(3)]
OWNERS = ["", "k1", "k2"]
"""Keys of tenants."""
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
MOST = 3
"""Attempts of a job, and times that helpers may take a piece."""

jobs = st.sampled_from(JOBS)
seconds = st.sampled_from([0, S, S, 2 * S, 3 * S])
leases = st.sampled_from([S, 3 * S, 10 * S])
tokens = st.sampled_from(TOKENS)
pieces = st.sampled_from(["1", "2", "3", "4", "5"])
sizes = st.sampled_from([0, 5, 10, 20])
running_limits = st.sampled_from(RUNNING)
annotations = st.sampled_from(["", '{"tags":["a"]}', '{"tags":["b","c"]}'])
expiries = st.sampled_from(["", "", "1700000002000"])
few = st.sampled_from([1, 2, 100])
usual = st.sampled_from([True, True, True, False])
"""Whether a caller says who it is, or what it no longer is."""
seldom = st.sampled_from([False, False, False, False, True])
"""Whether a call comes after the job's end."""


class Machine(RuleBasedStateMachine):
    """Subclasses, made by `machine`, have the scripts."""

    scripts: TimedScripts

    def __init__(self) -> None:
        super().__init__()
        self.scripts.begin()
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

    @rule()
    @precondition(lambda self: not self.book.n_fillers)
    def many_jobs_wait(self) -> None:
        self.book.n_fillers = 1500
        fillers = (
            word for number in range(self.book.n_fillers) for word in ("9e14", f"filler{number}")
        )
        self.scripts.command("ZADD", f"{PREFIX}due", *fillers)

    # Jobs.

    @initialize(
        kinds=st.lists(st.sampled_from(KINDS), min_size=4, max_size=4),
        n_claimed=st.sampled_from([1, 2, 3]),
        posts=usual,
        n_taken=st.sampled_from([0, 1, 2]),
        late=seldom,
    )
    def jobs_run(
        self, kinds: list[str], n_claimed: int, posts: bool, n_taken: int, late: bool
    ) -> None:
        """Otherwise most calls would meet nothing."""
        for id, kind, tenant in zip(JOBS, kinds, ["ada", "ada", "bob", "ada"], strict=False):
            self.create(id, tenant, "cpu", "hac", kind, S, "", "x", "h:1", "k1", "2", 5, "")
        for id in JOBS[:n_claimed]:
            self.n_fences += 1
            row = (id, f"f{self.n_fences}", 10 * S, MOST, "worker", "")
            self.call("claim", self.book.claim(*row), *row)
        if posts:
            board = (JOBS[0], "f1", "ada", S, 1, "[0]", "[1]", "[2]")
            self.call("board_post", self.book.board_post(*board), *board)
            for token in TOKENS[:n_taken]:
                taken = (JOBS[0], token, 3 * S, 2)
                self.call("board_take", self.book.board_take(*taken), *taken)
        if posts and late:
            # A helper computes a piece for so long that it is reserved for the attempt.
            for token in TOKENS[:2]:
                taken = (JOBS[0], token, S, 1)
                self.call("board_take", self.book.board_take(*taken), *taken)
                self.book.now += S
            report = (JOBS[0], "f1", "1", TOKENS[0], S, "done")
            self.call("board_tell", self.book.board_tell(*report), *report)

    @rule(
        id=jobs,
        tenant=st.sampled_from(TENANTS),
        queue=st.sampled_from(["cpu", "gpu"]),
        method=st.sampled_from(["hac", "l2h"]),
        kind=st.sampled_from(KINDS),
        resend=seconds,
        key=st.sampled_from(["", "", "k"]),
        body=st.sampled_from(["x", "y"]),
        place=st.sampled_from(["", *PLACES]),
        owner=st.sampled_from(OWNERS),
        key_running=st.sampled_from(["", "1", "2"]),
        n_bytes=sizes,
        limits=st.sampled_from(LIMITS),
        needs=st.lists(st.sampled_from([*DATASETS, *JOBS]), max_size=2, unique=True),
        expires=expiries,
        hint=st.sampled_from(["", "hint"]),
        annotation=annotations,
    )
    def new(self, id: str, **how: Any) -> None:
        if id in self.book.jobs and self.some("succeeded", "failed", "cancelled"):
            id = next(i for i, job in self.book.jobs.items() if job.ended)
            self.call("drop", self.book.drop(id, f"tr_{id}"), id, f"tr_{id}")
        self.create(id, **how)

    @rule(
        data=st.data(),
        ids=st.lists(st.sampled_from(JOBS[2:]), min_size=2, max_size=4),
        bodies=st.sampled_from(["x", "xy"]),
    )
    def submissions_meet(self, data: st.DataObject, ids: list[str], bodies: str) -> None:
        """Several submissions with one idempotency key, which may expire between them, and may name
        a job whose record is lost."""
        once = f"{PREFIX}idempotency:ada:k"
        for id in ids:
            if data.draw(seldom):
                self.scripts.command("DEL", once)
                self.book.once.pop(once, None)
            if data.draw(seldom) and id not in self.book.jobs and once not in self.book.once:
                self.scripts.command("HSET", once, "job", id, "body", bodies[0])
                self.scripts.command("PEXPIRE", once, KEPT)
                self.book.once[once] = (id, bodies[0])
            needs = data.draw(st.lists(st.sampled_from(DATASETS[:2]), max_size=1))
            body = data.draw(st.sampled_from(bodies))
            of_key = ("", "k1", "2", 5, data.draw(st.sampled_from(LIMITS)))
            self.create(id, "ada", "cpu", "hac", "fit", S, "k", body, *of_key, needs)
            if data.draw(seldom) and id in self.book.jobs:
                self.call("drop", self.book.drop(id, f"tr_{id}"), id, f"tr_{id}")

    def create(
        self,
        id: str,
        tenant: str,
        queue: str,
        method: str,
        kind: str,
        resend: int,
        key: str,
        body: str,
        place: str,
        owner: str,
        key_running: str,
        n_bytes: int,
        limits: str,
        needs: Sequence[str] = (),
        expires: str = "",
        hint: str = "",
        annotation: str = "",
    ) -> None:
        listed = str(int(kind not in ("import", "inspect")))
        to = f"{tenant} {place}" if place else ""
        row: tuple[Any, ...] = (
            id,
            tenant,
            queue,
            method,
            kind,
            listed,
            "{}",
            resend,
            key,
            body,
            KEPT,
            to,
        )
        refs = json.dumps([ref for ref in needs if ref != id])
        of_key = (owner, key_running if owner else "", n_bytes, limits)
        row += (*of_key, int(kind == "transform"), refs, expires, hint, annotation)
        self.call("create", self.book.create(*row), *row)

    @rule(
        data=st.data(),
        lease=leases,
        again=st.sampled_from([False, False, False, True]),
        limits=running_limits,
    )
    @precondition(open)
    def claim(self, data: st.DataObject, lease: int, again: bool, limits: str) -> None:
        id = self.one_of(data, lambda job: not job.ended)
        fence = self.fence_of(id, True) if again else f"f{self.n_fences}"
        self.n_fences += 1
        row = (id, fence, lease, MOST, f"worker {fence}", limits)
        self.call("claim", self.book.claim(*row), *row)

    @rule(
        data=st.data(),
        holds=usual,
        lease=leases,
        progress=st.sampled_from(["", "{}", "{1}", "{2}"]),
    )
    @precondition(begun)
    def beat(self, data: st.DataObject, holds: bool, lease: int, progress: str) -> None:
        id = self.running(data)
        row = (id, self.fence_of(id, holds), lease, progress)
        self.call("beat", self.book.beat(*row), *row)

    @rule(data=st.data(), holds=usual)
    @precondition(begun)
    def log(self, data: st.DataObject, holds: bool) -> None:
        id = self.running(data)
        row = (id, self.fence_of(id, holds), "line")
        self.call("log", self.book.log(*row), *row)

    @rule(data=st.data(), owner=usual, within=seconds, late=seldom)
    @precondition(open)
    def cancel(self, data: st.DataObject, owner: bool, within: int, late: bool) -> None:
        id = self.one_of(data, lambda job: job.ended == late)
        job = self.book.jobs.get(id)
        row = (id, job.tenant if owner and job else "eve", within)
        self.call("cancel", self.book.cancel(*row), *row)

    @rule(
        data=st.data(),
        holds=usual,
        spend=st.sampled_from([0, 1, 1]),
        delay=seconds,
        lapsed=st.booleans(),
        why=st.sampled_from(["", "{}"]),
        wait=st.booleans(),
    )
    @precondition(begun)
    def release(
        self,
        data: st.DataObject,
        holds: bool,
        spend: int,
        delay: int,
        lapsed: bool,
        why: str,
        wait: bool,
    ) -> None:
        id = self.running(data)
        fence = self.fence_of(id, holds)
        row = (id, fence, spend, MOST, delay, int(lapsed), why, int(wait))
        self.call("release", self.book.release(*row), *row)

    @rule(
        data=st.data(),
        n_attempts=st.sampled_from([1, 2, 3]),
        why=st.sampled_from(["", "{}"]),
        lapsed=st.booleans(),
    )
    @precondition(open)
    def attempts_fail(self, data: st.DataObject, n_attempts: int, why: str, lapsed: bool) -> None:
        """One attempt after another at one job, until it has had all of them."""
        id = self.one_of(data, lambda job: not job.ended)
        for _ in range(n_attempts):
            claimed = (id, f"f{self.n_fences}", S, MOST, "worker", "")
            self.n_fences += 1
            self.call("claim", self.book.claim(*claimed), *claimed)
            self.book.now += lapsed * data.draw(leases)
            row = (id, self.fence_of(id, True), 1, MOST, S, int(lapsed), why, 0)
            self.call("release", self.book.release(*row), *row)

    @rule(
        rows=st.lists(
            st.tuples(jobs, st.sampled_from(TENANTS), st.sampled_from([0, S])),
            min_size=2,
            max_size=4,
        )
    )
    def jobs_wait(self, rows: list[tuple[str, str, int]]) -> None:
        """Tenants whose jobs wait in one lane since different times."""
        for id, tenant, ms in rows:
            self.book.now += ms
            self.create(id, tenant, "cpu", "hac", "fit", S, "", "x", "", "", "", 5, "")
        self.call("queues", self.book.queues(*LANES), *LANES)

    @rule(
        data=st.data(),
        status=st.sampled_from(["succeeded", "failed", "cancelled"]),
        kept=st.sampled_from([0, KEPT, KEPT]),
        tree=st.booleans(),
        delivery=st.sampled_from(["", "", "", "delivered", "failed"]),
        n_bytes=sizes,
        annotation=annotations,
        late=seldom,
    )
    @precondition(open)
    def end(
        self,
        data: st.DataObject,
        status: str,
        kept: int,
        tree: bool,
        delivery: str,
        n_bytes: int,
        annotation: str,
        late: bool,
    ) -> None:
        id = self.one_of(data, lambda job: job.ended == late)
        texts = ("t0", "t1", "{r}", "[w]", "{e}")
        name, facts = (f"tr_{id}", "{facts}") if tree else ("", "")
        row = (id, status, 2, *texts, kept, name, facts, delivery, 3, "reason", n_bytes, annotation)
        self.call("end", self.book.finish(*row), *row)

    @rule(data=st.data(), ended=usual)
    @precondition(lambda self: self.some("succeeded", "failed", "cancelled"))
    def drop(self, data: st.DataObject, ended: bool) -> None:
        id = self.one_of(data, lambda job: job.ended or not ended)
        self.call("drop", self.book.drop(id, f"tr_{id}"), id, f"tr_{id}")

    @rule(
        weight=st.sampled_from([1, 2, 3]),
        lanes=st.permutations(LANES),
        n_lanes=st.sampled_from([1, 4, 4]),
        lease=leases,
        again=st.sampled_from([False, False, False, True]),
        limits=running_limits,
        n_takes=st.sampled_from([1, 2, 3]),
    )
    @precondition(lambda self: self.some("queued") or self.book.takes)
    def takes(self, n_takes: int, **how: Any) -> None:
        for _ in range(n_takes):
            self.take(**how)

    def take(
        self, weight: int, lanes: list[str], n_lanes: int, lease: int, again: bool, limits: str
    ) -> None:
        fence = f"f{self.n_fences - 1}" if again else f"f{self.n_fences}"
        self.n_fences += not again
        row: tuple[Any, ...] = (
            f'{{"ada":{weight}}}',
            fence,
            lease,
            MOST,
            "worker",
            limits,
            *lanes[:n_lanes],
        )
        self.call("take", self.book.take(*row), *row)
        self.call("queues", self.book.queues(*LANES), *LANES)

    @rule(id=jobs)
    def lane_has_one_too_many(self, id: str) -> None:
        """A lane may have a job that is not queued."""
        job = self.book.jobs.get(id)
        if job is not None and job.status != "queued":
            last = self.book.last_turn[job.lane].get(job.tenant, 0)
            self.book.enter_lane(id)
            self.scripts.command("ZADD", f"{PREFIX}lane:{job.lane}:{job.tenant}", 0, id)
            self.scripts.command("ZADD", f"{PREFIX}turns:{job.lane}", "NX", last, job.tenant)

    @rule(id=jobs)
    def due_too_early(self, id: str) -> None:
        """A sweeper may find anything due: what has ended, is gone, or has its lease still."""
        self.book.due[id] = self.book.now
        self.scripts.command("ZADD", f"{PREFIX}due", self.book.now, id)

    @rule(most=few, resend=seconds)
    def sweep(self, most: int, resend: int) -> None:
        self.call("sweep", self.book.sweep(most, resend), most, resend)

    # Webhooks.

    @rule(
        data=st.data(),
        calls=st.lists(
            st.sampled_from(["end", "take", "take", "tell", "wait"]), min_size=4, max_size=12
        ),
    )
    @precondition(lambda self: self.book.jobs)
    def hooks_are_sent(self, data: st.DataObject, calls: list[str]) -> None:
        """Several calls about webhooks in turn: single ones seldom come far."""
        for call in calls:
            if call == "end":
                self.end(data, "succeeded", KEPT, False, "", 5, "", False)
            elif call == "take":
                most, per_host = data.draw(few), data.draw(st.sampled_from([1, 2, 9]))
                self.hook_take(data.draw(tokens), most, data.draw(leases), per_host)
            elif call == "tell":
                status = data.draw(st.sampled_from(["delivered", "pending", "pending"]))
                self.hook_tell(data, True, status, data.draw(seconds))
            else:
                self.book.now += data.draw(leases)

    @rule(token=tokens, most=few, lease=leases, per_host=st.sampled_from([1, 2, 9]))
    @precondition(lambda self: self.book.hooks)
    def hook_take(self, token: str, most: int, lease: int, per_host: int) -> None:
        row = (token, most, lease, per_host, 2 if per_host < 9 else 9)
        self.call("hook_take", self.book.hook_take(*row), *row)

    @rule(
        data=st.data(),
        holds=usual,
        status=st.sampled_from(["delivered", "failed", "pending"]),
        delay=seconds,
    )
    def hook_tell(self, data: st.DataObject, holds: bool, status: str, delay: int) -> None:
        id = self.one_of(data, lambda job: job.hook_token is not None)
        job = self.book.jobs.get(id)
        token = job.hook_token if job is not None and holds else None
        row = (id, token or "none", status, 4, delay, "why")
        self.call("hook_tell", self.book.hook_tell(*row), *row)

    # Pieces.

    @rule(
        data=st.data(),
        holds=usual,
        first=st.sampled_from([1, 1, 3]),
        n_pieces=st.sampled_from([1, 3]),
        check=seconds,
    )
    @precondition(begun)
    def board_post(
        self, data: st.DataObject, holds: bool, first: int, n_pieces: int, check: int
    ) -> None:
        id = self.running(data)
        texts = [f"[{number}]" for number in range(n_pieces)]
        row: tuple[Any, ...] = (id, self.fence_of(id, holds), "ada", check, first, *texts)
        self.call("board_post", self.book.board_post(*row), *row)

    @rule(
        data=st.data(),
        holds=usual,
        n_seen=st.sampled_from([0, 1, 5]),
        finishes=st.booleans(),
        finished=st.lists(pieces, max_size=1),
    )
    @precondition(lambda self: self.book.board)
    def board_next(
        self,
        data: st.DataObject,
        holds: bool,
        n_seen: int,
        finishes: bool,
        finished: list[str],
    ) -> None:
        id = self.with_board(data)
        fence = self.fence_of(id, holds)
        mine = self.book.board[id, fence].mine
        if finishes and mine is not None and mine not in finished:
            finished = [*finished, mine]
        row: tuple[Any, ...] = (id, fence, n_seen, *finished)
        self.call("board_next", self.book.board_next(*row), *row)

    @rule(data=st.data(), token=tokens, lease=leases, most=st.sampled_from([1, 2]))
    @precondition(lambda self: self.book.board)
    def board_take(self, data: st.DataObject, token: str, lease: int, most: int) -> None:
        row = (self.with_board(data), token, lease, most)
        self.call("board_take", self.book.board_take(*row), *row)

    @rule(
        data=st.data(),
        holds=usual,
        lease=leases,
        what=st.sampled_from(["beat", "done", "done", "back", "forgiven", "own"]),
    )
    @precondition(lambda self: self.book.board)
    def board_tell(self, data: st.DataObject, holds: bool, lease: int, what: str) -> None:
        """A helper speaks of a piece that it or another one has, or had."""
        boards = list(self.book.board)
        id, fence = data.draw(st.sampled_from(boards))
        board = self.book.board[id, fence]
        k = data.draw(st.sampled_from([*board.holders] * 2 or ["1"]))
        token = board.holders.get(k, "none") if holds else data.draw(tokens)
        if token == fence:
            return  # The attempt itself is no helper.
        row = (id, fence, k, token, lease, what)
        self.call("board_tell", self.book.board_tell(*row), *row)

    @rule(
        data=st.data(),
        calls=st.lists(
            st.sampled_from(["take", "take", "tell", "tell", "next", "next", "wait"]),
            min_size=4,
            max_size=12,
        ),
    )
    @precondition(lambda self: self.book.board)
    def pieces_are_computed(self, data: st.DataObject, calls: list[str]) -> None:
        """Several calls about boards in turn: single ones seldom come far."""
        reports = st.sampled_from(["done", "done", "beat", "forgiven", "own"])
        for call in calls:
            if call == "take":
                self.board_take(data, data.draw(tokens), S, data.draw(st.sampled_from([1, 2])))
            elif call == "tell":
                self.board_tell(data, True, data.draw(leases), data.draw(reports))
            elif call == "next":
                finished = data.draw(st.sampled_from([[], [], ["1"], ["2"]]))
                self.board_next(data, True, data.draw(st.sampled_from([0, 1])), True, finished)
            else:
                self.book.now += data.draw(leases)

    @rule(data=st.data(), holds=usual)
    @precondition(lambda self: self.book.board)
    def board_close(self, data: st.DataObject, holds: bool) -> None:
        id = self.with_board(data)
        row = (id, self.fence_of(id, holds), "ada")
        self.call("board_close", self.book.board_close(*row), *row)

    @rule(most=few, check=leases, again=leases)
    @precondition(lambda self: self.book.boards)
    def board_sweep(self, most: int, check: int, again: int) -> None:
        row = (most, check, again)
        self.call("board_sweep", self.book.board_sweep(*row), *row)

    # What is used, and what may be removed.

    @rule(
        tenant=st.sampled_from(TENANTS),
        owner=st.sampled_from(OWNERS),
        token=tokens,
        n_bytes=sizes,
        datasets=st.sampled_from([0, 1]),
        hold=leases,
        limits=st.sampled_from(LIMITS[1:]),
        what=st.sampled_from(["reserve", "more", "room", "release"]),
    )
    def reserve(
        self,
        tenant: str,
        owner: str,
        token: str,
        n_bytes: int,
        datasets: int,
        hold: int,
        limits: str,
        what: str,
    ) -> None:
        if what == "release":
            self.book.reserved[tenant].pop(token, None)
            self.scripts.command("HDEL", f"{PREFIX}reserved:{tenant}", token)
        elif what == "room":
            asked = (tenant, owner, n_bytes, datasets, 1, limits)
            self.call("room", self.book.room(*asked), *asked)
        else:
            row = (tenant, owner, token, n_bytes, datasets, hold, limits, int(what == "more"))
            self.call("reserve", self.book.reserve(*row), *row)

    @rule(number=st.sampled_from([0, 1]), part=st.sampled_from([1, 2]), n_bytes=sizes, put=usual)
    def parts(self, number: int, part: int, n_bytes: int, put: bool) -> None:
        id = f"up_{number}"
        if put:
            row = (id, TENANTS[number], OWNERS[number], part, n_bytes)
            self.call("part_put", self.book.part_put(*row), *row)
        else:
            self.call("part_drop", self.book.part_drop(id), id)

    @rule(data=st.data(), n_bytes=sizes, expires=expiries, counted=st.booleans())
    def job_count(self, data: st.DataObject, n_bytes: int, expires: str, counted: bool) -> None:
        """The bytes of a job change; or it is counted, now and then one that was not before."""
        if counted:
            id = data.draw(jobs)
            self.call("job_bytes", self.book.job_bytes(id, n_bytes), id, n_bytes)
            return
        id = self.one_of(data, lambda job: job.listed == "0" and not job.bytes)
        job = self.book.jobs.get(id)
        if job is not None and job.listed == "0" and job.bytes == 0:
            job.bytes = None
            self.scripts.command("HDEL", f"{PREFIX}job:{id}", "bytes")
            if n_bytes == 0:
                return
        row = (id, job.key if job else "", n_bytes, job.refs if job else "[]", expires)
        self.call("job_count", self.book.job_count(*row), *row)

    @rule(
        n=st.sampled_from([0, 1, 1, 2]),
        size=st.sampled_from([1, 3]),
        gain=st.sampled_from(["0.01", "0.02"]),
        n_buckets=st.sampled_from([1, 2]),
    )
    def rate(self, n: int, size: int, gain: str, n_buckets: int) -> None:
        """So slow that no bucket is full, and its key gone, within a sequence."""
        row = ("ada", size, gain, "ada:k1", 2, "0.01")[: 3 * n_buckets]
        self.call("rate", self.book.rate(n, *row), n, *row)

    @rule(
        data=st.data(),
        what=st.sampled_from(["retire", "retire", "retire", "retired", "stale"]),
        kept=leases,
    )
    def removal(self, data: st.DataObject, what: str, kept: int) -> None:
        ended = [id for id, job in self.book.jobs.items() if job.ended]
        listed = [id for name, id in self.book.index if name == "dataset"]
        needed = [id for id in (*ended, *listed) if self.book.needed[id]]
        ids = needed * 20 + ended * 5 + listed * 5 + DATASETS + JOBS
        id = data.draw(st.sampled_from(ids))
        if what == "retire":
            self.call("retire", self.book.retire(id), id)
        elif what == "retired":
            self.call("retired", self.book.retired(id, kept), id, kept)
        elif JOBS[-1] not in self.book.jobs:
            # Something that was lost needs it.
            self.book.needed[id].add(JOBS[-1])
            self.scripts.command("SADD", f"{PREFIX}needed:{id}", JOBS[-1])

    # Lists of datasets and trees; the right to rebuild.

    @rule(
        name=st.sampled_from(["dataset", "dataset", "tree"]),
        number=st.sampled_from([0, 1, 2]),
        what=st.sampled_from(["put", "put", "change", "drop"]),
        n_bytes=sizes,
        expires=expiries,
        annotation=annotations,
    )
    def index(
        self, name: str, number: int, what: str, n_bytes: int, expires: str, annotation: str
    ) -> None:
        """What has one id keeps its tenant, key, group and need."""
        id = f"ds_{number}" if name == "dataset" else f"tr_{number}"
        if what == "put":
            group, ref = ["", "labels"][number // 2], JOBS[0] if id == DATASETS[1] else ""
            size = n_bytes if name == "dataset" else 0
            digest = "same" if name == "dataset" and number else ""
            of_use = (size, OWNERS[number], ref, expires, digest, annotation)
            row = (name, id, TENANTS[number % 2], group, f"{n_bytes}", *of_use)
            self.call("index_put", self.book.index_put(*row), *row)
        elif what == "change":
            self.call("index_change", self.book.index_change(name, id, "new"), name, id, "new")
        else:
            self.call("index_drop", self.book.index_drop(name, id), name, id)

    @rule(
        data=st.data(),
        revision=st.sampled_from([1, 2, 2, 3, 10]),
        tags=st.lists(st.sampled_from(["a", "b", "c"]), max_size=2, unique=True),
        there=usual,
    )
    def annotate(self, data: st.DataObject, revision: int, tags: list[str], there: bool) -> None:
        """Of something that there is, mostly; with a revision that may have been overtaken."""
        own = [("job", id) for id in self.book.jobs] + list(self.book.index)
        anything = [("job", JOBS[-1]), ("dataset", DATASETS[-1]), ("tree", "tr_0")]
        name, id = data.draw(st.sampled_from(own if there and own else anything))
        row = (name, id, revision, json.dumps({"tags": tags}))
        self.call("annotate", self.book.annotate(*row), *row)

    @rule(
        token=tokens,
        what=st.sampled_from(["begin", "hold", "end"]),
        run_id=st.sampled_from(["", "r0", "r1"]),
    )
    def rebuild(self, token: str, what: str, run_id: str) -> None:
        key = f"{PREFIX}rebuilding"
        if what == "begin":
            if self.scripts.command("SET", key, token, "NX", "PX", KEPT):
                assert self.book.rebuilding is None
                self.book.rebuilding, self.book.held = token, True
        elif what == "end":
            self.call("built", self.book.end_rebuild(token, run_id), token, run_id)
        elif self.book.rebuilding is not None:
            self.scripts.command("PERSIST", key)
            self.call("hold", self.book.hold(token, KEPT), token, KEPT)


def machine(scripts: TimedScripts) -> type[Machine]:
    """A machine that calls these scripts."""
    return type("BoundMachine", (Machine,), {"scripts": scripts})


def follow(scripts: TimedScripts, n_sequences: int, n_calls: int = 60) -> None:
    """AssertionError, with the calls, if the scripts and their model differ."""
    # Hypothesis follows each sequence by up to five that repeat most of it.
    with patch.object(ConjectureRunner, "generate_mutations_from", lambda *_: None):
        run_state_machine_as_test(
            machine(scripts),
            settings=settings(
                max_examples=n_sequences,
                stateful_step_count=n_calls,
                suppress_health_check=list(HealthCheck),
                phases=[Phase.generate],
                deadline=None,
                report_multiple_bugs=False,
            ),
        )

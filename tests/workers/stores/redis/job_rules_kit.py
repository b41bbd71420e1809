"""Rules about jobs: submissions, attempts, ends, turns, the sweep."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    precondition,
    rule,
)

from tests.workers.stores.redis.calls_kit import (
    DATASETS,
    JOBS,
    KEPT,
    KINDS,
    LANES,
    LIMITS,
    MOST,
    OWNERS,
    PAUSES,
    PLACES,
    POLICIES,
    TENANTS,
    TOKENS,
    Calls,
    S,
    annotation_texts,
    expiries,
    few,
    jobs,
    leases,
    running_limits,
    seconds,
    seldom,
    sizes,
    usual,
)
from tests.workers.stores.redis.scripts_kit import PREFIX


class JobRules(Calls):
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
        annotation=annotation_texts,
        lane=st.sampled_from(["quick", "short", "fit"]),
        policy=st.sampled_from(POLICIES),
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
        lane: str = "fit",
        policy: str = "",
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
        row += (*of_key, int(kind == "transform"), refs, expires, hint, annotation, lane, policy)
        self.call("create", self.book.create(*row), *row)

    @rule(
        data=st.data(),
        lease=leases,
        again=st.sampled_from([False, False, False, True]),
        limits=running_limits,
    )
    @precondition(Calls.open)
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
    @precondition(Calls.begun)
    def beat(self, data: st.DataObject, holds: bool, lease: int, progress: str) -> None:
        id = self.running(data)
        row = (id, self.fence_of(id, holds), lease, progress)
        self.call("beat", self.book.beat(*row), *row)

    @rule(data=st.data(), holds=usual)
    @precondition(Calls.begun)
    def log(self, data: st.DataObject, holds: bool) -> None:
        id = self.running(data)
        row = (id, self.fence_of(id, holds), "line")
        self.call("log", self.book.log(*row), *row)

    @rule(data=st.data(), owner=usual, within=seconds, late=seldom)
    @precondition(Calls.open)
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
        lane=st.sampled_from(["", "fit"]),
        retry=st.sampled_from(["", '{"type":"/problems/full"}']),
    )
    @precondition(Calls.begun)
    def release(
        self,
        data: st.DataObject,
        holds: bool,
        spend: int,
        delay: int,
        lapsed: bool,
        why: str,
        wait: bool,
        lane: str,
        retry: str,
    ) -> None:
        id = self.running(data)
        fence = self.fence_of(id, holds)
        row = (id, fence, spend, MOST, delay, int(lapsed), why, int(wait), retry, lane)
        self.call("release", self.book.release(*row), *row)

    @rule(what=st.sampled_from(PAUSES), text=st.sampled_from(["", "", "{p}"]), known=usual)
    def pause(self, what: tuple[str, str], text: str, known: bool) -> None:
        """Jobs are paused or go on; Redis may not know all pauses for a while."""
        self.call("pause", self.book.pause(*what, text), *what, text)
        if known != self.book.pauses_known:
            field = (f"{PREFIX}pauses", "known")
            self.scripts.command(*(("HSET", *field, "1") if known else ("HDEL", *field)))
            self.book.pauses_known = known

    @rule(known=usual, kept=usual)
    def compare_pauses(self, known: bool, kept: bool) -> None:
        """Redis, which may have lacked pauses, has all of them unless it lost data meanwhile."""
        if not known:
            self.scripts.command("HDEL", f"{PREFIX}pauses", "known")
            self.book.pauses_known = False
        if kept:
            self.scripts.command("SET", f"{PREFIX}comparing:token", "1")
        self.call("pause", self.book.compared(kept), "", "token", "")

    @rule(what=st.sampled_from(PAUSES[3:7]), lanes=st.permutations(LANES), paused=usual)
    @precondition(Calls.queued)
    def waits_for_a_pause(self, what: tuple[str, str], lanes: list[str], paused: bool) -> None:
        """A job is taken, or would be, while its tenant or method is paused; then all goes on."""
        if paused:
            self.call("pause", self.book.pause(*what, "{p}"), *what, "{p}")
        self.take(1, lanes, 5, S, False, "", [])
        self.call("pause", self.book.pause(*what, ""), *what, "")

    @rule(
        data=st.data(),
        holds=usual,
        waited=seconds,
        limits=running_limits,
        lanes=st.permutations(LANES),
        n_lanes=st.sampled_from([1, 2]),
        over=st.booleans(),
    )
    @precondition(Calls.begun)
    def make_room(
        self,
        data: st.DataObject,
        holds: bool,
        waited: int,
        limits: str,
        lanes: list[str],
        n_lanes: int,
        over: bool,
    ) -> None:
        """An attempt asks whether shorter work waits; over: nobody makes room any more."""
        if over and self.book.rooms:
            self.scripts.command("DEL", *(f"{PREFIX}room:{lane}" for lane in self.book.rooms))
            self.book.rooms.clear()
        id = self.running(data)
        row = (id, self.fence_of(id, holds), waited, KEPT, limits, *lanes[:n_lanes])
        self.call("make_room", self.book.make_room(*row), *row)

    @rule(
        data=st.data(),
        n_attempts=st.sampled_from([1, 2, 3]),
        why=st.sampled_from(["", "{}"]),
        lapsed=st.booleans(),
    )
    @precondition(Calls.open)
    def attempts_fail(self, data: st.DataObject, n_attempts: int, why: str, lapsed: bool) -> None:
        """One attempt after another at one job, until it has had all of them."""
        id = self.one_of(data, lambda job: not job.ended)
        for _ in range(n_attempts):
            claimed = (id, f"f{self.n_fences}", S, MOST, "worker", "")
            self.n_fences += 1
            self.call("claim", self.book.claim(*claimed), *claimed)
            self.book.now += lapsed * data.draw(leases)
            row = (id, self.fence_of(id, True), 1, MOST, S, int(lapsed), why, 0, "", "")
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
        annotation=annotation_texts,
        given_up=st.sampled_from(["", "1 1 0 {}"]),
        late=seldom,
    )
    @precondition(Calls.open)
    def end(
        self,
        data: st.DataObject,
        status: str,
        kept: int,
        tree: bool,
        delivery: str,
        n_bytes: int,
        annotation: str,
        given_up: str,
        late: bool,
    ) -> None:
        id = self.one_of(data, lambda job: job.ended == late)
        texts = ("t0", "t1", "{r}", "[w]", "{e}")
        name, facts = (f"tr_{id}", "{facts}") if tree else ("", "")
        webhook = (delivery, 3, "reason")
        row = (id, status, 2, *texts, kept, name, facts, *webhook, n_bytes, annotation, given_up)
        self.call("end", self.book.finish(*row), *row)

    @rule(data=st.data(), ended=usual)
    @precondition(lambda self: self.some("succeeded", "failed", "cancelled"))
    def drop(self, data: st.DataObject, ended: bool) -> None:
        id = self.one_of(data, lambda job: job.ended or not ended)
        self.call("drop", self.book.drop(id, f"tr_{id}"), id, f"tr_{id}")

    @rule(
        weight=st.sampled_from([1, 2, 3]),
        lanes=st.permutations(LANES),
        n_lanes=st.sampled_from([1, 5, 5]),
        lease=leases,
        again=st.sampled_from([False, False, False, True]),
        limits=running_limits,
        without=st.sampled_from([[], [], TENANTS[:1], TENANTS]),
        n_takes=st.sampled_from([1, 2, 3]),
    )
    @precondition(lambda self: self.some("queued") or self.book.takes)
    def takes(self, n_takes: int, **how: Any) -> None:
        for _ in range(n_takes):
            self.take(**how)

    def take(
        self,
        weight: int,
        lanes: list[str],
        n_lanes: int,
        lease: int,
        again: bool,
        limits: str,
        without: list[str],
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
            json.dumps(without),
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

    @rule()
    @precondition(lambda self: not self.book.n_fillers)
    def many_jobs_wait(self) -> None:
        self.book.n_fillers = 1500
        fillers = (
            word for number in range(self.book.n_fillers) for word in ("9e14", f"filler{number}")
        )
        self.scripts.command("ZADD", f"{PREFIX}due", *fillers)

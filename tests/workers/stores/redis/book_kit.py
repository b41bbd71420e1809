"""What the Lua scripts of `workers.stores.redis` promise, written as a plain Python model.

Each method of `Book` is one script: it takes the script's arguments, changes the model and returns
the reply that the script must give. `Book.keys` says what Redis must hold afterwards, all of it:
lists and counts are not kept here but derived from the jobs. Times are ms of a clock that the test
moves. Keys that expire do so by the server's own clock, so only that they will is modelled. A job
that is not counted in what its tenant uses, as older versions left them, is always an unlisted one.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from typing import Any

from tests.workers.stores.redis.records_kit import (
    Board,
    Entry,
    Job,
    Reply,
    Scored,
    lowest,
)
from tests.workers.stores.redis.uses_kit import USE_OF, Uses

DURATIONS = (50, 100, 250, 500, *(1000 * s for s in (1, 2.5, 5, 10, 30, 60, 300, 900)))
DURATIONS += tuple(3_600_000 * hours for hours in (1, 4, 24))
"""Upper bounds of the histograms, in ms."""


class Book(Uses):
    """The whole of Redis."""

    def __init__(self) -> None:
        super().__init__()
        self.n_fillers = 0
        self.due: Scored = {}
        self.lanes: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.turns: dict[str, dict[str, int]] = defaultdict(dict)
        self.last_turn: dict[str, dict[str, int]] = defaultdict(dict)
        self.shares: dict[str, dict[str, int]] = defaultdict(dict)
        self.turn = 0
        self.held_back: dict[str, set[str]] = defaultdict(set)
        self.parked: dict[str, set[str]] = defaultdict(set)
        self.takes: dict[str, str] = {}
        self.rooms: dict[str, str] = {}
        self.pauses: dict[str, str] = {}
        self.pauses_known = True
        self.paused_of: dict[str, set[str]] = defaultdict(set)
        self.messages: dict[str, list[str]] = defaultdict(list)
        self.metrics: dict[str, int] = defaultdict(int)
        self.once: dict[str, tuple[str, str]] = {}
        self.wakes: dict[str, list[str]] = defaultdict(list)
        self.board: dict[tuple[str, str], Board] = defaultdict(Board)
        self.boards: Scored = {}
        self.hooks: Scored = {}
        self.hooks_of: dict[str, Scored] = defaultdict(dict)
        self.slow_hooks: Scored = {}
        self.held_hooks: dict[str, Scored] = defaultdict(dict)
        self.busy: dict[str, Scored] = defaultdict(dict)
        self.rebuilding: str | None = None
        self.held = False
        self.rebuilt: str | None = None

    # Jobs.

    def create(
        self,
        id: str,
        tenant: str,
        queue: str,
        method: str,
        kind: str,
        listed: str,
        request: str,
        resend: int,
        key: str,
        body: str,
        kept: int,
        to: str,
        owner: str,
        key_running: str,
        n_bytes: int,
        limits: str,
        datasets: int,
        refs: str,
        expires: str,
        hint: str,
        annotation: str,
        lane: str,
        policy: str,
    ) -> Reply:
        if id in self.jobs:
            return ["exists"]
        once = f"p:idempotency:{tenant}:{key}" if key else ""
        if once:
            first = self.once.get(once)
            if first is not None and first[0] != id:
                return ["replay", first[0]] if first[1] == body else ["mismatch"]
        if limits != "-":
            for ref in json.loads(refs):
                if self.is_going(ref):
                    return ["gone", ref]
            requested = {"bytes": n_bytes, "datasets": datasets, "queued": int(listed)}
            why = self.exceeded(limits, tenant, owner, requested, True, "")
            if why:
                return why
        if once:
            self.once[once] = (id, body)
        texts = (tenant, queue, method, kind, listed, request, once)
        of_use = (owner, key_running, refs, n_bytes)
        job = self.jobs[id] = Job(*texts, self.now, self.now, *of_use, self.now)
        job.annotation, job.waits, job.policy = annotation or None, lane, policy or None
        job.restored = 1 if limits == "-" else None
        self.need(id, refs)
        if expires:
            self.expiries[id] = float(expires)
        if to:
            job.hook_to, job.hook, job.hook_attempts = to, "waiting", 0
            job.version += 1
        self.enter_lane(id)
        self.due[id] = self.now + resend
        job.event("progress", "{}")
        if hint:
            self.messages[queue].insert(0, hint)
        return ["made", str(job.version)]

    def claim(
        self, id: str, fence: str, lease: int, most: int, worker: str, limits: str
    ) -> list[Any]:
        job = self.jobs.get(id)
        if job is None:
            return ["gone"]
        if job.ended:
            return ["ended"]
        if job.fence == fence:
            return ["ok", job.attempt, job.started_us, job.waits, job.given_up or ""]
        if job.lease is not None and job.lease > self.now:
            return ["leased"]
        if job.cancel:
            return ["cancelled"]
        if job.attempt >= job.says("attempts", most):
            return ["exhausted"]
        full = self.may_not_run(job.tenant, limits) or self.key_may_not_run(job)
        pauses = {f"tenant {job.tenant}", f"method {job.method}", f"worker {worker}"}
        paused = self.lane_paused(job.lane) or pauses & self.pauses.keys()
        if job.status == "queued" and (paused or (job.listed == "1" and full)):
            self.enter_lane(id)
            return ["held"]
        if job.status == "queued":
            self.observe(f"wait {job.method} {job.lane}", self.now - job.queued_at)
        else:
            self.metrics[f"attempts {job.method} lost"] += 1
            self.tried_again(job, "", job.attempt, 1)
        job.fence, job.lease, job.worker = fence, self.now + lease, worker
        job.attempt += 1
        job.started_us = job.started_us or f"{self.now}000"
        job.progress = "{}"
        self.due[id] = job.lease
        self.set_status(id, "running")
        job.event("progress", job.progress)
        return ["ok", job.attempt, job.started_us, job.waits, job.given_up or ""]

    def beat(self, id: str, fence: str, lease: int, progress: str) -> Reply:
        job = self.jobs.get(id)
        if job is None or job.fence != fence:
            return "lost"
        job.lease = self.now + lease
        self.due[id] = job.lease if job.cancel_by is None else min(job.lease, job.cancel_by)
        if progress not in ("", job.progress):
            job.progress = progress
            job.version += 1
            job.event("progress", progress)
        return "cancel" if job.cancel else "on"

    def log(self, id: str, fence: str, line: str) -> Reply:
        job = self.jobs.get(id)
        if job is None or job.fence != fence:
            return "lost"
        job.event("log", line)
        return "on"

    def cancel(self, id: str, tenant: str, within: int) -> Reply:
        job = self.jobs.get(id)
        if job is None or job.tenant != tenant:
            return "gone"
        if job.ended:
            return "ended"
        if job.status == "queued":
            job.cancel, job.cancel_by, self.due[id] = 1, self.now, self.now
            return "queued"
        if not job.cancel:
            assert job.lease is not None
            job.cancel, job.cancel_by = 1, self.now + within
            self.due[id] = min(job.lease, job.cancel_by)
            self.set_status(id, "cancelling")
            job.event("progress", job.progress)
            self.wakes[id].append("cancel")
        return "running"

    def tried_again(self, job: Job, why: str, attempt: int, counted: int) -> None:
        job.retry = {
            "retry": why,
            "retry_attempt": str(attempt),
            "retry_counted": str(counted),
            "retry_at": str(self.now),
        }
        self.note_given_up(job, why, attempt, counted)

    def note_given_up(self, job: Job, why: str, attempt: int, counted: int) -> None:
        lines = [*(job.given_up or "").splitlines(), f"{attempt} {counted} {self.now} {why}"]
        job.given_up = "\n".join(lines[-20:])

    def release(
        self,
        id: str,
        fence: str,
        spend: int,
        most: int,
        delay: int,
        lapsed: int,
        why: str,
        wait: int,
        retry: str,
        lane: str,
    ) -> Reply:
        job = self.jobs.get(id)
        if job is None or job.fence != fence:
            return "lost"
        assert job.lease is not None
        if lapsed and job.lease > self.now:
            return "lost"
        if job.lease:
            outcome = "lost" if lapsed else "aborted" if spend else "returned"
            self.metrics[f"attempts {job.method} {outcome}"] += 1
        if job.cancel:
            job.lease, self.due[id] = 0, self.now
            return "cancelled"
        given_up = job.attempt
        job.attempt -= not spend
        code = json.loads(retry)["type"].rpartition("/")[2] if retry else "worker-lost"
        refused = bool(spend) and code not in job.says("retry_on", [code])
        if refused or job.attempt >= job.says("attempts", most):
            if job.lease:
                self.note_given_up(job, retry, given_up, spend)
            job.lease, self.due[id] = 0, self.now
            if why or (refused and retry):
                job.end["error"] = why or retry
            return "exhausted"
        pause = job.says("backoff", 0) * 2 ** (job.attempt - 1) if spend else 0
        if pause:
            delay, wait = max(min(pause, 3_600_000), delay if wait else 0), 1
        job.fence = job.lease = job.worker = None
        job.progress = "{}"
        self.tried_again(job, retry, given_up, spend)
        job.waits = lane or job.waits
        self.due[id] = self.now + delay
        self.set_status(id, "queued")
        if wait:
            self.leave_lane(id)
        job.event("progress", job.progress)
        return "queued"

    def finish(
        self,
        id: str,
        status: str,
        attempt: int,
        started: str,
        finished: str,
        result: str,
        warnings: str,
        error: str,
        kept: int,
        tree: str,
        facts: str,
        delivery: str,
        n_sent: int,
        reason: str,
        n_bytes: int,
        annotation: str,
        given_up: str,
    ) -> Reply:
        """The script `end`."""
        job = self.jobs.get(id)
        if job is None:
            return "gone"
        if job.ended:
            return "ended"
        if kept:
            self.metrics[f"ended {job.method} {status}"] += 1
            if job.status != "queued" and job.lease:
                self.metrics[f"attempts {job.method} {status}"] += 1
            if job.started_us is not None:
                began = int(job.started_us) // 1000
                self.observe(f"duration {job.method} {status}", self.now - began)
        job.fence = job.lease = job.worker = job.cancel = job.cancel_by = None
        beside = job.attempt > attempt
        job.attempt = attempt
        job.end = {
            "started_at": started,
            "finished_at": finished,
            "result": result,
            "warnings": warnings,
            "error": error,
        }
        job.given_up = job.given_up or given_up or None
        if status == "succeeded":
            job.progress = '{"fraction":1.0,"stage":"done"}'
        self.due.pop(id, None)
        if tree:
            texts = (job.tenant, "", facts, "0", job.key, "")
            self.index["tree", tree] = Entry(*texts, annotation=annotation or None)
        if job.bytes is not None:
            job.bytes = n_bytes
        self.set_status(id, status)
        if job.hook_to is not None:
            job.version += 1
            job.hook = delivery or "pending"
            if delivery:
                job.hook_attempts, job.hook_reason = n_sent, reason
            else:
                self.send_hook_at(id, self.now)
        if kept:
            job.event("done", "{}")
            job.events_expire = True
        else:
            job.events = []
        self.wakes[id].append(status)
        if job.restored:
            return "restored"
        return "beside" if beside else "ok"

    def drop(self, id: str, tree: str) -> Reply:
        self.index_drop("tree", tree)
        self.due.pop(id, None)
        self.expiries.pop(id, None)
        job = self.jobs.get(id)
        if job is None:
            return 0
        if job.status == "queued":
            self.leave_lane(id)
        if job.counted and USE_OF.get(job.status) == "running":
            self.let_run(job)
        self.need_no_more(id, job.refs)
        if job.hook_to is not None:
            self.forget_hook(id)
        if job.once and self.once.get(job.once, ("", ""))[0] == id:
            del self.once[job.once]
        del self.jobs[id]
        self.wakes[id].append("deleted")
        return 1

    def take(
        self,
        weights: str,
        fence: str,
        lease: int,
        most: int,
        worker: str,
        limits: str,
        without: str,
        *lanes: str,
    ) -> Reply:
        id = self.takes.get(fence)
        if id is None and self.pauses_known and f"worker {worker}" not in self.pauses:
            id = self.next_job(json.loads(weights), limits, json.loads(without), lanes)
        if id is None:
            return []
        self.takes[fence] = id
        tenant = self.jobs[id].tenant if id in self.jobs else ""
        return [id, tenant, *self.claim(id, fence, lease, most, worker, limits)]

    def next_job(
        self, weights: dict[str, int], limits: str, without: list[str], lanes: tuple[str, ...]
    ) -> str | None:
        for lane in lanes:
            turns = self.turns[lane]
            while not self.lane_paused(lane):
                waits = {t: float(n) for t, n in turns.items() if t not in without}
                if not waits:
                    break
                tenant = lowest(waits, math.inf)[0]
                full = self.may_not_run(tenant, limits)
                if (full and not lane.endswith(":quick")) or f"tenant {tenant}" in self.pauses:
                    del turns[tenant]
                    self.parked[tenant].add(lane)
                    continue
                waiting = self.lanes[lane, tenant]
                if not waiting:
                    del turns[tenant]
                    continue
                id = min(waiting)
                waiting.remove(id)
                job = self.jobs.get(id)
                if job is None or job.status != "queued":
                    continue
                if f"method {job.method}" in self.pauses:
                    self.paused_of[job.method].add(id)
                    continue
                if job.listed == "1" and full:
                    self.held_back[tenant].add(id)
                    continue
                if self.key_may_not_run(job):
                    self.held_back[f"{tenant}:{job.key}"].add(id)
                    continue
                n_taken = self.shares[lane].pop(tenant, 0) + 1
                if n_taken >= weights.get(tenant, 1):
                    self.turn += 1
                    self.last_turn[lane][tenant] = turns[tenant] = self.turn
                else:
                    self.shares[lane][tenant] = n_taken
                return id
        return None

    def lane_paused(self, lane: str) -> bool:
        return bool({f"lane {lane}", f"lane {lane.partition(':')[0]}"} & self.pauses.keys())

    def pause(self, scope: str, name: str, text: str) -> Reply:
        field = f"{scope} {name}"
        was = int(field in self.pauses)
        if text:
            self.pauses[field] = text
            return was
        self.pauses.pop(field, None)
        if scope == "tenant":
            self.unpark(name)
        if scope == "method":
            for id in self.paused_of.pop(name, set()):
                if id in self.jobs and self.jobs[id].status == "queued":
                    self.enter_lane(id)
        return was

    def compared(self, kept: bool) -> Reply:
        """The end of a comparison of pauses with the store; kept : nothing was lost meanwhile."""
        self.pauses_known |= kept
        return int(kept)

    def unpark(self, tenant: str) -> None:
        for lane in self.parked.pop(tenant, set()):
            if self.lanes[lane, tenant]:
                self.turns[lane].setdefault(tenant, self.last_turn[lane].get(tenant, 0))

    def make_room(
        self, id: str, fence: str, waited: int, alone: int, limits: str, *lanes: str
    ) -> Reply:
        if id not in self.jobs or self.jobs[id].fence != fence:
            return 0
        for lane in lanes:
            if (
                lane not in self.rooms
                and not self.lane_paused(lane)
                and any(
                    self.waits_long(tenant, min(ids), waited, limits)
                    for tenant in self.turns[lane]
                    if (ids := self.lanes[lane, tenant])
                )
            ):
                self.rooms[lane] = fence
            if self.rooms.get(lane) == fence:
                return 1
        return 0

    def waits_long(self, tenant: str, id: str, waited: int, limits: str) -> bool:
        """Whether a job has waited for so long, and may run."""
        job = self.jobs.get(id)
        if job is None or job.status != "queued" or job.queued_at + waited > self.now:
            return False
        full = job.listed == "1" and self.may_not_run(tenant, limits)
        if {f"tenant {tenant}", f"method {job.method}"} & self.pauses.keys():
            return False
        return not full and not self.key_may_not_run(job)

    def queues(self, *lanes: str) -> Reply:
        rows: list[Any] = []
        for lane in lanes:
            waiting = [ids for tenant in self.turns[lane] if (ids := self.lanes[lane, tenant])]
            first = [self.jobs[id] for ids in waiting if (id := min(ids)) in self.jobs]
            since = min((job.queued_at for job in first), default=0)
            rows.append([sum(map(len, waiting)), str(since)])
        return [*rows, str(self.now)]

    def observe(self, name: str, ms: int) -> None:
        """Count a duration in its histogram."""
        bound = next((f"{edge:.0f}" for edge in DURATIONS if ms <= edge), "inf")
        self.metrics[f"{name} le:{bound}"] += 1
        self.metrics[f"{name} sum"] += ms

    def sweep(self, most: int, resend: int) -> Reply:
        taken = []
        longer = resend * (1 + (len(self.due) + self.n_fillers) // 1000)
        for id in lowest(self.due, self.now)[:most]:
            job = self.jobs.get(id)
            if job is None or job.ended:
                del self.due[id]
                continue
            action, again = "", self.now + resend
            if job.cancel_by is not None and job.cancel_by <= self.now:
                action = "cancel"
            elif job.status == "queued":
                action, again = "send", self.now + longer
                self.enter_lane(id)
            else:
                assert job.lease is not None
                if job.lease <= self.now:
                    action = "lapsed"
                else:
                    again = job.lease if job.cancel_by is None else min(job.lease, job.cancel_by)
            self.due[id] = again
            if action:
                taken.append([id, job.tenant, job.queue, job.fence or "", action])
        return taken

    def set_status(self, id: str, new: str) -> None:
        job = self.jobs[id]
        old, job.status = job.status, new
        job.version += 1
        if job.counted and USE_OF.get(old) == "running" != USE_OF.get(new):
            self.let_run(job)
        if old == "queued" != new:
            self.leave_lane(id)
        if new == "queued" != old:
            job.queued_at = self.now
            self.enter_lane(id)

    def let_run(self, over: Job) -> None:
        """What waited for this job to stop running returns: each lane of the tenant, and a job."""
        tenant = over.tenant
        self.unpark(tenant)
        for name in (tenant, f"{tenant}:{over.key}") if over.key else (tenant,):
            waiting = self.held_back[name]
            if waiting:
                id = min(waiting)
                waiting.remove(id)
                self.enter_lane(id)

    def enter_lane(self, id: str) -> None:
        job = self.jobs[id]
        self.lanes[job.lane, job.tenant].add(id)
        self.turns[job.lane].setdefault(job.tenant, self.last_turn[job.lane].get(job.tenant, 0))

    def leave_lane(self, id: str) -> None:
        job = self.jobs[id]
        self.lanes[job.lane, job.tenant].discard(id)
        self.held_back[job.tenant].discard(id)
        self.paused_of[job.method].discard(id)
        self.held_back[f"{job.tenant}:{job.key}"].discard(id)
        if not self.lanes[job.lane, job.tenant]:
            self.turns[job.lane].pop(job.tenant, None)

    # Webhooks.

    def hook_take(
        self,
        token: str,
        most: int,
        lease: int,
        per_host: int,
        per_tenant: int,
        most_slow: int,
        *sent_here: str | int,
    ) -> Reply:
        """sent_here : tenants and numbers in turn."""
        taken: list[Any] = []
        sends = {str(k): int(n) for k, n in zip(sent_here[::2], sent_here[1::2], strict=True)}

        def busy_of(tenant: str) -> Scored:
            rows = self.busy[tenant].items()
            self.busy[tenant] = {row: until for row, until in rows if until > self.now}
            return self.busy[tenant]

        def share(tenant: str) -> int:
            return (most - len(taken) - sends.get(tenant, 0) + 1) // 2

        def look(to: str, limit: int) -> None:
            tenant, place = to.split(" ")
            busy = busy_of(tenant)
            ends = [until for row, until in busy.items() if row.split(" ")[0] == place]
            if min(per_tenant - len(busy), share(tenant)) <= 0:
                if not busy:
                    self.hooks[to] = self.now
                    return
                self.held_hooks[tenant].setdefault(to, self.now)
                self.hooks.pop(to)
                if ends:
                    self.hooks[to] = min(ends)
                return
            room = min(limit, per_host - len(ends), per_tenant - len(busy), share(tenant))
            n_before = len(taken)
            for id in lowest(self.hooks_of[to], self.now)[: max(room, 0)]:
                job = self.jobs.get(id)
                if job is None or job.hook != "pending":
                    del self.hooks_of[to][id]
                    continue
                job.hook_token = token
                self.hooks_of[to][id] = busy[f"{place} {id}"] = self.now + lease
                taken.append([id, tenant, job.hook_attempts, int(to in self.slow_hooks)])
            sends[tenant] = sends.get(tenant, 0) + len(taken) - n_before
            self.look_at_hooks(to)
            if self.hooks.get(to, math.inf) <= self.now:
                self.hooks[to] = self.now
            self.let_hooks_out(tenant, per_tenant - len(busy))

        for tenant in list(sends):
            self.let_hooks_out(tenant, min(per_tenant - len(busy_of(tenant)), share(tenant)))
        due = lowest(self.hooks, self.now)
        for to in [to for to in due if to not in self.slow_hooks]:
            if len(taken) < most:
                look(to, most - len(taken))
        slow_before = len(taken)
        for to in [to for to in due if to in self.slow_hooks]:
            if len(taken) >= most:
                break
            if (slow_left := most_slow - (len(taken) - slow_before)) > 0:
                look(to, min(most - len(taken), slow_left))
            else:
                self.hooks[to] = self.now + 1000
        return taken

    def let_hooks_out(self, tenant: str, n: int) -> None:
        held = self.held_hooks[tenant]
        while n > 0 and held:
            to = lowest(held, math.inf)[0]
            del held[to]
            self.look_at_hooks(to)
            n -= self.hooks.get(to, math.inf) <= self.now

    def hook_tell(
        self, id: str, token: str, status: str, n_sent: int, delay: int, reason: str, slow: str
    ) -> Reply:
        job = self.jobs.get(id)
        if job is None or job.hook_to is None:
            return "gone"
        if job.hook_token != token:
            return "lost"
        if slow:
            assert job.hook_to is not None
            self.slow_hooks.pop(job.hook_to, None)
            if slow == "1":
                self.slow_hooks[job.hook_to] = self.now
        job.hook_attempts, job.hook_reason, job.hook = n_sent, reason, status
        job.version += 1
        if status == "pending":
            self.send_hook_at(id, self.now + delay)
        else:
            self.forget_hook(id)
        return "ok"

    def send_hook_at(self, id: str, at: int) -> None:
        job = self.jobs[id]
        self.forget_hook(id)
        assert job.hook_to is not None
        job.hook_due = at
        self.hooks_of[job.hook_to][id] = at
        self.look_at_hooks(job.hook_to)

    def forget_hook(self, id: str) -> None:
        job = self.jobs[id]
        assert job.hook_to is not None
        tenant, place = job.hook_to.split(" ")
        job.hook_due = job.hook_token = None
        if self.busy[tenant].pop(f"{place} {id}", None) is not None:
            self.let_hooks_out(tenant, 1)
        self.hooks_of[job.hook_to].pop(id, None)
        self.look_at_hooks(job.hook_to)

    def look_at_hooks(self, to: str) -> None:
        if self.hooks_of[to]:
            self.hooks[to] = min(self.hooks_of[to].values())
        else:
            self.hooks.pop(to, None)
            self.held_hooks[to.split(" ")[0]].pop(to, None)

    # Pieces.

    def goes_on(self, id: str, fence: str) -> bool:
        job = self.jobs.get(id)
        running = job is not None and job.status == "running" and job.fence == fence
        return running and job is not None and job.lease is not None and job.lease > self.now

    def board_post(
        self, id: str, fence: str, tenant: str, check: int, first: int, *pieces: str
    ) -> Reply:
        if not self.goes_on(id, fence):
            return "lost"
        board = self.board[id, fence]
        if board.first == str(first):
            return "on"
        numbered = {str(first + i): text for i, text in enumerate(pieces)}
        left = {k: float(k) for k in numbered}
        kept = Board(str(first), numbered, left=left, done=board.done, out=board.out)
        self.board[id, fence] = kept
        self.boards[f"{id} {fence} {tenant}"] = self.now + check
        return "on"

    def board_next(self, id: str, fence: str, n_seen: int, *finished: str) -> Reply:
        board = self.board[id, fence]
        if not self.goes_on(id, fence) or not board.fields():
            return ["lost"]
        for k in finished:
            if board.left.pop(k, None) is not None:
                self.metrics["pieces owner"] += 1
            board.own.discard(k)
            if board.mine == k:
                board.mine = None
        if n_seen < len(board.done):
            return ["done", board.done[n_seen]]
        if board.mine is None:
            k = (
                min(board.own, key=int)
                if board.own
                else next(iter(lowest(board.left, self.now)), "")
            )
            if not k:
                return ["wait"]
            board.mine, board.holders[k], board.left[k] = k, fence, math.inf
            board.own.discard(k)
        return ["take", board.mine]

    def board_take(self, id: str, token: str, lease: int, most: int) -> Reply:
        job = self.jobs.get(id)
        if job is None or job.fence is None or not self.goes_on(id, job.fence):
            return []
        board = self.board[id, job.fence]
        for k in lowest(board.left, self.now):
            board.n_takes[k] = board.n_takes.get(k, 0) + 1
            if board.n_takes[k] <= most:
                board.holders[k], board.left[k] = token, self.now + lease
                board.out += 1
                return [job.fence, k, board.pieces[k]]
            board.left[k] = math.inf
            board.own.add(k)
        return []

    def board_tell(self, id: str, fence: str, k: str, token: str, lease: int, what: str) -> Reply:
        board = self.board[id, fence]
        if not self.goes_on(id, fence) or board.holders.get(k) != token:
            return "lost"
        if k not in board.left:
            return "on" if what == "done" else "lost"
        board.out -= what != "beat"
        if what == "beat":
            board.left[k] = self.now + lease
        elif what == "done":
            del board.left[k]
            board.own.discard(k)
            board.done.append(f"{k} {token}")
            self.metrics["pieces helper"] += 1
        else:
            del board.holders[k]
            board.left[k] = math.inf if what == "own" else float(k)
            if what == "own":
                board.own.add(k)
            board.n_takes[k] -= what == "forgiven"
        return "on"

    def board_close(self, id: str, fence: str, tenant: str, late: int) -> Reply:
        row = f"{id} {fence} {tenant}"
        there = (id, fence) in self.board and self.board[id, fence].fields()
        if not there and self.boards.get(row, 0) > self.now:
            return 0
        out = self.drop_board(id, fence)
        self.boards[row] = self.now + late * out
        return int(not out)

    def board_sweep(self, most: int, check: int, again: int, late: int) -> Reply:
        over = []
        for row in lowest(self.boards, self.now)[:most]:
            id, fence, _ = row.split(" ")
            if self.goes_on(id, fence):
                self.boards[row] = self.now + check
                continue
            out = self.drop_board(id, fence)
            over.append(f"{row} late" if out else row)
            self.boards[row] = self.now + (late if out else again)
        return over

    def drop_board(self, id: str, fence: str) -> bool:
        """Returns whether a helper may still store a piece."""
        return self.board.pop((id, fence), Board()).out > 0

    # The right to rebuild.

    def hold(self, token: str, hold: int) -> Reply:
        self.held = self.rebuilding == token
        return int(self.held)

    def end_rebuild(self, token: str, run_id: str) -> Reply:
        """The script `built`."""
        if self.rebuilding != token:
            return 0
        self.rebuilding = None
        self.rebuilt = run_id or self.rebuilt
        return 1

    # What Redis must hold.

    def keys(self) -> dict[str, tuple[Any, bool]]:
        """The value of each key, and whether the key will expire. No key is empty."""
        values: dict[str, Any] = {"due": self.due, "boards": self.boards, "hooks": self.hooks}
        values["hooks_slow"] = self.slow_hooks
        sets: dict[str, set[str]] = defaultdict(set)
        counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for id, job in self.jobs.items():
            values[f"job:{id}"] = job.fields()
            values[f"events:{id}"] = job.events
            counts["counts"][job.status] += 1
            counts["tenant_jobs"][f"{job.tenant} {job.status}"] += 1
            counts["queued"][job.queue] += job.status == "queued"
            if job.hook is not None:
                counts["hook_counts"][job.hook] += 1
            if job.listed == "1":
                base, of = f"jobs:{job.tenant}", f":method:{job.method}"
                for key in (base, base + of):
                    sets[key].add(id)
                    sets[key.replace(base, f"{base}:status:{job.status}")].add(id)
        for (lane, tenant), ids in self.lanes.items():
            sets[f"lane:{lane}:{tenant}"] = ids
        for (name, id), entry in self.index.items():
            values[f"{name}:{id}"] = entry.fields()
            base = f"{name}s:{entry.tenant}"
            for key in {base, f"{base}:group:{entry.group}" if entry.group else base}:
                sets[key].add(id)
            if entry.digest:
                sets[f"{base}:content:{entry.digest}"].add(id)
        for base, id, annotation in self.annotations():
            for tag in json.loads(annotation)["tags"]:
                sets[f"{base}:tag:{tag}"].add(id)
        for whose, ids in self.held_back.items():
            sets[f"held:{whose}"] = ids
        for method, ids in self.paused_of.items():
            sets[f"paused:{method}"] = ids
        for name, ids in sets.items():
            values[name] = dict.fromkeys(ids, 0)
        for name, numbers in counts.items():
            values[name] = {key: str(n) for key, n in numbers.items() if n}
        for name, by_lane in (("taken", self.last_turn), ("shares", self.shares)):
            for lane, by_tenant in by_lane.items():
                values[f"{name}:{lane}"] = {t: str(n) for t, n in by_tenant.items()}
        values |= {f"turns:{lane}": dict(turns) for lane, turns in self.turns.items()}
        values |= {f"parked:{tenant}": set(lanes) for tenant, lanes in self.parked.items()}
        values |= {f"take:{fence}": id for fence, id in self.takes.items()}
        values["pauses"] = {**({"known": "1"} if self.pauses_known else {}), **self.pauses}
        values |= {f"room:{lane}": fence for lane, fence in self.rooms.items()}
        values |= {f"queue:{name}": texts for name, texts in self.messages.items()}
        values["metrics"] = {name: str(n) for name, n in self.metrics.items()}
        values |= self.keys_of_uses()
        values["turn"] = str(self.turn) if self.turn else None
        for once, (id, body) in self.once.items():
            values[once.removeprefix("p:")] = {"job": id, "body": body}
        values |= {f"wake:{id}": texts for id, texts in self.wakes.items()}
        values |= {f"hooks:{to}": dict(ids) for to, ids in self.hooks_of.items()}
        values |= {f"hooks_busy:{tenant}": dict(rows) for tenant, rows in self.busy.items()}
        values |= {f"hooks_held:{tenant}": dict(rows) for tenant, rows in self.held_hooks.items()}
        for (id, fence), board in self.board.items():
            key = f"board:{id}:{fence}"
            values |= {key: board.fields(), f"{key}:left": board.left, f"{key}:done": board.done}
            values[f"{key}:own"] = board.own
        values |= {"rebuilding": self.rebuilding, "counted": self.rebuilt}
        return {key: (value, self.expires(key)) for key, value in values.items() if value}

    def expires(self, key: str) -> bool:
        kind, _, id = key.partition(":")
        if kind == "events":
            return self.jobs[id].events_expire
        return kind in ("idempotency", "take", "room", "rate") or (
            kind == "rebuilding" and self.held
        )

"""Job records in Redis: read here, changed only by the Lua scripts. Redis's clock gives times."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypedDict, cast

import redis

from workers.errors import Problem, StoreFull
from workers.model import (
    Advance,
    Claim,
    Delivery,
    End,
    Record,
    Request,
    Retry,
    Standing,
    mentions,
    sibling,
)
from workers.settings import WorkerSettings
from workers.stores.reach import Reach
from workers.stores.redis.client import Scripts, translated
from workers.stores.redis.pages import Listing, listing_of, listing_of_set, rarest
from workers.stores.redis.record_fields import given_up_of, lines_of, record_of, time_of
from workers.stores.removals import Removals

CANCEL_S = 7.0
"""A sweeper ends a cancelled job that has not ended by itself after this time."""

ACCEPTED = "-"
EVENTS_KEPT_S = 3600.0
IDEMPOTENCY_S = 24 * 3600.0
Released = Literal["lost", "cancelled", "exhausted", "queued"]


class JobFilters(TypedDict, total=False):
    """What the jobs of a list have; see `Records.listing`."""

    status: str | None
    method: str | None
    kind: str | None
    name: str | None
    tags: Sequence[str]
    words: Sequence[str]
    tree: str | None
    reason: str | None
    reach: Reach | None


@dataclass(frozen=True, slots=True)
class Due:
    """A job that a sweeper has taken; `action` is "cancel", "send" or "lapsed"."""

    job: str
    tenant: str
    queue: str
    fence: str
    action: str


@dataclass(frozen=True, slots=True)
class Created:
    """The result of creating a record.

    first : the job that already has the idempotency key, or for "gone" what the job refers to.
    excess : for "limited" which limit: (tenant or key, what, used, limit).
    """

    outcome: Literal["made", "exists", "replay", "mismatch", "gone", "limited"]
    first: str | None = None
    excess: tuple[str, str, int, int] | None = None
    version: int = 0


@dataclass(frozen=True, slots=True)
class Taken:
    """A job out of its lane, and the outcome of its claim (see `Records.claim`)."""

    job: str
    tenant: str
    outcome: str
    attempt: int = 0
    started_at: str = ""
    lane: str = "fit"
    given_up: tuple[Retry, ...] = ()


class Records:
    """All job records of one Redis but those that were removed. Threads may share it."""

    def __init__(self, client: redis.Redis, settings: WorkerSettings, removals: Removals) -> None:
        self.client = client
        self.removals = removals
        self.prefix = settings.key_prefix
        self._settings = settings
        self._scripts = Scripts(client, settings.key_prefix)

    def create(
        self,
        request: Request,
        standing: Standing,
        *,
        receiver: str,
        due_s: float,
        hint: str = "",
        idempotency_s: float = IDEMPOTENCY_S,
        limits: str = ACCEPTED,
    ) -> Created:
        """Create the record of `request`, queued and due in `due_s`.

        standing : how it counts, and the lane in which it waits.
        receiver : host and port of its webhook, "" without one. hint : a message of the broker,
            which is put on the job's queue in the same step; "": none. limits : as of `Usage`;
            `ACCEPTED` for a job that was accepted before, which no limit concerns.
        """
        once = ""
        if request.idempotency_key is not None and idempotency_s > 0:
            once = hashlib.sha256(request.idempotency_key.encode()).hexdigest()
        answer = self._scripts(
            "create",
            request.id,
            request.tenant,
            request.queue,
            request.method,
            request.kind,
            int(standing.listed),
            request.model_dump_json(
                include={
                    "id": True,
                    "tenant": True,
                    "kind": True,
                    "queue": True,
                    "method": True,
                    "name": True,
                    "inputs": True,
                    "params": True,
                    "preprocess": True,
                    "then": True,
                    "support": True,
                    "name_by": True,
                    "webhook": True,
                    "created_at": True,
                    "expires_at": True,
                    "trace": True,
                    "description": True,
                    "tags": True,
                    "retrying": True,
                    "retry_of": True,
                    "options": {"tree"},
                }
            ),
            _ms(due_s),
            once,
            request.body_sha256 or "",
            _ms(idempotency_s),
            f"{request.tenant} {receiver}" if receiver else "",
            request.key or "",
            "" if request.key_running is None else request.key_running,
            request.inline_bytes,
            limits,
            standing.datasets,
            json.dumps(request.needs),
            expiry_ms(request.expires_at),
            hint,
            request.annotation.shown() if request.tags else "",
            standing.lane,
            request.retrying.stated(),
        )
        if answer[0] == "made":
            return Created("made", version=int(answer[1]))
        if answer[0] == "limited":
            _, whose, what, used, limit = answer
            return Created("limited", excess=(whose, what, int(used), int(limit)))
        return Created(answer[0], answer[1] if len(answer) > 1 else None)

    def first_with(self, tenant: str, idempotency_key: str) -> tuple[str, str] | None:
        """The job that has this key, and the sha256 of its body."""
        once = hashlib.sha256(idempotency_key.encode()).hexdigest()
        with translated():
            job, body = cast(
                "list[str | None]",
                self.client.hmget(f"{self.prefix}idempotency:{tenant}:{once}", ["job", "body"]),
            )
        return None if job is None else (job, body or "")

    def get(self, job_id: str) -> Record | None:
        with translated():
            pipe = self.client.pipeline(transaction=False)
            pipe.hgetall(self._key(job_id))
            pipe.hgetall(f"{self.prefix}pauses")
            fields, pauses = cast("list[dict[str, str]]", self.removals.execute(pipe))
        return None if self.removals.hides(job_id) else record_of(fields, pauses)

    def owner(self, job_id: str) -> tuple[str, str] | None:
        """(tenant, status) of a job."""
        with translated():
            tenant, status = cast(
                "list[str | None]", self.client.hmget(self._key(job_id), ["tenant", "status"])
            )
        return None if tenant is None or status is None else (tenant, status)

    def holder(self, job_id: str) -> str | None:
        """The fence of the running attempt, "" if none runs; None without a record."""
        with translated():
            status, fence = cast(
                "list[str | None]", self.client.hmget(self._key(job_id), ["status", "fence"])
            )
        return None if status is None else fence or ""

    def statuses(self, job_ids: Iterable[str]) -> list[str | None]:
        """The status of each job; None for a job without a record."""
        with translated():
            pipe = self.client.pipeline(transaction=False)
            for job_id in job_ids:
                pipe.hget(self._key(job_id), "status")
            return cast("list[str | None]", pipe.execute())

    def needing(self, job_id: str) -> list[Record]:
        """The jobs that refer to this one, or to what it made, newest first."""
        with translated():
            ids = cast("set[str]", self.client.smembers(f"{self.prefix}needed:{job_id}"))
            pipe = self.client.pipeline(transaction=False)
            for other in sorted((each for each in ids if each.startswith("job_")), reverse=True):
                pipe.hgetall(self._key(other))
            found = [record_of(fields) for fields in self.removals.execute(pipe)]
        return [one for one in found if one is not None and not self.removals.hides(one.id)]

    def count(self, request: Request, n_bytes: int) -> bool:
        """Count a job in what its tenant uses, and in what it needs; False if it was already.

        n_bytes : what it keeps now. For records of a version that did not count jobs.
        """
        return bool(
            self._scripts(
                "job_count",
                request.id,
                request.key or "",
                n_bytes,
                json.dumps(request.needs),
                expiry_ms(request.expires_at),
            )
        )

    def uncounted(self, job_ids: Iterable[str]) -> list[bool]:
        """Whether each job has a record that is not counted."""
        with translated():
            pipe = self.client.pipeline(transaction=False)
            for job_id in job_ids:
                pipe.hmget(self._key(job_id), "status", "bytes")
            rows = cast("list[list[str | None]]", pipe.execute())
        return [status is not None and n_bytes is None for status, n_bytes in rows]

    def keep_bytes(self, job_id: str, n_bytes: int) -> None:
        """Set the bytes that a job keeps, once some of its files are removed."""
        self._scripts("job_bytes", job_id, n_bytes)

    def annotate(self, job_id: str, revision: int, annotation: str) -> bool:
        """Set what a user says of a job (a JSON object), and its tags; False where it has no
        record, or this revision or a later one."""
        return bool(self._scripts("annotate", "job", job_id, revision, annotation))

    def listing(
        self,
        tenant: str,
        *,
        status: str | None = None,
        method: str | None = None,
        kind: str | None = None,
        name: str | None = None,
        tags: Sequence[str] = (),
        words: Sequence[str] = (),
        tree: str | None = None,
        reason: str | None = None,
        reach: Reach | None = None,
    ) -> Listing[Record]:
        """Listed jobs.

        reach : what the reader reaches; None: everything of the tenant. kind : only jobs of this
        kind. reason : only jobs that failed with a problem of this type. tree : only jobs whose
        options name this tree. There are sorted sets by status, method, both, and tag, and a set of
        what needs a tree's job; further tags, the name and words are looked for in the records.
        """
        if reach is not None:
            tags = (*tags, *reach.listed_by)
        base = key = f"{self.prefix}jobs:{tenant}"
        if reason is not None and status is None:
            status = "failed"
        if status is not None:
            key += f":status:{status}"
        if method is not None:
            key += f":method:{method}"
        if tags:
            key = rarest(self.client, [f"{base}:tag:{tag}" for tag in tags])

        def read(job_ids: Sequence[str]) -> list[Record | None]:
            pipe = self.client.pipeline(transaction=False)
            for job_id in job_ids:
                pipe.hgetall(self._key(job_id))
            pipe.hgetall(f"{self.prefix}pauses")
            *rows, pauses = cast("list[dict[str, str]]", self.removals.execute(pipe))
            return [member(record_of(fields, pauses)) for fields in rows]

        def member(record: Record | None) -> Record | None:
            if record is None or self.removals.hides(record.id):
                return None
            if reach is not None and not reach.has(record.id, record.tags):
                return None
            texts = (record.id, record.name, record.description, record.method, *record.tags)
            if name not in (None, record.name) or not mentions(words, *texts):
                return None
            if reason is not None and (record.error or {}).get("type") != f"/problems/{reason}":
                return None
            if kind not in (None, record.kind) or not set(tags) <= set(record.tags):
                return None
            if (tags or tree is not None) and (
                status not in (None, record.status) or method not in (None, record.method)
            ):
                return None
            # Records of earlier versions do not say their tree; the results do.
            trees = (record.tree, (record.result or {}).get("tree"))
            if tree is not None and (record.tenant != tenant or tree not in trees):
                return None
            return record

        if tree is not None:
            needing = f"{self.prefix}needed:{sibling(tree, 'job')}"
            return listing_of_set(self.client, needing, read)
        filtered = (name, reason, kind, reach) != (None,) * 4 or tags or words
        return listing_of(self.client, key, read, whole=not (filtered or self.removals.any))

    def claim(
        self, job_id: str, fence: str, worker: str
    ) -> tuple[str, int, str, str, tuple[Retry, ...]]:
        """(outcome, attempt, time of the first attempt, kind of its lane, why earlier attempts were
        given up); all but the first only for "ok"."""
        answer = self._scripts(
            "claim",
            job_id,
            fence,
            _ms(self._settings.lease_s),
            self._settings.max_attempts,
            worker,
            self._running(),
        )
        if answer[0] != "ok":
            return answer[0], 0, "", "fit", ()
        return "ok", *_claimed(answer[1:])

    def take(
        self, lanes: Sequence[str], fence: str, worker: str, without: Iterable[str] = ()
    ) -> Taken | None:
        """Take and claim the next job of these lanes, `<queue>:<kind>` with a kind of
        `workers.kinds.kind.LANES`; None: none waits.

        A later lane is looked at if the earlier ones are empty. In a lane tenants take turns, none
        of `without`, a tenant's oldest job first; jobs wait while their limit is reached.
        """
        answer = self._scripts(
            "take",
            json.dumps(self._settings.tenant_weights),
            fence,
            _ms(self._settings.lease_s),
            self._settings.max_attempts,
            worker,
            self._running(),
            json.dumps(sorted(set(without))),
            *lanes,
        )
        if not answer:
            return None
        job, tenant, outcome, *claimed = answer
        if outcome != "ok":
            return Taken(job, tenant, outcome)
        return Taken(job, tenant, "ok", *_claimed(claimed))

    def makes_room(
        self, claim: Claim, lanes: Sequence[str], *, waited_s: float, alone_s: float
    ) -> bool:
        """Whether this attempt makes room for a job that has waited in one of these lanes for
        `waited_s` and may run; no other attempt does for the same lane within `alone_s`."""
        waited, alone = _ms(waited_s), _ms(alone_s)
        own = (claim.request.id, claim.fence)
        return bool(self._scripts("make_room", *own, waited, alone, self._running(), *lanes))

    def beat(self, claim: Claim, advance: Advance | None) -> Literal["on", "cancel", "lost"]:
        progress = "" if advance is None else advance.model_dump_json()
        lease = _ms(self._settings.lease_s)
        answer = self._scripts("beat", claim.request.id, claim.fence, lease, progress)
        return cast("Literal['on', 'cancel', 'lost']", answer)

    def log(self, claim: Claim, line: str) -> None:
        self._scripts("log", claim.request.id, claim.fence, json.dumps({"line": line}))

    def release(
        self,
        job_id: str,
        fence: str,
        *,
        spend: bool,
        due_s: float,
        lapsed: bool,
        dead: bool = False,
        retry: Problem | None = None,
        why: Problem | None = None,
        wait: bool = False,
        lane: str = "",
    ) -> Released:
        """End an attempt; with `lapsed`, only if its lease has run out.

        dead : whether its worker is known to be dead, so that its lease does not count.
        retry : why the job is tried again, None for a lost worker. why : the record's error if
            this was the last attempt.
        wait : whether the job may be taken again only when it is due. lane : the kind of lane in
            which it waits from now on; "": that of before.
        """
        answer = self._scripts(
            "release",
            job_id,
            fence,
            int(spend),
            self._settings.max_attempts,
            _ms(due_s),
            2 if dead else int(lapsed),
            "" if why is None else json.dumps(why),
            int(wait),
            "" if retry is None else json.dumps(retry),
            lane,
        )
        return cast("Released", answer)

    def cancel(self, tenant: str, job_id: str) -> Literal["gone", "ended", "queued", "running"]:
        answer = self._scripts("cancel", job_id, tenant, _ms(CANCEL_S))
        return cast("Literal['gone', 'ended', 'queued', 'running']", answer)

    def end(
        self,
        job_id: str,
        end: End,
        tree: str | None = None,
        *,
        quiet: bool = False,
        delivery: Delivery | None = None,
        n_bytes: int = 0,
        annotation: str = "",
    ) -> Literal["gone", "ended", "ok", "restored", "beside"]:
        """Write `end` into the record and `tree` (facts as JSON) into the lists of trees.

        quiet : leave no events, for a job that ended long ago. delivery : the result of the job's
            webhook; without it the webhook becomes due now. n_bytes : what the job keeps.
            annotation : of the tree, where that has tags.
        """
        answer = self._scripts(
            "end",
            job_id,
            end.status,
            end.attempt,
            end.started_at or "",
            end.finished_at,
            "" if end.result is None else json.dumps(end.result),
            json.dumps(end.warnings),
            "" if end.error is None else json.dumps(end.error),
            0 if quiet else _ms(EVENTS_KEPT_S),
            "" if tree is None else sibling(job_id, "tr"),
            tree or "",
            "" if delivery is None else delivery.status,
            0 if delivery is None else delivery.attempts,
            "" if delivery is None else delivery.reason or "",
            n_bytes,
            annotation,
            lines_of(end.given_up),
        )
        return cast("Literal['gone', 'ended', 'ok', 'restored', 'beside']", answer)

    def drop(self, job_id: str) -> bool:
        """Forget a job: record, lists, events, tree, idempotency key."""
        return bool(self._scripts("drop", job_id, sibling(job_id, "tr")))

    def due(self, limit: int) -> list[Due]:
        """Take the jobs that are due. They are due again after `resend_s` unless their state
        changes; queued ones later, where many wait."""
        rows = self._scripts("sweep", limit, _ms(self._settings.resend_s))
        return [Due(*row) for row in rows]

    def counts(self) -> dict[str, int]:
        """Number of jobs by status."""
        return self._numbers("counts")

    def queued(self) -> dict[str, int]:
        """Number of queued jobs by queue."""
        return self._numbers("queued")

    def hints(self, queue: str) -> int:
        """Number of hints on a queue of the broker, which keeps them in the same Redis."""
        with translated():
            return self.client.llen(f"{self.prefix}queue:{queue}")

    def run_ids(self) -> tuple[str, str | None]:
        """The run id of the server, and that of the server at the last rebuild; None also where
        Redis may lack pauses."""
        with translated():
            pipe = self.client.pipeline(transaction=False)
            pipe.info("server")
            pipe.get(f"{self.prefix}counted")
            pipe.hexists(f"{self.prefix}pauses", "known")
            info, built, known = pipe.execute()
        return info["run_id"], built if known else None

    def only_one(self, task: str, for_s: float) -> bool:
        """Whether this process may do a periodic task; no other one may for `for_s` seconds."""
        with translated():
            return bool(self.client.set(f"{self.prefix}only:{task}", 1, nx=True, px=_ms(for_s)))

    def leave(self, tenant: str, job_id: str) -> None:
        """Remember a submission that was refused, or a job that has ended beside another attempt,
        of which objects may be, or appear, in the store."""
        with translated():
            self.client.zadd(f"{self.prefix}left_at", {f"{tenant}/{job_id}": self._now()}, nx=True)

    def left(self, least_s: float) -> list[tuple[str, str]]:
        """The tenant and job of all that `leave` has remembered for `least_s`."""
        with translated():
            key, until = f"{self.prefix}left_at", self._now() - least_s
            members = cast("list[str]", self.client.zrangebyscore(key, "-inf", until))
        return [(tenant, job_id) for tenant, _, job_id in (one.partition("/") for one in members)]

    def forget_left(self, tenant: str, job_id: str) -> None:
        """What was left of it is removed, or it runs after all."""
        with translated():
            self.client.zrem(f"{self.prefix}left_at", f"{tenant}/{job_id}")

    def rebuild_begin(self, token: str, hold_s: float) -> bool:
        """Acquire the right to rebuild; False while another process holds it."""
        key = f"{self.prefix}rebuilding"
        with translated():
            return bool(self.client.set(key, token, nx=True, px=_ms(hold_s)))

    def rebuild_hold(self, token: str, hold_s: float, course: str = "") -> bool:
        """Renew that right; False if it was lost. course : how far the rebuild is, in words."""
        held = bool(self._scripts("hold", token, _ms(hold_s)))
        with suppress(StoreFull), translated():
            if held and course:
                self.client.set(f"{self.prefix}rebuild_course", course, ex=60)
        return held

    def rebuild_course(self) -> str:
        """How far the rebuild that is under way is, in words; '' where that is not known."""
        with translated():
            return cast("str | None", self.client.get(f"{self.prefix}rebuild_course")) or ""

    def rebuild_end(self, token: str, run_id: str) -> bool:
        """Release that right, with the rebuild complete if `run_id` is not empty; False if lost."""
        return bool(self._scripts("built", token, run_id))

    def all_ids(self) -> Iterable[str]:
        """The ids of all records; one created meanwhile may be missing."""
        start = len(f"{self.prefix}job:")
        with translated():
            for key in self.client.scan_iter(f"{self.prefix}job:*", count=1000):
                yield cast("str", key)[start:]

    def _running(self) -> str:
        most = self._settings.quota_running
        return json.dumps(most) if most else ""

    def _numbers(self, name: str) -> dict[str, int]:
        with translated():
            numbers = cast("dict[str, str]", self.client.hgetall(f"{self.prefix}{name}"))
        return {key: int(number) for key, number in numbers.items()}

    def _now(self) -> float:
        seconds, micros = self.client.time()
        return seconds + micros / 1e6

    def _key(self, job_id: str) -> str:
        return f"{self.prefix}job:{job_id}"


def expiry_ms(moment: str | None) -> str:
    """A time as the scripts take it, in ms; "" for none."""
    if moment is None:
        return ""
    return str(int(datetime.fromisoformat(moment).timestamp() * 1000))


def _claimed(answer: Sequence[str]) -> tuple[int, str, str, tuple[Retry, ...]]:
    """What `Records.claim` returns after "ok"."""
    attempt, started_us, lane, given_up = answer
    return int(attempt), time_of(started_us), lane, given_up_of(given_up)


def _ms(seconds: float) -> int:
    return int(seconds * 1000)

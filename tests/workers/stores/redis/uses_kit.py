"""The part of the model of `book_kit` about what tenants use and what may be removed.

What is used is derived from jobs, lists and uploads, as the scripts promise that it always agrees.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tests.workers.stores.redis.records_kit import (
    ENDED,
    Entry,
    Job,
    Reply,
    Reserved,
    Scored,
    Upload,
)

USE_OF = {"queued": "queued", "running": "running", "cancelling": "running"}


class Uses:
    """Jobs, lists and uploads, by whom they are used, and what needs them."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000
        self.jobs: dict[str, Job] = {}
        self.index: dict[tuple[str, str], Entry] = {}
        self.uploads: dict[str, Upload] = {}
        self.reserved: dict[str, dict[str, Reserved]] = defaultdict(dict)
        self.needed: dict[str, set[str]] = defaultdict(set)
        self.expiries: Scored = {}
        self.going: dict[str, str] = {}
        self.gone: Scored = {}
        self.full_at: dict[str, float] = {}

    def uses(self) -> dict[str, dict[str, int]]:
        """What each tenant, and each `<tenant>:<key>`, uses; no zeros."""
        totals: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))

        def add(tenant: str, key: str, what: str, n: int) -> None:
            for whose in (tenant, f"{tenant}:{key}") if key else (tenant,):
                totals[whose][what] += n

        for job in self.jobs.values():
            add(job.tenant, job.key, "bytes", job.bytes or 0)
            if job.counted:
                add(job.tenant, job.key, "jobs", 1)
                add(job.tenant, job.key, USE_OF.get(job.status, ""), 1)
        for (name, _), entry in self.index.items():
            add(entry.tenant, entry.key, f"{name}s", 1)
            add(entry.tenant, entry.key, "bytes", int(entry.bytes))
        for upload in self.uploads.values():
            add(upload.tenant, upload.key, "bytes", sum(upload.parts.values()))
        return {
            whose: used
            for whose, numbers in totals.items()
            if (used := {what: n for what, n in numbers.items() if what and n})
        }

    def used(self, tenant: str, key: str, what: str) -> int:
        return self.uses().get(f"{tenant}:{key}" if key else tenant, {}).get(what, 0)

    def may_not_run(self, tenant: str, limits: str) -> bool:
        """Whether a tenant has as many running jobs as it may."""
        most = json.loads(limits or "{}")
        limit = most.get(tenant, most.get(""))
        return limit is not None and self.used(tenant, "", "running") >= limit

    def key_may_not_run(self, job: Job) -> bool:
        if job.key_running == "":
            return False
        return self.used(job.tenant, job.key, "running") >= int(job.key_running)

    def exceeded(
        self, limits: str, tenant: str, key: str, requested: dict[str, int], more: bool, token: str
    ) -> list[Any]:
        """The first limit that would be exceeded; [] if none would."""
        for whose, own in (("tenant", ""), ("key", key)):
            most = json.loads(limits or "{}").get(whose)
            if most is None or (whose == "key" and not key):
                continue
            held = self.reserved[tenant]
            for name in [name for name, row in held.items() if row.ends <= self.now]:
                del held[name]
            rows = [r for name, r in held.items() if name != token and own in ("", r.key)]
            total = {what: self.used(tenant, own, what) for what in ("queued", "datasets", "bytes")}
            total["bytes"] += sum(row.bytes for row in rows)
            total["datasets"] += sum(row.datasets for row in rows)
            for what, n in total.items():
                if what not in most:
                    continue
                full = what == "bytes" and more and n >= most[what]
                if full or (requested.get(what, 0) > 0 and n + requested[what] > most[what]):
                    return ["limited", whose, what, str(n), str(most[what])]
        return []

    def room(
        self, tenant: str, key: str, n_bytes: int, datasets: int, queued: int, limits: str
    ) -> Reply:
        requested = {"bytes": n_bytes, "datasets": datasets, "queued": queued}
        return self.exceeded(limits, tenant, key, requested, True, "")

    def reserve(
        self,
        tenant: str,
        key: str,
        token: str,
        n_bytes: int,
        datasets: int,
        hold: int,
        limits: str,
        more: int,
    ) -> Reply:
        requested = {"bytes": n_bytes, "datasets": datasets}
        why = self.exceeded(limits, tenant, key, requested, more == 1, token)
        if not why:
            self.reserved[tenant][token] = Reserved(n_bytes, datasets, self.now + hold, key)
        return why

    def part_put(self, id: str, tenant: str, key: str, number: int, n_bytes: int) -> Reply:
        parts = self.uploads.setdefault(id, Upload(tenant, key)).parts
        earlier = str(number) in parts
        parts[str(number)] = n_bytes
        return int(earlier)

    def part_drop(self, id: str) -> Reply:
        return int(self.uploads.pop(id, None) is not None)

    def job_bytes(self, id: str, n_bytes: int) -> Reply:
        if id in self.jobs:
            self.jobs[id].bytes = n_bytes
        return 1

    def job_count(self, id: str, key: str, n_bytes: int, refs: str, expires: str) -> Reply:
        job = self.jobs.get(id)
        if job is None or job.bytes is not None:
            return 0
        job.key, job.refs, job.bytes = key, refs, n_bytes
        self.need(id, refs)
        if expires:
            self.expiries[id] = float(expires)
        return 1

    def rate(self, n: int, *buckets: str | int) -> Reply:
        """Buckets come as name, size and gain a second."""
        rows = []
        for name, size, gain in zip(buckets[::3], buckets[1::3], buckets[2::3], strict=True):
            ms, most = 1000 / float(gain), int(size)
            at = min(max(self.now, self.full_at.get(str(name), 0)), self.now + most * ms)
            left = math.floor((self.now + most * ms - at) / ms + 1e-9)
            rows.append((str(name), most, ms, at, left))
        enough = all(left >= n for *_, left in rows)
        answer = []
        for name, most, ms, at, left in rows:
            if enough and n:
                at, left = at + n * ms, left - n
                self.full_at[name] = at
            elif left < n:
                left = -1
            short = max(0, at - self.now - (most - 1) * ms)
            answer.append([str(left), f"{short / 1000:.3f}", f"{(at - self.now) / 1000:.3f}"])
        return answer

    # What may be removed.

    def is_going(self, id: str) -> bool:
        return id in self.going or id in self.gone

    def need(self, id: str, refs: str) -> None:
        for ref in json.loads(refs):
            self.needed[ref].add(id)

    def need_no_more(self, id: str, refs: str) -> None:
        for ref in json.loads(refs):
            self.needed[ref].discard(id)

    def retire(self, id: str) -> Reply:
        if id in self.going:
            return ["ok", self.going[id]]
        own = self.jobs.get(id) or self.index.get(("dataset", id))
        if own is None:
            return ["absent"]
        is_job = isinstance(own, Job)
        if isinstance(own, Job) and (not own.ended or own.hook == "pending"):
            return ["unfinished"]
        for by in sorted(self.needed[id]):
            if by not in self.jobs and ("dataset", by) not in self.index:
                self.needed[id].discard(by)
                continue
            over = by in self.jobs and self.jobs[by].status in ENDED
            if (is_job or not over) and not self.is_going(by):
                return ["needed", by]
        self.going[id] = own.tenant
        return ["ok", own.tenant]

    def retired(self, id: str, kept: int) -> Reply:
        self.going.pop(id, None)
        self.gone = {own: at for own, at in self.gone.items() if at > self.now}
        self.gone[id] = self.now + kept
        return 1

    # Lists of datasets and trees.

    def index_put(
        self,
        name: str,
        id: str,
        tenant: str,
        group: str,
        facts: str,
        n_bytes: int,
        key: str,
        ref: str,
        expires: str,
        digest: str,
        annotation: str,
    ) -> Reply:
        old = self.index.get((name, id), Entry("", "", "", "", "", ""))
        more = (digest or old.digest, old.annotation or annotation or None, old.revision)
        self.index[name, id] = Entry(tenant, group, facts, str(n_bytes), key, ref, *more)
        if ref:
            self.needed[ref].add(id)
        if expires:
            self.expiries[id] = float(expires)
        return 1

    def index_change(self, name: str, id: str, facts: str) -> Reply:
        if (name, id) not in self.index:
            return 0
        self.index[name, id].facts = facts
        return 1

    def index_drop(self, name: str, id: str) -> Reply:
        entry = self.index.pop((name, id), None)
        if entry is None:
            return 0
        if entry.ref:
            self.needed[entry.ref].discard(id)
        self.expiries.pop(id, None)
        return 1

    # What users say of jobs, datasets and trees.

    def annotate(self, name: str, id: str, revision: int, annotation: str) -> Reply:
        own = self.jobs.get(id) if name == "job" else self.index.get((name, id))
        if own is None or (own.revision or 0) >= revision:
            return 0
        own.annotation, own.revision = annotation, revision
        if isinstance(own, Job):
            own.version += 1
        return 1

    def annotations(self) -> Iterator[tuple[str, str, str]]:
        """Each thing that is listed: the key of its list, its id, its annotation."""
        for id, job in self.jobs.items():
            if job.listed == "1" and job.annotation is not None:
                yield f"jobs:{job.tenant}", id, job.annotation
        for (name, id), entry in self.index.items():
            if entry.annotation is not None:
                yield f"{name}s:{entry.tenant}", id, entry.annotation

    # What Redis must hold of these.

    def keys_of_uses(self) -> dict[str, Any]:
        values: dict[str, Any] = {"expiries": self.expiries, "going": self.going, "gone": self.gone}
        uses = self.uses()
        values["tenants"] = {whose for whose in uses if ":" not in whose}
        for whose, numbers in uses.items():
            values[f"usage:{whose}"] = {what: str(n) for what, n in numbers.items()}
        for tenant, rows in self.reserved.items():
            values[f"reserved:{tenant}"] = {token: str(row) for token, row in rows.items()}
        values |= {f"upload:{id}": upload.fields() for id, upload in self.uploads.items()}
        values |= {f"needed:{id}": by for id, by in self.needed.items()}
        values |= {f"rate:{name}": f"{at:.3f}" for name, at in self.full_at.items()}
        return values

"""Rules about what is used and what may be removed; lists of datasets and trees; the right to
rebuild."""

from __future__ import annotations

import json

from hypothesis import strategies as st
from hypothesis.stateful import (
    rule,
)

from tests.workers.stores.redis.calls_kit import (
    DATASETS,
    JOBS,
    KEPT,
    LIMITS,
    OWNERS,
    TENANTS,
    Calls,
    annotation_texts,
    expiries,
    jobs,
    leases,
    sizes,
    tokens,
    usual,
)
from tests.workers.stores.redis.scripts_kit import PREFIX


class StoreRules(Calls):
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
            request = (tenant, owner, n_bytes, datasets, 1, limits)
            self.call("room", self.book.room(*request), *request)
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

    @rule(
        name=st.sampled_from(["dataset", "dataset", "tree"]),
        number=st.sampled_from([0, 1, 2]),
        what=st.sampled_from(["put", "put", "change", "drop"]),
        n_bytes=sizes,
        expires=expiries,
        annotation=annotation_texts,
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
        """Mostly annotates something that exists; the revision may have been overtaken."""
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

"""The ledger of jobs: the one place that keeps the promise that no accepted job is lost.

The broker's message is a hint; the record in Redis and the objects in the store are the truth. The
API and the workers use this class and nothing below it.

Where the two differ the store wins. A job exists while `request.json` does; it has ended once
`end.json` exists, and whoever creates that first has decided. Every path that finds an end writes
it into the record (`workers.jobs.finish`), so a process may die at any step: the next claim, sweep
or rebuild completes it.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Unpack

from models.errors import UsageError
from workers.artifacts.aliases import Aliases
from workers.artifacts.annotations import Annotations
from workers.artifacts.beside import Beside
from workers.artifacts.datasets import Datasets
from workers.errors import (
    Damaged,
    Missing,
    Problem,
    StoreFull,
    StoreUnavailable,
    TransientError,
    problem_of,
)
from workers.jobs.carriers import IdleWorkers, carrier
from workers.jobs.deliveries import Deliveries
from workers.jobs.finish import Endings
from workers.jobs.inspections import Inspections
from workers.jobs.interrupted import Interrupted
from workers.jobs.pauses import Pauses
from workers.jobs.pieces import Pieces
from workers.jobs.rebuild import NO_ROOM_FOR_RECORDS, WAIT_S, Rebuild
from workers.jobs.repeats import lacking, repeat_of
from workers.jobs.retention import Retention
from workers.jobs.submission import Intake
from workers.jobs.sweep import Sweeper, Waiting
from workers.kinds.registry import kind_of
from workers.model import ENDED, Advance, Claim, End, Record, Request
from workers.settings import WorkerSettings
from workers.stores.erasure import erase_files, erase_job
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.job_files import publish, read_end, read_request
from workers.stores.redis.crossings import Crossings
from workers.stores.redis.pages import Listing
from workers.stores.redis.records import JobFilters, Records, Taken
from workers.stores.redis.removal import Removal
from workers.stores.redis.usage import Usage
from workers.stores.redis.workers import WorkerBook

Send = Callable[[str, str], None]
"""send(queue, job id): puts a hint on the queue; it may fail."""

Message = Callable[[str, str], str]
"""message(queue, job id): the hint as the broker keeps it."""

LONGEST_LINE = 4096

LEFTOVERS_S = 10.0
"""How often a process looks for what others have left in the store."""

WAITED_S = 1.0
"""A longer job makes room for a shorter one that has waited for so long."""

ALONE_S = 3.0
"""For so long no second job makes room for the same lane."""

_LOSSES = 5
"""How often a record is restored for one read: Redis may lose it again before it is read."""

_log = logging.getLogger(__name__)


class Ledger:
    """Jobs over one Redis and one object store. Threads may share it.

    place_of : gives host and port of a webhook's address. message : if given, the record of a new
        job and its hint are written in one step; else `send` puts the hint on the queue.
    """

    blobs: Blobs
    inspections: Inspections
    pieces: Pieces
    webhooks: Deliveries
    retention: Retention
    workers: WorkerBook
    pauses: Pauses

    def __init__(
        self,
        blobs: Blobs,
        records: Records,
        datasets: Datasets,
        annotations: Annotations,
        beside: Beside,
        usage: Usage,
        removal: Removal,
        settings: WorkerSettings,
        send: Send,
        waiting: Waiting,
        place_of: Callable[[str], str],
        message: Message | None = None,
    ) -> None:
        self.blobs = blobs
        self._records = records
        self._annotations = annotations
        self._datasets = datasets
        self._settings = settings
        self._send = send
        self._place_of = place_of
        self.webhooks = Deliveries(blobs, records, settings, place_of)
        # The sender of webhooks sets `on_due` later.
        self._endings = Endings(blobs, records, datasets, settings, lambda: self.webhooks.on_due())
        self._intake = Intake(
            blobs,
            records,
            self._endings,
            usage,
            settings,
            self._hint,
            self._receiver_of,
            message,
        )
        self._sweeper = Sweeper(blobs, records, self._endings, settings, self._hint, waiting)
        self.workers = WorkerBook(records.client, settings)
        self.pauses = Pauses(blobs, records, self.workers)
        idle = IdleWorkers(self.workers, self._hint, records.hints)
        self.pieces = Pieces(blobs, records, settings, carrier(settings, idle))
        self._leftovers_at = 0.0
        aliases = Aliases(blobs, crossings=Crossings(records.client, settings))
        self.retention = Retention(
            blobs, records, datasets, beside, usage, removal, aliases, settings
        )
        self._rebuild = Rebuild(
            blobs,
            records,
            datasets,
            annotations,
            beside,
            usage,
            self._endings,
            self.pieces,
            self.pauses,
            self._receiver_of,
        )
        self._interrupted = Interrupted(blobs, records, self._rebuild, self._hint)
        self.inspections = Inspections(blobs, records, datasets, self._interrupted, self.submit)

    def submit(
        self,
        request: Request,
        inline: Mapping[str, bytes | memoryview] | None = None,
        limits: str = "",
    ) -> Record:
        """The record of a job that is accepted now.

        limits : what its tenant and key may use, by `workers.settings.admission`.

        Raises OverLimit, UsageError `unknown-input` for an input that is being removed, and
        StoreUnavailable or StoreFull, in which case nothing is left half-made. If an earlier
        job has the same idempotency key, the result is the record of that job, or UsageError
        `idempotency-mismatch` if its body was different.
        """
        if request.idempotency_key is not None:
            self.ensure_built()
        return self._intake.submit(request, inline or {}, limits)

    def finish_submission(self, tenant: str, job_id: str) -> Record | None:
        """The record of a job whose submission a dead process began: it is accepted now.

        None if it cannot be, since the request was not stored whole: the job will never run.
        """
        return self._interrupted.finish(tenant, job_id)

    def get(self, tenant: str, job_id: str) -> Record | None:
        """The record; None if there is none, or if it belongs to another tenant.

        Raises StoreUnavailable, also where Redis lost the record and has no room for it; Damaged
        where a rebuild left the job out, since its request or its end is damaged.
        """
        record = self._records.get(job_id)
        if record is None:
            record = self._restored(tenant, job_id)
        if record is None:
            with suppress(Missing):
                read_request(self.blobs, tenant, job_id)
                self.end_of(tenant, job_id)
        return record if record is not None and record.tenant == tenant else None

    def _restored(self, tenant: str, job_id: str) -> Record | None:
        """The record of a job that Redis lacks, from the store if Redis has lost its data."""
        for _ in range(_LOSSES):
            try:
                restored = self._rebuild.needed() and self._rebuild.restore_job(tenant, job_id)
                if restored:
                    self._annotations.restore(tenant, job_id)
            except StoreFull as error:
                raise StoreUnavailable(NO_ROOM_FOR_RECORDS) from error
            # Read again in any case: a rebuild may have ended in the meantime.
            record = self._records.get(job_id)
            if record is not None or not restored:
                return record
        raise StoreUnavailable("Redis keeps losing its data")

    def accepted(self, tenant: str, job_id: str) -> Record | None:
        """As `get`, for a job whose submission is over; None also where it was refused although
        there is a record."""
        record = self.get(tenant, job_id)
        if record is not None and not record.ended:
            end = self.end_of(tenant, job_id)
            if end is not None:
                self._endings.settle(tenant, job_id, end)
                record = self.get(tenant, job_id)
        return record

    def end_of(self, tenant: str, job_id: str) -> End | None:
        """The terminal object of an ended job, from the store."""
        return read_end(self.blobs, tenant, job_id)

    def listing(self, tenant: str, **filters: Unpack[JobFilters]) -> Listing[Record]:
        """The jobs with this status, method, kind and name, all of the tags and words, made for
        this tree, failed for this reason, and that `reach` has."""
        self.ensure_built()
        return self._records.listing(tenant, **filters)

    def page(
        self,
        tenant: str,
        *,
        limit: int = 50,
        cursor: str | None = None,
        **filters: Unpack[JobFilters],
    ) -> tuple[list[Record], str | None]:
        """Jobs newest first, and the cursor of the next page; filters as of `listing`. Raises
        UsageError `bad-cursor`."""
        return self.listing(tenant, **filters).page(limit, cursor)

    def cancel(self, tenant: str, job_id: str) -> Record | None:
        """The record after a cancel: a queued job is cancelled, a running one cancelling, an ended
        one unchanged; None if there is no such job."""
        while self.get(tenant, job_id) is not None:
            outcome = self._records.cancel(tenant, job_id)
            if outcome == "gone":
                continue  # It was deleted just now, or Redis lost it.
            if outcome == "queued":
                self._endings.conclude(tenant, job_id, "cancelled")
            return self.get(tenant, job_id)
        return None

    def retry(
        self,
        tenant: str,
        job_id: str,
        limits: str = "",
        tagged: Callable[[Sequence[str]], tuple[str, ...]] = tuple,
        **requester: Any,
    ) -> Record | None:
        """The job that repeats a failed one under its old inputs; the same however often this is
        called within `IDEMPOTENCY_S`. None if there is no such job.

        tagged : gives its tags, from the old one's. requester : fields of `Request` that say who
        requests it. Raises what `submit` does, UsageError `conflict` for a job that has not failed,
        `unknown-input` where an input is gone.
        """
        record = self.get(tenant, job_id)
        if record is None:
            return None
        if record.status != "failed":
            raise UsageError(
                f"Job {job_id!r} is {record.status}; only one that has failed is tried again.",
                code="conflict",
            )
        try:
            repeat, inline = repeat_of(self.blobs, tenant, job_id, **requester)
            repeat = repeat.model_copy(update={"tags": tagged(repeat.tags)})
        except Missing:
            return None
        gone = lacking(repeat, self._datasets, lambda other: self.get(tenant, other) is not None)
        if gone is not None:
            raise UsageError(f"{gone!r}, which the job needs, is gone.", code="unknown-input")
        return self.submit(repeat, inline, limits)

    def delete(self, tenant: str, job_id: str) -> bool:
        """Cancel the job if needed, then remove it with its files, its tree, its model, and what
        goes with the tree.

        False if there is no such job. A running job is ended as cancelled immediately; the next
        heartbeat of its worker gets "lost", and `finish` removes anything the worker still
        publishes.
        """
        try:
            record = self.get(tenant, job_id)
        except Damaged:
            erase_job(self.blobs, self._records, tenant, job_id)
            return True
        if record is None:
            return False
        if not record.ended:
            # Where nothing has room for an end, the removal itself ends the job.
            with suppress(StoreFull):
                self._endings.conclude(tenant, job_id, "cancelled")
        self.delete_companions(tenant, job_id)
        erase_job(self.blobs, self._records, tenant, job_id)
        return True

    def made_of(self, tenant: str, job_id: str, kind_name: str) -> list[Record]:
        """The jobs of a kind that read this job's tree, newest first."""
        return [each for each in self._needing(tenant, job_id) if each.kind == kind_name]

    def _needing(self, tenant: str, job_id: str) -> list[Record]:
        self.ensure_built()
        return [each for each in self._records.needing(job_id) if each.tenant == tenant]

    def delete_companions(self, tenant: str, job_id: str) -> None:
        """Remove what goes with this job's tree, as `delete` does."""
        for record in self._needing(tenant, job_id):
            if kind_of(record.kind).companion:
                self.delete(tenant, record.id)

    def claim(self, job_id: str, worker: str) -> Claim | None:
        """The right to run the job.

        None if it has ended, is leased to another worker, is gone or has no attempts left.
        """
        owner = self._records.owner(job_id)
        if owner is None:
            self.ensure_built()
            owner = self._records.owner(job_id)
        if owner is None:
            return None
        tenant, status = owner
        if status in ENDED:
            return None
        fence = secrets.token_hex(16)
        taken = Taken(job_id, tenant, *self._records.claim(job_id, fence, worker))
        return self._claimed(taken, fence)

    def claim_next(
        self, lanes: Sequence[str], worker: str, without: Iterable[str] = ()
    ) -> Claim | None:
        """The right to run the job whose turn it is in these lanes (see `Records.take`).

        None if no job waits there. Raises TransientError; a job taken then is due again soon.
        """
        while True:
            fence = secrets.token_hex(16)
            taken = self._records.take(lanes, fence, worker, without)
            if taken is None:
                return None
            claim = self._claimed(taken, fence)
            if claim is not None:
                return claim

    def _claimed(self, taken: Taken, fence: str) -> Claim | None:
        """The claim of a job; None if it was not granted, or if the store has the job's end."""
        tenant, job_id = taken.tenant, taken.job
        try:
            end = self.end_of(tenant, job_id)
            if end is not None:
                self._endings.settle(tenant, job_id, end)
                return None
            if taken.outcome != "ok":
                self._endings.after_release(tenant, job_id, taken.outcome)
                return None
            request = read_request(self.blobs, tenant, job_id)
        except Missing:
            self._records.drop(job_id)
            return None
        except (TransientError, Damaged) as error:
            # What is damaged may be restored: the job waits, and shows why.
            with suppress(TransientError):
                self._records.release(
                    job_id,
                    fence,
                    spend=False,
                    due_s=self._settings.resend_s,
                    lapsed=False,
                    retry=problem_of(error),
                    wait=True,
                )
            if isinstance(error, Damaged):
                _log.error("job %s waits: %s", job_id, error)
                return None
            raise
        return Claim(
            request=request,
            attempt=taken.attempt,
            fence=fence,
            started_at=taken.started_at,
            lane=taken.lane,
            given_up=taken.given_up,
        )

    def beat(self, claim: Claim, advance: Advance | None = None) -> Literal["on", "cancel", "lost"]:
        """Renew the lease and store progress; "lost": another worker has it, publish nothing."""
        return self._records.beat(claim, advance)

    def makes_room(self, claim: Claim, lanes: Sequence[str]) -> bool:
        """Whether the attempt makes room for a job that waits in one of these lanes."""
        return self._records.makes_room(claim, lanes, waited_s=WAITED_S, alone_s=ALONE_S)

    def log(self, claim: Claim, line: str) -> None:
        """Append a `log` event; a line is cut at 4,096 characters."""
        self._records.log(claim, line[:LONGEST_LINE])

    def give_back(
        self,
        claim: Claim,
        *,
        spend: bool,
        retry: Problem | None = None,
        delay_s: float = 0.0,
        why: Problem | None = None,
        lane: str = "",
    ) -> None:
        """End the lease now so that the job is tried again after `delay_s`.

        retry : why it is; None: its worker was lost. lane : the kind of lane in which it waits from
            now on; "": that of before.

        With `spend` False the attempt does not count. A job without attempts left fails with `why`,
        or as `worker-lost`; a job whose cancel was requested is cancelled.
        """
        request = claim.request
        outcome = self._records.release(
            request.id,
            claim.fence,
            spend=spend,
            due_s=delay_s or self._settings.resend_s,
            lapsed=False,
            retry=retry,
            why=why,
            wait=delay_s > 0.0,
            lane=lane,
        )
        if outcome == "queued" and not delay_s:
            self._hint(request.queue, request.id)
        self._endings.after_release(request.tenant, request.id, outcome)
        if outcome == "lost":
            self.forsake(claim)
        else:
            self.blobs.delete_under(layout.attempt(request.tenant, request.id, claim.fence))

    def forsake(self, claim: Claim) -> None:
        """Remove what a lost attempt has stored, if the job has ended with another one.

        If it has not ended, its end removes what other attempts stored; or that of this one may
        still arrive, where the store was slow to answer.
        """
        tenant, job_id = claim.request.tenant, claim.request.id
        end = self.end_of(tenant, job_id)
        if end is not None and end.fence != claim.fence:
            self.blobs.delete_under(layout.attempt(tenant, job_id, claim.fence))

    def finish(self, claim: Claim, end: End, folder: Path | None = None) -> bool:
        """Publish: files, then the terminal object (create-only), then the record.

        False if another attempt was first: its result stands, and the record adopts it. May be
        called again after StoreUnavailable or StoreFull; `folder` is not changed.
        """
        tenant, job_id = claim.request.tenant, claim.request.id
        if not self._may_publish(claim):
            return self._adopt(claim)
        end = end.model_copy(
            update={
                "job": job_id,
                "attempt": claim.attempt,
                "fence": claim.fence,
                "started_at": claim.started_at,
                "given_up": claim.given_up,
            }
        )
        try:
            published = publish(self.blobs, claim, end, folder)
        except Missing:
            # It was removed meanwhile: by the job's deletion, or because the end of another attempt
            # stands.
            if not self._deleted(claim) and self.end_of(tenant, job_id) is None:
                raise
            return self._adopt(claim)
        if published is None:
            return self._adopt(claim)
        return self._settled(claim, published)

    def process_died(self, job_id: str, fence: str) -> None:
        """Requeue at once a job whose worker's process is known to be dead, as when its lease has
        run out. The attempt counts. Nothing happens where another attempt has the job."""
        self._sweeper.process_died(job_id, fence)

    def sweep(self) -> int:
        """Handle once what is due: lost leases, queued jobs not taken, interrupted submissions; now
        and then what processes that died have left in the store, and what has expired.

        Returns the number of jobs.
        """
        if self._rebuild.needed():
            self._rebuild.run(wait_s=0.0)
        self._records.removals.sweep()
        taken = self._sweeper.sweep()
        self.pieces.sweep()
        self.pauses.sweep()
        self.webhooks.sweep()
        if time.monotonic() >= self._leftovers_at:
            self._leftovers_at = time.monotonic() + LEFTOVERS_S
            self.blobs.remove_leftovers()
        taken += self._interrupted.sweep() + self.inspections.sweep()
        if not self._rebuild.needed():
            self.retention.sweep()
        return taken

    def rebuild(self) -> int:
        """Restore records and lists from the store, after Redis has started; returns their number.

        Waits while another process does so; StoreUnavailable if that takes too long.
        """
        return self._rebuild.run()

    def needs_rebuild(self) -> bool:
        """Whether Redis has started, or lost its data, since the last rebuild."""
        return self._rebuild.needed()

    def ensure_built(self, wait_s: float = WAIT_S) -> None:
        """Rebuild if needed: what is not found afterwards does not exist. Rebuilding if that takes
        longer than `wait_s`."""
        self._rebuild.ensure(wait_s)

    def rebuild_course(self, wait_s: float) -> str | None:
        """How far a rebuild is, where one is needed and not over after `wait_s`; None where records
        can be read."""
        return self._rebuild.course(wait_s)

    def counts(self) -> dict[str, int]:
        """Number of jobs by status, inspections and imports included."""
        return self._records.counts()

    def queued(self) -> dict[str, int]:
        """Number of queued jobs by queue."""
        return self._records.queued()

    def _hint(self, queue: str, job_id: str) -> None:
        try:
            self._send(queue, job_id)
        except Exception as error:
            # The broker may raise anything; the sweeper sends the hint again.
            _log.warning("the hint of job %s is sent again later: %s", job_id, error)

    def _receiver_of(self, request: Request) -> str:
        return "" if request.webhook is None else self._place_of(request.webhook)

    def _may_publish(self, claim: Claim) -> bool:
        holder = self._records.holder(claim.request.id)
        if holder is None:
            # Redis may have lost the record: the result counts, and a rebuild finds it.
            return not self._deleted(claim)
        return holder == claim.fence

    def _adopt(self, claim: Claim) -> bool:
        """Settle the end that another call has written.

        True if the same attempt wrote it in an earlier call.
        """
        tenant, job_id = claim.request.tenant, claim.request.id
        end = self.end_of(tenant, job_id)
        own = end is not None and end.fence == claim.fence
        if not own:
            # Before the end is settled: nobody looks for them once the open marker is gone.
            self.blobs.delete_under(layout.attempt(tenant, job_id, claim.fence))
        if end is not None and own:
            return self._settled(claim, end)
        if end is not None:
            self._endings.settle(tenant, job_id, end)
        return False

    def _settled(self, claim: Claim, end: End) -> bool:
        """Settle an end of this attempt; False where the job was deleted before it was written."""
        tenant, job_id = claim.request.tenant, claim.request.id
        if self._endings.settle(tenant, job_id, end) == "gone" and self._deleted(claim):
            erase_files(self.blobs, tenant, job_id)
            return False
        return True

    def _deleted(self, claim: Claim) -> bool:
        return self._endings.deleted(claim.request.tenant, claim.request.id)

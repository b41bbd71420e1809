"""The submission of a job: first its request, then its record; nothing is left half-made."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from models.errors import UsageError
from workers.errors import AlreadyThere, OverLimit, StoreFull, StoreUnavailable, TransientError
from workers.jobs.finish import Endings
from workers.jobs.interrupted import SUBMISSION_S
from workers.jobs.rebuild import age_s
from workers.kinds.registry import kind_of
from workers.model import Advance, Record, Request, Webhook, made_at
from workers.settings import WorkerSettings
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.job_files import REQUEST, bare_end, read_end, write_end
from workers.stores.objects.seals import sealed
from workers.stores.redis.records import Created, Records
from workers.stores.redis.usage import Usage

REJECT_S = SUBMISSION_S - 10.0
"""A refused submission with an idempotency key takes its job back within this time from the making
of the job's id, which is before the key is reserved, or not at all."""

_log = logging.getLogger(__name__)


class Intake:
    """Submits jobs.

    hint : hint(queue, job id), which does not raise.
    receiver_of : gives host and port of a request's webhook, "" without one.
    message : gives the hint as the broker keeps it, to be written with the record; None: `hint`
        sends it afterwards.
    """

    def __init__(
        self,
        blobs: Blobs,
        records: Records,
        endings: Endings,
        usage: Usage,
        settings: WorkerSettings,
        hint: Callable[[str, str], None],
        receiver_of: Callable[[Request], str],
        message: Callable[[str, str], str] | None = None,
    ) -> None:
        self._blobs = blobs
        self._records = records
        self._endings = endings
        self._usage = usage
        self._settings = settings
        self._hint = hint
        self._receiver_of = receiver_of
        self._message = message

    def submit(
        self, request: Request, inline: Mapping[str, bytes | memoryview], limits: str
    ) -> Record:
        """See `Ledger.submit`."""
        began = time.monotonic()
        first = self._first(request)
        if first is not None:
            return first
        request = request.model_copy(update={"inline_bytes": sum(map(len, inline.values()))})
        if limits:
            self._require_room(request, limits)
        self._write(request, inline)
        if time.monotonic() - began > SUBMISSION_S / 2:
            # What has no record after `SUBMISSION_S` counts as refused, and is removed.
            self._discard(request)
            raise StoreUnavailable("the store took too long to keep the request")
        receiver = self._receiver_of(request)
        hint = "" if self._message is None else self._message(request.queue, request.id)
        for _ in range(8):
            try:
                created = self._records.create(
                    request,
                    kind_of(request.kind).standing(request),
                    receiver=receiver,
                    due_s=self._settings.resend_s,
                    hint=hint,
                    limits=limits,
                )
            except TransientError:
                record = self._made(request)
                if record is None:
                    self._reject(request, began)
                    raise
                self._hint(request.queue, request.id)
                return record
            if created.outcome in ("made", "exists"):
                if created.outcome == "exists" or not hint:
                    self._hint(request.queue, request.id)
                _log.info("job accepted", extra={"job_id": request.id, "method": request.method})
                record = self._records.get(request.id) if created.outcome == "exists" else None
                return record or _queued(request, created.version)
            if created.outcome in ("limited", "gone"):
                self._discard(request)
                raise _refusal(created)
            try:
                first = self._first(request)
            except (TransientError, UsageError):
                self._discard(request)
                raise
            if first is not None:
                self._discard(request)
                return first
        self._discard(request)
        raise StoreUnavailable("the first job with this idempotency key appears and vanishes")

    def _require_room(self, request: Request, limits: str) -> None:
        """Refuse before anything is written; the script that makes the record asks again."""
        standing = kind_of(request.kind).standing(request)
        self._usage.require_room(
            request.tenant,
            request.key,
            n_bytes=request.inline_bytes,
            datasets=standing.datasets,
            queued=int(standing.listed),
            limits=limits,
        )

    def _write(self, request: Request, inline: Mapping[str, bytes | memoryview]) -> None:
        tenant, job_id = request.tenant, request.id
        digests = {role: hashlib.sha256(value).hexdigest() for role, value in inline.items()}
        content = request.model_copy(update={"inline_sha256": digests}).model_dump_json().encode()
        key = layout.job(tenant, job_id, REQUEST)
        objects: dict[str, bytes | memoryview] = {key: sealed(key, content)}
        for role, value in inline.items():
            objects[layout.inline(tenant, job_id, role)] = value
        objects[layout.open_marker(tenant, job_id)] = b""
        try:
            self._blobs.put_all(objects)
        except AlreadyThere:
            raise
        except BaseException:
            self._discard(request)
            # A write that the store was slow to answer may arrive after what it wrote was removed.
            self._leave(request)
            raise

    def _first(self, request: Request) -> Record | None:
        """The accepted job with this idempotency key.

        Raises UsageError if its body was different.
        """
        if request.idempotency_key is None:
            return None
        first = self._records.first_with(request.tenant, request.idempotency_key)
        if first is None:
            return None
        job_id, body = first
        record = self._records.get(job_id)
        if record is not None and not record.ended:
            # There may be a record although the submission was refused.
            end = read_end(self._blobs, request.tenant, job_id)
            if end is not None:
                self._endings.settle(request.tenant, job_id, end)
                record = self._records.get(job_id)
        if record is not None and body != (request.body_sha256 or ""):
            raise UsageError(
                "This Idempotency-Key was used with another body; use a new key for a new request.",
                code="idempotency-mismatch",
            )
        return record

    def _made(self, request: Request) -> Record | None:
        """The record of a job whose making got no answer; None: none is there, or none is known."""
        with suppress(TransientError):
            return self._records.get(request.id)
        return None

    def _reject(self, request: Request, began: float) -> None:
        """Called if the record could not be made, or the answer was lost: the job must not run.

        Too late, a repeat of the request may have taken this submission for that of a dead process,
        and accepted the job: then it runs after all.
        """
        # The clock that the id was made by may have been put back since.
        age = max(age_s(made_at(request.id)), time.monotonic() - began)
        if request.idempotency_key is not None and age > REJECT_S:
            _log.warning("job %s was refused too late, and may run", request.id)
            return
        try:
            write_end(self._blobs, request.tenant, bare_end(request.id, "rejected"))
            self._blobs.delete(layout.open_marker(request.tenant, request.id))
            # A sweep removes what is stored of it; where Redis is away, the next rebuild.
            self._leave(request, noted=True)
        except TransientError as error:
            _log.error("job %s was refused but may still run: %s", request.id, error)

    def _discard(self, request: Request) -> None:
        """Remove what was stored; where the store refuses that too, a sweep does it later."""
        try:
            self._blobs.delete(layout.open_marker(request.tenant, request.id))
            self._blobs.delete_under(layout.job(request.tenant, request.id))
        except TransientError:
            self._leave(request)

    def _leave(self, request: Request, *, noted: bool = False) -> None:
        """Let a sweep remove what is stored of this submission. noted : also where Redis has no
        room to remember it."""
        with suppress(TransientError):
            try:
                self._records.leave(request.tenant, request.id)
            except StoreFull:
                if noted:
                    self._records.removals.note(request.tenant, request.id)


def _refusal(created: Created) -> UsageError | OverLimit:
    if created.excess is not None:
        return OverLimit(*created.excess)
    return UsageError(f"{created.first!r} is being removed: it has expired.", code="unknown-input")


def _queued(request: Request, version: int) -> Record:
    return Record(
        id=request.id,
        tenant=request.tenant,
        kind=request.kind,
        queue=request.queue,
        method=request.method,
        name=request.name,
        status="queued",
        attempt=0,
        progress=Advance(),
        inputs=request.inputs,
        params=request.params,
        preprocess=request.preprocess,
        then=request.then,
        support=request.support,
        name_by=request.name_by,
        tree=request.tree,
        result=None,
        warnings=(),
        error=None,
        created_at=request.created_at,
        started_at=None,
        finished_at=None,
        webhook=None if request.webhook is None else Webhook(url=request.webhook),
        expires_at=request.expires_at,
        trace=request.trace,
        description=request.description,
        tags=request.tags,
        submitted=request.annotation,
        retrying=request.retrying,
        retry_of=request.retry_of,
        version=version,
    )

"""From a POST to its job: submitted once per idempotency key, awaited, answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any, Literal

from anyio import to_thread
from fastapi import Depends, Request
from pydantic import BaseModel
from starlette.responses import Response

from app.creation.allowances import limits_of
from app.creation.job_schemas import JobBody
from app.http import waiting
from app.http.addresses import address
from app.http.dependencies import Caller, OnceDep, RequestId, Service, ServiceDep
from app.http.etags import answer
from app.http.idempotency import Once
from app.http.keyring import Access
from workers.errors import TransientError
from workers.model import Record, new_id, now
from workers.model import Request as JobRequest
from workers.telemetry import traces

REFUSALS = (
    "malformed",
    "unauthenticated",
    "forbidden",
    "invalid-dataset",
    "conflict",
    "too-large",
    "unsupported-format",
    "invalid-request",
    "unknown-method",
    "method-unavailable",
    "unknown-input",
    "wrong-input",
    "wrong-role",
    "wrong-shape",
    "unusable-input",
    "idempotency-mismatch",
    "quota-exceeded",
    "unavailable",
    "full",
)
"""The possible problems of a request for a fit, for the document."""

Headers = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Submission:
    """A POST that creates a job, and its sender."""

    request: Request
    service: Service
    caller: Access
    request_id: str
    once: Once

    @property
    def tenant(self) -> str:
        return self.caller.tenant


async def _submission(
    request: Request, service: ServiceDep, caller: Caller, request_id: RequestId, once: OnceDep
) -> Submission:
    return Submission(request, service, caller, request_id, once)


SubmissionDep = Annotated[Submission, Depends(_submission)]


@dataclass(frozen=True, slots=True)
class Draft:
    """The work of a job: fields of `workers.model.Request`, and its inline inputs by role."""

    fields: Mapping[str, Any]
    inline: Mapping[str, bytes]


Present = Callable[[Literal[201, 202], Record, Headers], Awaitable[Response]]
"""The response with a job that has ended (201) or continues (202), and with further headers."""


async def submitted(
    kind: Literal[
        "fit",
        "compare",
        "predict",
        "transform",
        "evaluate",
        "consensus",
        "calibrate",
        "drift",
        "map",
        "heatmap",
        "name",
        "attach",
        "import",
    ],
    submission: Submission,
    fingerprint: bytes,
    draft: Callable[[], Draft],
    present: Present,
    *,
    prefer: str | None = None,
    default_wait_s: float | None = None,
) -> Response:
    """The response to a POST that creates a job.

    The job is submitted once per idempotency key and awaited as long as `prefer` requests.
    fingerprint : everything in the request that determines what the job does.
    draft : checks the request and gives the work of the job; blocks, raises Refused.
    default_wait_s : how long the job is awaited without `prefer`; None: not at all.
    """
    service, once = submission.service, submission.once
    preferred_s = waiting.seconds(prefer, service.settings.max_wait_s)
    wait_s = default_wait_s if preferred_s is None else preferred_s
    job_id = new_id("job")
    caller, key_id = submission.caller, submission.caller.key_id

    def submit() -> Record:
        job = draft()
        with traces.span("submit", kind="producer", job_id=job_id, kind_of_job=kind) as step:
            request = JobRequest(
                id=job_id,
                tenant=submission.tenant,
                kind=kind,
                created_at=now(),
                request_id=submission.request_id,
                idempotency_key=once.scope,
                body_sha256=None if once.key is None else sha256(fingerprint).hexdigest(),
                key=key_id,
                key_running=None if caller.key is None else caller.key.limits.running,
                trace=traces.traceparent(),
                **job.fields,
            )
            step.note(method=request.method, inline_bytes=sum(map(len, job.inline.values())))
            return service.ledger.submit(request, job.inline, limits_of(service, caller))

    async def answered(record: Record) -> Response:
        if wait_s is None:
            return await present(202, record, {})
        try:
            # A job that is deleted meanwhile was accepted nevertheless.
            record = await waiting.until_ended(service, record, wait_s) or record
        except TransientError:
            # So was one that cannot be read because Redis became unavailable.
            return await present(202, record, {})
        headers = {} if preferred_s is None else waiting.applied(preferred_s)
        return await present(201 if record.ended else 202, record, headers)

    async def make() -> Response:
        record = await to_thread.run_sync(submit)
        if wait_s is not None:
            await once.made()
        return await answered(record)

    async def again(earlier_id: str) -> Response | None:
        record = await to_thread.run_sync(service.ledger.accepted, submission.tenant, earlier_id)
        return None if record is None else await answered(record)

    async def finish(earlier_id: str) -> Response | None:
        ledger = service.ledger
        record = await to_thread.run_sync(ledger.finish_submission, submission.tenant, earlier_id)
        return None if record is None else await answered(record)

    return await once.answer(job_id, fingerprint, make, again, finish)


def presented(
    submission: Submission, body: BaseModel, path: str, status: Literal[201, 202], headers: Headers
) -> Response:
    """The body with its address and, if it is not ready yet (202), when to ask again."""
    own = {"Location": address(submission.request, path)}
    if status == 202:
        own["Retry-After"] = str(submission.service.settings.retry_after_s)
    return answer(submission.request, body, status=status, headers={**own, **headers})


def presented_job(
    submission: Submission, status: Literal[201, 202], record: Record, headers: Headers
) -> Response:
    """The job itself."""
    return presented(submission, JobBody.of(record), f"/v1/jobs/{record.id}", status, headers)

"""Jobs: submit, list, poll, follow, cancel, remove."""

from __future__ import annotations

from collections.abc import AsyncIterable
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from app.creation.allowances import limits_of
from app.creation.annotations import mount_patch
from app.creation.creation import (
    OF_FIT,
    Draft,
    SubmissionDep,
    Work,
    mount_create,
    presented_job,
)
from app.creation.inputs import resolve
from app.creation.job_schemas import EXAMPLE, QUEUED_EXAMPLE, JobBody
from app.creation.lists import Filters, mount_list
from app.creation.named import OfTreeQuery, require_tree_id
from app.creation.step_schemas import MethodId
from app.creation.steps import check_shapes, expected_s, image_roles, queue_of
from app.http import threads
from app.http.aliased import removed_unnamed
from app.http.bodies import StrictRoute
from app.http.dependencies import Caller, JobId, OnceDep, Service, ServiceDep, Tenant, checked
from app.http.etags import IfMatch, answer, body_etag, require_match
from app.http.problems import not_found, responses
from app.http.queries import ONLY_KNOWN
from app.resources.jobs.events import server_sent
from app.resources.jobs.schemas import NewJob
from app.resources.jobs.steps import check_steps
from workers.kinds.fit import FitOptions
from workers.model import Record, Status
from workers.telemetry import traces

router = APIRouter(
    prefix="/v1/jobs", tags=["jobs"], route_class=StrictRoute, dependencies=ONLY_KNOWN
)

_ETAG = {"ETag": {"description": "ETag, which changes with the job.", "schema": {"type": "string"}}}
_LOCATION = {"Location": {"description": "Address of the job.", "schema": {"type": "string"}}}
_RETRY: dict[str, Any] = {
    "Retry-After": {
        "description": "Seconds to wait before asking again.",
        "schema": {"type": "integer"},
    }
}
_APPLIED: dict[str, Any] = {
    "Preference-Applied": {
        "description": "The wait that was applied.",
        "schema": {"type": "string"},
    }
}
RETRIED_EXAMPLE = "job_01kamjx5w0ahwbcuvh3mqsx4fb"
_JOB = {"application/json": {"example": EXAMPLE}}


@mount_create(
    router,
    "",
    "fit",
    operation_id="create_job",
    summary="Run a method",
    status_code=202,
    response_model=JobBody,
    ended={
        "description": "The job has ended within the wait that `Prefer` requests.",
        "model": JobBody,
        "content": _JOB,
    },
    waiting_example=QUEUED_EXAMPLE,
    refusals=OF_FIT,
    awaited=False,
)
async def create_job(body: NewJob, submission: SubmissionDep) -> Work:
    """One run of one method and, with `then`, of a second method on the logits of the first or
    on the rows that it transformed.

    An accepted job always ends: `succeeded`, `failed` or `cancelled`, whatever process dies.
    """

    return Work(lambda: _draft(submission.service, submission.tenant, body))


async def _of_jobs(
    status: Annotated[Status | None, Query(description="Only jobs with this status.")] = None,
    method: Annotated[MethodId | None, Query(description="Only jobs of this method.")] = None,
    reason: Annotated[
        str | None,
        Query(
            pattern=r"^[a-z-]{1,40}$",
            description="Only jobs that failed for this reason, the type of their problem.",
            examples=["worker-lost"],
        ),
    ] = None,
    kind: Annotated[
        str | None,
        Query(pattern=r"^[a-z-]{1,40}$", description="Only jobs of this kind, such as `fit`."),
    ] = None,
    tree: OfTreeQuery = None,
) -> Filters:
    require_tree_id(tree)
    return {"status": status, "method": method, "reason": reason, "kind": kind, "tree": tree}


mount_list(
    router,
    "",
    "job",
    JobBody,
    JobBody.of,
    EXAMPLE,
    lambda service: service.ledger.listing,
    description="One page of the caller's jobs.",
    only=_of_jobs,
)


@router.get(
    "/{job_id}",
    operation_id="get_job",
    summary="One job",
    response_model=JobBody,
    responses={
        200: {"headers": {**_ETAG, **_RETRY}, "content": _JOB},
        304: {"description": "Unchanged since the ETag in If-None-Match."},
        **responses("unauthenticated", "forbidden", "not-found", "unavailable"),
    },
)
async def get_job(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    job_id: JobId,
    if_none_match: Annotated[
        str | None, Header(description="The ETag of the version that the client has.")
    ] = None,
) -> Response:
    """The state of a job, with its result or its problem once it has ended."""
    record = await _find(service, tenant, job_id)
    headers = {} if record.ended else {"Retry-After": str(service.settings.retry_after_s)}
    return answer(request, JobBody.of(record), headers=headers)


async def _followed(service: ServiceDep, tenant: Tenant, job_id: JobId) -> Record:
    return await _find(service, tenant, job_id)


@router.get(
    "/{job_id}/events",
    operation_id="follow_job",
    summary="Follow a job",
    response_class=EventSourceResponse,
    responses={
        200: {
            "description": "Events `progress`, `log` and `done`, and `lost` where a resumed stream "
            "has a gap. `done` carries the whole job and ends the stream.",
            "content": {
                "text/event-stream": {
                    "schema": {},
                    "example": "event: progress\nid: 1-1\n"
                    'data: {"fraction": 0.4, "stage": "merging", "message": "", "eta_s": 1.5, '
                    '"status": "running"}\n\n',
                }
            },
        },
        **responses("unauthenticated", "forbidden", "not-found", "unavailable"),
    },
)
async def follow_job(
    service: ServiceDep,
    caller: Caller,
    record: Annotated[Record, Depends(_followed)],
    last_event_id: Annotated[
        str | None,
        Header(max_length=100, description="Resume after this event.", examples=["1-1"]),
    ] = None,
) -> AsyncIterable[ServerSentEvent]:
    """Server-sent events from the start of the job, or those after `Last-Event-ID`.

    The stream also ends, without `done`, a few seconds after its key was revoked or has expired.
    """

    def refused() -> bool:
        return service.ended(caller)

    followed = service.feeds.follow(caller.tenant, record.id, last_event_id, refused)
    async with aclosing(followed):
        async for event in followed:
            yield server_sent(event)


@router.post(
    "/{job_id}/cancel",
    operation_id="cancel_job",
    summary="Cancel a job",
    response_model=JobBody,
    responses={
        200: {"content": {"application/json": {"example": {**QUEUED_EXAMPLE,
                                                           "status": "cancelled"}}}},
        **responses(
            "unauthenticated",
            "forbidden",
            "not-found",
            "conflict",
            "precondition-failed",
            "idempotency-mismatch",
            "unavailable",
        ),
    },
)  # fmt: skip
async def cancel_job(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    job_id: JobId,
    once: OnceDep,
    if_match: IfMatch = None,
) -> Response:
    """A queued job is cancelled at once, a running one within seconds; an ended one stays."""

    async def make() -> Response:
        if if_match is not None:
            await _require_match(service, tenant, job_id, if_match)
        record = await threads.run_sync(service.ledger.cancel, tenant, job_id)
        if record is None:
            raise not_found("job", job_id)
        return answer(request, JobBody.of(record))

    async def again(_: str) -> Response | None:
        return await make()

    return await once.answer(job_id, b"", make, again)


@router.post(
    "/{job_id}/retry",
    operation_id="retry_job",
    summary="Try a failed job again",
    status_code=202,
    response_model=JobBody,
    responses={
        202: {
            "description": "The job that repeats it.",
            "headers": {**_LOCATION, **_RETRY},
            "content": {"application/json": {"example": {**QUEUED_EXAMPLE,
                                                           "retry_of": RETRIED_EXAMPLE}}},
        },
        **responses(
            "unauthenticated",
            "forbidden",
            "not-found",
            "conflict",
            "unknown-input",
            "idempotency-mismatch",
            "quota-exceeded",
            "unavailable",
            "full",
        ),
    },
)  # fmt: skip
async def retry_job(submission: SubmissionDep, job_id: JobId) -> Response:
    """A new job with the old one's inputs, parameters and policy, whose `retry_of` is the old one.
    However often this is requested within a day, there is one. The failed job stays.
    """
    service, caller = submission.service, submission.caller

    def repeated() -> Record:
        record = service.ledger.retry(
            submission.tenant,
            job_id,
            limits_of(service, caller),
            request_id=submission.request_id,
            key=caller.key_id,
            key_running=None if caller.key is None else caller.key.limits.running,
            trace=traces.traceparent(),
            tagged=caller.tagged,
        )
        if record is None:
            raise not_found("job", job_id)
        return record

    async def make() -> Response:
        return presented_job(submission, 202, await threads.run_sync(repeated), {})

    async def again(_: str) -> Response | None:
        return await make()

    return await submission.once.answer(job_id, b"", make, again)


@router.delete(
    "/{job_id}",
    operation_id="delete_job",
    summary="Remove a job",
    status_code=204,
    responses={
        204: {"description": "The job was removed."},
        **responses(
            "unauthenticated",
            "forbidden",
            "not-found",
            "conflict",
            "precondition-failed",
            "unavailable",
        ),
    },
)
async def delete_job(
    service: ServiceDep, tenant: Tenant, job_id: JobId, if_match: IfMatch = None
) -> Response:
    """Removes the job with its tree, model and files; a running job is cancelled first. 409 while
    an alias names its tree."""
    if if_match is not None:
        await _require_match(service, tenant, job_id, if_match)
    remove = service.ledger.delete
    if not await threads.run_sync(removed_unnamed, service.aliases, tenant, job_id, remove):
        raise not_found("job", job_id)
    return Response(status_code=204)


async def _require_match(service: Service, tenant: str, job_id: str, if_match: str) -> None:
    record = await _find(service, tenant, job_id)
    require_match(if_match, body_etag(JobBody.of(record)))


async def _find(service: Service, tenant: str, job_id: str) -> Record:
    record = await threads.run_sync(service.ledger.get, tenant, job_id)
    if record is None:
        raise not_found("job", job_id)
    return record


def _draft(service: Service, tenant: str, body: NewJob) -> Draft:
    """The job, after everything that can be checked now. Raises Refused and UsageError."""
    step, then = check_steps(body)
    images = frozenset() if body.preprocess else image_roles(step.method)
    inputs = resolve(service, tenant, body.inputs, images)
    preprocess = tuple(part.model_dump(mode="json") for part in body.preprocess)
    check_shapes(service, step.method, step.params, preprocess, inputs)
    steps = [step] if then is None else [step, then]
    cost_s = expected_s(steps, preprocess, inputs)
    if body.support is not None and cost_s is not None:
        cost_s *= 1 + body.support.replicates
    return Draft(
        FitOptions(),
        step.method,
        inputs.refs,
        inputs.inline,
        step.params,
        preprocess,
        then,
        None if body.support is None else body.support.model_dump(mode="json"),
        body.name_by,
        queue_of(*steps),
        cost_s=cost_s,
        name=inputs.called(*(each.method for each in steps)),
    )


def _look(service: Service, tenant: str, job_id: str) -> JobBody:
    record = service.ledger.get(tenant, job_id)
    if record is None:
        raise not_found("job", job_id)
    return JobBody.of(record)


mount_patch(
    router,
    "job",
    checked("job", "job"),
    JobBody,
    EXAMPLE,
    _look,
    more="A job may be changed in any state; its tree and model keep their names. The ETag of a "
    "job that runs changes with its progress.",
)

"""One way to make a thing: from a POST to its job, submitted once per idempotency key, awaited,
answered."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Annotated, Any, Literal, Protocol

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel
from starlette.responses import Response

from app.creation.allowances import limits_of
from app.creation.fields import NewWork
from app.creation.job_schemas import JobBody
from app.creation.named_schemas import NamedJobBody
from app.creation.sizes import size_of
from app.creation.steps import check_webhook
from app.creation.webhooks import callbacks
from app.http import problems, threads, waiting
from app.http.addresses import address
from app.http.dependencies import Caller, OnceDep, RequestId, Service, ServiceDep
from app.http.etags import answer
from app.http.idempotency import Once
from app.http.keyring import Access
from workers.errors import TransientError
from workers.kinds.kind import Options
from workers.kinds.registry import kind_of
from workers.model import MethodStep, Record, new_id, now
from workers.model import Request as JobRequest
from workers.telemetry import traces

OF_TREE = (
    "unauthenticated",
    "forbidden",
    "malformed",
    "not-found",
    "conflict",
    "too-large",
    "unsupported-format",
    "invalid-request",
    "unusable-input",
    "idempotency-mismatch",
    "quota-exceeded",
    "unavailable",
    "full",
)
"""The possible problems of work on a tree or model, for the document."""

OF_FIT = (
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

LOCATION = {"Location": {"description": "Its address.", "schema": {"type": "string"}}}
RETRY_AFTER = {
    "Retry-After": {
        "description": "Seconds after which to ask again.",
        "schema": {"type": "integer"},
    }
}
APPLIED = {
    "Preference-Applied": {
        "description": "The applied wait, if `Prefer` requested one.",
        "schema": {"type": "string"},
    }
}

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
    """The work of a job; fields as of `workers.model.Request`.

    options : of its kind. method : None for the name of the kind. inline : the inputs that are
    "inline" by role, as JSON. name, expires_at : where the request gives none. cost_s : the seconds
    that it is expected to take; None: unknown.
    """

    options: Options
    method: str | None = None
    inputs: Mapping[str, str | list[str]] = field(default_factory=dict)
    inline: Mapping[str, bytes | memoryview] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    preprocess: tuple[Mapping[str, Any], ...] = ()
    then: MethodStep | None = None
    support: Mapping[str, Any] | None = None
    name_by: str | None = None
    queue: Literal["cpu", "gpu"] = "cpu"
    name: str | None = None
    expires_at: str | None = None
    cost_s: float | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """What a request is for.

    draft : checks the request and describes the work; blocks, raises Refused. result : answers with
    what the job left, and with headers; None: the job or its resource is the answer. new : name,
    webhook and the like, None for those in the body. fingerprint : everything that determines what
    the job does; None: the body.
    """

    draft: Callable[[], Draft]
    result: Callable[[Record, Headers], Awaitable[Response]] | None = None
    new: NewWork | None = None
    fingerprint: bytes | None = None


class Resource(Protocol):
    """What has its own id and list."""

    @property
    def path(self) -> str: ...

    @property
    def body(self) -> type[NamedJobBody]: ...


Endpoint = Callable[..., Awaitable[Work]]
Present = Callable[[Literal[201, 202], Record, Headers], Awaitable[Response]]
"""The response with a job that has ended (201) or continues (202), and with further headers."""


def mount_create(
    router: APIRouter,
    path: str,
    kind_name: str,
    *,
    operation_id: str,
    summary: str,
    ended: Mapping[str, Any],
    waiting_example: Mapping[str, Any] | None = None,
    resource: Resource | None = None,
    status_code: int = 201,
    response_model: type[BaseModel] | None = None,
    refusals: tuple[str, ...] = OF_TREE,
    awaited: bool = True,
    default_wait_s: float | None = None,
    openapi_extra: dict[str, Any] | None = None,
) -> Callable[[Endpoint], Endpoint]:
    """A decorator: a POST whose endpoint gives the `Work`; all else is the same for all of them.

    The endpoint has a parameter `submission` and, unless its work has `new`, a `body` that is a
    `NewWork`; its docstring is the description.

    ended : the response when the work has ended in time, as documented. waiting_example : of the
    response when it has not. resource : what is made, if that has its own id and list; else
    the job is answered until there is a result. status_code, response_model : of the usual
    response. awaited : whether it is awaited without `Prefer`, for `default_wait_s` or by the
    settings, and a failure is answered by its problem and not by its state.
    """
    noun = kind_of(kind_name).noun
    headers = LOCATION if status_code != 200 else {}
    continuing: dict[str, Any] = {
        "model": JobBody if resource is None else resource.body,
        "description": f"The {noun} was accepted, or takes longer; "
        + ("follow the job." if resource is None else "ask for it again, or follow its job."),
        "headers": {**LOCATION, **RETRY_AFTER},
    }
    if waiting_example is not None:
        continuing["content"] = {"application/json": {"example": waiting_example}}
    done = {**ended, "headers": {**headers, **APPLIED, **ended.get("headers", {})}}
    documented: dict[int | str, dict[str, Any]] = {
        200 if status_code == 200 else 201: done,
        202: continuing,
        **problems.responses(*refusals),
    }

    def mounted(endpoint: Endpoint) -> Endpoint:
        async def create(**arguments: Any) -> Response:
            submission: Submission = arguments["submission"]
            prefer = arguments.pop("prefer")
            work = await endpoint(**arguments)
            wait_s = submission.service.settings.default_wait_s
            if default_wait_s is not None:
                wait_s = min(default_wait_s, submission.service.settings.max_wait_s)
            return await _submitted(
                kind_name,
                submission,
                work,
                work.new or arguments["body"],
                _present(submission, work, resource, awaited=awaited),
                prefer=prefer,
                default_wait_s=wait_s if awaited else None,
            )

        signature = inspect.signature(endpoint, eval_str=True)
        keyword = inspect.Parameter.KEYWORD_ONLY
        own = [each.replace(kind=keyword) for each in signature.parameters.values()]
        prefer = inspect.Parameter("prefer", keyword, default=None, annotation=waiting.Prefer)
        # FastAPI reads a route's parameters from here.
        vars(create)["__signature__"] = inspect.Signature([*own, prefer])
        create.__name__ = endpoint.__name__
        router.post(
            path,
            operation_id=operation_id,
            summary=summary,
            description=inspect.getdoc(endpoint),
            status_code=status_code,
            **(
                {"response_class": Response}
                if response_model is None
                else {"response_model": response_model}
            ),
            responses=documented,
            callbacks=callbacks(f"{operation_id.removeprefix('create_')}_ended"),
            openapi_extra=openapi_extra,
        )(create)
        return endpoint

    return mounted


def _present(
    submission: Submission, work: Work, resource: Resource | None, *, awaited: bool
) -> Present:
    async def present(status: Literal[201, 202], record: Record, headers: Headers) -> Response:
        if awaited and record.status == "failed" and record.error is not None:
            return problems.respond(submission.request_id, record.error)
        if work.result is not None:
            if record.status == "succeeded":
                response = await work.result(record, headers)
                # Also for a repeat of a request whose answer was lost: which job it was.
                place = address(submission.request, f"/v1/jobs/{record.id}")
                response.headers.setdefault("Location", place)
                return response
            return presented_job(submission, 202, record, headers)
        if resource is None:
            return presented_job(submission, status, record, headers)
        body = resource.body.of(record)
        return presented(submission, body, f"{resource.path}/{body.id}", status, headers)

    return present


async def _submitted(
    kind_name: str,
    submission: Submission,
    work: Work,
    new: NewWork,
    present: Present,
    *,
    prefer: str | None,
    default_wait_s: float | None,
) -> Response:
    """The response to a POST that creates a job.

    The job is submitted once per idempotency key and awaited as long as `prefer` requests.
    default_wait_s : how long the job is awaited without `prefer`; None: not at all.
    """
    service, once = submission.service, submission.once
    fingerprint = work.fingerprint
    if fingerprint is None:
        fingerprint = await submission.request.body()
    body_sha256 = None if once.key is None else sha256(fingerprint).hexdigest()
    preferred_s = waiting.seconds(prefer, service.settings.max_wait_s)
    wait_s = default_wait_s if preferred_s is None else preferred_s
    job_id = new_id("job")
    caller, key_id = submission.caller, submission.caller.key_id

    def submit() -> Record:
        check_webhook(service, new.webhook)
        draft = work.draft()
        size = size_of(service, submission.tenant, draft.options, draft.inputs, draft.inline)
        cost_s = kind_of(kind_name).seconds(draft.options, draft.params, size)
        with traces.span("submit", kind="producer", job_id=job_id, kind_of_job=kind_name) as step:
            request = JobRequest.model_validate(
                {
                    "id": job_id,
                    "tenant": submission.tenant,
                    "kind": kind_name,
                    "queue": draft.queue,
                    "method": draft.method or kind_name,
                    "inputs": draft.inputs,
                    "params": draft.params,
                    "preprocess": draft.preprocess,
                    "then": draft.then,
                    "support": draft.support,
                    "name_by": draft.name_by,
                    "options": draft.options.model_dump(mode="json", exclude_unset=True),
                    "name": new.name if draft.name is None else new.name or draft.name,
                    "description": new.description,
                    "tags": caller.tagged(new.tags),
                    "webhook": new.webhook,
                    "expires_at": new.expires_at or draft.expires_at,
                    "created_at": now(),
                    "request_id": submission.request_id,
                    "idempotency_key": once.scope,
                    "body_sha256": body_sha256,
                    "key": key_id,
                    "key_running": None if caller.key is None else caller.key.limits.running,
                    "trace": traces.traceparent(),
                    "cost_s": draft.cost_s if cost_s is None else cost_s,
                    "retrying": new.retrying,
                }
            )
            step.note(method=request.method, inline_bytes=sum(map(len, draft.inline.values())))
            return service.ledger.submit(request, draft.inline, limits_of(service, caller))

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
        record = await threads.run_sync(submit)
        if wait_s is not None:
            await once.made()
        return await answered(record)

    async def again(earlier_id: str) -> Response | None:
        record = await threads.run_sync(service.ledger.accepted, submission.tenant, earlier_id)
        return None if record is None else await answered(record)

    async def finish(earlier_id: str) -> Response | None:
        ledger = service.ledger
        record = await threads.run_sync(ledger.finish_submission, submission.tenant, earlier_id)
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

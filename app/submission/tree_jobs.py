"""Work on a tree that is answered at once where it can be: evaluations, predictions, imports.

Each is a job in the ledger like any other, so a large one outlives the request and is lost by no
crash. The request waits a little for its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal

from anyio import to_thread
from fastapi import Request
from starlette.responses import Response

from app.http import waiting
from app.http.dependencies import Service
from app.http.idempotency import Once
from app.http.problems import not_found, respond
from app.submission.jobs import accepted
from workers import model
from workers.errors import TransientError
from workers.model import Record

REFUSALS = (
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
    "unavailable",
    "full",
)
"""The problems that work on a tree may be answered with, for the document."""


def asked(
    kind: Literal["predict", "evaluate", "import"],
    made_id: str,
    tenant: str,
    request_id: str,
    *,
    once: Once,
    mark: bytes,
    method: str,
    inputs: Mapping[str, str | list[str]] | None = None,
    options: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> model.Request:
    """The job that does it. `mark` is what decides whether two requests with one key are equal."""
    return model.Request(
        id=made_id,
        tenant=tenant,
        kind=kind,
        method=method,
        inputs=dict(inputs or {}),
        options=dict(options or {}),
        name=name,
        created_at=model.now(),
        request_id=request_id,
        idempotency_key=once.scope,
        body_sha256=None if once.key is None else sha256(mark).hexdigest(),
    )


async def outcome(
    request: Request,
    service: Service,
    asked_for: model.Request,
    inline: Mapping[str, bytes],
    prefer: str | None,
) -> tuple[Record | None, Response | None, dict[str, str]]:
    """Submit, wait, and say how it went: the succeeded job, or else the answer to give.

    The answer is the job's own problem where it failed, 202 with the job where it goes on. The last
    part holds the headers of a `Prefer` that was obeyed, which a 202 carries itself.
    """
    wait = waiting.seconds(prefer, service.settings.max_wait_s)
    headers = waiting.applied(wait) if wait is not None else {}
    if wait is None:
        wait = service.settings.default_wait_s
    record = await to_thread.run_sync(service.ledger.submit, asked_for, inline)
    try:
        done = await waiting.until_ended(service, record, wait)
    except TransientError:
        # It was accepted: that Redis went away meanwhile does not change that.
        return None, accepted(request, record, service.settings.retry_after_s), {}
    return (*settled(request, service, done, headers), headers)


def settled(
    request: Request,
    service: Service,
    done: Record | None,
    headers: Mapping[str, str] | None = None,
) -> tuple[Record | None, Response | None]:
    """The succeeded job, or the answer to give instead."""
    if done is None:
        raise not_found("job", "of this request; it was deleted")
    if done.status == "succeeded":
        return done, None
    if done.status == "failed" and done.error is not None:
        request_id = request.scope["state"]["request_id"]
        return None, respond(request_id, done.error)
    return None, accepted(request, done, service.settings.retry_after_s, headers)

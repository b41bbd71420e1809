"""Work on a tree or model that is answered directly if possible: evaluations, predictions,
transformations, imports.

Each is a job in the ledger like any other, so a large one outlives the request and no crash loses
it. The request waits briefly for its end.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

from starlette.responses import Response

from app.creation.creation import Draft, Headers, Submission, presented_job, submitted
from app.http.problems import respond
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
    "quota-exceeded",
    "unavailable",
    "full",
)
"""The possible problems of work on a tree, for the document."""


async def result_of(
    kind: Literal["predict", "transform", "evaluate", "consensus", "import"],
    submission: Submission,
    fingerprint: bytes,
    draft: Callable[[], Draft],
    result: Callable[[Record, Headers], Awaitable[Response]],
    *,
    prefer: str | None,
    default_wait_s: float | None = None,
) -> Response:
    """The result of a job that is submitted as by `submitted`, if it succeeds in time.

    Otherwise the problem of a failed job, or 202 with a job that continues.
    result : gives the body for the succeeded job, and its headers.
    default_wait_s : None for that of the settings.
    """

    async def present(status: Literal[201, 202], record: Record, headers: Headers) -> Response:
        if record.status == "succeeded":
            return await result(record, headers)
        if record.status == "failed" and record.error is not None:
            return respond(submission.request_id, record.error)
        return presented_job(submission, 202, record, headers)

    if default_wait_s is None:
        default_wait_s = submission.service.settings.default_wait_s
    return await submitted(
        kind,
        submission,
        fingerprint,
        draft,
        present,
        prefer=prefer,
        default_wait_s=default_wait_s,
    )

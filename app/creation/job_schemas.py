"""Jobs over the wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import (
    ConfigDict,
    Field,
)

from app.creation.annotation_schemas import Description, Tags
from app.creation.result_schemas import ProblemDict, ResultDict
from app.creation.step_schemas import StepBody
from app.http.late import LateModel
from workers.jobs.public import public
from workers.kinds.registry import kinds
from workers.model import Record, Scope, Status

ID = "job_01kamjx5w0n5zr4v8cqe2t7h3f"
EXAMPLE: dict[str, Any] = {
    "id": ID,
    "kind": "fit",
    "method": "l2h",
    "name": "pets",
    "description": None,
    "tags": ["thesis"],
    "status": "succeeded",
    "attempt": 1,
    "progress": {"fraction": 1.0, "stage": "done", "message": "", "eta_s": 0.0},
    "inputs": {"logits": "ds_01kamjx5w0n5zr4v8cqe2t7h3f", "names": "inline"},
    "params": {"aggregation": "mean-sum"},
    "preprocess": [],
    "then": None,
    "support": None,
    "name_by": None,
    "result": {
        "tree": "tr_01kamjx5w0n5zr4v8cqe2t7h3f",
        "model": "md_01kamjx5w0n5zr4v8cqe2t7h3f",
        "metrics": {},
    },
    "warnings": [],
    "error": None,
    "retry": None,
    "given_up": [],
    "attempts": None,
    "backoff": None,
    "retry_on": None,
    "retry_of": None,
    "paused": None,
    "webhook": None,
    "expires_at": None,
    "created_at": "2026-11-21T17:00:00.000000Z",
    "started_at": "2026-11-21T17:00:00.008000Z",
    "finished_at": "2026-11-21T17:00:00.020000Z",
}
QUEUED_EXAMPLE: dict[str, Any] = {
    **EXAMPLE,
    "status": "queued",
    "attempt": 0,
    "progress": {"fraction": 0.0, "stage": "", "message": "", "eta_s": None},
    "result": None,
    "started_at": None,
    "finished_at": None,
}


class WebhookBody(LateModel):
    """The state of a job's webhook."""

    model_config = ConfigDict(title="Webhook")

    url: str
    status: Literal["waiting", "pending", "delivered", "failed"] = Field(
        description="`waiting` for the job's end; then `pending` until it is `delivered` or has "
        "`failed` for good."
    )
    attempts: int = Field(description="How many times it was sent.")
    next_at: str | None = Field(description="When it is sent next, as RFC 3339 in UTC.")
    reason: str | None = Field(description="Why it failed last time.")


class RetryBody(LateModel):
    """Why an attempt was given up."""

    model_config = ConfigDict(title="Retry")

    attempt: int = Field(description="The number of the attempt that was given up.")
    error: ProblemDict | None = Field(
        description="Why: a problem of the worker, its process or a store."
    )
    counted: bool = Field(description="Whether the attempt counts among those that a job has.")
    at: str = Field(description="When, as RFC 3339 in UTC.")


class PauseBody(LateModel):
    """What takes no jobs for now."""

    model_config = ConfigDict(title="Pause")

    scope: Scope = Field(description="What is paused: a lane, a tenant, a method or a worker.")
    name: str = Field(
        description="A lane `<queue>:<kind>`, such as `cpu:fit`, or all lanes of a queue, `cpu` or "
        "`gpu`; a tenant; the id of a method or a worker."
    )
    reason: str | None = Field(description="In the operator's words.")
    since: str = Field(description="As RFC 3339 in UTC.")


class AdvanceBody(LateModel):
    """The progress of a job."""

    model_config = ConfigDict(title="Progress")

    fraction: float = Field(description="Between 0 and 1.")
    stage: str
    message: str
    eta_s: float | None = Field(description="Estimated seconds left; null until known.")


class JobBody(LateModel):
    """A job: the request and its state."""

    model_config = ConfigDict(title="Job")

    id: str
    kind: str = Field(
        description=f"One of {', '.join(f'`{kind.name}`' for kind in kinds() if kind.listed)}; "
        "`import` in a webhook."
    )
    method: str
    name: str | None
    description: Description
    tags: Tags
    status: Status
    attempt: int = Field(description="How many times it was started.")
    progress: AdvanceBody
    inputs: dict[str, str | list[str]] = Field(description="For each role an id, or `inline`.")
    params: dict[str, Any] = Field(description="With defaults filled in.")
    preprocess: list[dict[str, Any]] = Field(description="With defaults filled in.")
    then: StepBody | None
    support: dict[str, Any] | None = Field(description="With defaults filled in.")
    name_by: str | None
    result: ResultDict | None = Field(description="Null until the job has succeeded.")
    warnings: list[str]
    error: ProblemDict | None = Field(description="The problem, if it failed.")
    retry: RetryBody | None = Field(description="Why it was last tried again; null if it was not.")
    given_up: list[RetryBody] = Field(
        description="The attempts that were given up, the oldest first; at most the last 20."
    )
    attempts: int | None = Field(description="As requested; null: as the service does.")
    backoff: float | None = Field(description="As requested.")
    retry_on: list[str] | None = Field(description="As requested.")
    retry_of: str | None = Field(description="The failed job that it repeats; null if none.")
    paused: PauseBody | None = Field(description="For what it waits while it is queued.")
    webhook: WebhookBody | None = Field(description="Null if none was requested.")
    expires_at: str | None = Field(
        description="When it is removed with its tree and model, as RFC 3339 in UTC; null if that "
        "was not requested."
    )
    created_at: str = Field(description="As RFC 3339 in UTC.")
    started_at: str | None
    finished_at: str | None

    @classmethod
    def of(cls, record: Record) -> JobBody:
        return cls.model_validate(public(record))

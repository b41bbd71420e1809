"""Jobs over the wire."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
)
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from app.schemas.annotations import Description, NewDescription, NewTags, Tags
from app.schemas.expiry import ExpiresAtField
from app.schemas.results import ProblemDict, ResultDict
from app.schemas.steps import MethodId, NewStep, Params, StepBody
from models.preprocess.steps import Step
from workers.child.support import Support
from workers.formats.inline import LongList
from workers.jobs.public import public
from workers.model import Record, Status
from workers.webhooks.addresses import LONGEST, parse


def _webhook_address(text: str) -> str:
    try:
        parse(text)
    except ValueError as error:
        raise PydanticCustomError("webhook_address", "{why}", {"why": str(error)}) from None
    return text


WebhookAddress = Annotated[
    str,
    AfterValidator(_webhook_address),
    WithJsonSchema({"type": "string", "format": "uri", "maxLength": LONGEST}),
]

Name = Annotated[
    str | None, Field(max_length=1000, description="Any text; stored, never interpreted.")
]
Role = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[a-z_]+$")]


def _id_or_list(value: object) -> object:
    if not isinstance(value, (str, list, LongList)):
        raise PydanticCustomError("input_type", "Input should be an id or a list")
    return value


def _input_or_none(value: object) -> object:
    return value if value is None else _id_or_list(value)


Given = Annotated[str | list[Any] | SkipJsonSchema[LongList], BeforeValidator(_id_or_list)]
"""An id or a list."""
MaybeGiven = Annotated[
    str | list[Any] | SkipJsonSchema[LongList] | None, BeforeValidator(_input_or_none)
]
Inputs = Annotated[
    dict[Role, Given],
    Field(
        max_length=100,
        description="For each role an id (`ds_...`, `tr_...`) or an inline list: of rows for a "
        "matrix, of values for labels and names, of ids if the method takes several inputs. A row "
        "of `labels` may be a list of several or none, or null where they are unknown; a "
        "`hierarchy` may be a list of class paths such as `animal/dog`, a `graph` of pairs of "
        "labels.",
        examples=[{"logits": "ds_01kamjx5w0n5zr4v8cqe2t7h3f"}],
    ),
]

ID = "job_01kamjx5w0n5zr4v8cqe2t7h3f"
NEW_EXAMPLE: dict[str, Any] = {
    "method": "l2h",
    "inputs": {
        "logits": [[4.0, 1.0, 0.0], [0.5, 3.0, 2.0], [0.0, 2.0, 3.5]],
        "names": ["rose", "cat", "dog"],
    },
    "params": {"aggregation": "mean-sum"},
    "name": "pets",
}
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


Webhook = Annotated[
    WebhookAddress | None,
    Field(
        description="An https:// or http:// address that receives a signed POST when the job has "
        "ended (see the callback): at least once, and again over three days until the answer is "
        "2xx. It has no user name, password or fragment; private addresses are refused unless the "
        "service allows them.",
        examples=["https://example.org/hooks/umbel"],
    ),
]


class NewJob(BaseModel):
    """One run of one method."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [NEW_EXAMPLE]})

    method: MethodId = Field(description="The id of a method in the catalogue.")
    inputs: Inputs
    params: Params = {}
    preprocess: list[Step] = Field(
        default=[],
        max_length=8,
        description="Steps that prepare the features, in order. They are kept with the model and "
        "applied to new rows.",
        examples=[[{"step": "standardize"}, {"step": "pca", "n": 50}]],
    )
    then: MethodId | NewStep | None = Field(
        None,
        description="A method to run on the logits that the first one gives, or on the rows that "
        "it transformed; the id alone means default parameters.",
    )
    support: Support | None = Field(
        None,
        description="Run the method repeatedly on resampled or disturbed inputs. The share of runs "
        "with the same cluster becomes the column `support` of the tree's nodes.",
        examples=[{"replicates": 100, "resample": "rows"}],
    )
    name_by: Literal["labels", "feature_names"] | None = Field(
        None,
        description="Name the tree's nodes by an additional input: `labels`, for the largest class "
        "with its share; `feature_names`, for the most distinctive terms. For documents these are "
        "their words, if `preprocess` begins with 'words' and keeps the columns.",
    )
    name: Name = None
    description: NewDescription = None
    tags: NewTags = []
    webhook: Webhook = None
    expires_at: ExpiresAtField = None


class WebhookBody(BaseModel):
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


class AdvanceBody(BaseModel):
    """The progress of a job."""

    model_config = ConfigDict(title="Progress")

    fraction: float = Field(description="Between 0 and 1.")
    stage: str
    message: str
    eta_s: float | None = Field(description="Estimated seconds left; null until known.")


class JobBody(BaseModel):
    """A job: the request and its state."""

    model_config = ConfigDict(title="Job")

    id: str
    kind: str = Field(
        description="`fit`, `predict`, `transform`, `evaluate`, `compare`, `consensus`, "
        "`calibrate`, `drift`, `map`, `heatmap`, `name` or `import`."
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


class EndedBody(BaseModel):
    """The body of a webhook's request."""

    model_config = ConfigDict(title="JobEnded")

    type: Literal["job.succeeded", "job.failed", "job.cancelled"]
    timestamp: str = Field(description="When the job ended, as RFC 3339 in UTC.")
    data: JobBody = Field(
        description="The job as `GET` showed it when it had ended; the same at every attempt."
    )


class LogBody(BaseModel):
    """The data of an event `log`."""

    model_config = ConfigDict(title="LogEvent")

    line: str
    status: Status


class EventBody(AdvanceBody):
    """The data of an event `progress`."""

    model_config = ConfigDict(title="ProgressEvent")

    status: Status

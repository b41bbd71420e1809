"""Jobs over the wire."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from models.preprocess.steps import Step
from workers.jobs import Record, Status
from workers.replicating import Support

Name = Annotated[
    str | None, Field(max_length=1000, description="Any text; stored, never interpreted.")
]
MethodId = Annotated[str, StringConstraints(min_length=1, max_length=100)]
Role = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[a-z_]+$")]
Params = Annotated[
    dict[str, Any],
    Field(description="As the method's schema in the catalogue says; what is left out has its "
          "default."),
]  # fmt: skip
Inputs = Annotated[
    dict[Role, str | list[Any]],
    Field(
        description="By role an id (`ds_...`, `tr_...`) or an inline list: of rows for a matrix, "
        "of values for labels and names; of ids where the method takes several.",
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


class StepBody(BaseModel):
    """A method with its params."""

    model_config = ConfigDict(title="Step", extra="forbid")

    method: MethodId
    params: Params = {}


class NewJob(BaseModel):
    """One run of one method."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [NEW_EXAMPLE]})

    method: MethodId = Field(description="A method of the catalogue.")
    inputs: Inputs
    params: Params = {}
    preprocess: list[Step] = Field(
        default=[],
        max_length=8,
        description="Steps that prepare the features, in order; kept with the model and applied to "
        "new rows.",
        examples=[[{"step": "standardize"}, {"step": "pca", "n": 50}]],
    )
    then: MethodId | StepBody | None = Field(
        None,
        description="A method to run on the logits that the first one gives; its id alone takes "
        "the defaults.",
    )
    support: Support | None = Field(
        None,
        description="Run the method again and again on resampled inputs; the share of runs with "
        "the same cluster becomes the column `support` of the tree's nodes.",
        examples=[{"replicates": 100, "resample": "rows"}],
    )
    name_by: Literal["labels", "feature_names"] | None = Field(
        None,
        description="Name the tree's nodes by an input given beside the method's own: `labels`, "
        "the largest class with its share; `feature_names`, the terms that tell most of them (of "
        "documents their words, where `preprocess` begins with 'words' and keeps the columns).",
    )
    name: Name = None


class AdvanceBody(BaseModel):
    """How far a job is."""

    model_config = ConfigDict(title="Progress")

    fraction: float = Field(description="0 to 1.")
    stage: str
    message: str
    eta_s: float | None = Field(description="Seconds that may be left; null until known.")


class JobBody(BaseModel):
    """A job: what was asked and where it stands."""

    model_config = ConfigDict(title="Job")

    id: str
    kind: str = Field(description="`fit`, `predict`, `evaluate`, `compare` or `import`.")
    method: str
    name: str | None
    status: Status
    attempt: int = Field(description="How often it was started.")
    progress: AdvanceBody
    inputs: dict[str, str | list[str]] = Field(description="By role an id, or `inline`.")
    params: dict[str, Any] = Field(description="With defaults filled in.")
    preprocess: list[dict[str, Any]] = Field(description="With defaults filled in.")
    then: StepBody | None
    support: dict[str, Any] | None = Field(description="With defaults filled in.")
    name_by: str | None
    result: dict[str, Any] | None = Field(
        description="`tree`, `model`, `metrics`; of other kinds `evaluation`, or `predictions`: "
        "where they lie. Null until it succeeded."
    )
    warnings: list[str]
    error: dict[str, Any] | None = Field(description="A problem, where it failed.")
    created_at: str = Field(description="RFC 3339, UTC.")
    started_at: str | None
    finished_at: str | None

    @classmethod
    def of(cls, record: Record) -> JobBody:
        shown = record.model_dump(include=_FIELDS)
        if record.kind == "predict" and record.result is not None:
            # A link takes the place of what the worker says of its file.
            shown["result"] = {
                **record.result,
                "predictions": f"/v1/jobs/{record.id}/predictions",
            }
        if record.kind == "evaluate" and "nodes" in (record.result or {}):
            shown["result"] = {**(record.result or {}), "nodes": f"/v1/jobs/{record.id}/nodes"}
        return cls.model_validate(shown)


_FIELDS = set(JobBody.model_fields)


class LogBody(BaseModel):
    """What an event `log` carries."""

    model_config = ConfigDict(title="LogEvent")

    line: str
    status: Status


class EventBody(AdvanceBody):
    """What an event `progress` carries."""

    model_config = ConfigDict(title="ProgressEvent")

    status: Status

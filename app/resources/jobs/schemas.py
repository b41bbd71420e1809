"""Requests for fits, and what is sent of jobs beside their state."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import (
    ConfigDict,
    Field,
)

from app.creation.expiry import ExpiresAtField
from app.creation.fields import Inputs, Name, NewWork
from app.creation.job_schemas import AdvanceBody
from app.creation.step_schemas import MethodId, NewStep, Params
from app.http.late import LateModel
from models.preprocess.steps import Step
from workers.model import Status
from workers.work.support import Support

NEW_EXAMPLE: dict[str, Any] = {
    "method": "l2h",
    "inputs": {
        "logits": [[4.0, 1.0, 0.0], [0.5, 3.0, 2.0], [0.0, 2.0, 3.5]],
        "names": ["rose", "cat", "dog"],
    },
    "params": {"aggregation": "mean-sum"},
    "name": "pets",
}


class NewJob(NewWork):
    """One run of one method."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [NEW_EXAMPLE]})

    method: MethodId = Field(description="The id of a method in the catalogue.")
    inputs: Inputs
    name: Name = Field(
        None,
        description="The name of the job, its tree and its model. By default that of the dataset "
        "and the method: `irises, hac`.",
    )
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
    expires_at: ExpiresAtField = None


class LogBody(LateModel):
    """The data of an event `log`."""

    model_config = ConfigDict(title="LogEvent")

    line: str
    status: Status


class EventBody(AdvanceBody):
    """The data of an event `progress`."""

    model_config = ConfigDict(title="ProgressEvent")

    status: Status

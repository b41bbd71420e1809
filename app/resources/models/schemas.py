"""Models over the wire."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from app.creation.annotation_schemas import Description, Tags
from app.creation.step_schemas import StepBody
from app.http.late import LateModel

EXAMPLE: dict[str, Any] = {
    "id": "md_01kamjx5w0n5zr4v8cqe2t7h3f",
    "job": "job_01kamjx5w0n5zr4v8cqe2t7h3f",
    "tree": "tr_01kamjx5w0n5zr4v8cqe2t7h3f",
    "name": "pets",
    "description": None,
    "tags": ["thesis"],
    "method": "kmeans",
    "params": {"n_clusters": 8, "seed": 0},
    "preprocess": [{"step": "standardize"}],
    "then": None,
    "inputs": ["features"],
    "stages": [{"method": "kmeans", "params": {"n_clusters": 8, "seed": 0}, "facts": {}}],
    "arrays": {"0.centers": {"dtype": "F64", "shape": [8, 2]}},
    "bytes": 2048,
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "created_at": "2026-11-21T17:00:00.020000Z",
}


class StageBody(LateModel):
    """One fitted step."""

    model_config = ConfigDict(title="Stage")

    method: str
    params: dict[str, Any]
    facts: dict[str, Any] = Field(description="What was fitted, apart from the arrays.")


class ArrayBody(LateModel):
    """One array of the file."""

    model_config = ConfigDict(title="ModelArray")

    dtype: str = Field(description="In the notation of safetensors.")
    shape: list[int]


class ModelBody(LateModel):
    """A fitted model: how it was fitted, and the inputs for placing new rows."""

    model_config = ConfigDict(title="Model", json_schema_extra={"examples": [EXAMPLE]})

    id: str
    job: str
    tree: str
    name: str | None
    description: Description
    tags: Tags
    method: str
    params: dict[str, Any]
    preprocess: list[dict[str, Any]] = Field(
        description="Steps that are applied to new features first."
    )
    then: StepBody | None
    inputs: list[str] = Field(description="The roles that predictions need.")
    stages: list[StageBody]
    arrays: dict[str, ArrayBody] = Field(
        description='By name in the file: "<stage>.<array>", "preprocess.<matrix>.<step>.<array>".'
    )
    bytes: int
    sha256: str
    created_at: str

"""Datasets over the wire."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from app.creation.annotation_schemas import Description, Tags
from app.creation.result_schemas import ProblemDict
from workers.artifacts.datasets import Dataset

Role = Literal[
    "logits",
    "features",
    "labels",
    "names",
    "documents",
    "tasks",
    "timestamps",
    "targets",
    "graph",
    "hierarchy",
    "must_link",
    "cannot_link",
    "items",
]

Name = Annotated[str | None, Query(max_length=1000, description="Any text.")]
Hint = Annotated[
    Role | None,
    Query(
        description="The intended use, as a hint. Labels with several or none a row, and "
        "pairs of labels or names, are read as such only with it; items need it."
    ),
]
Member = Annotated[
    str | None,
    Query(
        max_length=1000,
        description="The array to use from a file with several, the field, or the class of ARFF.",
    ),
]
NFeatures = Annotated[
    int | None,
    Query(
        ge=1,
        le=2**31 - 1,
        description="The number of features of a libsvm file; by default its largest index.",
    ),
]
"""What the query of an upload says about the dataset."""

EXAMPLE: dict[str, Any] = {
    "id": "ds_01kamjx5w0n5zr4v8cqe2t7h3f",
    "name": "train",
    "description": None,
    "tags": ["thesis"],
    "role": "logits",
    "status": "ready",
    "format": "npy",
    "member": None,
    "shape": [50000, 100],
    "dtype": "float32",
    "bytes": 20000128,
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "created_at": "2026-11-21T17:00:00.000000Z",
    "problem": None,
    "tree": None,
    "expires_at": None,
}


class DatasetBody(BaseModel):
    """An uploaded array or table."""

    model_config = ConfigDict(title="Dataset", from_attributes=True)

    id: str
    name: str | None = Field(description="The uploader's name for it; never interpreted.")
    description: Description
    tags: Tags
    role: str | None = Field(description="The intended use, as a hint.")
    status: Literal["ready", "inspecting", "invalid"] = Field(
        description="`inspecting` until a worker has opened it."
    )
    format: str
    member: str | None = Field(description="The array used from a file that holds several.")
    shape: list[int] | None = Field(description="Null until known.")
    dtype: str | None = Field(description="Null until known.")
    bytes: int = Field(description="Length of the uploaded content.")
    sha256: str = Field(description="SHA-256 of the uploaded content, in hexadecimal.")
    created_at: str = Field(description="As RFC 3339 in UTC.")
    problem: ProblemDict | None = Field(description="The problem that makes it invalid.")
    tree: str | None = Field(
        description="The tree whose rows these labels are of, if they were made from statements "
        "about it (`/v1/trees/{tree_id}/labels`)."
    )
    expires_at: str | None = Field(
        description="When it is removed, as RFC 3339 in UTC; null if that was not requested."
    )

    @classmethod
    def of(cls, dataset: Dataset) -> DatasetBody:
        return cls.model_validate(dataset)

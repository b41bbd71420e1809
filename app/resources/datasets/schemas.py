"""Datasets over the wire."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Depends, Query
from pydantic import ConfigDict, Field

from app.creation.annotation_schemas import Description, Tags
from app.creation.result_schemas import ProblemDict
from app.http.late import LateModel
from workers.artifacts.datasets import Dataset
from workers.formats.column_roles import Choice
from workers.formats.csv_dialect import Written

Role = Literal[
    "logits",
    "features",
    "labels",
    "names",
    "documents",
    "tasks",
    "timestamps",
    "targets",
    "sample_weight",
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

From = Annotated[
    str | None,
    Query(
        alias="from",
        max_length=64,
        description="A dataset whose file is read anew, in place of a body: with other columns, "
        "another role or member. Name, role, member and n_features are as its own where they are "
        "not given.",
    ),
]

_ColumnName = Annotated[str | None, Query(max_length=1000)]


async def _choice(
    columns: Annotated[
        tuple[Annotated[str, Field(max_length=1000)], ...],
        Query(
            max_length=100_000,
            description="The columns of a table that are its features or logits, by name, each as "
            "one parameter; by default the columns of numbers that are not an index, an id, labels "
            "or weights.",
        ),
    ] = (),
    id_column: Annotated[
        _ColumnName, Query(description="The column of a table that has the ids of the rows.")
    ] = None,
    label_column: Annotated[
        _ColumnName, Query(description="The column of a table that has the labels.")
    ] = None,
    text_column: Annotated[
        _ColumnName, Query(description="The column of a table that has the texts.")
    ] = None,
    weight_column: Annotated[
        _ColumnName, Query(description="The column of a table that has the weights of the rows.")
    ] = None,
    delimiter: Annotated[
        str | None,
        Query(
            pattern=r"^[\t,;|]$",
            description="What separates the cells of a CSV file: a comma, a semicolon, a bar "
            "or a tab; by default found in it.",
        ),
    ] = None,
    decimal: Annotated[
        str | None,
        Query(
            pattern="^[.,]$",
            description="The mark before decimals in a CSV file; by default found in it.",
        ),
    ] = None,
    thousands: Annotated[
        str | None,
        Query(
            pattern="^[,. ']$",
            description="The mark between groups of digits in a CSV file; by default found in it.",
        ),
    ] = None,
    header: Annotated[
        bool | None,
        Query(description="Whether the first line of a CSV file is its header; found in it."),
    ] = None,
) -> Choice:
    return Choice(
        features=columns,
        id=id_column,
        label=label_column,
        text=text_column,
        weight=weight_column,
        csv=Written.model_validate(
            {
                "delimiter": delimiter,
                "decimal": decimal,
                "thousands": thousands,
                "header": header,
            }
        ),
    )


ColumnChoice = Annotated[Choice, Depends(_choice)]
"""The columns that the query of an upload chooses."""

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
    "columns": None,
    "warnings": [],
    "tree": None,
    "expires_at": None,
}


class DatasetColumn(LateModel):
    """A column of a table."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    type: Literal["number", "integer", "boolean", "text", "date", "vector", "other"]
    role: Literal["feature", "id", "label", "text", "weight"] | None = Field(
        description="What it is used as; null: as nothing."
    )
    examples: list[str] = Field(description="Its first values as written, shortened.")


class DatasetBody(LateModel):
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
    columns: list[DatasetColumn] | None = Field(
        description="The columns of a table; null until known, and where they have no names. A "
        "dataset used as `features` or `logits` is its columns of the role `feature`; as `labels`, "
        "`names` or `documents` the column of the role `label`, `id` or `text`, unless `member` "
        "names another."
    )
    warnings: list[str] = Field(
        description="What was decided about the file, and what of it is not used."
    )
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

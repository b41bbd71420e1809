"""Transformations of rows as they go over the wire."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from app.creation.fields import Inputs, Name, NewWork
from models.parameters import Exact


class TransformationRequest(Exact, NewWork):
    """Rows for a model to transform."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        json_schema_extra={
            "examples": [{"inputs": {"features": [[0.2, 1.9], [3.1, 0.4]]}, "name": "new rows"}]
        },
    )

    inputs: Inputs
    name: Name = Field(
        None,
        description="A name for the new dataset; by default that of the rows' dataset, else of the "
        "model, and ', transformed'.",
    )

"""Predictions as they go over the wire."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class PredictionRequest(BaseModel):
    """New rows, in the inputs that the tree's method takes."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"examples": [{"inputs": {"logits": [[2.0, 0.5], [0.1, 1.9]]}}]},
    )

    inputs: dict[str, str | list[Any]] = Field(
        description="By role a dataset's id or a list of rows."
    )


class Prediction(BaseModel):
    """Where one row lies."""

    leaf: int
    path: list[int] = Field(description="Nodes from the root to the leaf.")
    probabilities: list[float] = Field(description="Of each node on the path.")
    value: float | int | str | None = Field(
        None, description="What the row's target is taken to be, by methods that learn targets."
    )
    value_probability: float | None = Field(None, description="Of that, where it is a class.")
    margin: float | None = Field(
        None, description="How far from the nearest split on its path, by `hmmc` and `mmc`."
    )
    log_likelihood: float | None = Field(
        None, description="Of the row, by mixtures on the unit sphere."
    )
    in_sample: float | None = Field(
        None,
        description="1 where the row is as likely as a share `level` of those that were fitted, or "
        "held out where some were; 0 where it is not.",
    )
    in_sample_rank: float | None = Field(
        None, description="Share of those rows that it is at least as likely as."
    )


class Predictions(BaseModel):
    """Where the rows lie, in the order given."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"items": [{"leaf": 17, "path": [0, 3, 17], "probabilities": [1.0, 0.9, 0.7]}]}
            ]
        }
    )

    items: list[Prediction]

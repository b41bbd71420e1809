"""Predictions as they go over the wire."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class PredictionRequest(BaseModel):
    """New rows, as the inputs that the tree's method takes."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"examples": [{"inputs": {"logits": [[2.0, 0.5], [0.1, 1.9]]}}]},
    )

    inputs: dict[str, str | list[Any]] = Field(
        description="For each role a dataset's id or a list of rows."
    )


class Prediction(BaseModel):
    """The place of one row in the tree."""

    leaf: int
    path: list[int] = Field(description="The nodes from the root to the leaf.")
    probabilities: list[float] = Field(description="The probability of each node on the path.")
    value: float | int | str | None = Field(
        None, description="The predicted target, for methods that learn targets."
    )
    value_probability: float | None = Field(
        None, description="Probability of the predicted target, if it is a class."
    )
    margin: float | None = Field(
        None, description="Distance from the nearest split on its path, for `hmmc` and `mmc`."
    )
    log_likelihood: float | None = Field(
        None, description="Log-likelihood of the row, for mixtures on the unit sphere."
    )
    in_sample: float | None = Field(
        None,
        description="1 if the row is as likely as a share `level` of the rows that were fitted, or "
        "of those held out if any were; else 0.",
    )
    in_sample_rank: float | None = Field(
        None, description="The share of those rows that are at most as likely as this one."
    )


class Predictions(BaseModel):
    """The places of the rows, in the given order."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"items": [{"leaf": 17, "path": [0, 3, 17], "probabilities": [1.0, 0.9, 0.7]}]}
            ]
        }
    )

    items: list[Prediction]

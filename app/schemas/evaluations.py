"""Evaluations as they go over the wire."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator


class CutBody(BaseModel):
    """Which flat clusters to look at: one of the three."""

    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra={"examples": [{"k": 10}]}
    )

    k: int | None = Field(None, ge=1, description="So many clusters.")
    height: float | None = Field(None, description="Nodes no higher than this.")
    level: int | None = Field(None, ge=0, description="Nodes so many edges below the root.")

    @model_validator(mode="after")
    def _one(self) -> CutBody:
        if sum(value is not None for value in (self.k, self.height, self.level)) != 1:
            raise ValueError("give exactly one of k, height and level")
        return self


class EvaluationRequest(BaseModel):
    """What to measure a tree against."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [
                {
                    "labels": ["rose", "rose", "tulip"],
                    "metrics": ["dendrogram_purity", "nmi"],
                    "cut": {"k": 2},
                }
            ]
        },
    )

    labels: str | list[Any] | None = Field(
        None, description="True class of every input row: a dataset's id or a list."
    )
    features: str | list[Any] | None = Field(
        None, description="The rows' features, for the metrics that need distances."
    )
    distances: str | list[Any] | None = Field(None, description="Pairwise distances of the rows.")
    similarity: str | list[Any] | None = Field(
        None, description="Pairwise similarities of the rows."
    )
    hierarchy: str | None = Field(None, description="Id of a ground-truth tree.")
    metrics: list[str] | None = Field(
        None, description="Which metrics; all that the given inputs allow where left out."
    )
    cut: CutBody | None = None
    seed: int = Field(0, ge=0, le=2**32 - 1, description="Seed of metrics that sample.")


class Evaluation(BaseModel):
    """What was measured."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "metrics": {"dendrogram_purity": 0.98, "nmi": 0.91},
                    "standard_errors": {},
                    "cut": {"k": 2, "n_clusters": 2},
                    "warnings": [],
                }
            ]
        }
    )

    metrics: dict[str, float | None]
    standard_errors: dict[str, float] = Field(
        description="Of metrics that were estimated from a sample."
    )
    cut: dict[str, Any] | None = Field(description="The cut that flat metrics looked at.")
    warnings: list[str]

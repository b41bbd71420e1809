"""How a model stretches features, as it goes over the wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from app.http.late import LateModel
from app.http.picture_queries import PictureQuery


class StretchesQuery(PictureQuery):
    """Which features, and how they are drawn."""

    by: Literal["stretch", "reach"] = Field(
        "stretch", description="What features are ranked by, and what pictures show."
    )
    limit: int = Field(
        20, ge=1, le=10_000, description="The most features; pictures show at most 60."
    )


class StretchedFeature(LateModel):
    """A feature under the transformation."""

    rank: int = Field(description="From 1.")
    feature: str | int = Field(description="The feature's name, or its number if it has none.")
    column: int = Field(description="Its number, counted from 0.")
    stretch: float = Field(
        description="How far a transformed row moves when the feature grows by 1: the length of "
        "the feature's row of the projection."
    )
    spread: float = Field(
        description="Standard deviation of the feature among the rows that were fitted."
    )
    reach: float = Field(
        description="Stretch times spread: how far a transformed row moves by a usual difference. "
        "It does not depend on the feature's unit."
    )


EXAMPLE: dict[str, Any] = {
    "model": "md_01kamjx5w0n5zr4v8cqe2t7h3f",
    "method": "tcs",
    "by": "stretch",
    "n_features": 4,
    "n_components": 2,
    "items": [
        {
            "rank": 1,
            "feature": "petal length",
            "column": 2,
            "stretch": 2.5,
            "spread": 1.75,
            "reach": 4.375,
        }
    ],
}


class StretchesBody(LateModel):
    """The features that a model's transformation stretches most."""

    model_config = ConfigDict(title="FeatureStretches", json_schema_extra={"examples": [EXAMPLE]})

    model: str
    method: str
    by: Literal["stretch", "reach"]
    n_features: int = Field(description="After the steps of preprocessing.")
    n_components: int = Field(description="Columns of transformed rows.")
    items: list[StretchedFeature]

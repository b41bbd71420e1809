"""Bodies of the features that tell the children of nodes apart."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from app.http.late import LateModel


class NodeFeature(LateModel):
    """A number that a method reports for a feature at a node."""

    node: int
    name: str | None = Field(description="The node's name.")
    column: str = Field(description="The node's field that holds it.")
    rank: int = Field(description="Rank of the feature in that field, from 1.")
    feature: str | int = Field(description="The feature's name, or its number if it has none.")
    quantity: str = Field(
        description="The meaning of the value: `weight`, `penalty`, `probability`, `difference`."
    )
    child: int | None = Field(description="The child that the feature draws points to, if any.")
    value: float


class FeaturesBody(LateModel):
    """The features of all nodes."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "items": [
                        {
                            "node": 0,
                            "name": None,
                            "column": "split_features",
                            "rank": 1,
                            "feature": "petal length",
                            "quantity": "weight",
                            "child": 1,
                            "value": 0.25,
                        }
                    ]
                }
            ]
        }
    )

    items: list[NodeFeature]

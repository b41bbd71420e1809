"""Steps of a learned tree over the wire."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from app.http.late import LateModel

EXAMPLE: dict[str, Any] = {
    "items": [
        {"number": 0, "step": 0, "cost": 0.31, "n_nodes": 21, "n_leaves": 14},
        {"number": 1, "step": 400, "cost": 0.24, "n_nodes": 23, "n_leaves": 15},
    ]
}


class TreeStepBody(LateModel):
    """One state of a tree that was learned by steps."""

    number: int = Field(description="Its place in the list; the last one is the tree itself.")
    step: int = Field(description="The steps that led to it.")
    cost: float = Field(
        description="The cost of the tree by which the method compares states; lower is better."
    )
    n_nodes: int
    n_leaves: int


class TreeStepsBody(LateModel):
    """The states of a tree, the earliest first."""

    model_config = ConfigDict(title="TreeSteps", json_schema_extra={"examples": [EXAMPLE]})

    items: list[TreeStepBody] = Field(description="Empty where its fit kept none.")

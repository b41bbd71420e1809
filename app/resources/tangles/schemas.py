"""Bodies of two trees side by side."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from app.http.picture_queries import SizedPictureQuery
from app.resources.trees.views.schemas import ViewNode
from models.tree.tangle import Rotate


class TangleQuery(SizedPictureQuery):
    """The other tree, and how both are laid out and drawn."""

    other: str = Field(max_length=200, description="The other tree.", examples=["tr_" + "0" * 26])
    max_nodes: int = Field(200, ge=3, le=1000, description="The most nodes to return of each tree.")
    rotate: Rotate = Field(
        "both",
        description="The trees whose siblings are turned: both, only the other one, or none.",
    )


class TangleBody(BaseModel):
    """Two trees side by side."""

    model_config = ConfigDict(
        title="Tangle",
        json_schema_extra={
            "examples": [
                {
                    "other": "tr_" + "0" * 26,
                    "n_points": 1200,
                    "matched_by": "row",
                    "max_nodes": 200,
                    "entanglement": 0.0,
                    "entanglement_before": 1.0,
                    "crossings": 0,
                    "links_left_out": 0,
                    "points_left_out": 0,
                    "left": [],
                    "right": [],
                    "links": [[1, 2, 480], [2, 1, 720]],
                }
            ]
        },
    )

    other: str
    n_points: int
    matched_by: Literal["row", "name"] = Field(
        description="`name` if the rows of both trees are single leaves with the same names."
    )
    max_nodes: int
    entanglement: float = Field(description="From 0 (the same order of rows) to 1 (the reverse).")
    entanglement_before: float = Field(description="Entanglement before any siblings were turned.")
    crossings: int = Field(description="Pairs of links that cross.")
    links_left_out: int = Field(description="Number of links beyond the 20,000 largest.")
    points_left_out: int = Field(description="Rows of the links left out.")
    left: list[ViewNode]
    right: list[ViewNode]
    links: list[tuple[int, int, int]] = Field(
        description="A visible end of the left tree, one of the right tree, and how many rows they "
        "share. Ends are leaves, folded nodes, or a root with children that did not fit."
    )

"""Maps of the points of a tree over the wire."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import ConfigDict, Field, field_validator

from app.creation.expiry import ExpiresAtField
from app.creation.fields import Given, NewWork
from app.creation.named_schemas import EXAMPLE as SHARED
from app.creation.named_schemas import NamedJobBody
from app.http.late import LateModel
from app.http.picture_queries import EditionOf, SizedPictureQuery
from models.arrays import Float
from models.maps.options import By, MapTerms, Metric
from workers.model import Record

EXAMPLE: dict[str, Any] = {
    **SHARED,
    "id": "map_01kamjx5w0n5zr4v8cqe2t7h3f",
    "job": "job_01kamjx5w0n5zr4v8cqe2t7h3f",
    "by": "umap",
    "tree": "tr_01kamjx5w0ahwbcuvh3mqsx4fb",
    "result": {
        "by": "umap",
        "metric": "euclidean",
        "n_neighbors": 15,
        "min_dist": 0.1,
        "perplexity": None,
        "n_components": 50,
        "seed": 0,
        "n_points": 1200,
        "n_columns": 64,
        "explained": None,
        "neighbors_kept": 0.47,
    },
    "warnings": [],
}
POSITIONS_EXAMPLE: dict[str, Any] = {
    "items": [{"row": 0, "x": 1.25, "y": -0.5}, {"row": 1, "x": 0.75, "y": 2.0}]
}
SELECTION_EXAMPLE: dict[str, Any] = {
    "n_points": 460,
    "items": [
        {
            "node": 17,
            "name": "rose",
            "size": 480,
            "path": [0, 3, 17],
            "n_both": 451,
            "purity": 0.9396,
            "recall": 0.9804,
            "f1": 0.9596,
            "jaccard": 0.9223,
        }
    ],
}
PLACE_EXAMPLE: dict[str, Any] = {
    "place": 812, "row": 90, "leaf": 17, "name": "rose", "path": [0, 3, 17]
}  # fmt: skip

MOST_CORNERS = 1000


class MapRequest(MapTerms, NewWork):
    """Which map of the points is made, and of what."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        json_schema_extra={"examples": [{"by": "umap", "n_neighbors": 30}]},
    )

    inputs: Annotated[dict[Literal["features"], Given], Field(max_length=1)] = Field(
        default_factory=dict,
        description="`features`, a row for each point of the tree, used as they are. Without them "
        "the map is of the features, documents or logits of the job that made the tree, prepared "
        "as there.",
    )
    expires_at: ExpiresAtField = None


class MapResult(LateModel):
    """What a map shows. Terms that it does not have are null."""

    by: By
    metric: Metric | None = None
    n_neighbors: int | None = None
    min_dist: float | None = None
    perplexity: float | None = None
    n_components: int | None = None
    seed: int
    n_points: int
    n_columns: int = Field(description="The width of what was mapped, after preprocessing.")
    explained: float | None = Field(
        description="For `pca`: the share of the variance in the plane. For `disc`: the share of "
        "the squared distances to the centre; 1 for a ball of two dimensions."
    )
    neighbors_kept: float | None = Field(
        description="The share of a point's 10 nearest on the map that are as near as its 10 "
        "nearest by what was mapped, over 256 points. Null where there is one point, or the map is "
        "what was mapped."
    )


class MapBody(NamedJobBody):
    """The state of a map, and what it shows once it has succeeded."""

    model_config = ConfigDict(title="Map", json_schema_extra={"examples": [EXAMPLE]})
    by: By
    tree: str | None = Field(description="Null until it has succeeded.")
    result: MapResult | None = Field(description="Null until it has succeeded.")
    warnings: list[str]

    @classmethod
    def left(cls, record: Record) -> dict[str, Any]:
        result = record.result or {}
        return {
            "by": record.params["by"],
            "tree": result.get("tree"),
            "result": result.get("map"),
            "warnings": record.warnings,
        }


class PositionsQuery(SizedPictureQuery):
    """The order of the points, and how they are drawn."""

    of_pictures: ClassVar = frozenset({"color_by", "window"})

    color_by: str | None = Field(
        None,
        max_length=200,
        description="Pictures: the colours of points, as `color_by` of a tree's own pictures.",
        examples=["cluster:8"],
    )
    window: str | None = Field(
        None,
        max_length=200,
        description="Pictures: only points within `x,y,x,y`, two opposite corners.",
        examples=["-1,-1,1,1"],
    )
    order: Literal["rows", "leaves"] = Field(
        "rows",
        description="`leaves`: from left to right in the tree, within a leaf by row, so that the "
        "points under a node are `size` in a row, from its `points_before` on.",
    )
    edition: EditionOf = None

    @field_validator("window")
    @classmethod
    def _two_corners(cls, text: str | None) -> str | None:
        if text is not None:
            corners = _numbers(text)
            if corners.size != 4 or corners[0] == corners[2] or corners[1] == corners[3]:
                raise ValueError("a window is x,y,x,y, two opposite corners")
        return text

    def corners(self) -> Float | None:
        """(2, 2) the lowest and the highest corner of the window; None: all points."""
        if self.window is None:
            return None
        return np.sort(_numbers(self.window).reshape(2, 2), axis=0)


def _numbers(text: str) -> Float:
    """The finite numbers in a text. Raises ValueError."""
    try:
        values = np.array(text.split(","), dtype=np.float64)
    except ValueError:
        raise ValueError("corners are numbers, x,y,x,y,...") from None
    if not np.isfinite(values).all() or np.abs(values).max() > 1e30:
        raise ValueError("corners are finite numbers, at most 1e30")
    return values


class PositionBody(LateModel):
    """Where a point lies."""

    model_config = ConfigDict(title="Position")

    row: int
    id: str | None = Field(None, description="The row's id, where its table has ids.")
    x: float
    y: float


class PositionsBody(LateModel):
    """Where the points lie."""

    model_config = ConfigDict(
        title="Positions", json_schema_extra={"examples": [POSITIONS_EXAMPLE]}
    )

    items: list[PositionBody]


class SelectionQuery(LateModel):
    """An outline on the map."""

    model_config = ConfigDict(extra="ignore")

    outline: str = Field(
        description="The corners of a closed outline, `x,y,x,y,...`: at least 3, at most 1,000. "
        "Where it crosses itself the even-odd rule decides what is within.",
        examples=["0,0,1,0,1,1"],
    )
    limit: int = Field(5, ge=1, le=100, description="The most nodes to return.")

    @field_validator("outline")
    @classmethod
    def _corners(cls, text: str) -> str:
        values = _numbers(text)
        n_corners = values.size / 2
        if values.size % 2 or not 3 <= n_corners <= MOST_CORNERS:
            raise ValueError(
                f"there are {values.size} numbers; an outline has two for each corner, and 3 to "
                f"{MOST_CORNERS:,} corners"
            )
        return text

    def corners(self) -> Float:
        """(n_corners, 2)."""
        return np.array(self.outline.split(","), dtype=np.float64).reshape(-1, 2)


class FittingNode(LateModel):
    """A node as an answer to an outline."""

    node: int
    name: str | None
    size: int
    path: list[int] = Field(description="From the root to the node itself.")
    n_both: int = Field(description="Points of the outline that are under the node.")
    purity: float = Field(description="Their share of the points under the node.")
    recall: float = Field(description="Their share of the points of the outline.")
    f1: float = Field(description="The harmonic mean of both; the best node has the largest.")
    jaccard: float = Field(description="Their share of the points of either.")


class SelectionBody(LateModel):
    """The points within an outline, and the nodes of all the tree that fit them best."""

    model_config = ConfigDict(
        title="Selection", json_schema_extra={"examples": [SELECTION_EXAMPLE]}
    )

    n_points: int
    items: list[FittingNode] = Field(description="The best first; none for no point.")


class PlaceBody(LateModel):
    """A point of a tree."""

    model_config = ConfigDict(title="Place", json_schema_extra={"examples": [PLACE_EXAMPLE]})

    place: int = Field(description="Its number from left to right in the tree, from 0.")
    row: int = Field(description="Its row of the input.")
    id: str | None = Field(None, description="The row's id, where its table has ids.")
    leaf: int = Field(description="The leaf that holds it.")
    name: str | None = Field(description="The leaf's name.")
    path: list[int] = Field(description="From the root to the leaf.")

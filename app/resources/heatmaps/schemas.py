"""Heatmaps of a tree over the wire."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from app.creation.expiry import ExpiresAtField
from app.creation.fields import CutBody, Given, NewWork
from app.creation.named_schemas import EXAMPLE as SHARED
from app.creation.named_schemas import NamedJobBody
from app.http.late import LateModel
from models.heatmaps.heatmap import HeatmapTerms, Metric, What
from workers.model import Record

EXAMPLE: dict[str, Any] = {
    **SHARED,
    "id": "hm_01kamjx5w0n5zr4v8cqe2t7h3f",
    "job": "job_01kamjx5w0n5zr4v8cqe2t7h3f",
    "what": "features",
    "cut": {"k": 12},
    "tree": "tr_01kamjx5w0ahwbcuvh3mqsx4fb",
    "result": {
        "what": "features",
        "statistic": "mean",
        "scale": "standard",
        "metric": None,
        "n_rows": 12,
        "n_columns": 64,
        "n_levels": 1,
        "tile": 256,
        "low": -2.5,
        "high": 4.25,
        "missing": None,
        "shown_low": -2.25,
        "shown_high": 2.25,
    },
    "warnings": [],
}
AXES_EXAMPLE: dict[str, Any] = {
    "rows": {"node": [3, 4], "size": [120, 90], "name": ["rose", None]},
    "columns": {
        "column": [1, 0],
        "name": ["petal length", "sepal width"],
        "mean": [3.76, 3.05],
        "deviation": [1.76, 0.43],
        "between": [0.94, 0.4],
        "merges": [[0, 1, 2.5]],
    },
}


class HeatmapRequest(HeatmapTerms, NewWork):
    """Which heatmap is made, and of what."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"examples": [{"what": "features", "cut": {"k": 12}}]},
    )

    cut: CutBody | None = Field(
        None,
        description="The rows are the clusters of this cut; without it the leaves, and of more "
        "than 10,000 the largest subtrees.",
    )
    inputs: Annotated[dict[Literal["features", "feature_names"], Given], Field(max_length=2)] = (
        Field(
            default_factory=dict,
            description="`features`, a row for each point of the tree, used as they are, and names "
            "of their columns, `feature_names`. Without `features` the heatmap is of the features, "
            "documents or logits of the job that made the tree, prepared as there.",
        )
    )
    expires_at: ExpiresAtField = None


class HeatmapResult(LateModel):
    """What a heatmap shows. Terms that it does not have are null."""

    what: What
    statistic: Literal["mean", "median"] | None = None
    scale: Literal["standard", "none"] | None = None
    metric: Metric | None = None
    n_rows: int
    n_columns: int
    n_levels: int = Field(
        description="Levels of detail. At level 0 one tile has all; at the last one each cell is "
        "one value."
    )
    tile: int = Field(description="The most rows and columns of cells in a tile.")
    low: float = Field(description="No value is lower.")
    high: float = Field(description="No value is higher.")
    missing: int | None = Field(
        None,
        description="The cell of a tile that has no value; null where each has one.",
    )
    shown_low: float = Field(description="99 % of the values are higher: the first colour.")
    shown_high: float = Field(description="99 % of the values are lower: the last colour.")


class HeatmapBody(NamedJobBody):
    """The state of a heatmap, and what it shows once it has succeeded."""

    model_config = ConfigDict(title="Heatmap", json_schema_extra={"examples": [EXAMPLE]})
    what: What
    cut: CutBody | None = Field(description="As requested.")
    tree: str | None = Field(description="Null until it has succeeded.")
    result: HeatmapResult | None = Field(description="Null until it has succeeded.")
    warnings: list[str]

    @classmethod
    def left(cls, record: Record) -> dict[str, Any]:
        result = record.result or {}
        return {
            "what": record.params["what"],
            "cut": record.params["cut"],
            "tree": result.get("tree"),
            "result": result.get("heatmap"),
            "warnings": record.warnings,
        }


class HeatmapRows(LateModel):
    """The rows from left to right in the tree, a value for each."""

    node: list[int]
    size: list[int] = Field(description="Points under the node.")
    name: list[str | None]
    id: list[str | None] | None = Field(
        None,
        description="The id of the input row where a node is one point; null where it has several. "
        "Left out where the table of the fit has no ids.",
    )


class HeatmapColumns(LateModel):
    """The columns in their order, a value for each."""

    column: list[int] = Field(description="Its number in the features, from 0.")
    name: list[str]
    mean: list[float] = Field(description="Over all points.")
    deviation: list[float] = Field(description="The standard deviation over all points.")
    between: list[float] = Field(
        description="The share of its variance that lies between the largest subtrees, or between "
        "the rows where they are no more than 20."
    )
    merges: list[tuple[float, float, float]] = Field(
        description="The tree over the columns (average linkage of Euclidean distances): what is "
        "joined, by its place or the number of columns plus that of an earlier merge, and at which "
        "distance."
    )


class AxesBody(LateModel):
    """What the rows and columns of a heatmap are."""

    model_config = ConfigDict(title="Axes", json_schema_extra={"examples": [AXES_EXAMPLE]})

    rows: HeatmapRows
    columns: HeatmapColumns | None = Field(description="Null where they are the rows.")

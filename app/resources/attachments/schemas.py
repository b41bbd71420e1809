"""Items attached to a tree, over the wire."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, Json

from app.creation.expiry import ExpiresAtField
from app.creation.fields import NewWork
from app.creation.named_schemas import EXAMPLE as SHARED
from app.creation.named_schemas import NamedJobBody
from app.http.late import LateModel
from models.inputs.items import Kind
from models.items import rankings
from models.items.conditions import MOST_CONDITIONS, Condition
from models.items.placement import Per
from models.items.rankings import Basis, By, Order
from workers.model import Record

_ID = "at_01kamjx5w0n5zr4v8cqe2t7h3f"
EXAMPLE: dict[str, Any] = {
    **SHARED,
    "id": _ID,
    "job": "job_01kamjx5w0n5zr4v8cqe2t7h3f",
    "tree": "tr_01kamjx5w0ahwbcuvh3mqsx4fb",
    "result": {
        "per": "row",
        "n_items": 1200,
        "n_columns": 3,
        "basis": "features",
        "kept": None,
    },
    "warnings": [],
}
COLUMN_EXAMPLE: dict[str, Any] = {
    "column": 1,
    "name": "weight",
    "kind": "number",
    "n": 1199,
    "n_missing": 1,
    "of_nodes": True,
    "n_not_finite": 0,
    "mean": 2.5,
    "quantiles": [0.5, 1.5, 2.5, 3.5, 4.5],
}
EXAMPLES_EXAMPLE: dict[str, Any] = {
    "node": 17,
    "by": "central",
    "basis": "features",
    "n_items": 480,
    "n_compared": 480,
    "items": [
        {
            "item": 90,
            "leaf": 21,
            "score": 0.125,
            "values": {"group": "plant", "weight": 2.75},
        }
    ],
}
OUTLIERS_EXAMPLE: dict[str, Any] = {
    "items": [{"item": 90, "leaf": 21, "name": None, "distance": 4.5, "doubt": 1.25, "nearest": 18}]
}
VALUES_EXAMPLE: dict[str, Any] = {"items": [{"node": 0, "value": 0, "share": 0.75}]}
MATCHES_EXAMPLE: dict[str, Any] = {"items": [{"node": 0, "n": 1200, "n_matches": 37}]}


class AttachmentRequest(NewWork):
    """The items of a tree's rows, or of its leaves."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"examples": [{"items": "ds_01kamjx5w0n5zr4v8cqe2t7h3f"}]},
    )

    items: str | None = Field(
        None,
        max_length=200,
        description="A dataset that was uploaded with the role `items`: a row for each row of the "
        "tree, or for each of its leaves in the order of their ids. Null: the rows of the tree "
        "stand for themselves, in a column `point` and, where the fit saw up to 100,000 images, a "
        "column `image`.",
    )
    expires_at: ExpiresAtField = None


class AttachmentResult(LateModel):
    """What was attached."""

    per: Per = Field(description="Whether an item is a row of the tree or a leaf.")
    n_items: int
    n_columns: int
    basis: Basis | None = Field(
        description="What items of a node are ordered by: the `features` or the `logits` of the "
        "tree's fit. Null where there are none; examples are then at random alone."
    )
    kept: float | None = Field(
        description="The share of the features' variance in the principal components that stand "
        "for them; null where the features themselves do."
    )


class AttachmentBody(NamedJobBody):
    """The state of an attachment, and what it holds once it has succeeded."""

    model_config = ConfigDict(title="Attachment", json_schema_extra={"examples": [EXAMPLE]})
    tree: str | None = Field(description="Null until it has succeeded.")
    result: AttachmentResult | None = Field(description="Null until it has succeeded.")
    warnings: list[str]

    @classmethod
    def left(cls, record: Record) -> dict[str, Any]:
        result = record.result or {}
        return {
            "tree": result.get("tree"),
            "result": result.get("attachment"),
            "warnings": record.warnings,
        }


class CategoryBody(LateModel):
    """A category of a column."""

    model_config = ConfigDict(title="ItemCategory")

    text: str
    count: int = Field(description="Items of this category.")


class ColumnBody(LateModel):
    """A column of items. Members that its kind does not have are left out."""

    model_config = ConfigDict(title="ItemColumn")

    column: int = Field(description="Its number, from 0.")
    name: str
    kind: Kind
    n: int = Field(description="Items with a value.")
    n_missing: int
    of_nodes: bool = Field(description="Whether there are values of nodes.")
    n_not_finite: int | None = Field(
        default=None, description="Numbers only: NaN and infinite ones, which are missing."
    )
    mean: float | None = None
    quantiles: list[float] | None = Field(
        default=None, description="Numbers only: the least, the quartiles, the largest."
    )
    first: str | None = Field(default=None, description="Dates only: the earliest.")
    last: str | None = Field(default=None, description="Dates only: the latest.")
    n_categories: int | None = None
    categories: list[CategoryBody] | None = Field(
        default=None,
        description="The most frequent 1,000; a value of a node is an index here.",
    )
    formats: dict[str, int] | None = Field(
        default=None, description="Images only: the number of each media type."
    )


class NodeValueBody(LateModel):
    """A column at a node."""

    model_config = ConfigDict(title="ItemNodeValue")

    node: int
    value: float | None = Field(
        description="Over the items under the node: the mean of numbers, of dates in seconds since "
        "1970, or the number of the most frequent category, the lowest of equals."
    )
    share: float | None = Field(
        default=None,
        description="Categories only: its share of the items under the node that have one.",
    )


class NodeValuesBody(LateModel):
    """A column at every node."""

    model_config = ConfigDict(
        title="ItemNodeValues", json_schema_extra={"examples": [VALUES_EXAMPLE]}
    )

    items: list[NodeValueBody]


_Number = Annotated[int, Field(ge=0, le=255)]
_COLUMN = "The number of the column."
_Text = Annotated[str, Field(max_length=1000)]
_Equals = Annotated[list[_Text], Field(max_length=100)]
_Contains = Annotated[
    str | None,
    Field(min_length=1, max_length=1000, description="A part of a text, in any case."),
]
_End = Annotated[str, Field(max_length=60)]
_AnyEnd = _End | Annotated[float, Field(strict=True, allow_inf_nan=False)] | None
_LOW = "The least number, or the first date, that matches."
_HIGH = "The largest number, or the last date, that matches."


class ItemConditionBody(LateModel):
    """A condition on one column."""

    model_config = ConfigDict(
        title="ItemCondition",
        extra="forbid",
        json_schema_extra={"examples": [{"column": 2, "low": 1, "high": 5}]},
    )

    column: Annotated[_Number, Field(strict=True, description=_COLUMN, examples=[0])]
    equals: Annotated[_Equals, Field(description="Categories or texts, one of which it is.")] = []
    contains: _Contains = None
    low: Annotated[_AnyEnd, Field(description=_LOW)] = None
    high: Annotated[_AnyEnd, Field(description=_HIGH)] = None

    @property
    def condition(self) -> Condition:
        low, high = (None if end is None else str(end) for end in (self.low, self.high))
        return Condition(self.equals, self.contains, low, high)


class ConditionQuery(LateModel):
    """Conditions, all of which an item must meet."""

    model_config = ConfigDict(extra="ignore")

    column: Annotated[_Number | None, Field(description=_COLUMN, examples=[0])] = None
    equals: Annotated[
        _Equals, Field(description="A category or a text; may be given several times.")
    ] = []
    contains: _Contains = None
    low: Annotated[_End | None, Field(description=_LOW)] = None
    high: Annotated[_End | None, Field(description=_HIGH)] = None
    where: Annotated[
        list[Json[ItemConditionBody]],
        Field(
            max_length=MOST_CONDITIONS,
            description="A further condition, as JSON with `column` and what the column takes: "
            '`{"column": 2, "low": 1, "high": 5}`. May be given several times; with `column` and '
            f"without, up to {MOST_CONDITIONS} conditions are combined, all of which must hold.",
        ),
    ] = []

    @property
    def condition(self) -> Condition:
        """That on `column`."""
        return Condition(self.equals, self.contains, self.low, self.high)


class MatchBody(LateModel):
    """The items under a node that match."""

    model_config = ConfigDict(title="ItemMatches")

    node: int
    n: int = Field(description="Items under the node.")
    n_matches: int


class MatchesBody(LateModel):
    """The matches under every node."""

    model_config = ConfigDict(
        title="ItemMatchesOfNodes", json_schema_extra={"examples": [MATCHES_EXAMPLE]}
    )

    items: list[MatchBody]


class ExamplesQuery(LateModel):
    """Which items of a node."""

    model_config = ConfigDict(extra="ignore")

    by: By = Field(
        "central",
        description="`central`: the nearest to the mean of the items under the node or, with "
        "logits, those with the largest margin between the best class and the second; `unsure`: "
        "the farthest, or those with the smallest margin; `random`.",
    )
    n: int = Field(12, ge=1, le=50, description="The most items.")
    seed: int = Field(0, ge=0, le=2**31 - 1, description="For `random`.")


class OutliersQuery(LateModel):
    """Which items of a node, in which order."""

    model_config = ConfigDict(extra="ignore")

    by: Order = Field(
        "far",
        description="`far`: the largest distance to the mean of the node's items first; `near`: "
        "the least; `doubt`: the most doubtful first. With logits there is doubt alone.",
    )
    n: int = Field(100, ge=1, le=rankings.MOST_COMPARED, description="The most items.")


class OutlierBody(LateModel):
    """How an item stands in a node; with the values of its columns, but for images."""

    model_config = ConfigDict(title="ItemOutlier", extra="allow")

    item: int = Field(description="Its row in the table of items.")
    id: str | None = Field(
        None, description="The row's id, where items are rows and the table of the fit has ids."
    )
    leaf: int = Field(description="The leaf that it is, or that it lies in.")
    name: str | None = Field(description="The name of that leaf.")
    distance: float | None = Field(
        description="To the mean of the node's items in the features of the fit; null with logits."
    )
    doubt: float | None = Field(
        description="The distance divided by that to the nearest mean of the node's siblings: "
        "above 1 it is nearer to another. With logits 1 less the margin, from 0 to 1. Null for a "
        "node without siblings."
    )
    nearest: int | None = Field(description="That sibling; null with logits.")


class OutliersBody(LateModel):
    """The items of a node as they stand in it."""

    model_config = ConfigDict(
        title="ItemOutliers", json_schema_extra={"examples": [OUTLIERS_EXAMPLE]}
    )

    items: list[OutlierBody]


class ItemImageBody(LateModel):
    """An image of an item."""

    model_config = ConfigDict(title="ItemImage")

    image: str = Field(description="The address of the image.")


ItemValues = Annotated[
    dict[str, float | str | ItemImageBody | None],
    Field(
        description="The values by the names of their columns: numbers, dates as RFC 3339 in UTC, "
        "texts of at most 1,000 characters, and where to get images; null where one is missing."
    ),
]


class ItemBody(LateModel):
    """One item."""

    model_config = ConfigDict(
        title="Item",
        json_schema_extra={
            "examples": [{"item": 90, "leaf": 21, "values": {"group": "plant", "weight": 2.75}}]
        },
    )

    item: int = Field(description="Its row in the table of items.")
    id: str | None = Field(
        None, description="The row's id, where items are rows and the table of the fit has ids."
    )
    leaf: int = Field(description="The leaf that it is, or that it lies in.")
    values: ItemValues


class ExampleBody(ItemBody):
    """An item as an example."""

    model_config = ConfigDict(
        title="ItemExample", json_schema_extra={"examples": EXAMPLES_EXAMPLE["items"]}
    )

    score: float | None = Field(
        description="The distance to the mean, or the margin from 0 to 1; null at random."
    )


class ExamplesBody(LateModel):
    """Examples of a node, in their order."""

    model_config = ConfigDict(
        title="ItemExamples", json_schema_extra={"examples": [EXAMPLES_EXAMPLE]}
    )

    node: int
    by: By
    basis: Basis | None = Field(description="What the order is by; null at random.")
    n_items: int = Field(description="Items under the node.")
    n_compared: int = Field(
        description="Items that were compared: of many so many, evenly spaced from left to right."
    )
    items: list[ExampleBody]

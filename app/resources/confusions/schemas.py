"""Confusions of classes."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from app.http.late import LateModel
from app.http.picture_queries import PictureQuery


class ConfusionsQuery(PictureQuery):
    """Whose classes, how many pairs are listed, and how the matrix is drawn."""

    labels: str | None = Field(
        None,
        max_length=200,
        description="A dataset of labels (npy, JSON or CSV), the class of each input row: the name "
        "of a leaf, its path of names, or the number of the class.",
    )
    root: int = Field(0, ge=0, le=2**31 - 1, description="Only classes under this node.")
    limit: int = Field(
        100, ge=1, le=10_000, description="JSON: how many of the largest pairs and nodes."
    )


class ConfusedPair(LateModel):
    """A class that is taken for another."""

    node: int = Field(description="The leaf of the class.")
    name: str | None
    taken_for: int = Field(description="The leaf of the other class.")
    taken_for_name: str | None
    mass: float = Field(description="Rows, or the sum of probabilities.")
    share: float | None = Field(
        description="The share of all rows of the class: the mean of a row."
    )
    cost: float = Field(
        description="Half the sum of this share and that of the opposite pair: how alike the two "
        "classes are."
    )
    meet: int = Field(description="The lowest node over both.")
    height: float = Field(description="The height of `meet`.")


class ConfusedNode(LateModel):
    """How much of the confusion is between the children of a node."""

    node: int
    name: str | None
    mass: float
    share: float | None = Field(description="The share of all rows.")


class ConfusedClass(LateModel):
    """A class with rows, or that rows are taken for."""

    node: int
    name: str | None
    n_rows: float
    right: float | None = Field(description="The share of its rows, or of its probability, on it.")


class ConfusionsBody(LateModel):
    """Which classes are taken for which."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "source": "labels",
                    "n_rows": 200.0,
                    "right": 0.95,
                    "n_pairs": 2,
                    "rest": 0.0,
                    "pairs": [
                        {
                            "node": 3,
                            "name": "Danish",
                            "taken_for": 4,
                            "taken_for_name": "Norwegian",
                            "mass": 7.0,
                            "share": 0.07,
                            "cost": 0.05,
                            "meet": 1,
                            "height": 2.0,
                        }
                    ],
                    "nodes": [{"node": 1, "name": None, "mass": 10.0, "share": 0.05}],
                    "classes": [{"node": 3, "name": "Danish", "n_rows": 100.0, "right": 0.93}],
                    "warnings": [],
                }
            ]
        }
    )

    source: Literal["labels", "logits"] = Field(
        description="`labels`: rows are counted; `logits`: probabilities are added up."
    )
    n_rows: float = Field(description="Rows with a class.")
    right: float | None = Field(description="The share of all mass that classes give themselves.")
    n_pairs: int = Field(description="All pairs, of which the largest are listed.")
    rest: float = Field(
        description="Mass of pairs that are not known one by one, in the whole tree."
    )
    pairs: list[ConfusedPair]
    nodes: list[ConfusedNode]
    classes: list[ConfusedClass] = Field(description="In the order of the tree.")
    warnings: list[str]

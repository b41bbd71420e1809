"""Flows between the clusters of several levels."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import ConfigDict, Field, model_validator

from app.http.late import LateModel
from app.http.picture_queries import PictureQuery

MOST_LEVELS = 16
_NUMBERS = r"^[1-9][0-9]{0,9}(,[1-9][0-9]{0,9})*$"


class FlowsQuery(PictureQuery):
    """Which levels, and how they are written and drawn."""

    levels: str | None = Field(
        None,
        pattern=_NUMBERS,
        max_length=400,
        description="Numbers of clusters such as `2,5,20`: a level for each cut of the tree. By "
        "default the levels of a tree of `clustree`.",
        examples=["2,5,20"],
    )
    other: str | None = Field(
        None, max_length=200, description="Another tree of the same rows, whose cuts follow."
    )
    other_levels: str | None = Field(
        None, pattern=_NUMBERS, max_length=400, description="The cuts of the other tree."
    )
    table: Literal["edges", "nodes"] = Field("edges", description="CSV: the rows.")

    @model_validator(mode="after")
    def _both_trees(self) -> Self:
        if (self.other is None) != (self.other_levels is None):
            raise ValueError("'other' and 'other_levels' go together")
        if self.other is not None and self.levels is None:
            raise ValueError("'other' needs 'levels', the cuts of this tree")
        for name in ("levels", "other_levels"):
            if len(self.numbers(name)) > MOST_LEVELS:
                raise ValueError(f"{name!r} has more than {MOST_LEVELS} numbers")
        return self

    def numbers(self, name: str = "levels") -> list[int]:
        """The numbers of clusters in a field; empty without any."""
        text: str | None = getattr(self, name)
        return [] if text is None else [int(number) for number in text.split(",")]


class FlowNode(LateModel):
    """A cluster of a level."""

    id: int = Field(description="Its node, in a tree of `clustree`; else its number here.")
    level: str
    cluster: str = Field(description="Its label.")
    size: int = Field(description="Its rows.")
    noise: bool = Field(description="Whether it is the bucket of rows without a label.")
    stability: float = Field(
        description="The index of SC3 as clustree has it, from 0: over the other levels, the mean "
        "share of the clusters met there that lies in this one, by their number."
    )
    parent: int | None = Field(
        description="The cluster of the level before that most of its rows come from."
    )


class FlowEdge(LateModel):
    """Rows that a cluster has in common with one of the next level."""

    source: int
    target: int
    rows: int
    in_proportion: float = Field(description="Their share of the target.")
    out_proportion: float = Field(description="Their share of the source.")
    core: bool = Field(description="Whether the source is the parent of the target.")


class FlowsBody(LateModel):
    """The clusters of several levels, and how rows flow from level to level."""

    model_config = ConfigDict(
        title="Flows",
        json_schema_extra={
            "examples": [
                {
                    "n_rows": 4,
                    "levels": ["K1", "K2"],
                    "nodes": [
                        {
                            "id": 0,
                            "level": "K1",
                            "cluster": "0",
                            "size": 4,
                            "noise": False,
                            "stability": 0.25,
                            "parent": None,
                        }
                    ],
                    "edges": [
                        {
                            "source": 0,
                            "target": 1,
                            "rows": 3,
                            "in_proportion": 1.0,
                            "out_proportion": 0.75,
                            "core": True,
                        }
                    ],
                    "warnings": [],
                }
            ]
        },
    )

    n_rows: int
    levels: list[str] = Field(description="The coarsest first.")
    nodes: list[FlowNode]
    edges: list[FlowEdge]
    warnings: list[str]

"""Bodies of two trees side by side, and of what moved between them."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from app.http.late import LateModel
from app.http.picture_queries import SizedPictureQuery
from app.resources.trees.views.schemas import ViewNode
from models.tree.moves import Match
from models.tree.tangle import Rotate


class TangleQuery(SizedPictureQuery):
    """The other tree, and how both are laid out and drawn."""

    other: str = Field(max_length=200, description="The other tree.", examples=["tr_" + "0" * 26])
    max_nodes: int = Field(200, ge=3, le=1000, description="The most nodes to return of each tree.")
    rotate: Rotate = Field(
        "both",
        description="The trees whose siblings are turned: both, only the other one, or none.",
    )

    match: Match = Field(
        "auto",
        description="What the trees have in common: `row`, the same rows of input; `name`, leaves "
        "of the same names, where at least three are. `auto`: names where the numbers of rows "
        "differ, or where the leaves of a tree are single rows and at least three have the same "
        "names; else rows.",
    )


class LeafGroup(LateModel):
    """A group of leaves: the node that holds it, and some of the other leaves in it."""

    node: int
    name: str | None
    n_names: int = Field(description="The shared leaves in it, without the one that moved.")
    names: list[str] = Field(description="The first three of these.")


class MovedLeaf(LateModel):
    """A leaf that is elsewhere in the other tree."""

    model_config = ConfigDict(populate_by_name=True)

    name: str
    left: int = Field(description="Its node in the left tree.")
    right: int
    share: float = Field(
        description="How far: the share of all compared leaves in the largest group that it left "
        "or joined."
    )
    from_: LeafGroup | None = Field(
        alias="from", description="The group that it left; null: it was in none."
    )
    to: LeafGroup | None = Field(description="The group that it joined; null: it is in none.")
    ends: tuple[int, int] = Field(description="The visible nodes, left and right, that hold it.")


class TangleBody(LateModel):
    """Two trees side by side."""

    model_config = ConfigDict(
        title="Tangle",
        json_schema_extra={
            "examples": [
                {
                    "other": "tr_" + "0" * 26,
                    "n_points": 1200,
                    "matched_by": "row",
                    "left_only": 0,
                    "right_only": 0,
                    "max_nodes": 200,
                    "entanglement": 0.0,
                    "entanglement_before": 1.0,
                    "crossings": 0,
                    "links_left_out": 0,
                    "points_left_out": 0,
                    "n_groups": 0,
                    "n_kept": 0,
                    "n_moved": 0,
                    "warnings": [],
                    "left": [],
                    "right": [],
                    "links": [[1, 2, 480], [2, 1, 720]],
                    "moved": [],
                }
            ]
        },
    )

    other: str
    n_points: int = Field(
        description="The rows compared; with `matched_by` `name`, the shared names."
    )
    matched_by: Literal["row", "name"] = Field(
        description="`name` if leaves of the same names are set beside each other."
    )
    left_only: int = Field(description="Leaves whose names only the left tree has.")
    right_only: int
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
    n_groups: int = Field(
        description="Groups of the left tree: the compared leaves under an inner node, at least "
        "three and at most half of all."
    )
    n_kept: int = Field(
        description="How many of these the right tree has too: with a Jaccard index of two thirds "
        "or more."
    )
    n_moved: int = Field(
        description="Leaves that left such a group though the right tree has it, or joined one."
    )
    moved: list[MovedLeaf] = Field(description="The 200 that moved farthest; as CSV all of them.")
    warnings: list[str] = Field(description="What was left out of the comparison.")

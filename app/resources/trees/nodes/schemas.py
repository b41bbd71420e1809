"""Bodies and queries of single nodes."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from app.http.late import LateModel
from app.http.picture_queries import EditionOf


class NodeBrief(LateModel):
    """A node in brief."""

    id: int
    name: str | None
    size: int
    height: float


class ChildBrief(NodeBrief):
    """A child in brief."""

    n_leaves: int


class LabelShare(LateModel):
    """One label under a node."""

    label: str
    count: int
    share: float


class NodeLabels(LateModel):
    """The labels under a node."""

    dataset: str
    per: Literal["row", "leaf"] = Field(
        description="Whether labels are per row or per leaf; `count` counts these."
    )
    n: int = Field(description="How many of them have a label.")
    n_labels: int = Field(description="Number of distinct labels.")
    purity: float | None = Field(
        description="Share of the most frequent label; null without labels."
    )
    entropy: float | None = Field(description="In nats; null without labels.")
    mix: list[LabelShare] = Field(description="The 20 most frequent labels.")


class NodePicture(LateModel):
    """Images that the model made of a node."""

    address: str = Field(description="Where the PNG is.")
    caption: str = Field(description="What the images are.")


class NodePictureQuery(LateModel):
    """How the images of a node are drawn."""

    model_config = ConfigDict(extra="ignore")

    px: int = Field(320, ge=16, le=2048, description="Width in pixels, at most.")


_ROOT_BRIEF: dict[str, Any] = {"id": 0, "name": None, "size": 1200, "height": 1.0}


class NodeBody(LateModel):
    """One node with everything known about it."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "id": 1,
                    "parent": 0,
                    "name": "rose",
                    "height": 0.0,
                    "size": 480,
                    "n_leaves": 1,
                    "points_before": 0,
                    "depth": 1,
                    "parent_node": _ROOT_BRIEF,
                    "ancestors": [_ROOT_BRIEF],
                    "child_nodes": [],
                    "labels": {
                        "dataset": "ds_" + "0" * 26,
                        "per": "row",
                        "n": 480,
                        "n_labels": 2,
                        "purity": 0.75,
                        "entropy": 0.5623,
                        "mix": [
                            {"label": "red", "count": 360, "share": 0.75},
                            {"label": "white", "count": 120, "share": 0.25},
                        ],
                    },
                    "picture": {
                        "address": f"/v1/trees/tr_{'0' * 26}/nodes/1/picture",
                        "caption": "the centre, decoded",
                    },
                    "path": [0, 1],
                    "children": [],
                }
            ]
        },
    )

    id: int
    parent: int | None
    name: str | None
    height: float
    size: int
    n_leaves: int
    points_before: int = Field(
        description="Points to the left of those under the node: its own are `size` places from "
        "here on."
    )
    depth: int
    parent_node: NodeBrief | None
    ancestors: list[NodeBrief] = Field(
        description="At most 200, from the root on: the root and the nearest ancestors."
    )
    child_nodes: list[ChildBrief] = Field(description="The largest children, at most 200.")
    labels: NodeLabels | None = Field(default=None, description="With the parameter `labels`.")
    picture: NodePicture | None = Field(
        default=None, description="Where the method draws nodes, and rows are images."
    )
    path: list[int] = Field(description="From the root to the node itself.")
    children: list[int]


class MembersQuery(LateModel):
    """The page of the points under a node."""

    model_config = ConfigDict(extra="ignore")

    limit: int = Field(100, ge=1, le=1000, description="The most points on a page.")
    cursor: str | None = Field(
        None, pattern=r"^[0-9]{1,10}$", description="`next_cursor` of the previous page."
    )
    labels: str | None = Field(
        None,
        max_length=200,
        description="A dataset of labels (npy, JSON or CSV), one per input row or per leaf.",
    )
    edition: EditionOf = None


class Member(LateModel):
    """A point under a node."""

    row: int = Field(description="The point's row in the input.")
    id: str | None = Field(None, description="The row's id, where its table has ids.")
    leaf: int = Field(description="The leaf that holds it.")
    name: str | None = Field(description="The leaf's name.")
    label: str | None = Field(default=None, description="With the parameter `labels`.")


class MembersBody(LateModel):
    """A page of the points under a node."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "total": 480,
                    "items": [{"row": 0, "leaf": 1, "name": "rose"}],
                    "next_cursor": "3",
                }
            ]
        }
    )

    total: int = Field(description="Number of points under the node.")
    items: list[Member]
    next_cursor: str | None

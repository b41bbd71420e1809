"""Looks at parts of trees as they go over the wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.schemas.parts import CutQuery
from app.schemas.trees import CutNode


class ViewNode(BaseModel):
    """One node laid out for drawing."""

    id: int
    parent: int | None
    x: float = Field(description="Position across, from 0 to 1.")
    y: float = Field(description="Position down, from 0 (root) to 1.")
    height: float
    size: int
    n_leaves: int
    folded: bool = Field(description="Whether some of its children are not shown.")
    hidden: int = Field(description="How many of its children are not shown.")
    name: str | None
    category: int | None = Field(
        default=None, description="With `color_by`: the node's category; null for none or several."
    )
    share: float | None = Field(
        default=None,
        description="The share of the leaves under the node that have the category: 1 except for "
        "folded nodes.",
    )


class Axis(BaseModel):
    """The heights at both ends of the vertical axis."""

    top: float = Field(description="The height at y = 0.")
    bottom: float = Field(description="The height at y = 1.")


class View(BaseModel):
    """A part of a tree, small enough to be drawn."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "root": 0,
                    "max_nodes": 500,
                    "scale": "height",
                    "axis": {"top": 1.0, "bottom": 0.0},
                    "color_by": "cluster:2",
                    "n_categories": 2,
                    "categories": ["rose", "cluster 2"],
                    "category_sizes": [480, 720],
                    "category_nodes": [1, 2],
                    "warnings": [],
                    "nodes": [
                        {
                            "id": 0,
                            "parent": None,
                            "x": 0.5,
                            "y": 0.0,
                            "height": 1.0,
                            "size": 1200,
                            "n_leaves": 2,
                            "folded": True,
                            "hidden": 2,
                            "name": None,
                            "category": 1,
                            "share": 0.5,
                        }
                    ],
                }
            ]
        }
    )

    root: int
    max_nodes: int
    scale: Literal["height", "sqrt", "rank", "depth", "level"] = Field(
        description="What `y` shows. Where all heights are equal it is `level`."
    )
    axis: Axis | None = Field(description="Null where `y` does not show the height.")
    color_by: str | None = Field(
        default=None, description="As requested; the next five fields are present with it."
    )
    n_categories: int | None = None
    categories: list[str] | None = Field(
        default=None,
        description="The texts of the first 1,000 categories; a node's category is an index here.",
    )
    category_sizes: list[int] | None = Field(
        default=None, description="Rows of each category; leaves if there is a label per leaf."
    )
    category_nodes: list[int] | None = Field(
        default=None, description="The node of each cluster; null for labels."
    )
    warnings: list[str] = []
    nodes: list[ViewNode]


class Hit(BaseModel):
    """A node whose name matches."""

    node: int
    name: str
    path: list[int] = Field(description="From the root to the node itself.")


class Hits(BaseModel):
    """Nodes whose names match, the best match first."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"items": [{"node": 1, "name": "rose", "path": [0, 1]}], "next_cursor": None}
            ]
        }
    )

    items: list[Hit]
    next_cursor: str | None


class LevelBody(BaseModel):
    """A meaningful cut."""

    model_config = ConfigDict(title="Level")

    k: int = Field(description="Number of clusters.")
    height: float | None = Field(description="A height that gives this cut; null if none does.")
    criterion: str = Field(description="`gap`, `silhouette`, `modularity` or `support`.")
    score: float = Field(description="The criterion's value at this cut.")
    curve: list[tuple[int, float]] = Field(description="The criterion for each number of clusters.")


class Levels(BaseModel):
    """Cuts, from coarse to fine."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "levels": [
                        {
                            "k": 7,
                            "height": 12.5,
                            "criterion": "gap",
                            "score": 0.8,
                            "curve": [[2, 0.1], [7, 0.8]],
                        }
                    ]
                }
            ]
        }
    )

    levels: list[LevelBody]


class NodeBrief(BaseModel):
    """A node in brief."""

    id: int
    name: str | None
    size: int
    height: float


class ChildBrief(NodeBrief):
    """A child in brief."""

    n_leaves: int


class LabelShare(BaseModel):
    """One label under a node."""

    label: str
    count: int
    share: float


class NodeLabels(BaseModel):
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


_ROOT_BRIEF: dict[str, Any] = {"id": 0, "name": None, "size": 1200, "height": 1.0}


class NodeBody(BaseModel):
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
    depth: int
    parent_node: NodeBrief | None
    ancestors: list[NodeBrief] = Field(
        description="At most 200, from the root on: the root and the nearest ancestors."
    )
    child_nodes: list[ChildBrief] = Field(description="The largest children, at most 200.")
    labels: NodeLabels | None = Field(default=None, description="With the parameter `labels`.")
    path: list[int] = Field(description="From the root to the node itself.")
    children: list[int]


class MembersQuery(BaseModel):
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


class Member(BaseModel):
    """A point under a node."""

    row: int = Field(description="The point's row in the input.")
    leaf: int = Field(description="The leaf that holds it.")
    name: str | None = Field(description="The leaf's name.")
    label: str | None = Field(default=None, description="With the parameter `labels`.")


class MembersBody(BaseModel):
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


class NodeFeature(BaseModel):
    """A number that a method reports for a feature at a node."""

    node: int
    name: str | None = Field(description="The node's name.")
    column: str = Field(description="The node's field that holds it.")
    rank: int = Field(description="Rank of the feature in that field, from 1.")
    feature: str | int = Field(description="The feature's name, or its number if it has none.")
    quantity: str = Field(
        description="The meaning of the value: `weight`, `penalty` or `probability`."
    )
    child: int | None = Field(description="The child that the feature draws points to, if any.")
    value: float


class FeaturesBody(BaseModel):
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


class ClustersQuery(CutQuery):
    """The clusters, and how many of them to return."""

    limit: int = Field(
        200, ge=0, le=10_000, description="How many of the largest clusters to return."
    )


class Between(BaseModel):
    """A range of heights that give the same cut."""

    low: float | None = Field(alias="from", description="The lowest height; null for no bound.")
    below: float | None = Field(description="All heights are below this one; null for no bound.")


class ClusterBody(CutNode):
    """One cluster of a cut."""

    category: int = Field(description="The cluster's number from left to right, as in `color_by`.")


class ClustersBody(BaseModel):
    """The clusters of a cut without their rows."""

    model_config = ConfigDict(
        title="Clusters",
        json_schema_extra={
            "examples": [
                {
                    "cut": {"k": 2},
                    "n_clusters": 2,
                    "heights": {"from": 0.0, "below": 1.0},
                    "smallest": 480,
                    "median": 600.0,
                    "largest": 720,
                    "warnings": [],
                    "clusters": [
                        {"id": 1, "node": 2, "size": 720, "name": "tulip", "category": 1},
                        {"id": 0, "node": 1, "size": 480, "name": "rose", "category": 0},
                    ],
                }
            ]
        },
    )

    cut: dict[str, float | int] = Field(description="The cut as requested; empty for the leaves.")
    n_clusters: int
    heights: Between | None = Field(
        description="The heights that give this cut; null if none does."
    )
    smallest: int = Field(description="Rows in the smallest cluster.")
    median: float
    largest: int
    warnings: list[str]
    clusters: list[ClusterBody] = Field(description="The largest clusters, by descending size.")


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

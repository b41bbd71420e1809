"""Bodies of views, searches and suggested levels of a tree."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from app.http.late import LateModel
from app.resources.trees.schemas import CutNode


class ViewNode(LateModel):
    """One node laid out for drawing."""

    id: int
    parent: int | None
    x: float = Field(description="Position across, from 0 to 1.")
    y: float = Field(description="Position down, from 0 (root) to 1.")
    height: float
    size: int
    n_leaves: int
    points_before: int = Field(
        description="Points to the left of those under the node, leaves being from left to right: "
        "its own are `size` places from here on."
    )
    folded: bool = Field(description="Whether some of its children are not shown.")
    hidden: int = Field(description="How many of its children are not shown.")
    name: str | None
    called: str | None = Field(
        default=None,
        description="What a node without a name is called in a picture, after its largest leaves "
        "as a cluster is; only of the largest nodes where leaves are very many.",
    )
    noise: bool | None = Field(
        default=None,
        description="Whether all rows under it are noise; of trees with noise alone.",
    )
    category: int | None = Field(
        default=None, description="With `color_by`: the node's category; null for none or several."
    )
    share: float | None = Field(
        default=None,
        description="The share of the leaves under the node that have the category: 1 except for "
        "folded nodes.",
    )
    common: str | None = Field(
        default=None,
        description="With `color_by` labels: the most frequent label of the rows under the node "
        "and its share of those with one, rounded down; null for fewer than two.",
    )
    note: str | None = Field(default=None, description="With `edition`: its note, if it has one.")
    colour: str | None = Field(
        default=None, description="With `edition`: `#rrggbb`, its own or that of the next above."
    )
    collapsed: bool | None = Field(
        default=None, description="With `edition`: whether the edition shows it folded."
    )


class Axis(LateModel):
    """The heights at both ends of the vertical axis."""

    top: float = Field(description="The height at y = 0.")
    bottom: float = Field(description="The height at y = 1.")


class View(LateModel):
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
                            "points_before": 0,
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


class SentTexts(LateModel):
    """What was sent, and where to."""

    to: str = Field(description="Host and port.")
    model: str
    what: str
    n_items: int = Field(description="Texts that were sent.")
    n_kept: int = Field(description="Texts whose vectors were read from those kept.")
    n_bytes: int


class Hit(LateModel):
    """A node that matches."""

    node: int
    name: str
    path: list[int] = Field(description="From the root to the node itself.")
    score: float | None = Field(
        None, description="By meaning: the cosine of the vectors of `q` and `text`, -1 to 1."
    )
    text: str | None = Field(
        None, description="By meaning: the name or the text of an item that is nearest to `q`."
    )


class Hits(LateModel):
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
    sent: SentTexts | None = Field(
        None, description="By meaning: what the operator's embedder got for this search."
    )


class LevelBody(LateModel):
    """A meaningful cut."""

    model_config = ConfigDict(title="SuggestedLevel")

    k: int = Field(description="Number of clusters.")
    height: float | None = Field(description="A height that gives this cut; null if none does.")
    criterion: str = Field(description="`gap`, `silhouette` or `modularity`.")
    score: float = Field(description="The criterion's value at this cut.")
    curve: list[tuple[int, float]] = Field(description="The criterion for each number of clusters.")
    p_value: float = Field(
        description="About the probability that data without structure have as strong a level."
    )
    clusters: list[CutNode] = Field(description="The clusters of this cut, as in `assignments`.")


class Levels(LateModel):
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
                            "p_value": 0.0004,
                            "clusters": [{"id": 0, "node": 12, "size": 480, "name": "rose"}],
                        }
                    ],
                    "reason": None,
                }
            ]
        }
    )

    levels: list[LevelBody]
    reason: str | None = Field(description="Why no level stands out; null where one does.")


class LayerBody(LateModel):
    """Disjoint clusters that persist over the same sizes."""

    model_config = ConfigDict(title="Layer")

    k: int = Field(description="Number of clusters.")
    smallest: int = Field(description="The size of which parts count as clusters.")
    strength: float = Field(
        description="The share of the points over which the clusters persist, from 0 to 1."
    )
    p_value: float = Field(
        description="About the probability that data without structure have such a layer."
    )
    n_noise: int = Field(description="Rows in no cluster of the layer.")
    clusters: list[CutNode] = Field(description="The clusters, from the largest on.")


class LayersBody(LateModel):
    """Nested layers, from fine to coarse."""

    model_config = ConfigDict(
        title="Layers",
        json_schema_extra={
            "examples": [
                {
                    "layers": [
                        {
                            "k": 7,
                            "smallest": 32,
                            "strength": 0.6,
                            "p_value": 0.0004,
                            "n_noise": 12,
                            "clusters": [{"id": 0, "node": 12, "size": 480, "name": "rose"}],
                        }
                    ],
                    "reason": None,
                    "warnings": [],
                }
            ]
        },
    )

    layers: list[LayerBody]
    reason: str | None = Field(description="Why there is no layer; null where there is one.")
    warnings: list[str] = Field(description="Where ties decided.")

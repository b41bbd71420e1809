"""Trees as they go over the wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from app.creation.annotation_schemas import Description, Tags
from app.http.late import LateModel
from workers.artifacts.trees import TreeRecord

TREE_EXAMPLE: dict[str, Any] = {
    "id": "tr_01kaq3v0q8f2x7m5n9c4r6t1zd",
    "job": "job_01kaq3v0q8f2x7m5n9c4r6t1zd",
    "name": "flowers",
    "description": None,
    "tags": ["thesis"],
    "method": "l2h",
    "kind": "hierarchy",
    "monotone": True,
    "n_points": 1200,
    "n_leaves": 2,
    "max_depth": 1,
    "created_at": "2026-11-21T17:00:00.000000Z",
    "warnings": [],
}

NODES_EXAMPLE: list[Any] = [
    {"id": 0, "parent": None, "name": None, "height": 1.0, "size": 1200},
    {"id": 1, "parent": 0, "name": "rose", "height": 0.0, "size": 480},
    {"id": 2, "parent": 0, "name": "tulip", "height": 0.0, "size": 720},
]


class TreeSummary(LateModel):
    """A tree without its nodes."""

    model_config = ConfigDict(json_schema_extra={"examples": [TREE_EXAMPLE]})

    id: str
    job: str | None = Field(description="The job that made it; null for an imported tree.")
    name: str | None
    description: Description
    tags: Tags
    method: str = Field(description='The method that made it; "import" for an imported tree.')
    kind: Literal["hierarchy", "partition"]
    monotone: bool = Field(description="False if heights may fall from child to parent.")
    n_points: int
    n_leaves: int
    max_depth: int
    created_at: str
    warnings: list[str] = Field(
        description="What its job, or the reader of an imported tree, left out, approximated or "
        "decided."
    )

    @classmethod
    def of(cls, record: TreeRecord) -> TreeSummary:
        return cls.model_validate(record, from_attributes=True)


class TreeNode(LateModel):
    """One node; methods may add fields of their own."""

    model_config = ConfigDict(extra="allow")

    id: int
    parent: int | None
    name: str | None
    height: float
    size: int = Field(description="Number of points under the node.")


class TreeBody(TreeSummary):
    """A tree with its nodes, parents before children."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{**TREE_EXAMPLE, "nodes": NODES_EXAMPLE}]}
    )

    nodes: list[TreeNode]


class NestedNode(LateModel):
    """One node of d3's nested form; methods may add fields of their own."""

    model_config = ConfigDict(extra="allow")

    id: int
    name: str | None
    height: float
    size: int = Field(description="Number of points under the node.")
    children: list[NestedNode] = Field([], description="Absent at leaves.")


class NestedTreeBody(TreeSummary):
    """A tree in d3's nested form: `layout=nested`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    **TREE_EXAMPLE,
                    "root": {
                        "id": 0,
                        "name": None,
                        "height": 1.0,
                        "size": 1200,
                        "children": [
                            {"id": 1, "name": "rose", "height": 0.0, "size": 480},
                            {"id": 2, "name": "tulip", "height": 0.0, "size": 720},
                        ],
                    },
                }
            ]
        }
    )

    root: NestedNode


class CutNode(LateModel):
    """One cluster of a cut."""

    id: int = Field(description="The number used in `assignments`.")
    node: int = Field(description="The tree's node that is this cluster.")
    size: int
    name: str | None = Field(
        description="The name of the node; if it has none the three names with most rows among the "
        "leaves under it, with an ellipsis if there are more; if no leaf has a name its first "
        "terms, where the method gives any; else null."
    )


class LevelNode(CutNode):
    """One cluster of one of several nested cuts."""

    parent: int | None = Field(
        description="The `id` of the cluster of the previous level that it is part of."
    )


class Level(LateModel):
    """The clusters of one of several nested cuts."""

    k: int = Field(description="The number of clusters as requested.")
    clusters: list[LevelNode]


class NestedAssignments(LateModel):
    """The clusters of every input row at several levels, for requests with `levels`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "cut": {"levels": [1, 2]},
                    "levels": [
                        {
                            "k": 1,
                            "clusters": [
                                {"id": 0, "node": 0, "size": 3, "name": "plant", "parent": None}
                            ],
                        },
                        {
                            "k": 2,
                            "clusters": [
                                {"id": 0, "node": 1, "size": 2, "name": "rose", "parent": 0},
                                {"id": 1, "node": 2, "size": 1, "name": "tulip", "parent": 0},
                            ],
                        },
                    ],
                    "assignments": [[0, 0], [0, 0], [0, 1]],
                    "warnings": [],
                }
            ]
        }
    )

    cut: dict[str, list[int]]
    levels: list[Level]
    assignments: list[list[int]] = Field(
        description="For each row its cluster at each level, the coarsest first; -1 for noise."
    )
    ids: list[str] | None = Field(
        default=None, description="The ids of the rows, or else the names that all of them have."
    )
    warnings: list[str]


class Assignments(LateModel):
    """The cluster of every input row."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "cut": {"k": 2},
                    "clusters": [
                        {"id": 0, "node": 1, "size": 2, "name": "rose"},
                        {"id": 1, "node": 2, "size": 1, "name": "tulip"},
                    ],
                    "n_noise": 0,
                    "assignments": [0, 0, 1],
                    "columns": {"probability": [1.0, 0.9, 1.0]},
                    "warnings": [],
                }
            ]
        }
    )

    cut: dict[str, float | int] = Field(description="The cut as requested; empty for the leaves.")
    clusters: list[CutNode]
    n_noise: int = Field(description="The number of rows that are noise, which is in no cluster.")
    assignments: list[int] = Field(description="The cluster of each row; -1 for noise.")
    ids: list[str] | None = Field(
        default=None, description="The ids of the rows, or else the names that all of them have."
    )
    columns: dict[str, list[float]] = Field(
        default={},
        description="Further columns of the rows from some methods: `probability`, ...",
    )
    warnings: list[str]


class LeafCluster(LateModel):
    """A leaf, and the cluster that it is in."""

    leaf: int
    leaf_name: str | None
    leaf_size: int
    cluster: int = Field(description="-1 for noise.")
    node: int = Field(description="The node of the cluster, or of the noise.")
    name: str | None
    support: float | None = Field(
        default=None, description="The support of the cluster, where the tree has it."
    )


class LeafAssignments(LateModel):
    """The cluster of every leaf, from left to right."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "cut": {"k": 1},
                    "clusters": [{"id": 0, "node": 0, "size": 3, "name": "flower"}],
                    "n_noise": 0,
                    "leaves": [
                        {
                            "leaf": 1,
                            "leaf_name": "rose",
                            "leaf_size": 2,
                            "cluster": 0,
                            "node": 0,
                            "name": "flower",
                        }
                    ],
                    "warnings": [],
                }
            ]
        }
    )

    cut: dict[str, float | int] = Field(description="The cut as requested; empty for the leaves.")
    clusters: list[CutNode]
    n_noise: int = Field(description="The number of rows that are noise, which is in no cluster.")
    leaves: list[LeafCluster]
    warnings: list[str]

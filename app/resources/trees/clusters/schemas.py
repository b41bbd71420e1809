"""Bodies and queries of the clusters of a cut."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from app.http.late import LateModel
from app.http.picture_queries import CutQuery, EditionOf, NamesOf
from app.resources.trees.schemas import CutNode


class ClustersQuery(CutQuery):
    """The clusters, and how many of them to return."""

    names: NamesOf = None
    edition: EditionOf = None
    limit: int = Field(
        200, ge=0, le=10_000, description="How many of the largest clusters to return."
    )


class Between(LateModel):
    """A range of heights that give the same cut."""

    low: float | None = Field(alias="from", description="The lowest height; null for no bound.")
    below: float | None = Field(description="All heights are below this one; null for no bound.")


class ClusterBody(CutNode):
    """One cluster of a cut."""

    category: int = Field(description="The cluster's number from left to right, as in `color_by`.")
    points_before: int = Field(description="Points in clusters to the left of it.")
    support: float | None = Field(
        description="The support of its node; null without, or where no replicate bears on it."
    )


class ClustersBody(LateModel):
    """The clusters of a cut without their rows."""

    model_config = ConfigDict(
        title="Clusters",
        json_schema_extra={
            "examples": [
                {
                    "cut": {"k": 2},
                    "n_clusters": 2,
                    "heights": {"from": 0.0, "below": 1.0},
                    "n_noise": 0,
                    "smallest": 480,
                    "median": 600.0,
                    "largest": 720,
                    "warnings": [],
                    "clusters": [
                        {
                            "id": 1,
                            "node": 2,
                            "size": 720,
                            "name": "tulip",
                            "category": 1,
                            "points_before": 480,
                            "support": 0.97,
                        },
                        {
                            "id": 0,
                            "node": 1,
                            "size": 480,
                            "name": "rose",
                            "category": 0,
                            "points_before": 0,
                            "support": 0.88,
                        },
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
    n_noise: int = Field(description="Rows of noise, in no cluster.")
    smallest: int = Field(description="Rows in the smallest cluster; 0 where all rows are noise.")
    median: float
    largest: int
    warnings: list[str]
    clusters: list[ClusterBody] = Field(description="The largest clusters, by descending size.")

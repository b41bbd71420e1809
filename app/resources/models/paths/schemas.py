"""Paths of clusters over time as they go over the wire."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field

from app.http.late import LateModel
from app.http.picture_queries import SizedPictureQuery

FIELDS = ("weight", "drift", "from_first", "gamma", "kappa", "features")


def _known(text: str) -> str:
    unknown = [field for field in text.split(",") if field not in FIELDS]
    if unknown:
        raise ValueError(f"there is no field {unknown[0]!r}; there are {', '.join(FIELDS)}")
    return text


class PathsQuery(SizedPictureQuery):
    """The clusters, periods and fields, and how they are drawn."""

    clusters: str | None = Field(
        None,
        pattern=r"^[0-9]{1,6}(,[0-9]{1,6})*$",
        max_length=2000,
        description="Only these clusters, in this order: comma-separated numbers from 0 (the "
        "largest). Pictures colour them and show all others as one band.",
        examples=["0,3"],
    )
    fields: Annotated[str, AfterValidator(_known)] = Field(
        ",".join(FIELDS),
        max_length=100,
        description=f"JSON and CSV: the comma-separated fields of a cluster: {', '.join(FIELDS)}.",
        examples=["weight,drift"],
    )
    limit: int = Field(
        100,
        ge=1,
        le=2000,
        description="JSON: the most periods on a page; fewer if there are many clusters.",
    )
    cursor: str | None = Field(
        None, pattern=r"^[0-9]{1,9}$", description="JSON: `next_cursor` of the previous page."
    )

    @property
    def chosen_clusters(self) -> list[int] | None:
        return None if self.clusters is None else list(map(int, self.clusters.split(",")))

    @property
    def chosen_fields(self) -> list[str]:
        named = set(self.fields.split(","))
        return [field for field in FIELDS if field in named]


class TellingFeature(LateModel):
    """A feature that distinguishes a cluster from the others."""

    feature: str
    weight: float = Field(description="The value of the cluster's mean.")


class ClusterInPeriod(LateModel):
    """A cluster in one period; fields that were not requested are left out."""

    cluster: int
    weight: float | None = Field(
        default=None, description="The cluster's share of the period, from 0 to 1."
    )
    drift: float | None = Field(
        default=None,
        description="Degrees that its mean turned since the previous period; null in the first.",
    )
    from_first: float | None = Field(
        default=None, description="Degrees between its mean and that of the first period."
    )
    gamma: float | None = Field(
        default=None, description="How certain its mean is: the concentration of its posterior."
    )
    features: list[TellingFeature] | None = Field(
        default=None,
        description="At most 5 features that distinguish it from the others in this period, the "
        "best first; null if features have no names.",
    )


class PeriodBody(LateModel):
    """One period and its clusters."""

    model_config = ConfigDict(title="Period")

    period: int = Field(description="Counted from 0.")
    label: str = Field(
        description="Its time stamp or the start of its bin; RFC 3339 if stamps are times."
    )
    until: str | None = Field(description="The end of its bin; null if a period is a stamp.")
    n_rows: int
    clusters: list[ClusterInPeriod]


class MovingCluster(LateModel):
    """What is constant about a cluster over all periods."""

    cluster: int = Field(description="The cluster's number; 0 is the largest.")
    node: int = Field(description="The tree's node that is this cluster.")
    name: str | None
    kappa: float | None = Field(
        default=None, description="Concentration of its rows; constant over all periods."
    )
    kappa_low: float | None = Field(default=None, description="Lower end of its credible interval.")
    kappa_high: float | None = Field(
        default=None, description="Upper end of its credible interval."
    )


EXAMPLE: dict[str, Any] = {
    "model": "md_01kamjx5w0n5zr4v8cqe2t7h3f",
    "tree": "tr_01kamjx5w0n5zr4v8cqe2t7h3f",
    "dated": True,
    "binned": False,
    "n_periods": 2,
    "n_clusters": 2,
    "clusters": [
        {
            "cluster": 0,
            "node": 1,
            "name": "engine, brake",
            "kappa": 84.2,
            "kappa_low": 79.6,
            "kappa_high": 88.9,
        }
    ],
    "items": [
        {
            "period": 1,
            "label": "2024-02-01T00:00:00Z",
            "until": None,
            "n_rows": 240,
            "clusters": [
                {
                    "cluster": 0,
                    "weight": 0.625,
                    "drift": 14.8,
                    "from_first": 14.8,
                    "gamma": 9120.5,
                    "features": [{"feature": "engine", "weight": 0.41}],
                }
            ],
        }
    ],
    "next_cursor": None,
}


class PathsBody(LateModel):
    """A page of periods, each with the requested clusters."""

    model_config = ConfigDict(title="ClusterPaths", json_schema_extra={"examples": [EXAMPLE]})

    model: str
    tree: str
    dated: bool = Field(description="Whether periods are times.")
    binned: bool = Field(description="Whether periods are bins of time, not stamps.")
    n_periods: int
    n_clusters: int
    clusters: list[MovingCluster]
    items: list[PeriodBody]
    next_cursor: str | None

"""Paths of clusters over time as they go over the wire."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from app.pictures.palette import Palette, Theme

FIELDS = ("weight", "drift", "from_first", "gamma", "kappa", "features")


def _known(text: str) -> str:
    unknown = [field for field in text.split(",") if field not in FIELDS]
    if unknown:
        raise ValueError(f"there is no field {unknown[0]!r}; there are {', '.join(FIELDS)}")
    return text


class PathsQuery(BaseModel):
    """Which clusters and periods, what of them, and how they are drawn."""

    model_config = ConfigDict(extra="ignore")

    clusters: str | None = Field(
        None,
        pattern=r"^[0-9]{1,6}(,[0-9]{1,6})*$",
        max_length=2000,
        description="Only these, in this order: numbers from 0 (the largest), with commas. "
        "Pictures colour them and show all others as one.",
        examples=["0,3"],
    )
    fields: Annotated[str, AfterValidator(_known)] = Field(
        ",".join(FIELDS),
        max_length=100,
        description=f"JSON and CSV: what is said of a cluster, with commas: {', '.join(FIELDS)}.",
        examples=["weight,drift"],
    )
    limit: int = Field(
        100,
        ge=1,
        le=2000,
        description="JSON: at most so many periods a page; fewer where there are many clusters.",
    )
    cursor: str | None = Field(
        None, pattern=r"^[0-9]{1,9}$", description="JSON: `next_cursor` of the page before."
    )
    px: int = Field(1000, ge=100, le=4096, description="Pictures: width in pixels.")
    height: int | None = Field(
        None,
        ge=100,
        le=8192,
        description="Pictures: height in pixels; without it, it follows from the clusters.",
    )
    palette: Palette = Field("okabe-ito", description="Pictures: the colours of the clusters.")
    theme: Theme = Field("light", description="Pictures: the page's colours.")
    title: str | None = Field(None, max_length=300, description="Pictures: a line above.")

    @property
    def chosen_clusters(self) -> list[int] | None:
        return None if self.clusters is None else list(map(int, self.clusters.split(",")))

    @property
    def chosen_fields(self) -> list[str]:
        named = set(self.fields.split(","))
        return [field for field in FIELDS if field in named]


class TellingFeature(BaseModel):
    """A feature that tells a cluster from the others."""

    feature: str
    weight: float = Field(description="What the cluster's mean has there.")


class ClusterInPeriod(BaseModel):
    """A cluster in one period; a field is left out where it was not asked for."""

    cluster: int
    weight: float | None = Field(default=None, description="Its share of the period, 0 to 1.")
    drift: float | None = Field(
        default=None,
        description="Degrees that its mean has turned since the period before; null in the first.",
    )
    from_first: float | None = Field(
        default=None, description="Degrees between its mean and that of the first period."
    )
    gamma: float | None = Field(
        default=None, description="How sure its mean is: the concentration of its posterior."
    )
    features: list[TellingFeature] | None = Field(
        default=None,
        description="At most 5 that tell it from the others in this period, the best first; null "
        "where features have no names.",
    )


class PeriodBody(BaseModel):
    """One period and its clusters."""

    model_config = ConfigDict(title="Period")

    period: int = Field(description="Counted from 0.")
    label: str = Field(
        description="Its stamp, or where its bin begins; RFC 3339 where stamps were times."
    )
    until: str | None = Field(description="Where its bin ends; null where a period is a stamp.")
    n_rows: int
    clusters: list[ClusterInPeriod]


class MovingCluster(BaseModel):
    """What is the same of a cluster in all periods."""

    cluster: int = Field(description="From 0, the largest.")
    node: int = Field(description="The tree's node that is this cluster.")
    name: str | None
    kappa: float | None = Field(
        default=None, description="Concentration of its rows; the same in all periods."
    )
    kappa_low: float | None = Field(default=None, description="Its credible interval: from.")
    kappa_high: float | None = Field(default=None, description="Its credible interval: to.")


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


class PathsBody(BaseModel):
    """A page of the periods, each with the clusters asked for."""

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

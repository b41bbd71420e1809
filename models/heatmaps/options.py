"""Which heatmap is made, and its terms."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from models.parameters import Exact

What = Literal["features", "distances"]
Metric = Literal["euclidean", "cosine", "cophenetic", "hamming", "jaccard", "gower", "pairwise"]

MEASURED: frozenset[Metric] = frozenset({"hamming", "jaccard", "gower", "pairwise"})
"""Metrics of pairs of points: what lies between two rows is the mean over their pairs."""

OF_TREE: frozenset[Metric] = frozenset({"cophenetic", "gower", "pairwise"})
"""Metrics that need no features beside the tree and its model."""

TERMS_OF: dict[What, frozenset[str]] = {
    "features": frozenset({"statistic", "scale", "n_columns"}),
    "distances": frozenset({"metric"}),
}
"""The terms that each heatmap takes."""

MOST_ROWS = 10_000
MOST_COLUMNS = 1_000


class HeatmapTerms(Exact):
    """The heatmap, and what it shows."""

    what: What = Field(
        "features",
        description="`features`: a row for each cluster, a column for each feature. `distances`: "
        "how far clusters are from each other.",
    )
    statistic: Literal["mean", "median"] = Field(
        "mean", description="For `features`: what a value says of the points of its cluster."
    )
    scale: Literal["standard", "none"] = Field(
        "standard",
        description="For `features`: `standard` subtracts the mean of the column over all points "
        "and divides by its standard deviation.",
    )
    n_columns: int = Field(
        100,
        ge=1,
        le=MOST_COLUMNS,
        description="For `features`: the most columns; of more, the ones that best separate the "
        "largest subtrees.",
    )
    metric: Metric = Field(
        "euclidean",
        description="For `distances`: between the means of clusters, or `cophenetic`, the height "
        "of the node where two clusters meet. `hamming` and `jaccard` are the means over the pairs "
        "of points, as the method `hac` measures them, and so are distances as the fit measured "
        "them and its model keeps them: `gower` of items, `pairwise` of features with empty "
        "values.",
    )

    @model_validator(mode="after")
    def _own_terms(self) -> HeatmapTerms:
        given = self.model_fields_set & set(HeatmapTerms.model_fields) - {"what"}
        foreign = sorted(given - TERMS_OF[self.what])
        if foreign:
            raise ValueError(
                f"{', '.join(foreign)} is no term of a heatmap of {self.what}, which takes "
                f"{', '.join(sorted(TERMS_OF[self.what]))}"
            )
        return self

    def own(self) -> dict[str, object]:
        """`what` and the terms that it takes, with defaults."""
        return {"what": self.what, **self.model_dump(include=set(TERMS_OF[self.what]))}

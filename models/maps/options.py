"""Which map of the points is made, and its terms."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from models.parameters import Exact, Seed

By = Literal["pca", "umap", "tsne", "disc"]
Metric = Literal["euclidean", "cosine"]

TERMS_OF: dict[By, frozenset[str]] = {
    "pca": frozenset({"seed"}),
    "umap": frozenset({"metric", "n_neighbors", "min_dist", "n_components", "seed"}),
    "tsne": frozenset({"metric", "perplexity", "n_components", "seed"}),
    "disc": frozenset({"seed"}),
}
"""The terms that each map takes."""

NEEDS: dict[By, tuple[str, ...]] = {"umap": ("umap-learn",), "tsne": ("openTSNE",)}
"""The optional packages (`models.running.packages`) of a map."""


class MapTerms(Exact):
    """The map, and what it is drawn by."""

    by: By = Field(
        "pca",
        description="`pca`: the two leading principal components. `umap`, `tsne`: a layout that "
        "keeps neighbours together. `disc`: where the tree's own method placed the points in the "
        "Poincaré disc (methods with `ball` among their `outputs`).",
    )
    metric: Metric = Field(
        "euclidean", description="For `umap` and `tsne`: the distance by which points are near."
    )
    n_neighbors: int = Field(
        15,
        ge=2,
        le=200,
        description="For `umap`: neighbours of a point; more show the whole, fewer the detail.",
    )
    min_dist: float = Field(
        0.1, ge=0, le=1, allow_inf_nan=False, description="For `umap`: how tightly points may lie."
    )
    perplexity: float = Field(
        30.0,
        ge=2,
        le=200,
        allow_inf_nan=False,
        description="For `tsne`: about how many neighbours a point has.",
    )
    n_components: int = Field(
        50,
        ge=2,
        le=1000,
        description="For `umap` and `tsne`: features with more columns are first reduced to this "
        "many principal components.",
    )
    seed: Seed = 0

    @model_validator(mode="after")
    def _own_terms(self) -> MapTerms:
        given = self.model_fields_set & set(MapTerms.model_fields)
        foreign = given - TERMS_OF[self.by] - {"by"}
        if foreign:
            raise ValueError(
                f"{', '.join(sorted(foreign))} is no term of {self.by}, which takes "
                f"{', '.join(sorted(TERMS_OF[self.by]))}"
            )
        return self

    def own(self) -> dict[str, object]:
        """`by` and the terms that it takes, with defaults."""
        return {"by": self.by, **self.model_dump(include=set(TERMS_OF[self.by]))}
